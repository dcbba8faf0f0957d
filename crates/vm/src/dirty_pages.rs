//! Dirty pages: a record of which pages of a region may have been written to.
//!
//! A region with a [dirty prefix](crate::Region::with_dirty_prefix) records how many bytes from its
//! start may have been written to. Stores beyond that prefix are recorded per page, in one byte
//! each: 1 if dirty. Machine code reads a single byte per store, so **a dirty byte stands for its
//! page and the page before it**: a store no longer than a page that ends in a dirty page needs no
//! further record.

use core::ops::Range;

/// log2 of [`PAGE_BYTES`].
pub(crate) const PAGE_SHIFT: u8 = 9;

/// Bytes of a page, the granularity at which regions are cleared.
pub const PAGE_BYTES: usize = 1 << PAGE_SHIFT;

/// Returns the length of the record for a region of `bytes` bytes: one byte per page, rounded up to
/// a multiple of 8, so that it can be scanned by words.
#[must_use]
pub fn dirty_pages_len(bytes: usize) -> usize {
    bytes.div_ceil(PAGE_BYTES).next_multiple_of(WORD_PAGES)
}

/// Pages that are scanned at a time.
const WORD_PAGES: usize = 8;

/// Marks the pages of `span`, in bytes from the start of the region. Returns whether any of them
/// was clean. Pages beyond the record are ignored.
#[inline]
pub fn mark_dirty(dirty_pages: &mut [u8], span: Range<usize>) -> bool {
    if span.is_empty() {
        return false;
    }
    let pages = dirty_pages.get_mut(span.start >> PAGE_SHIFT..=(span.end - 1) >> PAGE_SHIFT);
    let mut is_new = false;
    for page in pages.into_iter().flatten() {
        is_new |= *page == 0;
        *page = 1;
    }
    is_new
}

/// Returns whether any page is dirty.
#[inline]
#[must_use]
pub fn any_dirty(dirty_pages: &[u8]) -> bool {
    let words = dirty_pages.as_chunks::<WORD_PAGES>().0;
    words.iter().fold(0, |all, word| all | u64::from_ne_bytes(*word)) != 0
}

/// Returns the first dirty page at or after page `from`.
#[inline]
#[must_use]
pub fn next_dirty(dirty_pages: &[u8], from: usize) -> Option<usize> {
    let words = dirty_pages.as_chunks::<WORD_PAGES>().0;
    let (mut index, skipped) = (from / WORD_PAGES, from % WORD_PAGES);
    let mut word = u64::from_le_bytes(*words.get(index)?) >> (8 * skipped) << (8 * skipped);
    while word == 0 {
        index += 1;
        word = u64::from_le_bytes(*words.get(index)?);
    }
    Some(index * WORD_PAGES + word.trailing_zeros() as usize / 8)
}

/// Returns the spans of a region of `len` bytes that may have been written to, in ascending order:
/// the first `dirty_prefix` bytes, and after them what `dirty_pages` records.
#[inline]
pub fn dirty_spans(
    dirty_prefix: usize,
    dirty_pages: &[u8],
    len: usize,
) -> impl Iterator<Item = Range<usize>> {
    let first = 0..dirty_prefix.min(len);
    let mut covered = first.end;
    let mut next = 0;
    let pages = core::iter::from_fn(move || {
        let page = next_dirty(dirty_pages, next)?;
        next = page + 1;
        Some(page)
    });
    let spans = pages.map(move |page| {
        let start = page.saturating_sub(1) << PAGE_SHIFT;
        let span = start.max(covered)..((page + 1) << PAGE_SHIFT).min(len);
        covered = covered.max(span.end);
        span
    });
    core::iter::once(first).chain(spans).filter(|span| span.start < span.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dirty_byte_covers_its_page_and_the_page_before() {
        let mut dirty_pages = [0; 8];
        assert!(mark_dirty(&mut dirty_pages, 1024..1025));
        assert!(!mark_dirty(&mut dirty_pages, 1030..1536));
        assert!(mark_dirty(&mut dirty_pages, 2047..2049));
        assert_eq!(dirty_pages, [0, 0, 1, 1, 1, 0, 0, 0]);
        let spans = |prefix, len| dirty_spans(prefix, &dirty_pages, len).collect::<Vec<_>>();
        assert_eq!(spans(0, 4096), [512..1536, 1536..2048, 2048..2560]);
        assert_eq!(spans(600, 4096), [0..600, 600..1536, 1536..2048, 2048..2560]);
        assert_eq!(spans(4096, 4096).as_slice(), core::slice::from_ref(&(0..4096)));
        assert_eq!(spans(2000, 2050), [0..2000, 2000..2048, 2048..2050]);
    }

    #[test]
    fn spans_beyond_the_record_and_empty_spans_are_ignored() {
        let mut dirty_pages = [0; 2];
        assert!(!mark_dirty(&mut dirty_pages, 1025..1026));
        assert!(!mark_dirty(&mut dirty_pages, 5..5));
        assert_eq!(dirty_pages, [0, 0]);
    }
}
