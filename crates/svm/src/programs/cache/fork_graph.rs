//! How slots descend from each other.

use core::fmt;

/// How one slot's block stands to another's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BlockRelation {
    /// It comes before the other on the other's fork.
    Ancestor,
    /// They are one.
    Equal,
    /// It comes after the other, which is on its fork.
    Descendant,
    /// They are on different forks.
    Unrelated,
    /// One of them is not known, or no more.
    Unknown,
}

/// Tells how slots descend from each other (agave: the trait of this name in
/// `program-runtime/src/loaded_programs.rs`).
pub trait ForkGraph: fmt::Debug + Send + Sync {
    /// How the block of the first slot stands to that of the second.
    fn relationship(&self, first: u64, second: u64) -> BlockRelation;
}

/// A chain without forks: of two slots, the lower one comes first.
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
