//! Makes a differing case smaller while it still differs.

use selkie_isa::layout::SLOT_BYTES;

use crate::case::Case;

/// `ja +0`: does nothing, in every version.
const NOP: [u8; SLOT_BYTES] = [0x05, 0, 0, 0, 0, 0, 0, 0];

/// The smallest case found that `differs`.
pub(crate) fn shrink(case: &Case, differs: impl Fn(&Case) -> bool) -> Case {
    let mut smallest = case.clone();
    let mut attempt = |change: &mut dyn FnMut(&mut Case)| {
        let mut changed = smallest.clone();
        change(&mut changed);
        changed.regions.iter_mut().take(1).for_each(|program| {
            program.len = changed.text.len();
            program.bytes.clone_from(&changed.text);
        });
        let keeps = differs(&changed);
        if keeps {
            smallest = changed;
        }
        keeps
    };
    for _ in 0..3 {
        let mut progress = false;
        let mut len = case.text.len();
        while len > SLOT_BYTES {
            len -= SLOT_BYTES;
            progress |= attempt(&mut |case| case.text.truncate(len.min(case.text.len())));
        }
        for pc in 0..case.slots() {
            progress |= attempt(&mut |case| {
                if let Some(slot) = case.text.get_mut(pc * SLOT_BYTES..(pc + 1) * SLOT_BYTES) {
                    slot.copy_from_slice(&NOP);
                }
            });
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
