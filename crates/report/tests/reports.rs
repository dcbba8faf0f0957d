//! Profiles, coverage and traces of a program whose numbers are known.

use std::{collections::BTreeMap, rc::Rc};

use selkie::{Instruction, Svm, address};
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{
    Coverage, Profile, Programs,
    agave::{self, RegisterTrace},
    coverage::{self, Branch, SourceFile},
    diff::parting,
    profile::{
        compare::compare,
        format::{FORMATS, Format, collapsed},
        table::{Libraries, Tables},
    },
    trace::{self, Filter},
};

/// Calls `twice` for each byte of instruction data, and `never` not at all.
const SOURCE: &str = ".globl entrypoint, never
entrypoint:
    ldxdw r6, [r1+8]
    mov64 r7, 0
loop:
    jeq r7, r6, done
    call twice
    add64 r7, 1
    ja loop
done:
    lddw r1, 0x300000000
    mov64 r2, 0
    mov64 r3, 8
    call sol_memset_
    mov64 r0, 0
    exit
twice:
    add64 r0, r0
    exit
never:
    mov64 r0, 1
    exit
";

/// A program with the same slots as the other one up to where it differs.
const UPGRADED: &str = ".globl entrypoint
entrypoint:
    mov64 r7, 2
    call thrice
    mov64 r0, 0
    exit
thrice:
    add64 r7, r7
    add64 r7, r7
    exit
";

fn timeline(data: &[u8]) -> Timeline {
    timeline_of("work.s", SOURCE, data)
}

fn timeline_of(name: &str, source: &str, data: &[u8]) -> Timeline {
    let options = selkie_asm::Options {
        name: name.to_owned(),
        debug_info: true,
        ..selkie_asm::Options::default()
    };
    let output = selkie_asm::assemble(source, &options);
    let mut svm = Svm::new();
    let elf = output.assembly.expect("the source has no errors").to_elf();
    svm.add_program(address("work"), elf).unwrap();
    let call = Instruction { program_id: address("work"), accounts: vec![], data: data.to_vec() };
    let replay = svm.record_instructions("work", &[call], &[]);
    ReplayFile::from(replay).timeline(0).unwrap()
}

fn profile(data: &[u8]) -> Profile {
    let mut profile = Profile::default();
    profile.add(&timeline(data), &mut Programs::default());
    profile
}

fn covered(data: &[&[u8]]) -> BTreeMap<Rc<str>, SourceFile> {
    let (mut coverage, mut programs) = (Coverage::default(), Programs::default());
    for data in data {
        coverage.add(&timeline(data), &mut programs);
    }
    assert_eq!(coverage.without_lines(&mut programs), []);
    coverage.files(&mut programs)
}

#[test]
fn units_belong_to_functions_and_syscalls() {
    // The program is named after its address.
    // entrypoint: 2, 4 for each byte, 1 + 1 + 2 + 1 + 2; twice: 2 for each; memset: 10
    let expected = "work;entrypoint 21\nwork;entrypoint;sol_memset_ 10\nwork;entrypoint;twice 6\n";
    let text = collapsed(&profile(&[0; 3]));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.join("\n") + "\n", expected);
}

#[test]
fn tables_have_lines_and_calls() {
    let tables = Tables::of(&profile(&[0; 3]), Libraries::Expanded);
    let find = |rows: &[selkie_report::profile::table::Row], name: &str| {
        rows.iter().find(|row| row.name == name).map(|row| (row.own, row.total, row.calls))
    };
    assert_eq!(find(&tables.functions, "twice"), Some((6, 6, 3)));
    assert_eq!(find(&tables.functions, "entrypoint"), Some((21, 37, 1)));
    assert_eq!(find(&tables.syscalls, "sol_memset_"), Some((10, 10, 1)));
    assert_eq!(find(&tables.lines, "work.s:6"), Some((4, 4, 0)));
    assert_eq!(tables.programs[0].own, 37);
}

#[test]
fn profiles_merge_and_compare() {
    let mut merged = profile(&[0; 3]);
    merged.add(&timeline(&[0; 5]), &mut Programs::default());
    assert_eq!((merged.transactions, merged.units), (2, 37 + 49));
    let changes = compare(&profile(&[0; 3]), &profile(&[0; 5]));
    let changes: Vec<_> =
        changes.iter().map(|it| (it.name.as_str(), it.before, it.after)).collect();
    assert_eq!(changes, [("entrypoint", 21, 29), ("twice", 6, 10)]);
}

#[test]
fn programs_at_one_address_keep_their_own_functions_and_lines() {
    let (mut programs, mut profile) = (Programs::default(), Profile::default());
    let mut coverage = Coverage::default();
    let first = timeline(&[0; 3]);
    let second = timeline_of("upgraded.s", UPGRADED, &[]);
    for timeline in [&first, &second, &first] {
        profile.add(timeline, &mut programs);
        coverage.add(timeline, &mut programs);
    }
    let text = collapsed(&profile);
    assert!(text.lines().any(|it| it.ends_with(";entrypoint;twice 12")), "{text}");
    assert!(text.lines().any(|it| it.ends_with(";entrypoint;thrice 3")), "{text}");
    let tables = Tables::of(&profile, Libraries::Expanded);
    let names: Vec<_> = tables.programs.iter().map(|it| (&*it.name, it.own)).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.contains(&("work", 37 * 2)), "{names:?}");
    assert!(names.iter().any(|it| it.0.starts_with("work (ELF ") && it.1 == 7));
    let files = coverage.files(&mut programs);
    assert_eq!((files["work.s"].lines[&18], files["upgraded.s"].lines[&8]), (6, 1));
    assert!(!files["upgraded.s"].functions.contains_key("twice"));
}

#[test]
fn call_paths_without_end_are_counted_as_their_callers() {
    let mut source = ".globl entrypoint
entrypoint:
    mov64 r1, 14
    call f
    mov64 r0, 0
    exit
"
    .to_owned();
    for name in ["f", "g"] {
        source += &format!(
            "{name}:
    jeq r1, 0, end_{name}
    mov64 r6, r1
    sub64 r1, 1
    call f
    mov64 r1, r6
    sub64 r1, 1
    call g
end_{name}:
    exit
"
        );
    }
    let mut profile = Profile::default();
    // Each call has another path: there are 2^15.
    profile.add(&timeline_of("deep.s", &source, &[]), &mut Programs::default());
    assert!(profile.nodes().len() <= 1 << 14, "{}", profile.nodes().len());
    assert_eq!(profile.nodes().iter().map(|it| it.units).sum::<u64>(), profile.units);
    let calls = profile.nodes().iter().map(|it| it.instructions).sum::<u64>();
    assert_eq!(calls, profile.units);
}

#[test]
fn every_format_has_all_units() {
    let profile = profile(&[0; 3]);
    let text = |name: &str| {
        let bytes = Format::find(name).unwrap().render(&profile);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let json: serde_json::Value = serde_json::from_str(&text("speedscope")).unwrap();
    let weights = json["profiles"][0]["weights"].as_array().unwrap();
    assert_eq!(weights.iter().filter_map(serde_json::Value::as_u64).sum::<u64>(), 37);
    let json: serde_json::Value = serde_json::from_str(&text("cpuprofile")).unwrap();
    let deltas = json["timeDeltas"].as_array().unwrap();
    assert_eq!(deltas.iter().filter_map(serde_json::Value::as_u64).sum::<u64>(), 37);
    assert_eq!(deltas.len(), json["samples"].as_array().unwrap().len());
    let svg = text("svg");
    assert!(svg.contains("function, 6 compute units (16.2 %), 6 of its own"), "{svg}");
    let bytes = Format::find("pprof").unwrap().render(&profile);
    assert!(bytes.starts_with(&[0x1f, 0x8b]), "it is compressed by gzip");
    for format in FORMATS {
        let file = format!("profile{}", format.extension);
        assert_eq!(Format::of_file(&file).map(|it| it.name), Some(format.name));
    }
}

#[test]
fn a_line_counts_once_for_each_time_that_control_comes_to_it() {
    let files = covered(&[&[0; 3]]);
    let file = &files["work.s"];
    let line = |line: u32| file.lines.get(&line).copied();
    assert_eq!([3, 4, 6, 7, 8, 9].map(line), [1, 1, 4, 3, 3, 3].map(Some));
    // The function that is not called, and a line without an instruction.
    assert_eq!([18, 19, 21, 22, 20].map(line), [Some(3), Some(3), Some(0), Some(0), None]);
    assert_eq!(file.branches[&6], [Branch { not_taken: 3, taken: 1 }]);
    let calls: Vec<_> = file.functions.iter().map(|(name, it)| (&**name, it.calls)).collect();
    assert_eq!(calls, [("entrypoint", 1), ("never", 0), ("twice", 3)]);
}

#[test]
fn coverage_merges_and_is_written_in_all_formats() {
    let files = covered(&[&[], &[0]]);
    let text = |name: &str| {
        let source = |_: &str| Some(SOURCE.to_owned());
        coverage::format::Format::find(name).unwrap().render(&files, &source)
    };
    let lcov = text("lcov");
    for line in ["SF:work.s", "DA:3,2", "DA:21,0", "FNDA:0,never", "BRDA:6,0,0,1", "BRDA:6,0,1,2"] {
        assert!(lcov.lines().any(|it| it == line), "{line} in\n{lcov}");
    }
    assert!(text("cobertura").contains(
        "<line number=\"6\" hits=\"3\" branch=\"true\" condition-coverage=\"100% (2/2)\"/>"
    ));
    assert!(text("html").contains("<span class=\"miss\"><span class=\"count\">0</span> ✗    21"));
    let summary = coverage::format::summary(&files);
    assert_eq!(summary["files"][0]["uncovered_functions"], serde_json::json!(["never"]));
}

#[test]
fn register_traces_are_filtered() {
    let (timeline, mut programs) = (timeline(&[0; 3]), Programs::default());
    let mut text = |filter: Filter| {
        let mut out = Vec::new();
        trace::registers(&timeline, &mut programs, &filter, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(text(Filter::default()).lines().count(), 1 + 27);
    let twice = text(Filter { function: Some("twice".to_owned()), ..Filter::default() });
    assert_eq!(twice.lines().count(), 1 + 6, "{twice}");
    assert!(twice.contains(": add64 r0, r0"), "{twice}");
    let two = text(Filter { steps: Some(3..5), ..Filter::default() });
    assert_eq!(two.lines().count(), 1 + 2, "{two}");
    let other = text(Filter { program: Some(address("other")), ..Filter::default() });
    assert_eq!(other, "");
}

#[test]
fn register_files_are_read_as_they_were_written() {
    let timeline = timeline(&[0; 3]);
    let files = agave::files(&timeline, &mut Programs::default());
    assert_eq!(files.len(), 5);
    let of = |extension: &str| files.iter().find(|(name, _)| name.ends_with(extension)).unwrap().1;
    let program = String::from_utf8(of(".program_id").clone()).unwrap();
    let read = RegisterTrace::read(of(".regs"), &program).unwrap();
    assert_eq!([read], agave::register_traces(&timeline)[..]);
    assert_eq!((of(".regs").len(), of(".insns").len()), (27 * 96, 27 * 8));
    assert!(RegisterTrace::read(&[0; 95], &program).is_err());
    assert!(RegisterTrace::read(&[], "?").is_err());
}

#[test]
fn runs_part_at_the_first_step_that_differs() {
    assert_eq!(parting(&timeline(&[0; 3]), &timeline(&[1; 3])), None);
    let parting = parting(&timeline(&[0; 3]), &timeline(&[0; 5])).unwrap();
    // The first instruction reads the length of the instruction data.
    assert_eq!((parting.step, parting.cause, parting.goes_on), (1, Some(0), [true, true]));
}
