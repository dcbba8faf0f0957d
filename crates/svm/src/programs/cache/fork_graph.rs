//! The ancestry of slots.

use core::fmt;

/// The relation of one slot's block to another's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockRelation {
    /// The first block is an ancestor of the second.
    Ancestor,
    /// The slots are equal.
    Equal,
    /// The first block is a descendant of the second.
    Descendant,
    /// The blocks are on different forks.
    Unrelated,
    /// One of the slots is not known, or no longer.
    Unknown,
}

/// The ancestry of slots (agave: the trait of this name in `program-runtime/src/loaded_programs.rs`).
pub trait ForkGraph: fmt::Debug + Send + Sync {
    /// Returns the relation of the first slot's block to the second slot's.
    fn relationship(&self, first: u64, second: u64) -> BlockRelation;
}

/// The fork graph of a chain without forks: lower slots are ancestors of higher ones.
#[derive(Clone, Copy, Default, Debug)]
pub struct OneFork;

impl ForkGraph for OneFork {
    fn relationship(&self, first: u64, second: u64) -> BlockRelation {
        match first.cmp(&second) {
            core::cmp::Ordering::Less => BlockRelation::Ancestor,
            core::cmp::Ordering::Equal => BlockRelation::Equal,
            core::cmp::Ordering::Greater => BlockRelation::Descendant,
        }
    }
}
