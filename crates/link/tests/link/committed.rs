//! Committed objects of compilers, for machines without these compilers.

use std::{collections::BTreeSet, fs, path::PathBuf};

use selkie_inspect::SourceMap;
use selkie_isa::insn::instructions;
use selkie_link::{Input, Options, link};

use crate::{
    machine::{VERSIONS, linked, run},
    testdata,
};

/// The objects of a program: names and bytes.
fn objects(program: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fs::read_dir(testdata().join("objects")).expect("the folder is there");
    let mut paths: Vec<PathBuf> = folder.map(|it| it.expect("it can be read").path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    paths.retain(|path| {
        let name = name(path);
        name.starts_with(&format!("{program}.")) && name.ends_with(".o")
    });
    paths.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
}

#[test]
fn linked_objects_compute_the_same_as_the_host() {
    for (program, count) in [("program", 5), ("signed", 1), ("atomics", 2)] {
        let path = testdata().join(format!("objects/{program}.expected"));
        let text = fs::read_to_string(path).expect("it is text");
        let sums = text.lines().map(|line| u64::from_str_radix(line, 16).expect("a number"));
        let expected: Vec<u8> = sums.flat_map(u64::to_le_bytes).collect();
        let objects = objects(program);
        assert_eq!(objects.len(), count, "{program}");
        for (name, bytes) in objects {
            assert!(bytes.len() < 20_000, "{name} is large");
            for version in VERSIONS {
                let run = run(&linked(&[(&name, &bytes)], version).elf, &[]);
                assert_eq!(run.result, Ok(()), "{name} {version}");
                assert_eq!(run.data, expected, "{name} {version}");
            }
        }
    }
}

/// Every call of `sol_log_64_` belongs to a line that has one, in the function that has it,
/// however much was left out and put in before it.
#[test]
fn source_lines_match_instructions_after_linking() {
    let source = fs::read_to_string(testdata().join("lines.c")).expect("it is text");
    let numbered = source.lines().zip(1..);
    let calls = numbered.filter(|(line, _)| line.contains("sol_log_64_(") && line.starts_with(' '));
    let live = calls.filter(|(line, _)| !line.contains("in no program"));
    let all: BTreeSet<u32> = live.map(|it| it.1).collect();
    let from_v4 = source.lines().zip(1..).find(|it| it.0.contains("sol_log_64_(5")).unwrap().1;
    let inlined = source.lines().zip(1..).find(|it| it.0.contains("sol_log_64_(1")).unwrap().1;
    let objects = objects("lines");
    assert_eq!(objects.len(), 3);
    for (name, bytes) in objects {
        for version in VERSIONS {
            let linked = linked(&[(&name, &bytes)], version);
            let elf = linked.debug_elf.as_ref().unwrap_or(&linked.elf);
            let map = SourceMap::load(elf.clone());
            let environment = selkie_elf::Environment {
                syscalls: std::sync::Arc::new(selkie_elf::Syscalls::new(["sol_log_64_"])),
                ..selkie_elf::Environment::default()
            };
            let executable = selkie_elf::load(&linked.elf, &environment).unwrap();
            let hash = selkie_isa::symbol::murmur3(b"sol_log_64_");
            let mut found = BTreeSet::new();
            for (pc, insn) in instructions(version, executable.text()) {
                let insn = insn.unwrap();
                if insn.op.code() != 0x85 || insn.imm != i64::from(hash.cast_signed()) {
                    continue;
                }
                let pc = u32::try_from(pc).unwrap();
                let line = map.line_at(pc).unwrap_or_else(|| panic!("{name} {version}: {pc}")).line;
                assert!(all.contains(&line), "{name} {version}: slot {pc} is of line {line}");
                found.insert(line);
                let frames: Vec<String> =
                    map.frames_at(pc).into_iter().filter_map(|it| it.function).collect();
                let outer = map.function_at(pc).unwrap();
                let expected =
                    if line == inlined { vec!["inlined".to_owned(), outer] } else { vec![outer] };
                assert_eq!(frames, expected, "{name} {version}: slot {pc}");
            }
            let mut expected = all.clone();
            if !name.contains("v4") {
                expected.remove(&from_v4);
            }
            assert_eq!(found, expected, "{name} {version}");
        }
    }
}

/// The header declares every syscall that a program may be deployed with.
#[test]
fn header_declares_all_syscalls() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../build/include/selkie.h");
    let header = fs::read_to_string(path).expect("it is text");
    let retired = ["sol_alloc_free_", "sol_get_fees_sysvar", "sol_invoke_signed_rust"];
    for name in selkie_protocol::syscalls::names().filter(|it| !retired.contains(it)) {
        assert!(header.contains(&format!(" {name}(")), "{name}");
    }
}

#[test]
fn hello_example_logs_its_greeting() {
    for version in VERSIONS {
        let object = fs::read(testdata().join("objects/hello.o")).expect("it is there");
        let run = run(&linked(&[("hello.o", &object)], version).elf, &[]);
        assert_eq!(run.result, Ok(()));
        assert!(run.logs.iter().any(|it| it == "Program log: Hello, Solana!"));
    }
}

/// The numbers are what the same source, `rust.rs.txt`, logs on the host.
#[test]
fn rust_object_logs_the_same_numbers_as_on_the_host() {
    let objects = objects("rust");
    let [(name, object)] = &objects[..] else { panic!("one object") };
    for version in VERSIONS {
        let linked = linked(&[(name, object)], version);
        let names: Vec<&str> = linked.functions.iter().map(|it| it.name.as_str()).collect();
        assert!(names.contains(&"<rust::Rectangle as rust::Shape>::area"), "{names:?}");
        let run = run(&linked.elf, &[]);
        assert_eq!(run.result, Ok(()));
        let log = "Program log: 0xb9, 0x30ffffff6d, 0xd0000007, 0x13a, 0x2c";
        assert!(run.logs.iter().any(|it| it == log), "{:?}", run.logs);
    }
}

/// The line is that of the access. Unreachable functions are not checked.
#[test]
fn large_frame_is_an_error_with_function_and_line() {
    let bytes = fs::read(testdata().join("objects/deep.v2.clang-19.o")).expect("it is there");
    for version in VERSIONS {
        let options = Options { version, strip: true, ..Options::default() };
        let errors = link(&[Input { name: "deep.o", bytes: &bytes }], &options).unwrap_err();
        let [error] = &errors[..] else { panic!("{errors:?}") };
        let expected = "Stack offset of -30728 exceeded max offset of -4096 by 26632 bytes, \
                        please minimize large stack variables";
        assert_eq!(error.message, expected);
        assert_eq!(error.symbol.as_deref(), Some("deep"));
        let source = error.source.as_deref().unwrap_or_default();
        assert!(source.contains("deep.c:13"), "{source}");
    }
}
