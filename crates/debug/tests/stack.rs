//! Values of variables on the stack, in programs of compilers that state their places differently:
//! `testdata/debug/stack.*.so`, which `make.sh` there makes.

use std::{fs, path::Path};

use selkie::{Instruction, Svm, address};
use selkie_debug::{Direction, Granularity, History, Motion, PathMap, Place, Request, Session};
use selkie_replay::{DebugFiles, ReplayFile};

/// The line on which `work` returns.
const RETURN: u32 = 9;

fn program(compiler: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/debug");
    fs::read(folder.join(format!("stack.{compiler}.so"))).unwrap()
}

/// Runs a program to where `work` returns, and returns the variables there and in its caller.
fn variables(elf: Vec<u8>) -> Vec<String> {
    let mut svm = Svm::new();
    svm.add_program(address("stack"), elf).unwrap();
    let call = Instruction { program_id: address("stack"), accounts: vec![], data: vec![] };
    let replay = svm.record_instructions("stack", &[call], &[]);
    let timeline = ReplayFile::from(replay).timeline(0).unwrap();
    let history = History::new(timeline, &DebugFiles::default());
    let mut session = Session::new(history, PathMap::default());
    session.add_breakpoint(&Request::at(Place::Line("stack.c".to_owned(), RETURN))).unwrap();
    // The compilers return at different instructions of the line; at the last one, all is stored.
    session.go_to(session.end());
    session.go(Motion::Continue, Direction::Backward, Granularity::Line);
    let locals = (0..2).flat_map(|frame| session.locals(frame));
    locals.map(|it| format!("{} = {}", it.name, it.text)).collect()
}

#[test]
fn each_compiler_has_values_on_the_stack() {
    for compiler in ["clang-19", "clang-22", "ziglang"] {
        let variables = variables(program(compiler));
        for expected in ["pair = [7, 9]", "small = 3", "all = [0, 1, 2, 3]", "one = 1"] {
            assert!(variables.iter().any(|it| it == expected), "{compiler}: {variables:?}");
        }
    }
}

#[test]
fn a_value_whose_place_cannot_be_known_is_unavailable() {
    let mut elf = program("clang-22");
    // Offsets of `small` and of a spilled half of `pair` that fit to no code.
    for (from, to) in
        [(&[0x91, 39][..], &[0x91, 36][..]), (&[0x7a, 48, 0x93, 8], &[0x7a, 40, 0x93, 8])]
    {
        let mut places = 0;
        for at in 0..elf.len() - from.len() {
            if elf[at..].starts_with(from) {
                elf[at..at + from.len()].copy_from_slice(to);
                places += 1;
            }
        }
        assert!(places > 0, "{from:?}");
    }
    let variables = variables(elf);
    let text =
        "<unavailable: the compiler states a wrong place on the stack; clang before 23 does>";
    for name in ["pair", "small", "all"] {
        assert!(variables.contains(&format!("{name} = {text}")), "{variables:?}");
    }
    assert!(variables.contains(&"one = 1".to_owned()), "another function is not concerned");
}
