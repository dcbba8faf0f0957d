//! How much stack functions use.

mod support;

use selkie_inspect::{StackUse, stack_use};
use selkie_isa::{Version, symbol::pc_key};
use support::{EXIT, program, word};

/// The bytes of the only function.
fn bytes_of(version: Version, words: &[u64]) -> u64 {
    let words = [words, &[EXIT]].concat();
    let uses = stack_use(&program(version, &words, &[(0, "entrypoint")]));
    assert_eq!(uses.len(), 1);
    uses[0].bytes
}

const MOV_R1_R10: u64 = 0xa1bf;

#[test]
fn loads_and_stores_below_the_frame_pointer_use_stack() {
    assert_eq!(bytes_of(Version::V0, &[]), 0);
    assert_eq!(bytes_of(Version::V0, &[word(0x7b, 0x1a, -8, 0), word(0x79, 0xa1, -24, 0)]), 24);
    assert_eq!(bytes_of(Version::V2, &[word(0x97, 0x0a, -16, 1)]), 16);
    assert_eq!(bytes_of(Version::V0, &[word(0x7b, 0x21, -80, 0)]), 0, "r1 is no frame pointer");
}

#[test]
fn addresses_computed_from_the_frame_pointer_use_stack() {
    assert_eq!(bytes_of(Version::V0, &[MOV_R1_R10, word(0x07, 1, 0, -5000)]), 5000);
    assert_eq!(bytes_of(Version::V0, &[MOV_R1_R10, word(0x17, 1, 0, 5000)]), 5000);
    let by_register = [word(0xb7, 2, 0, -30728), MOV_R1_R10, word(0x0f, 0x21, 0, 0)];
    assert_eq!(bytes_of(Version::V0, &by_register), 30728);
    let lost = [MOV_R1_R10, word(0x67, 1, 0, 1), word(0x07, 1, 0, -5000)];
    assert_eq!(bytes_of(Version::V0, &lost), 0);
}

#[test]
fn call_clobbers_tracked_registers() {
    let call = word(0x85, 0, 0, 0x1234);
    assert_eq!(bytes_of(Version::V3, &[MOV_R1_R10, call, word(0x07, 1, 0, -5000)]), 0);
    let saved = [word(0xbf, 0xa6, 0, 0), call, word(0x07, 6, 0, -5000)];
    assert_eq!(bytes_of(Version::V3, &saved), 5000);
}

#[test]
fn stack_arguments_are_not_stack_use() {
    let store = |offset| word(0x7b, 0x1a, offset, 0);
    let load = |offset| word(0x79, 0xa1, offset, 0);
    for (version, given) in [(Version::V0, -12288), (Version::V3, -8192)] {
        let passed = [store(-4096), store(-4088)];
        assert_eq!(bytes_of(version, &passed), 0, "a sixth and a seventh argument are passed on");
        assert_eq!(bytes_of(version, &[passed.as_slice(), &[store(-40)]].concat()), 40);
        assert_eq!(bytes_of(version, &[load(given), load(given + 8), store(-16)]), 16);
        assert_eq!(
            bytes_of(version, &[load(given), store(given)]),
            u64::from(given.unsigned_abs())
        );
        assert_eq!(bytes_of(version, &[store(-4096), load(-4096)]), 4096, "its own array");
    }
}

#[test]
fn functions_with_dynamic_frames_have_no_limit() {
    let words = [word(0x07, 10, 0, -8192), word(0x7b, 0x1a, 8, 0), EXIT];
    let uses = stack_use(&program(Version::V1, &words, &[(0, "entrypoint")]));
    assert_eq!((uses[0].bytes, uses[0].limit, uses[0].warning()), (8192, None, None));
}

#[test]
fn only_reachable_functions_are_live() {
    let words = [
        word(0x85, 0x10, 0, pc_key(4).cast_signed()),
        EXIT,
        word(0x7b, 0x1a, -5000, 0),
        EXIT,
        word(0x18, 1, 0, 0x30),
        1 << 32,
        word(0x7b, 0x1a, -5000, 0),
        EXIT,
    ];
    let functions = [(0, "entrypoint"), (2, "dead"), (4, "called"), (6, "pointed_at")];
    let uses = stack_use(&program(Version::V0, &words, &functions));
    let live: Vec<(&str, bool, u64)> =
        uses.iter().map(|it: &StackUse| (it.function.as_str(), it.is_live, it.excess())).collect();
    let expected = [
        ("entrypoint", true, 0),
        ("dead", false, 904),
        ("called", true, 0),
        ("pointed_at", true, 904),
    ];
    assert_eq!(live, expected);
    assert_eq!(uses[1].deepest_pc, Some(2));
}
