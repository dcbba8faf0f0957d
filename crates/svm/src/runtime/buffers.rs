//! The memory that a program's run needs: a stack and a heap of zeros, an input region, call frames.
//!
//! Invariant: buffers in a [`BufferPool`] are clean, that is, all zeros. They are cleaned when they are
//! put back; buffers that are dropped instead, as after a panic, are not reused.

use selkie_vm::{
    MachineBuffers,
    dirty_pages::{any_dirty, dirty_pages_len, dirty_spans},
};

use crate::{
    chain::cost::INSTRUCTION_DEPTH_MAX_RAISED,
    runtime::input::{InputBytes, Record},
};

/// The buffers of one run.
#[derive(Default, Debug)]
pub(crate) struct Buffers {
    pub(crate) stack: Vec<u8>,
    pub(crate) heap: Vec<u8>,
    /// Which pages of the heap and of the input are dirty. None is while the buffers are in the pool.
    pub(crate) heap_dirty_pages: Vec<u8>,
    pub(crate) input_dirty_pages: Vec<u8>,
    /// The input region, or what the last run left of it.
    pub(crate) input: InputBytes,
    pub(crate) machine: MachineBuffers,
    /// The allocation of the input's layout.
    pub(crate) records: Vec<Record>,
}

impl Buffers {
    /// Resizes stack and heap; they stay all zeros.
    pub(crate) fn fit(&mut self, stack_bytes: usize, heap_bytes: usize) {
        fit(&mut self.stack, stack_bytes);
        fit(&mut self.heap, heap_bytes);
        fit(&mut self.heap_dirty_pages, dirty_pages_len(heap_bytes));
        fit(&mut self.input_dirty_pages, dirty_pages_len(self.input.get().len()));
    }

    /// Records which bytes of the input a program may have written to: the first `dirty_prefix`, and
    /// those of dirty pages.
    pub(crate) fn record_input_writes(&mut self, dirty_prefix: u64) {
        self.input
            .touch(usize::try_from(dirty_prefix).unwrap_or(usize::MAX), &self.input_dirty_pages);
        if any_dirty(&self.input_dirty_pages) {
            self.input_dirty_pages.fill(0);
        }
    }

    /// Zeroes what a run has written: the first bytes of stack and heap, as many as given, and the
    /// heap's dirty pages. All else must still be zero.
    fn clean(&mut self, stack_dirty: u64, heap_dirty: u64) {
        zero(&mut self.stack, stack_dirty);
        zero(&mut self.heap, heap_dirty);
        if any_dirty(&self.heap_dirty_pages) {
            for span in dirty_spans(0, &self.heap_dirty_pages, self.heap.len()) {
                self.heap[span].fill(0);
            }
            self.heap_dirty_pages.fill(0);
        }
        debug_assert!(is_zero(&self.heap), "a run has written to no other byte of the heap");
        debug_assert!(is_zero(&self.stack), "a run has written to no other byte of the stack");
        if self.input.capacity() > INPUT_BYTES_KEPT {
            self.input = InputBytes::default();
        }
    }
}

/// Clean buffers, one for each run that may be nested.
#[derive(Default, Debug)]
pub(crate) struct BufferPool(Vec<Buffers>);

impl BufferPool {
    /// Takes buffers from the pool, or makes empty ones.
    pub(crate) fn take(&mut self) -> Buffers {
        self.0.pop().unwrap_or_default()
    }

    /// Cleans buffers and puts them into the pool, if it is not full. See [`Buffers::clean`].
    pub(crate) fn put_back(&mut self, mut buffers: Buffers, stack_dirty: u64, heap_dirty: u64) {
        if self.0.len() < INSTRUCTION_DEPTH_MAX_RAISED {
            buffers.clean(stack_dirty, heap_dirty);
            self.0.push(buffers);
        }
    }
}

/// The longest input that stays allocated, in bytes.
const INPUT_BYTES_KEPT: usize = 4 << 20;

fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| ZEROS.starts_with(chunk))
}

/// Zeroes the first bytes of a buffer.
fn zero(buffer: &mut [u8], dirty_prefix: u64) {
    let len = usize::try_from(dirty_prefix).unwrap_or(usize::MAX).min(buffer.len());
    buffer[..len].fill(0);
}

/// Resizes a clean buffer.
fn fit(buffer: &mut Vec<u8>, len: usize) {
    if buffer.is_empty() {
        // `vec![0; n]` uses `calloc`: pages stay untouched until they are written.
        *buffer = vec![0; len];
    } else {
        buffer.resize(len, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(pool: &mut BufferPool, stack_bytes: usize, heap_bytes: usize) -> Buffers {
        let mut buffers = pool.take();
        buffers.fit(stack_bytes, heap_bytes);
        buffers
    }

    #[test]
    fn a_pool_returns_the_same_buffers_clean() {
        let mut pool = BufferPool::default();
        let mut first = fitting(&mut pool, 4, 2);
        assert_eq!((&*first.stack, &*first.heap), (&[0; 4][..], &[0; 2][..]));
        first.stack.fill(1);
        first.heap.fill(1);
        let address = first.stack.as_ptr();
        pool.put_back(first, 4, 2);
        let second = fitting(&mut pool, 4, 3);
        assert_eq!(second.stack.as_ptr(), address);
        assert_eq!((&*second.stack, &*second.heap), (&[0; 4][..], &[0; 3][..]));
    }

    #[test]
    fn nested_runs_have_buffers_of_their_own() {
        let mut pool = BufferPool::default();
        let (outer, inner) = (fitting(&mut pool, 4, 4), fitting(&mut pool, 4, 4));
        assert_ne!(outer.stack.as_ptr(), inner.stack.as_ptr());
    }

    #[test]
    fn a_pool_holds_as_many_buffers_as_runs_can_nest() {
        let mut pool = BufferPool::default();
        let taken: Vec<_> =
            (0..INSTRUCTION_DEPTH_MAX_RAISED + 4).map(|_| fitting(&mut pool, 1, 1)).collect();
        taken.into_iter().for_each(|buffers| pool.put_back(buffers, 1, 1));
        assert_eq!(pool.0.len(), INSTRUCTION_DEPTH_MAX_RAISED);
    }
}
