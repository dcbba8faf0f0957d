//! Functions that need more stack than a frame has.

use selkie_isa::Version;
use selkie_link::{Input, Options, link};

use crate::{
    machine::{linked, run},
    object::{Object, word},
    parts::{CALL, EXIT, function, report},
    rendered,
};

/// Three such functions: one passes arguments in memory, one passes them to itself, and one has neither.
fn large() -> Object {
    let mut object = Object::default();
    let mut main = vec![
        word(0x7a, 10, 0, -24, 5),
        word(0x7a, 10, 0, -4200, 6),
        word(0x7a, 11, 0, -8, 1000),
        word(0x7a, 11, 0, -16, 70),
        word(0xb7, 1, 0, 0, 2),
        CALL,
        word(0xbf, 6, 0, 0, 0),
        CALL,
        word(0x0f, 0, 6, 0, 0),
        word(0x79, 1, 10, -24, 0),
        word(0x0f, 0, 1, 0, 0),
        word(0x79, 1, 10, -4200, 0),
        word(0x0f, 0, 1, 0, 0),
    ];
    main.extend(report());
    function(&mut object, "entrypoint", &main, &[(40, 10, "sum"), (56, 10, "leaf")]);
    let sum = [
        word(0x7a, 10, 0, -5000, 11),
        word(0x15, 1, 0, 7, 0),
        word(0x79, 2, 11, 8, 0),
        word(0x07, 2, 0, 0, 1),
        word(0x7b, 11, 2, -8, 0),
        word(0x7a, 11, 0, -16, 4),
        word(0x07, 1, 0, 0, -1),
        CALL,
        word(0x05, 0, 0, 1, 0),
        word(0xb7, 0, 0, 0, 0),
        word(0x79, 1, 11, 8, 0),
        word(0x0f, 0, 1, 0, 0),
        word(0x79, 1, 11, 16, 0),
        word(0x0f, 0, 1, 0, 0),
        word(0x79, 1, 10, -5000, 0),
        word(0x0f, 0, 1, 0, 0),
        EXIT,
    ];
    function(&mut object, "sum", &sum, &[(56, 10, "sum")]);
    // It begins with the target of a jump.
    let leaf = [
        word(0x7a, 10, 0, -8008, 30),
        word(0xbf, 2, 10, 0, 0),
        word(0x07, 2, 0, 0, -8000),
        word(0x7a, 2, 0, 0, 12),
        word(0x79, 0, 10, -8008, 0),
        word(0x79, 1, 10, -8000, 0),
        word(0x0f, 0, 1, 0, 0),
        word(0x55, 0, 0, -8, 42),
        EXIT,
    ];
    function(&mut object, "leaf", &leaf, &[]);
    object
}

#[test]
fn functions_with_large_frames_get_the_frames_below() {
    let object = large().write();
    let linked = linked(&[("a.o", &object)], Version::V3);
    let run = run(&linked.elf, &[]);
    assert_eq!(run.result, Ok(()));
    let sum = (1000 + 70 + 11) + (1001 + 4 + 11) + (1002 + 4 + 11);
    assert_eq!(run.data, u64::to_le_bytes(sum + 42 + 5 + 6));
}

#[test]
fn frames_between_gaps_stay_alone() {
    let object = large().write();
    let options = Options { version: Version::V0, ..Options::default() };
    let errors = link(&[Input { name: "a.o", bytes: &object }], &options).unwrap_err();
    let said = rendered(&errors);
    assert_eq!(said.matches("exceeded max offset of -4096").count(), 3, "{said}");
    assert!(said.contains("build for V3, where functions can have several frames"), "{said}");
}
