//! The buffer that inputs are serialized to, one after the other.
//!
//! Most of an input are the zeros behind each account's data, which most programs never write to. The
//! buffer keeps track of spans that are still zero, to skip them when it zeroes the next input.
//!
//! Invariant: the spans of [`InputBytes::zeros`] are zero. After a program may have written to the
//! bytes, [`InputBytes::touch`] must be called with what it may have written to.

use core::ops::Range;

use selkie_vm::dirty_pages::{PAGE_BYTES, any_dirty, mark_dirty, next_dirty};

/// The bytes of an input. Bytes behind it are left over from longer inputs before.
#[derive(Default, Debug)]
pub(crate) struct InputBytes {
    /// The allocation, at least as long as the input.
    bytes: Vec<u8>,
    /// The length of the input.
    len: usize,
    /// Spans of zeros, in order.
    zeros: Vec<Range<usize>>,
    /// While an input is written: the spans of the previous input, and how many of them `end` has
    /// passed.
    before: (Vec<Range<usize>>, usize),
    /// The number of bytes that are written.
    end: usize,
}

impl InputBytes {
    /// Begins an input of `len` bytes, all of which must then be written or zeroed.
    pub(crate) fn begin(&mut self, len: usize) {
        if self.bytes.len() < len {
            self.bytes = vec![0; len];
            self.zeros.clear();
            self.zeros.push(0..len);
        }
        (self.len, self.end) = (len, 0);
        self.before = (core::mem::replace(&mut self.zeros, core::mem::take(&mut self.before.0)), 0);
        self.zeros.clear();
    }

    /// Writes the next bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let end = self.end.saturating_add(bytes.len());
        let next = self.bytes.get_mut(self.end..end);
        next.expect("the input is as long as its layout says").copy_from_slice(bytes);
        self.end = end;
    }

    /// Returns the next bytes, which the caller must write.
    pub(crate) fn next<const N: usize>(&mut self) -> &mut [u8; N] {
        let next = self.bytes.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut);
        self.end = self.end.saturating_add(N);
        next.expect("the input is as long as its layout says")
    }

    /// Zeroes the next bytes up to `end`.
    pub(crate) fn zero_to(&mut self, end: usize) {
        let span = self.end..end;
        let (before, passed) = &mut self.before;
        let mut start = span.start;
        while let Some(known) = before.get(*passed)
            && known.start < end
        {
            zero(&mut self.bytes, start..known.start);
            start = start.max(known.end.min(end));
            if known.end > end {
                break;
            }
            *passed = passed.saturating_add(1);
        }
        zero(&mut self.bytes, start..end);
        self.zeros.push(span);
        self.end = end;
    }

    /// Ends the input. Bytes behind it are unchanged.
    pub(crate) fn finish(&mut self) {
        debug_assert_eq!(self.end, self.len, "the input is as long as its layout says");
        let (before, passed) = &self.before;
        let rest = before.get(*passed..).unwrap_or_default().iter();
        let rest = rest.map(|span| span.start.max(self.len)..span.end);
        self.zeros.extend(rest.filter(|span| span.start < span.end));
    }

    /// Returns the number of bytes of the input before the first span of zeros.
    pub(crate) fn first_zero(&self) -> usize {
        self.zeros.first().map_or(self.len, |span| span.start.min(self.len))
    }

    /// Marks the whole input as dirty except for spans of zeros: all else is overwritten by the next
    /// input anyway.
    pub(crate) fn mark_written(&self, dirty_pages: &mut [u8]) {
        let mut end = 0;
        for span in &self.zeros {
            mark_dirty(dirty_pages, end..span.start.min(self.len));
            end = span.end;
        }
        mark_dirty(dirty_pages, end..self.len.max(end));
    }

    /// Notes that a program may have written to the first `dirty_prefix` bytes and to dirty pages.
    pub(crate) fn touch(&mut self, dirty_prefix: usize, dirty_pages: &[u8]) {
        if !any_dirty(dirty_pages) {
            self.zeros.retain_mut(|span| {
                span.start = span.start.max(dirty_prefix);
                span.start < span.end
            });
            return;
        }
        let before = core::mem::replace(&mut self.zeros, core::mem::take(&mut self.before.0));
        self.zeros.clear();
        for span in &before {
            // The flag of a page covers the page before it, too.
            let mut start = span.start.max(dirty_prefix);
            let mut page = start / PAGE_BYTES;
            while start < span.end {
                let dirty = next_dirty(dirty_pages, page);
                let clean_end =
                    dirty.map_or(usize::MAX, |it| it.saturating_sub(1).saturating_mul(PAGE_BYTES));
                let clean = start..span.end.min(clean_end);
                if !clean.is_empty() {
                    self.zeros.push(clean);
                }
                let Some(dirty) = dirty else { break };
                page = dirty.saturating_add(1);
                start = start.max(page.saturating_mul(PAGE_BYTES));
            }
        }
        self.before.0 = before;
        debug_assert!(
            self.zeros.iter().all(|span| self.bytes[span.clone()].iter().all(|byte| *byte == 0)),
            "bytes that were not written to are zero"
        );
    }

    /// Returns the number of allocated bytes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns the input.
    pub(crate) fn get(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// Returns the input, for a program to write to.
    pub(crate) fn get_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..self.len).unwrap_or_default()
    }
}

/// Zeroes a span, which may be empty.
fn zero(bytes: &mut [u8], span: Range<usize>) {
    if let Some(span) = bytes.get_mut(span) {
        span.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use selkie_vm::dirty_pages::dirty_pages_len;

    use super::*;

    proptest! {
        #[test]
        fn bytes_between_the_written_ones_are_zero_in_every_input(
            inputs in prop::collection::vec(
                (
                    prop::collection::vec((0_usize..1400, 0_usize..1400), 1..5),
                    0_usize..3000,
                    prop::collection::vec((0_usize..6000, 1_usize..100), 0..4),
                ),
                1..6,
            ),
        ) {
            let mut bytes = InputBytes::default();
            for (parts, dirty_prefix, stores) in inputs {
                let len = parts.iter().map(|(written, zeros)| written + zeros).sum();
                bytes.begin(len);
                let mut expected = Vec::new();
                for (written, zeros) in parts {
                    bytes.write(&vec![7; written]);
                    expected.resize(expected.len() + written, 7);
                    expected.resize(expected.len() + zeros, 0);
                    bytes.zero_to(expected.len());
                }
                bytes.finish();
                prop_assert_eq!(bytes.get(), &*expected);
                let dirty_prefix = dirty_prefix.min(len);
                bytes.get_mut()[..dirty_prefix].fill(9);
                let mut dirty_pages = vec![0; dirty_pages_len(len)];
                for (start, count) in stores {
                    let span = start.min(len)..(start + count).min(len);
                    bytes.get_mut()[span.clone()].fill(9);
                    mark_dirty(&mut dirty_pages, span);
                }
                bytes.touch(dirty_prefix, &dirty_pages);
            }
        }
    }
}
