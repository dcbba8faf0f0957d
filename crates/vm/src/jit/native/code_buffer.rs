//! Code while it is written, in a buffer that the thread reuses, since fresh memory causes page
//! faults.

use core::{cell::Cell, mem};

/// A jump or call whose displacement is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patch(pub(crate) u32);

/// What encoders of all processors have.
pub(super) trait Encode {
    /// The length of a no-op.
    const NOP_BYTES: u64;

    fn new(capacity: usize) -> Self;

    /// Ensures that the buffer is long enough for the next instructions, up to a block.
    fn reserve(&mut self);

    /// Returns the offset of the next instruction.
    fn here(&self) -> u32;

    fn bytes(&self) -> &[u8];

    fn nop(&mut self);

    /// Sets the target of a jump or call to an offset.
    fn patch(&mut self, patch: Patch, target: u32);
}

/// The code written so far.
#[derive(Debug)]
pub(super) struct CodeBuffer {
    /// A buffer, longer than the code.
    code: Vec<u8>,
    at: usize,
}

thread_local! {
    /// The buffer of this thread's last encoder.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The most bytes that a thread keeps.
const SCRATCH_BYTES_MAX: usize = 4 << 20;

impl Drop for CodeBuffer {
    fn drop(&mut self) {
        if self.code.len() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(mem::take(&mut self.code));
        }
    }
}

/// The most bytes that may be written between two calls of [`CodeBuffer::reserve`]: a block.
const RESERVE_BYTES: usize = 16 << 10;

impl CodeBuffer {
    pub(super) fn new(capacity: usize) -> Self {
        let len = capacity + RESERVE_BYTES;
        let mut code = SCRATCH.take();
        if code.len() < len {
            code = vec![0; len];
        }
        Self { code, at: 0 }
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(super) fn reserve(&mut self) {
        if self.at + RESERVE_BYTES > self.code.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let len = self.code.len() + self.code.len() / 2 + 2 * RESERVE_BYTES;
        self.code.resize(len, 0);
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    #[allow(clippy::cast_possible_truncation, reason = "code of 4 GiB does not fit the host")]
    pub(super) fn here(&self) -> u32 {
        self.at as u32
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.code[..self.at]
    }

    /// Returns four bytes that are already written.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(super) fn word(&mut self, at: u32) -> &mut [u8; 4] {
        self.code[at as usize..].first_chunk_mut().expect("it is written")
    }

    /// Returns the next sixteen bytes, to be written before [`CodeBuffer::advance`].
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(super) fn next(&mut self) -> &mut [u8; 16] {
        self.code[self.at..].first_chunk_mut().expect("reserved before")
    }

    #[cfg_attr(not(unoptimized), inline(always))]
    pub(super) fn advance(&mut self, len: usize) {
        self.at += len;
    }

    /// Writes the low `len` of eight bytes.
    #[cfg_attr(not(unoptimized), inline(always))]
    pub(super) fn put(&mut self, bytes: u64, len: usize) {
        self.next()[..8].copy_from_slice(&bytes.to_le_bytes());
        self.advance(len);
    }
}
