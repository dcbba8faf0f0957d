//! Counters of the branches that a program takes, for tools that search for inputs.
//!
//! There are two counters per conditional branch: how often control went on behind it, and how often
//! it was taken. They depend on nothing but the execution, so the interpreter and machine code count
//! the same. Invariant: a program without counters is compiled to the same machine code as if there
//! were none.

use core::sync::atomic::{AtomicU64, Ordering};

use selkie_isa::{Kind, Operand, Width};

use crate::{decoded::Action, machine::Machine, program::Program};

/// How often each conditional branch of a program was taken and not taken, modulo 256.
///
/// Machine code increments without synchronization: threads that run with the same counters lose
/// counts. Give each thread counters of its own.
#[derive(Debug)]
pub struct BranchCounters {
    /// The slots of the branches, sorted.
    branches: Box<[u32]>,
    /// Two bytes for each branch, in words, which are faster to search.
    words: Box<[AtomicU64]>,
}

/// Counters are equal if they are the same ones.
impl PartialEq for BranchCounters {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for BranchCounters {}

impl BranchCounters {
    /// Creates counters for the branches of a program. Branches that lead to the next instruction
    /// either way are not counted.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let decoded = program.decoded();
        let slots = u32::try_from(program.slots()).unwrap_or(u32::MAX);
        let is_branch = |pc: &u32| {
            decoded.insn(*pc as usize).is_some_and(|insn| {
                matches!(insn.action(), Action::Row(Kind::Branch(..))) && insn.aux != pc + 1
            })
        };
        let branches: Box<[u32]> = (0..slots).filter(is_branch).take(BRANCHES_MAX).collect();
        let words = (2 * branches.len()).div_ceil(8);
        Self { branches, words: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Returns the slots of the counted branches, in their order.
    #[must_use]
    pub fn branches(&self) -> &[u32] {
        &self.branches
    }

    /// Returns the counts as words of eight: for each branch, the lower byte is how often it was not
    /// taken, the next one how often it was.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        &self.words
    }

    /// Sets all counts to 0.
    pub fn clear(&self) {
        for word in &self.words {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the number of the branch at a slot.
    pub(crate) fn number(&self, pc: usize) -> Option<u32> {
        let pc = u32::try_from(pc).ok()?;
        u32::try_from(self.branches.binary_search(&pc).ok()?).ok()
    }

    /// Counts the branch at `pc`, if there is one, after which control went to `next`.
    pub(crate) fn count(&self, pc: usize, next: usize) {
        if let Some(number) = self.number(pc) {
            let index = 2 * number as usize + usize::from(next != pc + 1);
            let word = &self.words[index / 8];
            let mut bytes = word.load(Ordering::Relaxed).to_le_bytes();
            bytes[index % 8] = bytes[index % 8].wrapping_add(1);
            word.store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
    }
}

/// The most branches that are counted: machine code reaches their counters by 32-bit offsets.
const BRANCHES_MAX: usize = 1 << 28;

impl Program {
    /// Returns what the branch that the machine executes next compares, if it is a branch: both
    /// sides, as far as it sees them.
    #[must_use]
    pub fn compared(&self, machine: &Machine<'_>) -> Option<[u64; 2]> {
        let insn = self.decoded().insn(machine.pc())?;
        let Action::Row(Kind::Branch(_, width, right)) = insn.action() else { return None };
        let registers = machine.registers();
        let left = *registers.get(insn.dst as usize)?;
        let right = match right {
            Operand::Reg => *registers.get(insn.src as usize)?,
            Operand::Imm | Operand::Uimm => insn.imm,
        };
        let mask = if width == Width::W64 { u64::MAX } else { u32::MAX.into() };
        Some([left & mask, right & mask])
    }
}
