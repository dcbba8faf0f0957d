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
/// Sets only grow while this is repeated, so it ends: each of the 32 bits of an item changes once.
pub(super) fn liveness(items: &[Item]) -> Vec<Counts> {
    let mut before = vec![Counts::default(); items.len() + 1];
    let mut after = vec![Counts::default(); items.len()];
    loop {
        let mut changed = false;
        for (index, item) in items.iter().enumerate().rev() {
            let mut counts = Counts::default();
            if item.what.falls_through() {
                counts = before[index + 1];
            }
            if let Link::Jump(target) = item.link {
                counts = counts.with(before[target]);
            }
            after[index] = counts;
            let counts = counts.before(item);
            changed |= counts != before[index];
            before[index] = counts;
        }
        if !changed {
            return after;
        }
    }
}
