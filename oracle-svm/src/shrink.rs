//! Shrinks a differing case while it still differs.

use std::sync::Arc;

use crate::{case::Case, generate::ids::SYSVAR};

/// Returns the smallest case found for which `differs` is true.
pub(crate) fn shrink(case: &Case, mut differs: impl FnMut(&Case) -> bool) -> Case {
    let mut current = case.clone();
    loop {
        let mut progress = false;
        for index in (0..current.transactions.len()).rev() {
            let mut changed = current.clone();
            changed.transactions.remove(index);
            if !changed.transactions.is_empty() && differs(&changed) {
                (current, progress) = (changed, true);
            }
        }
        for key in current.accounts.keys().copied().collect::<Vec<_>>() {
            // A chain needs its sysvars.
            if current.accounts[&key].owner == SYSVAR {
                continue;
            }
            let mut changed = current.clone();
            changed.accounts.remove(&key);
            if differs(&changed) {
                (current, progress) = (changed, true);
            }
        }
        for index in 0..current.transactions.len() {
            for bytes in without_instructions(&current.transactions[index]) {
                let mut changed = current.clone();
                changed.transactions[index] = bytes;
                if differs(&changed) {
                    (current, progress) = (changed, true);
                    break;
                }
            }
        }
        if !progress {
            break;
        }
    }
    for key in current.accounts.keys().copied().collect::<Vec<_>>() {
        // Some sysvars end with unused bytes, which a vector does not need.
        let mut changed = current.clone();
        if let Some(account) = changed.accounts.get_mut(&key)
            && account.owner == SYSVAR
            && account.data.len() > 500
        {
            let used = account.data.iter().rposition(|byte| *byte != 0).map_or(0, |it| it + 1);
            Arc::make_mut(&mut account.data).truncate(used.next_multiple_of(8));
            if differs(&changed) {
                current = changed;
            }
        }
    }
    current
}

/// Returns a legacy transaction without each one of its instructions; none for other formats.
fn without_instructions(bytes: &[u8]) -> Vec<Vec<u8>> {
    let Some(parts) = Parts::read(bytes) else { return Vec::new() };
    let list = parts.instructions.iter().enumerate().rev().map(|(index, _)| {
        let kept = parts.instructions.iter().enumerate().filter(|it| it.0 != index);
        let kept: Vec<&[u8]> = kept.map(|it| *it.1).collect();
        let count = u8::try_from(kept.len()).expect("one less than a byte counts");
        [parts.head, &[count], &kept.concat(), parts.tail].concat()
    });
    list.collect()
}

/// Splits a transaction into the bytes before its instructions, the instructions, and the rest.
struct Parts<'a> {
    head: &'a [u8],
    instructions: Vec<&'a [u8]>,
    tail: &'a [u8],
}

impl<'a> Parts<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut at = 0;
        let signatures = length(bytes, &mut at)?;
        at += signatures * 64;
        if *bytes.get(at)? & 0x80 != 0 {
            if *bytes.get(at)? != 0x80 {
                return None;
            }
            at += 1;
        }
        at += 3;
        let keys = length(bytes, &mut at)?;
        at += keys * 32 + 32;
        let head = bytes.get(..at)?;
        let count = *bytes.get(at)?;
        if count >= 0x80 {
            return None;
        }
        at += 1;
        let mut instructions = Vec::new();
        for _ in 0..count {
            let start = at;
            at += 1;
            for _ in ["accounts", "data"] {
                let len = length(bytes, &mut at)?;
                at += len;
            }
            instructions.push(bytes.get(start..at)?);
        }
        Some(Self { head, instructions, tail: bytes.get(at..)? })
    }
}

/// Reads a length of up to two bytes.
fn length(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let low = usize::from(*bytes.get(*at)?);
    *at += 1;
    if low < 0x80 {
        return Some(low);
    }
    let high = usize::from(*bytes.get(*at)?);
    *at += 1;
    Some(low & 0x7f | high << 7)
}
