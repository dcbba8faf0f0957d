//! The memory that a run needs besides its input: a stack and a heap, all zeros.
//!
//! Invariant: what [`take`] gives is clean. Buffers are kept for the next run of this thread, and
//! are cleaned before; those that are dropped instead, as when something panics, are gone.

use std::cell::RefCell;

use selkie_vm::{
    Frames,
    marks::{is_marked, marks_len, touched_spans},
};

use crate::{
    chain::cost::INSTRUCTION_DEPTH_MAX_RAISED,
    runtime::input::{InputBytes, Record},
};

thread_local! {
    /// Clean buffers.
    static CLEAN: RefCell<Vec<Buffers>> = const { RefCell::new(Vec::new()) };
}

/// A stack and a heap, and room for an input and for call frames.
#[derive(Default, Debug)]
pub(crate) struct Buffers {
    pub(crate) stack: Vec<u8>,
    pub(crate) heap: Vec<u8>,
    /// The heap's marks, and those of the input: none while no program runs.
    pub(crate) heap_marks: Vec<u8>,
    pub(crate) input_marks: Vec<u8>,
    /// The input, or whatever the last run left in its place.
    pub(crate) input: InputBytes,
    pub(crate) frames: Frames,
    /// Room for the input's layout.
    pub(crate) records: Vec<Record>,
}

/// Buffers of no certain size.
pub(crate) fn take() -> Buffers {
    CLEAN.with_borrow_mut(Vec::pop).unwrap_or_default()
}

/// All clean buffers of this thread, without inputs that are long.
pub(crate) fn take_clean() -> Vec<Buffers> {
    let mut buffers = CLEAN.take();
    for Buffers { input, .. } in &mut buffers {
        if input.capacity() > INPUT_BYTES_LEFT {
            *input = InputBytes::default();
        }
    }
    buffers
}

/// Gives this thread clean buffers, in place of those that it has.
pub(crate) fn set_clean(buffers: Vec<Buffers>) {
    CLEAN.set(buffers);
}

impl Buffers {
    /// Gives stack and heap these sizes, all zeros.
    pub(crate) fn fit(&mut self, stack_bytes: usize, heap_bytes: usize) {
        fit(&mut self.stack, stack_bytes);
        fit(&mut self.heap, heap_bytes);
        fit(&mut self.heap_marks, marks_len(heap_bytes));
        fit(&mut self.input_marks, marks_len(self.input.get().len()));
    }

    /// Takes note of what a program may have written to of its input: as many bytes as told, and
    /// what is marked.
    pub(crate) fn touch_input(&mut self, touched: u64) {
        self.input.touch(usize::try_from(touched).unwrap_or(usize::MAX), &self.input_marks);
        if is_marked(&self.input_marks) {
            self.input_marks.fill(0);
        }
    }

    /// Gives the buffers back, to be used again. All but the first bytes of stack and heap, as
    /// many as told, and what is marked of the heap, must be clean still.
    pub(crate) fn put_back(mut self, stack_touched: u64, heap_touched: u64) {
        let is_kept = CLEAN.with_borrow(|clean| clean.len() < INSTRUCTION_DEPTH_MAX_RAISED);
        if is_kept {
            clean(&mut self.stack, stack_touched);
            clean(&mut self.heap, heap_touched);
            if is_marked(&self.heap_marks) {
                for span in touched_spans(0, &self.heap_marks, self.heap.len()) {
                    self.heap[span].fill(0);
                }
                self.heap_marks.fill(0);
            }
            debug_assert!(is_zero(&self.heap), "what is not touched of the heap is zero");
            debug_assert!(is_zero(&self.stack), "what is not touched of the stack is zero");
            if self.input.capacity() > INPUT_BYTES_KEPT {
                self.input = InputBytes::default();
            }
            CLEAN.with_borrow_mut(|clean| clean.push(self));
        }
    }
}

/// Inputs that are longer are not kept, so that an idle thread does not hold much memory.
const INPUT_BYTES_KEPT: usize = 4 << 20;
/// Nor are these left to other threads.
const INPUT_BYTES_LEFT: usize = 1 << 18;

fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| ZEROS.starts_with(chunk))
}

/// Zeroes what a run may have written to.
fn clean(buffer: &mut [u8], touched: u64) {
    let touched = usize::try_from(touched).unwrap_or(usize::MAX).min(buffer.len());
    buffer[..touched].fill(0);
}

/// Makes a clean buffer `len` bytes long.
fn fit(buffer: &mut Vec<u8>, len: usize) {
    if buffer.is_empty() {
        // The allocator has memory that is zero already.
        *buffer = vec![0; len];
    } else {
        buffer.resize(len, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitting(stack_bytes: usize, heap_bytes: usize) -> Buffers {
        let mut buffers = take();
        buffers.fit(stack_bytes, heap_bytes);
        buffers
    }

    #[test]
    fn buffers_are_used_again_and_clean() {
        let mut first = fitting(4, 2);
        assert_eq!((&*first.stack, &*first.heap), (&[0; 4][..], &[0; 2][..]));
        first.stack.fill(1);
        first.heap.fill(1);
        let place = first.stack.as_ptr();
        first.put_back(4, 2);
        let second = fitting(4, 3);
        assert_eq!(second.stack.as_ptr(), place);
        assert_eq!((&*second.stack, &*second.heap), (&[0; 4][..], &[0; 3][..]));
    }

    #[test]
    fn nested_runs_have_buffers_of_their_own() {
        let outer = fitting(4, 4);
        let inner = fitting(4, 4);
        assert_ne!(outer.stack.as_ptr(), inner.stack.as_ptr());
        inner.put_back(0, 0);
        outer.put_back(0, 0);
    }

    #[test]
    fn no_more_are_kept_than_runs_can_nest() {
        let taken: Vec<_> = (0..INSTRUCTION_DEPTH_MAX_RAISED + 4).map(|_| fitting(1, 1)).collect();
        taken.into_iter().for_each(|buffers| buffers.put_back(1, 1));
        assert_eq!(CLEAN.with_borrow(Vec::len), INSTRUCTION_DEPTH_MAX_RAISED);
    }
}
