//! The relationship of slots, for the program cache.
//!
//! It is separate from the banks, so that the cache can query it while banks are locked, and so
//! that a reference to it keeps no bank alive.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

use foldhash::fast::FixedState;
use selkie_svm::program_cache::{BlockRelation, ForkGraph, OneFork};

use crate::ancestors::{Ancestors, BankId};

/// How many slots before the root are known individually; older ones count as ancestors.
const ROOTS_KEPT: usize = 4096;

/// The live slots, and the most recent ones before the root.
#[derive(Debug)]
pub(crate) struct SlotTree(RwLock<Slots>);

#[derive(Debug)]
struct Slots {
    root: u64,
    /// The root and its descendants.
    alive: HashMap<u64, Ancestors, FixedState>,
    /// The root's most recent ancestors.
    rooted: BTreeSet<u64>,
    /// Recent slots of dead banks.
    dead: BTreeSet<u64>,
    /// All slots up to this one count as rooted.
    rooted_up_to: u64,
}

impl SlotTree {
    pub(crate) fn new(root: u64, ancestors: Ancestors) -> Self {
        Self(RwLock::new(Slots {
            root,
            alive: [(root, ancestors)].into_iter().collect(),
            rooted: BTreeSet::new(),
            dead: BTreeSet::new(),
            rooted_up_to: root,
        }))
    }

    pub(crate) fn insert(&self, slot: u64, ancestors: Ancestors) {
        self.change(|slots| {
            slots.dead.remove(&slot);
            slots.alive.insert(slot, ancestors);
        });
    }

    /// Marks slots as dead.
    pub(crate) fn remove(&self, dead: &[u64]) {
        self.change(|slots| slots.mark_dead(dead));
    }

    /// Sets the root: `chain` led to it, `dead` was abandoned.
    pub(crate) fn set_root(&self, root: u64, chain: &[u64], dead: &[u64]) {
        self.change(|slots| {
            slots.root = root;
            for slot in chain.iter().copied().filter(|slot| *slot != root) {
                slots.alive.remove(&slot);
                slots.rooted.insert(slot);
            }
            slots.mark_dead(dead);
            while slots.rooted.len() > ROOTS_KEPT {
                slots.rooted_up_to = slots.rooted.pop_first().unwrap_or(slots.rooted_up_to);
            }
            slots.dead = slots.dead.split_off(&slots.rooted_up_to);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Slots)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }

    fn read(&self) -> RwLockReadGuard<'_, Slots> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slots {
    fn mark_dead(&mut self, dead: &[u64]) {
        for slot in dead {
            self.alive.remove(slot);
            self.dead.insert(*slot);
        }
    }

    /// Returns whether a slot is on the chain before the root.
    fn is_rooted(&self, slot: u64) -> bool {
        slot < self.root && (slot <= self.rooted_up_to || self.rooted.contains(&slot))
    }

    /// Returns whether `dead` was pruned while `other` is alive or rooted.
    fn is_pruned(&self, dead: u64, other: u64) -> bool {
        self.dead.contains(&dead) && (self.alive.contains_key(&other) || self.is_rooted(other))
    }
}

impl ForkGraph for SlotTree {
    fn relationship(&self, first: u64, second: u64) -> BlockRelation {
        let slots = self.read();
        let known = |slot: u64| slots.alive.get(&slot);
        let id = |ancestors: &Ancestors| -> BankId { ancestors.bank() };
        match (known(first), known(second)) {
            (Some(_), Some(_)) if first == second => BlockRelation::Equal,
            (Some(left), Some(right)) if right.contains(id(left)) => BlockRelation::Ancestor,
            (Some(left), Some(right)) if left.contains(id(right)) => BlockRelation::Descendant,
            (Some(_), Some(_)) => BlockRelation::Unrelated,
            (None, Some(_)) if slots.is_rooted(first) => BlockRelation::Ancestor,
            (Some(_), None) if slots.is_rooted(second) => BlockRelation::Descendant,
            (None, None) if slots.is_rooted(first) && slots.is_rooted(second) => {
                OneFork.relationship(first, second)
            }
            _ if slots.is_pruned(first, second) || slots.is_pruned(second, first) => {
                BlockRelation::Unrelated
            }
            _ => BlockRelation::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BlockRelation::{Ancestor, Descendant, Equal, Unknown, Unrelated};

    /// ```text
    /// 10 ─ 11 ─ 13 ─ 15
    ///    ╰ 12 ─ 14
    /// ```
    fn tree() -> SlotTree {
        let root = Ancestors::root(BankId(1));
        let tree = SlotTree::new(10, root.clone());
        let mut known = std::collections::BTreeMap::from([(10, root)]);
        for (id, (parent, slot)) in
            (2..).zip([(10, 11), (10, 12), (11, 13), (12, 14), (13_u64, 15_u64)])
        {
            let ancestors = known[&parent].child(BankId(id), BankId(1));
            tree.insert(slot, ancestors.clone());
            known.insert(slot, ancestors);
        }
        tree
    }

    fn check(tree: &SlotTree, cases: &[(u64, u64, BlockRelation)]) {
        for (first, second, expected) in cases {
            assert_eq!(tree.relationship(*first, *second), *expected, "{first} {second}");
        }
    }

    #[test]
    fn relationships_follow_the_forks() {
        let cases = [
            (10, 15, Ancestor),
            (15, 11, Descendant),
            (13, 13, Equal),
            (14, 15, Unrelated),
            (9, 14, Ancestor),
            (14, 3, Descendant),
            (3, 9, Ancestor),
            (16, 15, Unknown),
            (10, 16, Unknown),
            (16, 16, Unknown),
        ];
        check(&tree(), &cases);
    }

    #[test]
    fn rooted_and_dead_slots_keep_their_relationships() {
        let tree = tree();
        tree.set_root(13, &[10, 11, 13], &[12, 14]);
        let cases = [
            (10, 15, Ancestor),
            (11, 13, Ancestor),
            (10, 11, Ancestor),
            (12, 15, Unrelated),
            (15, 14, Unrelated),
            (11, 12, Unrelated),
            (12, 14, Unknown),
            (16, 12, Unknown),
        ];
        check(&tree, &cases);
        tree.remove(&[15]);
        check(&tree, &[(15, 13, Unrelated), (15, 15, Unknown)]);
    }
}
