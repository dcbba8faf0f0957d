//! Marks: which pages of a region may have been written to.
//!
//! A region that is [tracked](crate::Region::tracked) knows how far it is touched from its start.
//! Stores beyond that are recorded by pages, a byte of marks for each. Machine code looks at one of
//! them alone: **a mark says of its page and of the one before that they may have been written
//! to**. So what ends in a marked page and is no longer than a page needs no further record.

use core::ops::Range;

/// log2 of the bytes of a page.
pub(crate) const PAGE_SHIFT: u8 = 9;

/// Bytes of a page: what stands between a few bytes that were written to and what is cleared.
pub const PAGE_BYTES: usize = 1 << PAGE_SHIFT;

/// How many marks a region of so many bytes needs: one for each page, and a few more to be looked at
/// together.
#[must_use]
pub fn marks_len(bytes: usize) -> usize {
    bytes.div_ceil(PAGE_BYTES).next_multiple_of(TOGETHER)
}

/// So many marks are looked at together.
const TOGETHER: usize = 8;

/// Marks a span; tells whether that was news.
#[inline]
pub fn mark(marks: &mut [u8], span: Range<usize>) -> bool {
    if span.is_empty() {
        return false;
    }
    let pages = marks.get_mut(span.start >> PAGE_SHIFT..=(span.end - 1) >> PAGE_SHIFT);
    let mut is_new = false;
    for mark in pages.into_iter().flatten() {
        is_new |= *mark == 0;
        *mark = 1;
    }
    is_new
}

/// Whether any page is marked.
#[inline]
#[must_use]
pub fn is_marked(marks: &[u8]) -> bool {
    let words = marks.as_chunks::<TOGETHER>().0;
    words.iter().fold(0, |all, marks| all | u64::from_ne_bytes(*marks)) != 0
}

/// The first page that is marked, from a page on.
#[inline]
#[must_use]
pub fn next_marked(marks: &[u8], from: usize) -> Option<usize> {
    let words = marks.as_chunks::<TOGETHER>().0;
    let (mut at, skipped) = (from / TOGETHER, from % TOGETHER);
    let mut word = u64::from_le_bytes(*words.get(at)?) >> (8 * skipped) << (8 * skipped);
    while word == 0 {
        at += 1;
        word = u64::from_le_bytes(*words.get(at)?);
    }
    Some(at * TOGETHER + word.trailing_zeros() as usize / 8)
}

/// The spans of a region of `len` bytes that may have been written to, in order, if it was touched
/// from its start as far as told, and beyond that as marked.
#[inline]
pub fn touched_spans(
    touched: usize,
    marks: &[u8],
    len: usize,
) -> impl Iterator<Item = Range<usize>> {
    let first = 0..touched.min(len);
    let mut behind = first.end;
    let mut next = 0;
    let pages = core::iter::from_fn(move || {
        let page = next_marked(marks, next)?;
        next = page + 1;
        Some(page)
    });
    let spans = pages.map(move |page| {
        let start = page.saturating_sub(1) << PAGE_SHIFT;
        let span = start.max(behind)..((page + 1) << PAGE_SHIFT).min(len);
        behind = behind.max(span.end);
        span
    });
    core::iter::once(first).chain(spans).filter(|span| span.start < span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_for_two_pages() {
        let mut marks = [0; 8];
        assert!(mark(&mut marks, 1024..1025));
        assert!(!mark(&mut marks, 1030..1536));
        assert!(mark(&mut marks, 2047..2049));
        assert_eq!(marks, [0, 0, 1, 1, 1, 0, 0, 0]);
        let spans = |touched, len| touched_spans(touched, &marks, len).collect::<Vec<_>>();
        assert_eq!(spans(0, 4096), [512..1536, 1536..2048, 2048..2560]);
        assert_eq!(spans(600, 4096), [0..600, 600..1536, 1536..2048, 2048..2560]);
        assert_eq!(spans(4096, 4096).as_slice(), core::slice::from_ref(&(0..4096)));
        assert_eq!(spans(2000, 2050), [0..2000, 2000..2048, 2048..2050]);
    }

    #[test]
    fn what_is_beyond_the_marks_is_no_news() {
        let mut marks = [0; 2];
        assert!(!mark(&mut marks, 1025..1026));
        assert!(!mark(&mut marks, 5..5));
        assert_eq!(marks, [0, 0]);
    }
}
