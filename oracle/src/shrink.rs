//! Shrinks a differing case while it still differs.

use selkie_isa::layout::SLOT_BYTES;

use crate::case::{Case, NOP};

/// Returns the case after the changes of a [`shrink`] with these numbers.
pub(crate) fn replay(case: &Case, changes: &[u32]) -> Case {
    let end = changes.last().map_or(0, |last| last + 1);
    shrink_until(end, case, |_, tried| tried.last().is_some_and(|last| changes.contains(last)))
}

/// Returns the smallest case found for which `differs` is true. It is also given the numbers of the
/// changes made.
pub(crate) fn shrink(case: &Case, differs: impl FnMut(&Case, &[u32]) -> bool) -> Case {
    shrink_until(u32::MAX, case, differs)
}

/// Like `shrink`, but tries only changes before the number `end`.
fn shrink_until(end: u32, case: &Case, mut differs: impl FnMut(&Case, &[u32]) -> bool) -> Case {
    let mut smallest = case.clone();
    let (mut number, mut kept) = (0, Vec::new());
    let mut attempt = |change: &mut dyn FnMut(&mut Case)| {
        if number >= end {
            return false;
        }
        let mut changed = smallest.clone();
        change(&mut changed);
        changed.regions.iter_mut().take(1).for_each(|program| {
            program.len = changed.text.len();
            program.bytes.clone_from(&changed.text);
        });
        kept.push(number);
        number += 1;
        let keeps = differs(&changed, &kept);
        if keeps {
            smallest = changed;
        } else {
            kept.pop();
        }
        keeps
    };
    for _ in 0..3 {
        let mut progress = false;
        // Large pieces first, since `differs` may take long.
        for piece in [64, 16, 4, 1].map(|slots| slots * SLOT_BYTES) {
            let mut len = case.text.len();
            while len > piece && attempt(&mut |case| case.text.truncate(len - piece)) {
                len -= piece;
                progress = true;
            }
            for at in (0..len).step_by(piece) {
                progress |= attempt(&mut |case| {
                    let end = (at + piece).min(case.text.len());
                    let slots = case.text.get_mut(at..end).unwrap_or_default();
                    slots.as_chunks_mut().0.fill(NOP);
                });
            }
        }
        for index in (1..case.regions.len()).rev() {
            attempt(&mut |case| {
                if index < case.regions.len() {
                    case.regions.remove(index);
                }
            });
            attempt(&mut |case| {
                if let Some(region) = case.regions.get_mut(index) {
                    region.bytes.fill(0);
                }
            });
            attempt(&mut |case| {
                if let Some(region) = case.regions.get_mut(index) {
                    region.hook = None;
                    region.bytes.truncate(region.len);
                }
            });
        }
        for index in 0..10 {
            attempt(&mut |case| case.registers[index] = 0);
        }
        attempt(&mut |case| case.functions.retain(|&(_, pc)| pc == case.entry_pc));
        if !progress {
            break;
        }
    }
    smallest
}
