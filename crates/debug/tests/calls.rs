//! Frames and steps across invocations, in programs without debug information.

mod support;

use selkie::programs;
use selkie_debug::{Direction, Filters, Granularity, Motion, Session, Stop};

use support::session;

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

/// The first address of the heap, which every program has of its own.
const HEAP: u64 = 0x3_0000_0000;

#[test]
fn only_what_runs_can_be_changed() {
    let mut session = in_callee();
    let (caller, registers) = (session.frames().len() - 1, session.registers(0));
    let heap = session.memory(0, HEAP, 8);
    for target in ["$r6", "*(u64*)0x300000000"] {
        let error = session.assign(caller, target, "1234").unwrap_err();
        assert!(error.message.contains("step out to it first"), "{}", error.message);
    }
    assert!(session.write_memory(caller, HEAP, &[7; 8]).is_err());
    assert_eq!((session.registers(0), session.memory(0, HEAP, 8)), (registers, heap));
    session.assign(0, "$r6", "1234").unwrap();
    session.write_memory(0, HEAP, &[7; 8]).unwrap();
    assert!(session.registers(0).contains(&("r6".to_owned(), 1234)));
    assert_eq!(session.memory(0, HEAP, 8), [7; 8]);
}

#[test]
fn callers_in_the_same_program_share_its_memory() {
    let mut session = session();
    while session.frames().len() < 2 {
        session.go(Motion::In, Direction::Forward, Granularity::Instruction);
        assert!(!session.is_at_end(), "the program calls functions");
    }
    assert_eq!(session.frames()[1].frame.height, 1);
    let error = session.assign(1, "$r6", "1234").unwrap_err();
    assert!(error.message.contains("registers"), "{}", error.message);
    session.assign(1, "*(u64*)0x300000000", "1234").unwrap();
    assert_eq!(session.memory(0, HEAP, 2), 1234_u16.to_le_bytes());
}

#[test]
fn watches_are_of_the_frame_they_were_set_in() {
    let mut session = in_callee();
    let (callee, caller) = (session.frame_id(0), session.frame_id(session.frames().len() - 1));
    session.add_watch(caller, "heap", HEAP, 8);
    let watch = &session.watches()[0];
    assert_eq!((watch.instruction, watch.height), (caller.instruction, 1));
    assert_ne!(watch.instruction, callee.instruction);
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

#[test]
fn changes_of_accounts_are_a_stop() {
    let mut session = session();
    session.set_filters(Filters { account: Some(String::new()), ..Filters::default() });
    let mut changed = Vec::new();
    while let Stop::Exception("account", text) =
        session.go(Motion::Continue, Direction::Forward, Granularity::Line)
    {
        changed.push(text.clone());
    }
    let owner = programs::TOKEN.id.to_string();
    assert!(changed.iter().any(|it| it.contains("lamports 0 → ")), "{changed:?}");
    assert!(changed.iter().any(|it| it.contains(&format!("→ {owner}"))), "{changed:?}");
    // The account is named by the beginning of its address.
    let key = changed[0].split(':').next().unwrap().to_owned();
    session.go_to(0);
    session.set_filters(Filters { account: Some(key.clone()), ..Filters::default() });
    let stop = session.go(Motion::Continue, Direction::Forward, Granularity::Line);
    assert!(matches!(stop, Stop::Exception("account", text) if text.starts_with(&key)), "{stop:?}");
}

#[test]
fn accounts_are_as_the_program_sees_them() {
    let mut session = in_callee();
    let owned = |session: &Session, program: &str| {
        let accounts = session.accounts();
        accounts.iter().filter(|it| it.text.ends_with(program)).count()
    };
    let token = format!("token ({})", programs::TOKEN.id);
    let seen = session.accounts();
    assert!(seen.iter().any(|it| it.value.address().is_some()), "{seen:?}");
    let before = owned(&session, &token);
    session.go_to(session.end());
    assert!(owned(&session, &token) > before, "there is a token account more");
}

#[test]
fn the_calls_of_a_line_are_known_before_they_are_made() {
    let mut session = session();
    // Without lines, a line is an instruction: one that calls has one call ahead.
    while session.calls_ahead().is_empty() {
        session.go(Motion::In, Direction::Forward, Granularity::Instruction);
        assert!(!session.is_at_end(), "the program calls functions");
    }
    let [(position, _)] = session.calls_ahead()[..] else { panic!("one call") };
    assert_eq!(position, session.position() + 1);
}

#[test]
fn steps_may_stay_out_of_invoked_programs() {
    let mut session = in_callee();
    let call = session.position() - 1;
    session.go_to(call);
    session.go(Motion::InProgram, Direction::Forward, Granularity::Instruction);
    let after = session.position();
    assert!(after > call + 1, "the callee has instructions");
    assert_eq!(session.frames()[0].frame.height, 1);
    session.go(Motion::InProgram, Direction::Backward, Granularity::Instruction);
    assert_eq!(session.position(), call);
}
