//! How slots descend from each other.
//!
//! This is apart from the banks, so that the program cache can ask while banks are at work, and
//! whoever holds it holds no bank.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

use foldhash::fast::FixedState;
use selkie_svm::program_cache::{BlockRelation, ForkGraph, OneFork};

use crate::ancestors::{Ancestors, BankId};

/// So many slots before the root are known one by one; what is older is an ancestor of all.
const ROOTS_KNOWN: usize = 4096;

/// The slots that there are, and the last ones of the chain that led to the root.
#[derive(Debug)]
pub(crate) struct Tree(RwLock<Slots>);

#[derive(Debug)]
struct Slots {
    root: u64,
    /// The root and what descends from it.
    alive: HashMap<u64, Ancestors, FixedState>,
    /// The root's ancestors, as far as they are known one by one.
    rooted: BTreeSet<u64>,
    /// The last slots whose banks have died.
    dead: BTreeSet<u64>,
    /// Slots up to here are all taken for ancestors.
    known_after: u64,
}

impl Tree {
    pub(crate) fn new(root: u64, ancestors: Ancestors) -> Self {
        Self(RwLock::new(Slots {
            root,
            alive: [(root, ancestors)].into_iter().collect(),
            rooted: BTreeSet::new(),
            dead: BTreeSet::new(),
            known_after: root,
        }))
    }

    pub(crate) fn insert(&self, slot: u64, ancestors: Ancestors) {
        self.change(|slots| {
            slots.dead.remove(&slot);
            slots.alive.insert(slot, ancestors);
        });
    }

    /// These are dead.
    pub(crate) fn remove(&self, dead: &[u64]) {
        self.change(|slots| slots.bury(dead));
    }

    /// A new root: these led to it, and those are dead.
    pub(crate) fn set_root(&self, root: u64, chain: &[u64], dead: &[u64]) {
        self.change(|slots| {
            slots.root = root;
            for slot in chain.iter().copied().filter(|slot| *slot != root) {
                slots.alive.remove(&slot);
                slots.rooted.insert(slot);
            }
            slots.bury(dead);
            while slots.rooted.len() > ROOTS_KNOWN {
                slots.known_after = slots.rooted.pop_first().unwrap_or(slots.known_after);
            }
            slots.dead = slots.dead.split_off(&slots.known_after);
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
    fn bury(&mut self, dead: &[u64]) {
        for slot in dead {
            self.alive.remove(slot);
            self.dead.insert(*slot);
        }
    }

    /// Whether a slot before the root led to it.
    fn is_rooted(&self, slot: u64) -> bool {
        slot < self.root && (slot <= self.known_after || self.rooted.contains(&slot))
    }

    /// Whether a slot has died that had nothing to do with another one, which has not.
    fn is_other_fork(&self, dead: u64, other: u64) -> bool {
        self.dead.contains(&dead) && (self.alive.contains_key(&other) || self.is_rooted(other))
    }
}

impl ForkGraph for Tree {
    fn relationship(&self, first: u64, second: u64) -> BlockRelation {
        let slots = self.read();
        let known = |slot: u64| slots.alive.get(&slot);
        let own = |ancestors: &Ancestors| -> BankId { ancestors.own() };
        match (known(first), known(second)) {
            (Some(_), Some(_)) if first == second => BlockRelation::Equal,
            (Some(left), Some(right)) if right.contains(own(left)) => BlockRelation::Ancestor,
            (Some(left), Some(right)) if left.contains(own(right)) => BlockRelation::Descendant,
            (Some(_), Some(_)) => BlockRelation::Unrelated,
            (None, Some(_)) if slots.is_rooted(first) => BlockRelation::Ancestor,
            (Some(_), None) if slots.is_rooted(second) => BlockRelation::Descendant,
            (None, None) if slots.is_rooted(first) && slots.is_rooted(second) => {
                OneFork.relationship(first, second)
            }
            _ if slots.is_other_fork(first, second) || slots.is_other_fork(second, first) => {
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
    fn tree() -> Tree {
        let root = Ancestors::root(BankId(1));
        let tree = Tree::new(10, root.clone());
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

    fn check(tree: &Tree, cases: &[(u64, u64, BlockRelation)]) {
        for (first, second, expected) in cases {
            assert_eq!(tree.relationship(*first, *second), *expected, "{first} {second}");
        }
    }

    #[test]
    fn slots_descend_from_each_other() {
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
    fn roots_and_the_dead_are_remembered() {
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
