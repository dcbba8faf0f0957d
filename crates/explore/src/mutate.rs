//! Mutation of cases: of their sequence, and of the data of their calls.

use crate::{
    call_sequence::{CALLS_MAX, Call, CallSequence, DATA_BYTES_MAX},
    random::Random,
};

/// Numbers at which programs change their minds.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    8,
    32,
    100,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    u64::MAX,
];

/// What mutation draws from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Material<'a> {
    /// The number of actions.
    pub(crate) actions: usize,
    /// A case to take calls from.
    pub(crate) other: &'a CallSequence,
    /// Values that programs have compared.
    pub(crate) words: &'a [Vec<u8>],
}

/// Returns a new case.
pub(crate) fn generate(random: &mut Random, actions: usize) -> CallSequence {
    let calls = random.below(4).saturating_add(1);
    CallSequence { calls: (0..calls).map(|_| call(random, actions)).collect() }
}

fn call(random: &mut Random, actions: usize) -> Call {
    let len = random.below(33);
    let action = random.below(actions);
    let is_small = random.one_in(2);
    let byte = |_| if is_small && random.one_in(2) { 0 } else { random.byte() };
    Call { action, data: (0..len).map(byte).collect() }
}

/// Changes a case in one to eight ways.
pub(crate) fn mutate(case: &mut CallSequence, random: &mut Random, material: Material<'_>) {
    let changes = 1_usize.checked_shl(random.below(4).try_into().unwrap_or(0)).unwrap_or(1);
    for _ in 0..changes {
        if case.calls.is_empty() || random.one_in(3) {
            change_sequence(case, random, material);
        } else {
            let index = random.below(case.calls.len());
            if let Some(call) = case.calls.get_mut(index) {
                change_data(&mut call.data, random, material.words);
            }
        }
    }
    case.calls.truncate(CALLS_MAX);
    if case.calls.is_empty() {
        case.calls.push(call(random, material.actions));
    }
}

fn change_sequence(case: &mut CallSequence, random: &mut Random, material: Material<'_>) {
    let calls = &mut case.calls;
    let at = random.below(calls.len().saturating_add(1));
    let index = random.below(calls.len());
    match random.below(7) {
        0 | 1 => calls.insert(at, call(random, material.actions)),
        2 if !calls.is_empty() => drop(calls.remove(index)),
        3 => {
            if let Some(copy) = calls.get(index).cloned() {
                calls.insert(at, copy);
            }
        }
        4 if at < calls.len() => calls.swap(index, at),
        5 => {
            // The start of this case, and the end of another one.
            calls.truncate(at);
            let from = random.below(material.other.calls.len());
            calls.extend(material.other.calls.iter().skip(from).cloned());
        }
        _ => {
            if let Some(call) = calls.get_mut(index) {
                call.action = random.below(material.actions);
            }
        }
    }
}

fn change_data(data: &mut Vec<u8>, random: &mut Random, words: &[Vec<u8>]) {
    let at = random.below(data.len());
    match random.below(8) {
        0 => {
            if let Some(byte) = data.get_mut(at) {
                *byte ^= 1_u8.rotate_left(random.below(8).try_into().unwrap_or(0));
            }
        }
        1 => {
            if let Some(byte) = data.get_mut(at) {
                *byte = random.byte();
            }
        }
        2 => add(data, at, random),
        3 => {
            let number = random.pick(&NUMBERS).copied().unwrap_or(0).to_le_bytes();
            let len = size(random);
            write(data, at, number.get(..len).unwrap_or_default());
        }
        4 | 5 => {
            if let Some(word) = random.pick(words) {
                write(data, at, word);
            }
        }
        6 => {
            let more = random.below(16).saturating_add(1);
            data.extend((0..more).map(|_| random.byte()));
            data.truncate(DATA_BYTES_MAX);
        }
        _ => data.truncate(at),
    }
}

/// Returns 1, 2, 4 or 8.
fn size(random: &mut Random) -> usize {
    random.pick(&[1, 2, 4, 8]).copied().unwrap_or(1)
}

/// Adds a small number to a little-endian one.
fn add(data: &mut [u8], at: usize, random: &mut Random) {
    let len = size(random);
    let delta = (random.below(32) as u64).wrapping_sub(16);
    let Some(place) = data.get_mut(at..).and_then(|rest| rest.get_mut(..len)) else { return };
    let mut number = [0; 8];
    for (to, from) in number.iter_mut().zip(place.iter()) {
        *to = *from;
    }
    let number = u64::from_le_bytes(number).wrapping_add(delta).to_le_bytes();
    for (to, from) in place.iter_mut().zip(number) {
        *to = from;
    }
}

/// Writes bytes over others, or behind the end.
fn write(data: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at.saturating_add(bytes.len());
    if end > DATA_BYTES_MAX {
        return;
    }
    if data.len() < end {
        data.resize(end, 0);
    }
    if let Some(place) = data.get_mut(at..end) {
        place.copy_from_slice(bytes);
    }
}
