//! Motions: on from the failure that a session begins at, and out of functions.

use std::{fs, path::Path};

use selkie::{Instruction, Svm, address};
use selkie_debug::{
    Direction, Filters, Granularity, History, Motion, PathMap, Place, Request, Session, Stop,
};
use selkie_replay::{DebugFiles, ReplayFile};

/// Returns 7 from a function: the line of that is where the program failed.
const FAILS: &str = ".globl entrypoint
entrypoint:
    call check
    exit
check:
    mov64 r0, 7
    exit
";

fn session(elf: Vec<u8>) -> Session {
    let mut svm = Svm::new();
    svm.add_program(address("program"), elf).unwrap();
    let call = Instruction { program_id: address("program"), accounts: vec![], data: vec![] };
    let replay = svm.record_instructions("motion", &[call], &[]);
    let timeline = ReplayFile::from(replay).timeline(0).unwrap();
    Session::new(History::new(timeline, &DebugFiles::default()), PathMap::default())
}

#[test]
fn a_session_that_begins_at_a_failure_goes_on_to_the_end() {
    let options = selkie_asm::Options {
        name: "fails.s".to_owned(),
        debug_info: true,
        ..selkie_asm::Options::default()
    };
    let elf = selkie_asm::assemble(FAILS, &options).assembly.unwrap().to_elf();
    let mut session = session(elf);
    let line = |session: &Session| session.frames()[0].location.as_ref().map(|it| it.line);
    let go = |session: &mut Session| {
        session.go(Motion::Continue, Direction::Forward, Granularity::Line).clone()
    };
    // As editors ask for it.
    session.set_filters(Filters { error: true, ..Filters::default() });
    session.begin(None);
    assert!(matches!(session.stop(), Stop::Exception("error", _)), "{:?}", session.stop());
    assert_eq!(line(&session), Some(6));
    assert_eq!(go(&mut session), Stop::End);
    // From before the failure, it is a stop.
    session.go_to(0);
    assert!(matches!(go(&mut session), Stop::Exception("error", _)));
}

#[test]
fn the_value_of_a_function_is_told_when_it_has_returned() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/debug");
    let mut session = session(fs::read(folder.join("stack.clang-22.so")).unwrap());
    let place = Place::Line("stack.c".to_owned(), 7);
    session.add_breakpoint(&Request::at(place)).unwrap();
    let out = |session: &mut Session| {
        session.go(Motion::Out, Direction::Forward, Granularity::Line);
        session.take_output()
    };
    session.add_breakpoint(&Request::at(Place::Function("work".to_owned()))).unwrap();
    session.go(Motion::Continue, Direction::Forward, Granularity::Line);
    assert_eq!(session.frames()[0].name, "work");
    session.retain_breakpoints(|_| false);
    // 7 + 1 + 3 + 0
    assert_eq!(out(&mut session), ["work returned 11: uint64_t"]);
    assert_eq!(session.frames()[0].name, "entrypoint");
    session.go(Motion::Over, Direction::Forward, Granularity::Line);
    assert_eq!(session.take_output(), [""; 0]);
}
