//! The buffer that inputs are written to, one after the other.
//!
//! Most of an input is the room that accounts have to grow: zeros, which most programs never write
//! to. So the buffer knows what of it is zero still, and does not zero that again.
//!
//! Invariant: what [`InputBytes::zeros`] says is zero. Whoever lets a program write to the bytes
//! says afterwards where it may have done so.

use core::ops::Range;

use selkie_vm::dirty_pages::{PAGE_BYTES, any_dirty, mark_dirty, next_dirty};

/// Bytes of an input, and what is left of those before.
#[derive(Default, Debug)]
pub(crate) struct InputBytes {
    /// At least as many as there are in the input.
    bytes: Vec<u8>,
    /// Bytes of the input.
    len: usize,
    /// Spans of zeros, in order.
    zeros: Vec<Range<usize>>,
    /// Those of the input before, while one is written, and how many of them lie behind.
    before: (Vec<Range<usize>>, usize),
    /// Bytes that are written.
    end: usize,
}

impl InputBytes {
    /// Begins an input of so many bytes, all of which are to be written or zeroed then.
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

    /// Writes what comes next.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let end = self.end.saturating_add(bytes.len());
        let place = self.bytes.get_mut(self.end..end);
        place.expect("the input is as long as its layout says").copy_from_slice(bytes);
        self.end = end;
    }

    /// What comes next, to be written.
    pub(crate) fn next<const N: usize>(&mut self) -> &mut [u8; N] {
        let place = self.bytes.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut);
        self.end = self.end.saturating_add(N);
        place.expect("the input is as long as its layout says")
    }

    /// Zeroes what comes next, up to `end`.
    pub(crate) fn zero_to(&mut self, end: usize) {
        let span = self.end..end;
        let (before, behind) = &mut self.before;
        let mut start = span.start;
        while let Some(known) = before.get(*behind)
            && known.start < end
        {
            zero(&mut self.bytes, start..known.start);
            start = start.max(known.end.min(end));
            if known.end > end {
                break;
            }
            *behind = behind.saturating_add(1);
        }
        zero(&mut self.bytes, start..end);
        self.zeros.push(span);
        self.end = end;
    }

    /// Ends the input: what lies behind is as it was.
    pub(crate) fn finish(&mut self) {
        debug_assert_eq!(self.end, self.len, "the input is as long as its layout says");
        let (before, behind) = &self.before;
        let left = before.get(*behind..).unwrap_or_default().iter();
        let left = left.map(|span| span.start.max(self.len)..span.end);
        self.zeros.extend(left.filter(|span| span.start < span.end));
    }

    /// How many bytes of the input come before the first span of zeros.
    pub(crate) fn first_zero(&self) -> usize {
        self.zeros.first().map_or(self.len, |span| span.start.min(self.len))
    }

    /// Marks all of the input but spans of zeros: it is written anew for the next input in any
    /// case.
    pub(crate) fn mark_written(&self, marks: &mut [u8]) {
        let mut end = 0;
        for span in &self.zeros {
            mark_dirty(marks, end..span.start.min(self.len));
            end = span.end;
        }
        mark_dirty(marks, end..self.len.max(end));
    }

    /// Says that a program may have written to the first bytes, as many as told, and to others as
    /// far as they are marked.
    pub(crate) fn touch(&mut self, touched: usize, marks: &[u8]) {
        if !any_dirty(marks) {
            self.zeros.retain_mut(|span| {
                span.start = span.start.max(touched);
                span.start < span.end
            });
            return;
        }
        let before = core::mem::replace(&mut self.zeros, core::mem::take(&mut self.before.0));
        self.zeros.clear();
        for span in &before {
            // What a mark says of is two pages: its own and the one before.
            let mut start = span.start.max(touched);
            let mut page = start / PAGE_BYTES;
            while start < span.end {
                let marked = next_dirty(marks, page);
                let gone =
                    marked.map_or(usize::MAX, |it| it.saturating_sub(1).saturating_mul(PAGE_BYTES));
                let clean = start..span.end.min(gone);
                if !clean.is_empty() {
                    self.zeros.push(clean);
                }
                let Some(marked) = marked else { break };
                page = marked.saturating_add(1);
                start = start.max(page.saturating_mul(PAGE_BYTES));
            }
        }
        self.before.0 = before;
        debug_assert!(
            self.zeros.iter().all(|span| self.bytes[span.clone()].iter().all(|byte| *byte == 0)),
            "what is not touched is zero"
        );
    }

    /// How many bytes there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// The input.
    pub(crate) fn get(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The input, for a program to write to.
    pub(crate) fn get_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(..self.len).unwrap_or_default()
    }
}

/// Zeroes a span, which may be none.
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
        fn what_is_not_written_is_zero(
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
            for (parts, touched, stores) in inputs {
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
                let touched = touched.min(len);
                bytes.get_mut()[..touched].fill(9);
                let mut marks = vec![0; dirty_pages_len(len)];
                for (start, count) in stores {
                    let span = start.min(len)..(start + count).min(len);
                    bytes.get_mut()[span.clone()].fill(9);
                    mark_dirty(&mut marks, span);
                }
                bytes.touch(touched, &marks);
            }
        }
    }
}
