//! How much of its memory a program is likely to write to, judging by its last run.
//!
//! Hints decide how buffers are prepared. Nothing but speed depends on them.

use core::sync::atomic::{AtomicU64, Ordering};

use selkie_vm::dirty_pages::{PAGE_BYTES, any_dirty, dirty_spans, mark_dirty};

/// How much of a buffer the last run of a program wrote to, which the next one is likely to do
/// too. It is a guess, and nothing but speed depends on it.
#[derive(Default, Debug)]
pub(crate) struct Touched(AtomicU64);

impl Touched {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn see(&self, bytes: u64) {
        if self.get() != bytes {
            self.0.store(bytes, Ordering::Relaxed);
        }
    }
}

/// How much of its heap the last run of a program wrote to: bytes from the start, and bytes from the
/// end. Allocators have their number at the start, and what they give from the end on.
#[derive(Default, Debug)]
pub(crate) struct HeapTouched {
    pub(crate) start: Touched,
    end: Touched,
}

impl HeapTouched {
    /// Marks the end of a heap.
    pub(crate) fn mark_end(&self, marks: &mut [u8], heap_bytes: usize) {
        let bytes = usize::try_from(self.end.get()).unwrap_or(usize::MAX);
        mark_dirty(marks, heap_bytes.saturating_sub(bytes)..heap_bytes);
    }

    pub(crate) fn see(&self, touched: u64, marks: &[u8], heap_bytes: usize) {
        if !any_dirty(marks) {
            self.start.see(touched);
            return self.end.see(0);
        }
        let touched = usize::try_from(touched).unwrap_or(usize::MAX);
        let (mut start, mut end) = (0, 0);
        for span in dirty_spans(touched, marks, heap_bytes) {
            if span.start > start {
                // The first page is there because the one behind it is marked.
                end = heap_bytes.saturating_sub(span.start.saturating_add(PAGE_BYTES));
                break;
            }
            start = span.end;
        }
        self.start.see(start as u64);
        self.end.see(end as u64);
    }
}
