//! Which registers, and which upper halves, count after each instruction.

use crate::item::{Item, Link, Registers};

/// What counts after an item.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Counts {
    /// Registers that are read before they are written.
    pub(super) whole: Registers,
    /// Registers whose upper halves are.
    pub(super) upper: Registers,
}

impl Counts {
    fn with(self, other: Self) -> Self {
        Self { whole: self.whole.with(other.whole), upper: self.upper.with(other.upper) }
    }

    fn before(self, item: &Item) -> Self {
        let defines = item.what.defines();
        Self {
            whole: self.whole.without(defines).with(item.what.uses()),
            upper: self.upper.without(defines).with(item.what.upper_uses(self.upper)),
        }
    }
}

/// For each item what counts after it.
///
/// What counts before an item only grows, by one of 32 bits at least, and only then those in front
/// of it are looked at again: so this ends soon, whatever jumps where.
pub(super) fn liveness(items: &[Item]) -> Vec<Counts> {
    // For each item a jump to it, and for each jump another one to the same item.
    let mut jump_to: Vec<Option<usize>> = vec![None; items.len()];
    let mut other: Vec<Option<usize>> = vec![None; items.len()];
    for (index, item) in items.iter().enumerate() {
        if let Link::Jump(target) = item.link {
            other[index] = jump_to[target].replace(index);
        }
    }
    let mut before = vec![Counts::default(); items.len() + 1];
    let mut after = vec![Counts::default(); items.len()];
    // The last comes first, since most of what counts comes from behind.
    let mut pending: Vec<usize> = (0..items.len()).collect();
    let mut is_pending = vec![true; items.len()];
    while let Some(index) = pending.pop() {
        is_pending[index] = false;
        let item = &items[index];
        let mut counts = Counts::default();
        if item.what.falls_through() {
            counts = before[index + 1];
        }
        if let Link::Jump(target) = item.link {
            counts = counts.with(before[target]);
        }
        after[index] = counts;
        let counts = counts.before(item);
        if counts == before[index] {
            continue;
        }
        before[index] = counts;
        let in_front = index.checked_sub(1).filter(|&it| items[it].what.falls_through());
        let jumps = core::iter::successors(jump_to[index], |&jump| other[jump]);
        for it in in_front.into_iter().chain(jumps) {
            if !core::mem::replace(&mut is_pending[it], true) {
                pending.push(it);
            }
        }
    }
    after
}
