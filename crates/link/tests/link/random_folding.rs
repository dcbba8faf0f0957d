//! Programs of random functions, many of them equal: folding does not change what they compute.

use selkie_isa::Version;
use selkie_link::{Icf, Input, Options, link};

use crate::{
    machine::{VERSIONS, run},
    object::{Object, Section, word},
    parts::{CALL, EXIT, function, report, symbol},
    random::Random,
};

const FUNCTIONS: u64 = 12;
const CONSTANTS: u64 = 4;

/// A part of a function, whose value is in r0.
#[derive(Clone, Copy, Debug)]
enum Part {
    Add(i32),
    Multiply(i32),
    /// Adds a constant of the read-only data, by its number.
    Load(u64),
    /// Calls the function with this number.
    Call(u64),
}

/// Returns the parts of a function. There are few kinds, so that functions are often equal, or equal
/// but for what they refer to.
fn parts(random: &mut Random, index: u64) -> Vec<Part> {
    let count = 1 + random.below(3);
    let part = |_| match random.below(5) {
        0 => Part::Add(random.of(&[1, 2])),
        1 => Part::Multiply(3),
        2 => Part::Load(random.below(CONSTANTS)),
        _ if index + 1 < FUNCTIONS => Part::Call(index + 1 + random.below(FUNCTIONS - index - 1)),
        _ => Part::Add(7),
    };
    (0..count).map(part).collect()
}

/// What the function returns for a value.
fn evaluate(functions: &[Vec<Part>], constants: &[u64], index: u64, value: u64) -> u64 {
    let function = &functions[usize::try_from(index).unwrap()];
    function.iter().fold(value, |value, part| match *part {
        Part::Add(imm) => value.wrapping_add_signed(imm.into()),
        Part::Multiply(imm) => value.wrapping_mul(i64::from(imm).cast_unsigned()),
        Part::Load(at) => value.wrapping_add(constants[usize::try_from(at).unwrap()]),
        Part::Call(other) => evaluate(functions, constants, other, value),
    })
}

/// Adds a function to an object: `r0 = f(r1)`.
fn add(object: &mut Object, index: u64, parts: &[Part]) {
    let mut words = vec![word(0xbf, 0, 1, 0, 0)];
    let mut references = Vec::new();
    for part in parts {
        let at = words.len() as u64 * 8;
        match *part {
            Part::Add(imm) => words.push(word(0x07, 0, 0, 0, imm)),
            Part::Multiply(imm) => words.push(word(0x27, 0, 0, 0, imm)),
            Part::Load(constant) => {
                references.push((at, 1, format!("c{constant}")));
                let load = word(0x79, 2, 2, 0, 0);
                words.extend([word(0x18, 2, 0, 0, 0), [0; 8], load, word(0x0f, 0, 2, 0, 0)]);
            }
            Part::Call(other) => {
                references.push((at + 8, 10, format!("f{other}")));
                words.extend([word(0xbf, 1, 0, 0, 0), CALL]);
            }
        }
    }
    words.push(EXIT);
    let references: Vec<_> = references.iter().map(|(at, kind, it)| (*at, *kind, &**it)).collect();
    function(object, &format!("f{index}"), &words, &references);
}

/// Adds a program that applies all functions one after another.
fn add_entry(object: &mut Object) {
    let mut words = vec![word(0xb7, 0, 0, 0, 5)];
    let mut references = Vec::new();
    for index in 0..FUNCTIONS {
        words.extend([word(0xbf, 1, 0, 0, 0), CALL]);
        references.push((words.len() as u64 * 8 - 8, 10, format!("f{index}")));
    }
    words.extend(report());
    let references: Vec<_> = references.iter().map(|(at, kind, it)| (*at, *kind, &**it)).collect();
    function(object, "entrypoint", &words, &references);
}

fn add_constant(object: &mut Object, index: usize, value: u64) {
    let (name, section) = (format!("c{index}"), format!(".rodata.c{index}"));
    symbol(object, &name, &section, 8, 0x01);
    let data = value.to_le_bytes().to_vec();
    let section =
        Section { name: section, kind: 1, flags: 2, align: 8, data, ..Section::default() };
    object.sections.push(section);
}

/// Returns how many functions a program has, after it reported what is expected.
fn functions_of(bytes: &[u8], version: Version, icf: Icf, expected: u64, seed: u64) -> usize {
    let options = Options { version, icf, ..Options::default() };
    let linked = link(&[Input { name: "a.o", bytes }], &options).expect("it links");
    let run = run(&linked.elf, &[]);
    assert_eq!(run.result, Ok(()), "seed {seed}, {version}, {icf:?}");
    assert_eq!(run.data, expected.to_le_bytes(), "seed {seed}, {version}, {icf:?}");
    linked.functions.len()
}

/// Returns how many functions were folded.
fn check(seed: u64) -> usize {
    let mut random = Random(seed);
    let functions: Vec<_> = (0..FUNCTIONS).map(|index| parts(&mut random, index)).collect();
    let constants: Vec<u64> = (0..CONSTANTS).map(|_| random.of(&[11, 13])).collect();
    let mut object = Object::default();
    add_entry(&mut object);
    functions.iter().zip(0..).for_each(|(it, index)| add(&mut object, index, it));
    constants.iter().enumerate().for_each(|(index, &it)| add_constant(&mut object, index, it));
    let bytes = object.write();
    let apply = |value, index| evaluate(&functions, &constants, index, value);
    let expected = (0..FUNCTIONS).fold(5, apply);
    let folded = VERSIONS.map(|version| {
        let count = |icf| functions_of(&bytes, version, icf, expected, seed);
        let (none, safe, all) = (count(Icf::None), count(Icf::Safe), count(Icf::All));
        assert!(all <= safe && safe <= none, "seed {seed}, {version}: {none}, {safe}, {all}");
        none - all
    });
    folded.into_iter().sum()
}

#[test]
fn folding_does_not_change_what_random_functions_compute() {
    let folded: usize = (0..200).map(check).sum();
    assert!(folded > 200, "only {folded} functions were folded");
}
