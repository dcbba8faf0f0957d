//! Arithmetic of 128 bits, as the linker's own routines do it.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "conversions are tested"
)]

use selkie_isa::Version;

use crate::{
    machine::{VERSIONS, linked, run},
    object::Object,
    parts::{CALL, function_of, undefined},
};

/// Applies a routine to each pair of numbers in the instruction data, and returns the results.
///
/// The first of the heap's bytes are where results go. Numbers stand for calls: that of the routine,
/// and that of the syscall.
const EACH: &str = "
    mov64 r6, r1
    add64 r6, 16        ; behind the counts of accounts and of bytes
    ldxdw r7, [r1 + 8]
    add64 r7, r6
    lddw r8, 0x300000000
next:
    jge r6, r7, done
    ldxdw r1, [r6 + 0]
    ldxdw r2, [r6 + 8]
    ldxdw r3, [r6 + 16]
    ldxdw r4, [r6 + 24]
    mov64 r5, r10
    add64 r5, -8
    stdw [r10 - 8], -1  ; of which an `int` is written, if the routine is one that checks
    mov64 r0, 0x7ca11
    ldxw r1, [r10 - 8]
    jne r1, 1, fits
    mov64 r0, 0         ; what does not fit is 0 here
    mov64 r2, 0
fits:
    stxdw [r8 + 0], r0
    stxdw [r8 + 8], r2
    add64 r6, 32
    add64 r8, 16
    ja next
done:
    lddw r1, 0x300000000
    mov64 r2, r8
    sub64 r2, r1
    mov64 r0, 0x7ca12
    mov64 r0, 0
    exit
";

const RESULTS_MAX: usize = 1024 / 16;

type Pair = (u128, u128);

/// What a program makes of pairs by calling the routine.
fn results(name: &str, version: Version, pairs: &[Pair]) -> Vec<u128> {
    let output = selkie_asm::assemble(EACH, &selkie_asm::Options::default());
    let mut text = output.assembly.expect("the source has no errors").text;
    let calls = [(0x7ca11_i32, name), (0x7ca12, "sol_set_return_data")];
    let relocations = calls.map(|(marker, name)| {
        let is_marked = |slot: &[u8]| slot[4..] == marker.to_le_bytes();
        let at = text.chunks(8).position(is_marked).expect("the call is marked") * 8;
        text[at..at + 8].copy_from_slice(&CALL);
        (at as u64, 10, name)
    });
    let mut object = Object::default();
    function_of(&mut object, "entrypoint", text, &relocations);
    calls.iter().for_each(|(_, name)| undefined(&mut object, name));
    let program = linked(&[("each.o", &object.write())], version);
    let mut results = Vec::new();
    for pairs in pairs.chunks(RESULTS_MAX) {
        let bytes = |&(a, b): &Pair| [a.to_le_bytes(), b.to_le_bytes()].concat();
        let data: Vec<u8> = pairs.iter().flat_map(bytes).collect();
        let run = run(&program.elf, &data);
        run.result.expect("the program ends");
        let numbers = run.data.chunks(16).map(|it| it.try_into().expect("of 16 bytes"));
        results.extend(numbers.map(u128::from_le_bytes));
    }
    results
}

/// Numbers at every edge, and others of every length.
fn pairs() -> Vec<Pair> {
    let edges: Vec<u128> = [0, 31, 32, 33, 63, 64, 65, 95, 96, 127]
        .into_iter()
        .flat_map(|bit| [(1_u128 << bit) - 1, 1 << bit, (1 << bit) + 1])
        .chain([u128::MAX, u128::MAX - 1, 1 << 127, 10, 1_000_000_007, 10_u128.pow(18)])
        .collect();
    let mut pairs: Vec<Pair> =
        edges.iter().flat_map(|&a| edges.iter().map(move |&b| (a, b))).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut number = || {
        let (low, high, length) = (u128::from(word()), u128::from(word()), word() % 128);
        let number = (low | high << 64) >> length;
        // Long runs of ones and zeros are where guesses of digits are wrong.
        if word() % 4 == 0 { number | u128::MAX >> (word() % 128) << (word() % 64) } else { number }
    };
    pairs.extend((0..10_000).map(|_| (number(), number())));
    pairs
}

#[track_caller]
fn check(name: &str, is_defined: fn(&Pair) -> bool, expected: fn(u128, u128) -> u128) {
    let pairs: Vec<Pair> = pairs().into_iter().filter(is_defined).collect();
    check_each(name, &pairs, u128::MAX, expected);
}

/// Checks the bits of the results that `mask` has.
#[track_caller]
fn check_each(name: &str, pairs: &[Pair], mask: u128, expected: impl Fn(u128, u128) -> u128) {
    for version in VERSIONS {
        let results = results(name, version, pairs);
        assert_eq!(results.len(), pairs.len());
        for (&(a, b), result) in pairs.iter().zip(results) {
            assert_eq!(result & mask, expected(a, b), "{name}({a:#x}, {b:#x}) on {version}");
        }
    }
}

/// Checks a conversion to a float, whose bits are returned in one register.
#[track_caller]
fn check_to_float(name: &str, expected: fn(u128) -> u64) {
    check_each(name, &pairs(), u64::MAX.into(), |a, _| expected(a).into());
}

/// Checks a conversion of a float, whose bits are passed in one register: of floats with every
/// exponent from 0 to that of NaN, and fractions at the edges and between.
#[track_caller]
fn check_from_float(name: &str, fraction_bits: u32, exponent_bits: u32, expected: fn(u64) -> u128) {
    let ones = (1_u64 << fraction_bits) - 1;
    let mut fractions = vec![0, 1, 2, ones / 2, ones / 2 + 1, ones - 1, ones];
    fractions.extend(pairs().iter().rev().take(20).map(|it| it.0 as u64 & ones));
    let exponents = 0..1_u64 << exponent_bits;
    let floats = exponents.flat_map(|exponent| {
        let sign = 1 << (fraction_bits + exponent_bits);
        let float = move |it: &u64| exponent << fraction_bits | it;
        fractions.iter().map(float).flat_map(move |it| [it, it | sign]).collect::<Vec<_>>()
    });
    let pairs: Vec<Pair> = floats.map(|it| (it.into(), 0)).collect();
    check_each(name, &pairs, u128::MAX, |a, _| expected(a as u64));
}

#[test]
fn conversions_of_int128_to_floats_round_as_the_host_does() {
    check_to_float("__floatuntidf", |it| (it as f64).to_bits());
    check_to_float("__floattidf", |it| (it.cast_signed() as f64).to_bits());
    check_to_float("__floatuntisf", |it| (it as f32).to_bits().into());
    check_to_float("__floattisf", |it| (it.cast_signed() as f32).to_bits().into());
}

#[test]
fn conversions_of_floats_to_int128_saturate_as_the_host_does() {
    check_from_float("__fixunsdfti", 52, 11, |it| f64::from_bits(it) as u128);
    check_from_float("__fixdfti", 52, 11, |it| (f64::from_bits(it) as i128).cast_unsigned());
    check_from_float("__fixunssfti", 23, 8, |it| f32::from_bits(it as u32) as u128);
    check_from_float("__fixsfti", 23, 8, |it| (f32::from_bits(it as u32) as i128).cast_unsigned());
}

#[test]
fn int128_products_equal_those_of_the_host() {
    check("__multi3", |_| true, u128::wrapping_mul);
    check(
        "__muloti4",
        |_| true,
        |a, b| a.cast_signed().checked_mul(b.cast_signed()).map_or(0, i128::cast_unsigned),
    );
}

#[test]
fn unsigned_int128_division_equals_that_of_the_host() {
    check("__udivti3", |it| it.1 != 0, |a, b| a / b);
    check("__umodti3", |it| it.1 != 0, |a, b| a % b);
}

#[test]
fn signed_int128_division_equals_that_of_the_host() {
    check(
        "__divti3",
        |it| it.1 != 0,
        |a, b| a.cast_signed().wrapping_div(b.cast_signed()).cast_unsigned(),
    );
    check(
        "__modti3",
        |it| it.1 != 0,
        |a, b| a.cast_signed().wrapping_rem(b.cast_signed()).cast_unsigned(),
    );
}
