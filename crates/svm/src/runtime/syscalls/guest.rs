//! Guest memory as syscalls access it: bounds are checked first, then alignment.
//!
//! Ranges of length 0 are never checked. The alignment is that of the validator's host type, and is
//! not checked for programs of loader v1. Regions start at multiples of 4 GiB in guest memory, so that
//! a guest address is as aligned as the validator's host address (agave: `memory.rs`).

use selkie_vm::{Access, MemoryMap, SyscallError as Error};
use smallvec::SmallVec;
use solana_pubkey::Pubkey;

use crate::{chain::error::SyscallError, runtime::context::InvokeContext};

/// The memory of the program that called a syscall.
pub(crate) struct Guest<'c, 'm> {
    pub(crate) map: &'c mut MemoryMap<'m>,
    /// Whether pointers to anything but bytes must be aligned.
    pub(crate) aligned: bool,
}

/// A slice as programs pass it: guest address and length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slice {
    pub(crate) addr: u64,
    pub(crate) len: u64,
}

/// Guest memory that a syscall writes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Output {
    pub(crate) addr: u64,
    pub(crate) len: u64,
    pub(crate) align: u64,
}

impl Output {
    /// Bytes, which need no alignment.
    pub(crate) const fn bytes(addr: u64, len: u64) -> Self {
        Self { addr, len, align: 1 }
    }
}

impl Guest<'_, '_> {
    pub(crate) fn check_alignment(&self, addr: u64, align: u64) -> Result<(), Error> {
        if self.aligned && !addr.is_multiple_of(align) {
            return Err(SyscallError::UnalignedPointer.into());
        }
        Ok(())
    }

    /// Returns `len` bytes.
    pub(crate) fn bytes(&self, addr: u64, len: u64) -> Result<&[u8], Error> {
        self.elements(addr, len, 1, 1)
    }

    /// Returns the bytes of `count` elements of `size` bytes each.
    pub(crate) fn elements(
        &self,
        addr: u64,
        count: u64,
        size: u64,
        align: u64,
    ) -> Result<&[u8], Error> {
        if count == 0 {
            return Ok(&[]);
        }
        let len = count.saturating_mul(size);
        if i64::try_from(len).is_err() {
            return Err(SyscallError::InvalidLength.into());
        }
        let bytes = self.map.slice(addr, len)?;
        self.check_alignment(addr, align)?;
        Ok(bytes)
    }

    /// Returns `N` bytes.
    pub(crate) fn array<const N: usize>(&self, addr: u64) -> Result<[u8; N], Error> {
        let bytes = self.bytes(addr, N as u64)?;
        Ok(bytes.try_into().expect("as many bytes were read"))
    }

    /// Reads an account's address.
    pub(crate) fn pubkey(&self, addr: u64) -> Result<Pubkey, Error> {
        let bytes = self.bytes(addr, 32)?;
        Ok(Pubkey::new_from_array(bytes.try_into().expect("32 bytes were read")))
    }

    /// Returns `len` bytes as text, which must be UTF-8.
    pub(crate) fn text(&self, addr: u64, len: u64) -> Result<&str, Error> {
        let bytes = self.bytes(addr, len)?;
        core::str::from_utf8(bytes)
            .map_err(|error| SyscallError::InvalidString(error, bytes.to_vec()).into())
    }

    /// Reads a table of `count` slices.
    pub(crate) fn slices(
        &self,
        addr: u64,
        count: u64,
    ) -> Result<impl ExactSizeIterator<Item = Slice>, Error> {
        let (entries, _) = self.elements(addr, count, 16, 8)?.as_chunks::<16>();
        Ok(entries.iter().map(|entry| {
            let word = |offset: usize| {
                u64::from_le_bytes(*entry[offset..].first_chunk().expect("an entry has two words"))
            };
            Slice { addr: word(0), len: word(8) }
        }))
    }

    /// Checks that all outputs of a syscall can be written: first the bounds of each, where accounts
    /// may grow, then the alignment of each, then that no two overlap.
    pub(crate) fn check_outputs(
        &mut self,
        host: &mut InvokeContext<'_>,
        outputs: &[Output],
    ) -> Result<(), Error> {
        for output in outputs.iter().filter(|output| output.len > 0) {
            self.map.prepare_store(host, output.addr, output.len)?;
        }
        let mut ranges = SmallVec::<[(usize, u64, u64); 4]>::new();
        for output in outputs.iter().filter(|output| output.len > 0) {
            let (region, offset) = self.map.locate(Access::Store, output.addr, output.len)?;
            self.check_alignment(output.addr, output.align)?;
            ranges.push((region, offset, output.len));
        }
        let overlap = |a: &(usize, u64, u64), b: &(usize, u64, u64)| {
            a.0 == b.0 && !are_apart(a.1, a.2, b.1, b.2)
        };
        let overlaps = ranges
            .iter()
            .enumerate()
            .any(|(index, range)| ranges.iter().take(index).any(|other| overlap(range, other)));
        if overlaps { Err(SyscallError::CopyOverlapping.into()) } else { Ok(()) }
    }

    /// Checks that `len` bytes can be written.
    pub(crate) fn check_output(
        &mut self,
        host: &mut InvokeContext<'_>,
        addr: u64,
        len: u64,
    ) -> Result<(), Error> {
        self.check_outputs(host, &[Output::bytes(addr, len)])
    }

    /// Writes bytes.
    pub(crate) fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Error> {
        if !bytes.is_empty() {
            self.map.slice_mut(addr, bytes.len() as u64)?.copy_from_slice(bytes);
        }
        Ok(())
    }
}

/// Whether two ranges have no byte in common.
pub(crate) fn are_apart(left: u64, left_len: u64, right: u64, right_len: u64) -> bool {
    left.abs_diff(right) >= if left > right { right_len } else { left_len }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_apart_if_the_lower_one_ends_before_the_other() {
        assert!(are_apart(10, 3, 13, 3) && are_apart(13, 3, 10, 3));
        assert!(!are_apart(10, 3, 12, 3) && !are_apart(12, 3, 10, 3) && !are_apart(5, 1, 5, 1));
        assert!(are_apart(u64::MAX, 3, u64::MAX - 1, 1));
        assert!(are_apart(7, 0, 7, 0));
    }
}
