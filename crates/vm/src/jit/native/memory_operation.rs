//! Syscalls on memory that machine code does itself, in the common case.

use selkie_elf::SyscallId;

use super::{code_buffer::Encode, writer::Writer};

/// The operations, in the order of `MemoryCalls::ids`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryOperation {
    Copy,
    Move,
    Set,
    Compare,
}

const ALL: [MemoryOperation; 4] =
    [MemoryOperation::Copy, MemoryOperation::Move, MemoryOperation::Set, MemoryOperation::Compare];

/// The length of an access.
#[derive(Clone, Copy)]
pub(super) enum Len {
    /// The value of r3.
    R3,
    /// The four bytes of an `i32`.
    I32,
}

impl<E: Encode> Writer<'_, E> {
    /// Returns the routine for a syscall, if it is one of these.
    pub(super) fn memory_routine(&self, id: u32) -> Option<u32> {
        let ids = self.shape.memory_calls.ids();
        let is_it = |known: &Option<SyscallId>| known.is_some_and(|known| u32::from(known.0) == id);
        let index = ids.iter().position(is_it).filter(|_| self.has_memory_routines())?;
        Some(self.routines.memory[index])
    }

    /// Returns whether there are such routines. Without a meter there are none, since they always
    /// charge.
    fn has_memory_routines(&self) -> bool {
        self.shape.metered && self.shape.memory_calls.bytes_max > 0
    }

    /// Writes the routines of those that have one, each by `write`.
    pub(super) fn write_memory_routines(&mut self, write: fn(&mut Self, MemoryOperation)) {
        let ids = self.shape.memory_calls.ids();
        for (index, operation) in ALL.into_iter().enumerate() {
            if ids[index].is_some() && self.has_memory_routines() {
                self.code.reserve();
                self.routines.memory[index] = self.code.here();
                write(self, operation);
            }
        }
    }
}
