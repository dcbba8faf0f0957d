//! Changes of registers and memory at a step. History forks there: all later steps follow from them.

use core::fmt;

use selkie::Machine;

/// A change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Edit {
    /// Sets a register, r0 to r9.
    Register(usize, u64),
    /// Writes bytes to memory that the program may write to.
    Memory(u64, Vec<u8>),
}

/// A change that is not possible.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EditError {
    /// No program runs at that step.
    NoSuchStep(u64),
    /// There is no such register, or it cannot be changed.
    NoSuchRegister(usize),
    /// The program may not write there: address and length.
    NotWritable(u64, usize),
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchStep(step) => write!(f, "no program executes step {step}"),
            Self::NoSuchRegister(register) => {
                write!(f, "r{register} cannot be set: only r0 to r9 can")
            }
            Self::NotWritable(vaddr, len) => {
                write!(f, "the program may not write {len} bytes at {vaddr:#x}")
            }
        }
    }
}

impl core::error::Error for EditError {}

impl Edit {
    /// Applies the change; does nothing if it is not possible.
    pub(crate) fn apply(&self, machine: &mut Machine<'_>) {
        match self {
            Self::Register(register, value) => {
                if let Some(it) = machine.registers_mut().get_mut(*register) {
                    *it = *value;
                }
            }
            Self::Memory(vaddr, bytes) => {
                if let Ok(to) = machine.memory.slice_mut(*vaddr, bytes.len() as u64) {
                    to.copy_from_slice(bytes);
                }
            }
        }
    }
}
