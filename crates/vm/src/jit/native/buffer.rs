//! Memory for machine code: first writable, then executable, never both.
//!
//! Units of a program share mappings, since each mapping costs the operating system more than the
//! code of a small unit costs the compiler. A unit has whole pages of its own, which are writable
//! until its code is in them. Mappings double in size, so that a program has few of them, and pages
//! that wait for units take no more memory than those that have one.

#![allow(unsafe_code, reason = "writes to pages of a mapping, others of which are executable")]

use core::{ptr, slice};
use std::{io, sync::Arc};

use memmap2::{MmapOptions, MmapRaw};
use rustix::mm::{MprotectFlags, mprotect};

use super::instruction_cache::publish;

/// Pages for the units of a program.
#[derive(Debug)]
pub(super) struct Pages {
    page_bytes: usize,
    /// The mapping that units are added to.
    mapping: Option<Arc<MmapRaw>>,
    /// Bytes of that mapping that have units, in whole pages.
    used: usize,
    /// Bytes of all mappings.
    mapped: usize,
}

/// The most bytes of a mapping for several units.
const SHARED_BYTES_MAX: usize = 256 << 10;

impl Default for Pages {
    fn default() -> Self {
        Self { page_bytes: page_bytes(), mapping: None, used: 0, mapped: 0 }
    }
}

impl Pages {
    /// Returns writable pages of at least `len` bytes: a mapping and the offset in it.
    fn take(&mut self, len: usize) -> io::Result<(Arc<MmapRaw>, usize)> {
        let len = len.next_multiple_of(self.page_bytes);
        if let Some(mapping) = self.mapping.as_ref().filter(|it| it.len() - self.used >= len) {
            let start = self.used;
            self.used += len;
            return Ok((Arc::clone(mapping), start));
        }
        let bytes = len.max(self.mapped.min(SHARED_BYTES_MAX));
        let mapping = MmapOptions::new().len(bytes).populate().map_anon()?;
        let mapping = Arc::new(MmapRaw::from(mapping));
        self.mapping = Some(Arc::clone(&mapping));
        self.used = len;
        self.mapped += bytes;
        Ok((mapping, 0))
    }
}

/// Machine code in executable, read-only pages.
#[derive(Debug)]
pub(super) struct Executable {
    mapping: Arc<MmapRaw>,
    start: usize,
    len: usize,
}

impl Executable {
    /// Copies code into pages of its own.
    ///
    /// # Errors
    /// If the operating system provides no such pages.
    pub(super) fn new(code: &[u8], pages: &mut Pages) -> io::Result<Self> {
        Self::published(code, pages, publish)
    }

    /// Copies code into pages of its own, and passes it to `publish` where it will be executed.
    fn published(code: &[u8], pages: &mut Pages, publish: impl FnOnce(&[u8])) -> io::Result<Self> {
        let len = code.len().max(1);
        let (mapping, start) = pages.take(len)?;
        // SAFETY: `take` returns `len` bytes of the mapping that are writable, and returns none of
        // them again.
        unsafe {
            let to = mapping.as_mut_ptr().add(start);
            ptr::copy_nonoverlapping(code.as_ptr(), to, code.len());
            make_executable(to, len.next_multiple_of(pages.page_bytes))?;
        }
        let executable = Self { mapping, start, len: code.len() };
        publish(executable.bytes());
        Ok(executable)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: these pages are readable as long as the mapping lives, and are not written again.
        unsafe { slice::from_raw_parts(self.mapping.as_ptr().add(self.start), self.len) }
    }

    /// Returns how many bytes of memory the code takes, in whole pages.
    pub(super) fn memory_bytes(&self) -> usize {
        self.len.next_multiple_of(page_bytes())
    }
}

/// Returns the size of a page of this system.
pub(super) fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// Makes pages executable, which can then not be written to.
///
/// # Safety
/// The pages must belong to a mapping of this module, and nothing may refer to their content.
unsafe fn make_executable(start: *mut u8, len: usize) -> io::Result<()> {
    // SAFETY: the caller guarantees it.
    unsafe { mprotect(start.cast(), len, MprotectFlags::READ | MprotectFlags::EXEC)? };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts units of many sizes into pages of so many bytes.
    fn check_units(page_bytes: usize) {
        let mut pages = Pages { page_bytes, ..Pages::default() };
        let lens = [1, 100, page_bytes, page_bytes + 1, 3 * page_bytes, 0, 17];
        let mut published = Vec::new();
        let mut publish = |code: &[u8]| published.push(code.as_ptr_range());
        let units: Vec<Executable> = (1..)
            .zip(lens)
            .map(|(byte, len)| {
                let code = vec![byte; len];
                Executable::published(&code, &mut pages, &mut publish).expect("memory")
            })
            .collect();
        for ((byte, len), unit) in (1..).zip(lens).zip(&units) {
            assert_eq!(unit.bytes(), vec![byte; len]);
            assert!(unit.start.is_multiple_of(page_bytes), "it has pages of its own");
        }
        let spans: Vec<_> = units.iter().map(|it| it.bytes().as_ptr_range()).collect();
        assert_eq!(published, spans, "all code is published where it is executed");
        let mut starts: Vec<usize> = units.iter().map(|it| it.bytes().as_ptr().addr()).collect();
        starts.sort_unstable();
        starts.dedup();
        assert_eq!(starts.len(), units.len(), "no page has two units");
        let total: usize = lens.iter().map(|len| len.next_multiple_of(page_bytes)).sum();
        assert!(pages.mapped <= 2 * (total + page_bytes), "{} for {total}", pages.mapped);
        let mut mappings: Vec<*mut u8> = units.iter().map(|it| it.mapping.as_mut_ptr()).collect();
        mappings.dedup();
        assert!(mappings.len() < units.len());
    }

    #[test]
    fn units_share_mappings_and_keep_their_code_with_every_page_size() {
        // Smaller pages than the system's cannot be made executable one by one.
        let sizes = [4, 16, 64].map(|it| it << 10).into_iter();
        sizes.filter(|it| *it >= page_bytes()).for_each(check_units);
    }
}
