//! Liveness of registers, and of their upper halves, after each instruction.

use crate::item::{Item, Reference, Registers};

/// The live registers at a point of a function.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct LiveRegisters {
    /// Registers that are read before they are written.
    pub(super) whole: Registers,
    /// Registers whose upper halves are read before they are written.
    pub(super) upper: Registers,
}

impl LiveRegisters {
    fn with(self, other: Self) -> Self {
        Self { whole: self.whole.with(other.whole), upper: self.upper.with(other.upper) }
    }

    fn before(self, item: &Item) -> Self {
        let defines = item.operation.defines();
        Self {
            whole: self.whole.without(defines).with(item.operation.uses()),
            upper: self.upper.without(defines).with(item.operation.upper_uses(self.upper)),
        }
    }
}

/// Returns the registers that are live after each item.
///
/// This is a worklist algorithm. It terminates quickly for any control flow: predecessors of an item
/// are visited again only if the set before the item grew, which has at most 32 bits.
pub(super) fn liveness(items: &[Item]) -> Vec<LiveRegisters> {
    // Lists of jumps by target: for each item one jump to it, for each jump the next one to the same
    // item.
    let mut jump_to: Vec<Option<usize>> = vec![None; items.len()];
    let mut other: Vec<Option<usize>> = vec![None; items.len()];
    for (index, item) in items.iter().enumerate() {
        if let Reference::Jump(target) = item.reference {
            other[index] = jump_to[target].replace(index);
        }
    }
    let mut before = vec![LiveRegisters::default(); items.len() + 1];
    let mut after = vec![LiveRegisters::default(); items.len()];
    // From last to first, since liveness propagates backwards.
    let mut pending: Vec<usize> = (0..items.len()).collect();
    let mut is_pending = vec![true; items.len()];
    while let Some(index) = pending.pop() {
        is_pending[index] = false;
        let item = &items[index];
        let mut live = LiveRegisters::default();
        if item.operation.falls_through() {
            live = before[index + 1];
        }
        if let Reference::Jump(target) = item.reference {
            live = live.with(before[target]);
        }
        after[index] = live;
        let live = live.before(item);
        if live == before[index] {
            continue;
        }
        before[index] = live;
        let in_front = index.checked_sub(1).filter(|&it| items[it].operation.falls_through());
        let jumps = core::iter::successors(jump_to[index], |&jump| other[jump]);
        for it in in_front.into_iter().chain(jumps) {
            if !core::mem::replace(&mut is_pending[it], true) {
                pending.push(it);
            }
        }
    }
    after
}
