//! How much of its memory a program is likely to write to, judging by its last run.
//!
//! Hints decide how buffers are prepared for a run. Nothing but speed depends on them.

use core::sync::atomic::{AtomicU64, Ordering};

use selkie_vm::dirty_pages::{PAGE_BYTES, any_dirty, dirty_spans, mark_dirty};

/// The hints for all memory of a program.
#[derive(Default, Debug)]
pub(crate) struct DirtyHints {
    /// The stack, when the interpreter runs the program or its frames are dynamic.
    pub(crate) stack: DirtyPrefixHint,
    pub(crate) heap: HeapHint,
    /// The input region, when machine code runs.
    pub(crate) input_compiled: DirtyPrefixHint,
    /// The input region, when the interpreter runs. It records writes differently from machine code,
    /// so its figures say nothing about it.
    pub(crate) input_interpreted: DirtyPrefixHint,
}

/// How many bytes at the start of a buffer the last run has written to.
#[derive(Default, Debug)]
pub(crate) struct DirtyPrefixHint(AtomicU64);

impl DirtyPrefixHint {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn record(&self, bytes: u64) {
        if self.get() != bytes {
            self.0.store(bytes, Ordering::Relaxed);
        }
    }
}

/// How many bytes the last run has written to at the start and at the end of its heap. Allocators
/// keep their position at the start, and allocate from the end.
#[derive(Default, Debug)]
pub(crate) struct HeapHint {
    pub(crate) start: DirtyPrefixHint,
    end: DirtyPrefixHint,
}

impl HeapHint {
    /// Marks the pages at the end of a heap as dirty.
    pub(crate) fn mark_end(&self, dirty_pages: &mut [u8], heap_bytes: usize) {
        let bytes = usize::try_from(self.end.get()).unwrap_or(usize::MAX);
        mark_dirty(dirty_pages, heap_bytes.saturating_sub(bytes)..heap_bytes);
    }

    /// Records what a run has written to: a prefix of the heap, and dirty pages.
    pub(crate) fn record(&self, dirty_prefix: u64, dirty_pages: &[u8], heap_bytes: usize) {
        if !any_dirty(dirty_pages) {
            self.start.record(dirty_prefix);
            return self.end.record(0);
        }
        let dirty_prefix = usize::try_from(dirty_prefix).unwrap_or(usize::MAX);
        let (mut start, mut end) = (0, 0);
        for span in dirty_spans(dirty_prefix, dirty_pages, heap_bytes) {
            if span.start > start {
                // A span begins one page before the first page that is marked.
                end = heap_bytes.saturating_sub(span.start.saturating_add(PAGE_BYTES));
                break;
            }
            start = span.end;
        }
        self.start.record(start as u64);
        self.end.record(end as u64);
    }
}
