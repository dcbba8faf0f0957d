//! Frames and steps across invocations, in programs without debug information.

use selkie::{Signer as _, Svm, address, fixture::Fixture, keypair, programs, token};
use selkie_debug::{Direction, Granularity, History, Motion, PathMap, Session};
use selkie_replay::{DebugFiles, ReplayFile};

/// Creates an associated token account: the program invokes the token program.
fn session() -> Session {
    let payer = keypair("payer");
    let (mint, owner) = (address("mint"), address("owner"));
    let mut svm = Svm::new();
    svm.airdrop(&payer.pubkey(), 1_000_000_000).unwrap();
    let token = programs::TOKEN.id;
    svm.set_mint(mint, &token, &payer.pubkey(), 6).unwrap();
    let create = token::create_associated(&token, &payer.pubkey(), &owner, &mint);
    let transaction = svm.sign(&[create], &[&payer]).unwrap();
    let fixture = Fixture::record(&svm, "create", &transaction);
    let timeline = ReplayFile::from(fixture).timeline(0).unwrap();
    Session::new(History::new(timeline, &DebugFiles::default()), PathMap::default())
}

/// Goes to the first instruction of an invoked program.
fn in_callee() -> Session {
    let mut session = session();
    let mut invocations = session.history().timeline().invocations().iter();
    let callee = invocations.find(|it| it.stack_height == 2 && !it.steps.is_empty()).unwrap();
    let start = callee.steps.start;
    session.go_to(start);
    session
}

#[test]
fn callers_are_frames_of_another_program() {
    let session = in_callee();
    let frames = session.frames();
    let (inner, outer) = (&frames[0], frames.last().unwrap());
    assert_eq!((inner.frame.height, outer.frame.height), (2, 1));
    assert_ne!(inner.program, outer.program);
    // Each has its own registers and memory.
    let last = frames.len() - 1;
    let input = 0x4_0000_0000;
    assert!(session.registers(0).len() > session.registers(last).len() || last == 1);
    assert_ne!(session.memory(0, input, 4096), session.memory(last, input, 4096));
    assert_eq!(session.memory(last, input, 8).len(), 8);
}

#[test]
fn steps_lead_out_of_an_invocation_both_ways() {
    let mut session = in_callee();
    let start = session.position();
    session.go(Motion::Out, Direction::Forward, Granularity::Line);
    let after = session.position();
    assert!(after > start && session.frames()[0].frame.height == 1, "step {after}");
    // Going back over the call leads to it, and not into the callee.
    session.go(Motion::Over, Direction::Backward, Granularity::Line);
    assert_eq!((session.position(), session.frames()[0].frame.height), (start - 1, 1));
    session.go(Motion::Over, Direction::Forward, Granularity::Line);
    assert_eq!(session.position(), after);
    session.go_to(start + 5);
    session.go(Motion::Out, Direction::Backward, Granularity::Line);
    assert_eq!(session.position(), start - 1);
}
