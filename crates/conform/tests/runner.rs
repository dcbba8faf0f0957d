//! The runner as a whole: which files it judges, its report, and that it can fail.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use selkie_conform::{Engine, Options, Report, run};
use selkie_vm::MachineCode;

/// A vector of kind `verify` that passes: the program `exit`.
const EXIT: &str = r#"{"kind":"verify","name":"exit","text":"9500000000000000","expect":{"ok":0}}"#;

/// A temporary folder, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = env::temp_dir().join(format!("selkie-conform-{}-{test}", process::id()));
        fs::create_dir_all(path.join("inner")).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn run_one(path: &Path) -> Report {
    run(&[path.to_owned()], &Options::default(), &|_| ())
}

fn total(report: &Report) -> (usize, usize, usize) {
    let total = report.total();
    (total.passed, total.failed, total.skipped)
}

#[test]
fn a_wrong_expectation_fails_with_a_readable_difference() {
    let folder = Folder::new("wrong");
    let wrong = EXIT.replace(r#"{"ok":0}"#, r#"{"err":"NoProgram","display":"none"}"#);
    let report = run_one(&folder.file("a.jsonl", format!("{EXIT}\n\n{wrong}\n")));
    assert_eq!(total(&report), (1, 1, 0));
    assert_eq!(
        report.files[0].failures[0].to_string(),
        "line 3: exit\n  err: expected \"NoProgram\", got \"\"\n  \
         display: expected \"none\", got \"\""
    );
}

#[test]
fn unreadable_vectors_and_files_fail() {
    let folder = Folder::new("unreadable");
    for content in ["{\"kind\":", "not json", r#"{"kind":"verify","text":"9","expect":{}}"#] {
        let report = run_one(&folder.file("a.jsonl", content));
        assert_eq!(total(&report), (0, 1, 0), "{content}");
    }
    assert_eq!(total(&run_one(&folder.0.join("missing.jsonl"))), (0, 1, 0));
    let torn = [0x28, 0xb5, 0x2f, 0xfd, 0x24, 0xff];
    assert_eq!(total(&run_one(&folder.file("torn.jsonl.zst", torn))), (0, 1, 0));
}

#[test]
fn unsupported_kinds_are_skipped_with_a_reason() {
    let folder = Folder::new("skipped");
    let lines = [r#"{"id":"a","fixture":""}"#, r#"{"kind":"memory"}"#, "{}"];
    let report = run_one(&folder.file("a.jsonl", lines.join("\n")));
    assert_eq!(total(&report), (0, 0, 3));
    let reasons: Vec<_> = report.files[0].skips.keys().map(String::as_str).collect();
    assert_eq!(
        reasons,
        [
            "kind Firedancer fixture is not supported yet",
            "kind memory is not supported yet",
            "the line has no known kind"
        ]
    );
}

#[test]
fn a_missing_base_file_is_skipped_with_its_name() {
    let folder = Folder::new("base");
    let line = r#"{"id":"a","base":"06dd0ed33dda","profile":"mainnet","exp":{"err":1}}"#;
    let path = folder.file("a.jsonl", line);
    assert_eq!(total(&run_one(&path)), (0, 0, 1));
    let options = Options { elfs: Some(folder.0.clone()), ..Options::default() };
    let report = run(std::slice::from_ref(&path), &options, &|_| ());
    let reason = report.files[0].skips.keys().next().unwrap();
    assert!(reason.starts_with("ELF file 06dd0ed33dda is not in"), "{reason}");
    folder.file("06dd0ed33dda.so", [0; 64]);
    assert_eq!(total(&run(&[path], &options, &|_| ())), (1, 0, 0));
}

#[test]
fn elf_files_are_found_by_name_and_by_hash() {
    let folder = Folder::new("hash");
    folder.file("anything.elf", b"\x7fELF");
    let hash = format!("{:016x}", selkie_conform::vector::fnv1a(b"\x7fELF"));
    let options = Options { elfs: Some(folder.0.clone()), ..Options::default() };
    for name in [hash.as_str(), "anything"] {
        let line = format!(
            r#"{{"kind":"elf_load","elf":"{name}","expect":{{"err":"ValueOutOfBounds"}}}}"#
        );
        let report = run(&[folder.file("a.jsonl", line)], &options, &|_| ());
        assert_eq!(total(&report), (1, 0, 0), "{name}");
    }
}

#[test]
fn folders_are_searched_recursively_for_vector_files() {
    let folder = Folder::new("folders");
    folder.file("b.jsonl", EXIT);
    folder.file("inner/a.jsonl", [EXIT, EXIT].join("\n"));
    folder.file("notes.txt", EXIT);
    folder.file("fixture.fix", b"\x0a\x1d\x0a\x1bsol_compat_block_execute_v1");
    let report = run_one(&folder.0);
    assert_eq!(total(&report), (3, 0, 1));
    let names: Vec<_> = report.files.iter().map(|it| it.path.file_name().unwrap()).collect();
    assert_eq!(names[..2], ["b.jsonl", "a.jsonl"]);
    assert_eq!(report.files[2].path, folder.0);
}

#[test]
fn a_folder_of_fixtures_has_one_report() {
    let folder = Folder::new("fixtures");
    for index in 0..300 {
        let entrypoint = b"\x0a\x1d\x0a\x1bsol_compat_block_execute_v1";
        folder.file(&format!("inner/{index}.fix"), entrypoint);
    }
    folder.file("inner/torn.fix", b"\xff");
    let report = run_one(&folder.0);
    assert_eq!((report.files.len(), total(&report)), (1, (0, 1, 300)));
    assert_eq!(report.files[0].path, folder.0.join("inner"));
    assert_eq!(report.files[0].failures[0].id.as_deref(), Some("torn.fix"));
}

#[test]
fn a_file_given_more_than_once_is_judged_once() {
    let folder = Folder::new("twice");
    let file = folder.file("inner/a.jsonl", EXIT);
    let report =
        run(&[folder.0.clone(), file, folder.0.join("inner")], &Options::default(), &|_| ());
    assert_eq!(total(&report), (1, 0, 0));
}

#[test]
fn compute_units_left_are_compared_after_the_meter_ran_out() {
    let folder = Folder::new("meter");
    // A jump to itself.
    let endless =
        r#"{"id":"a","v":0,"text":"0500ffff00000000","cu":3,"exp":{"err":9,"cu_left":0}}"#;
    let exec = r#"{"kind":"exec","text":"0500ffff00000000","budget":3,"cu_left":0,
        "expect":{"err":"ExceededMaxInstructions"}}"#;
    for (line, passes) in [
        (endless.to_owned(), true),
        (endless.replace(r#","cu_left":0"#, ""), true),
        (endless.replace(r#""cu_left":0"#, r#""cu_left":1"#), false),
        (exec.replace('\n', ""), true),
        (exec.replace('\n', "").replace(r#""cu_left":0"#, r#""cu_left":1"#), false),
    ] {
        let report = run_one(&folder.file("a.jsonl", &line));
        assert_eq!(total(&report), (usize::from(passes), usize::from(!passes), 0), "{line}");
    }
}

#[test]
fn verdicts_are_counted_by_kind() {
    let folder = Folder::new("kinds");
    let exec = EXEC.replace('\n', "");
    let wrong = exec.replace(r#""insn_count":1"#, r#""insn_count":2"#);
    folder.file("a.jsonl", [EXIT, &exec, "{}"].join("\n"));
    folder.file("b.jsonl", [exec.as_str(), &wrong].join("\n"));
    let kinds = run_one(&folder.0).kinds();
    let counts: Vec<_> = kinds
        .iter()
        .map(|it| (it.name, it.tally.passed, it.tally.failed, it.tally.skipped))
        .collect();
    assert_eq!(counts, [("verify", 1, 0, 0), ("exec", 2, 1, 0), ("unknown", 0, 0, 1)]);
}

#[test]
fn verdicts_do_not_depend_on_threads_and_progress_is_reported() {
    let folder = Folder::new("threads");
    let lines: Vec<String> = (0..500)
        .map(|index| match index % 7 {
            0 => EXIT.replace("exit", &index.to_string()).replace(r#""ok":0"#, r#""err":"x""#),
            _ => EXIT.to_owned(),
        })
        .collect();
    let path = folder.file("a.jsonl", lines.join("\n"));
    let reports = [1, 4].map(|threads| {
        let options = Options { threads: Some(threads), ..Options::default() };
        let told = AtomicUsize::new(0);
        let report = run(std::slice::from_ref(&path), &options, &|progress| {
            assert_eq!(progress.total, 500);
            told.fetch_max(progress.done, Ordering::Relaxed);
        });
        assert_eq!(told.into_inner(), 500);
        serde_json::to_string(&report).unwrap()
    });
    assert_eq!(reports[0], reports[1]);
    assert!(reports[0].contains(r#""passed":428,"failed":72,"skipped":0"#));
}

/// A vector of kind `exec` that passes: the program `exit`.
const EXEC: &str = r#"{"kind":"exec","name":"exit","text":"9500000000000000","budget":5,
    "expect":{"ok":0},"insn_count":1,"final_pc":0}"#;

#[test]
fn a_wrong_expectation_is_reported_for_each_requested_engine() {
    let folder = Folder::new("engines");
    let right = EXEC.replace('\n', "");
    let wrong = right.replace(r#""insn_count":1"#, r#""insn_count":2"#);
    let file = folder.file("a.jsonl", format!("{right}\n{wrong}\n"));
    let fields = |engine| {
        let options = Options { engine, ..Options::default() };
        let report = run(core::slice::from_ref(&file), &options, &|_| ());
        assert_eq!(total(&report), (1, 1, 0));
        let differences = &report.files[0].failures[0].differences;
        differences.iter().map(|it| it.field.clone()).collect::<Vec<_>>()
    };
    assert_eq!(fields(Engine::Interpreter), ["insn_count"]);
    if MachineCode::SUPPORTED {
        assert_eq!(fields(Engine::Jit), ["jit: insn_count"]);
        assert_eq!(fields(Engine::default()), ["insn_count", "jit: insn_count"]);
    }
}
