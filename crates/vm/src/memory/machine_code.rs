//! What machine code knows of the memory map, and how it is kept up to date.

use core::mem::MaybeUninit;

use selkie_isa::layout::{REGION_SIZE, STACK_START};

use super::{map::MemoryMap, region::usize_of, window::WINDOW_COUNT};
use crate::trap::Access;

/// What machine code knows of the regions, by window. Addresses are *dense*: in windows with gaps,
/// the bit that tells gaps from frames is removed.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct WindowTable {
    /// Behind the last byte that may be loaded, and stored to; 0 if there is none.
    pub(crate) limits: [[u64; 2]; 8],
    /// The difference between host address and dense address, and the bit of an address that is set
    /// in gaps. Not used where the limits are 0, since no access passes the check there.
    pub(crate) bases: [MaybeUninit<[u64; 2]>; 8],
    /// The mask that selects the bits of the dense address.
    pub(crate) masks: [MaybeUninit<[u64; 2]>; 8],
    /// The region whose dirty pages may be stored to beyond the limit: its first dense address and
    /// its length in bytes, 0 if there is none.
    pub(crate) tracked_ranges: [[u64; 2]; 8],
    /// Host address of the record of dirty pages.
    pub(crate) dirty_pages: [MaybeUninit<[u64; 2]>; 8],
}

impl WindowTable {
    pub(crate) const EMPTY: Self = Self {
        limits: [[0; 2]; 8],
        bases: [MaybeUninit::uninit(); 8],
        masks: [MaybeUninit::uninit(); 8],
        tracked_ranges: [[0; 2]; 8],
        dirty_pages: [MaybeUninit::uninit(); 8],
    };
}

/// The bounds of a region that shares its window with others.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RegionBounds {
    pub(crate) start: u64,
    /// Behind the last byte that may be loaded, and stored to; 0 if there is none.
    pub(crate) ends: [u64; 2],
    /// The difference between host address and guest address.
    pub(crate) base: u64,
}

/// Pages that are recorded as dirty in a run. Beyond that, clearing whole regions is cheaper.
const DIRTY_PAGES_MAX: u32 = 64;

impl MemoryMap<'_> {
    /// Starts recording dirty pages, for a run of machine code.
    pub(crate) fn begin_page_tracking(&mut self) {
        self.dirty_pages_left = DIRTY_PAGES_MAX;
    }

    /// Stops recording pages: regions with a record count as dirty as a whole.
    pub(crate) fn end_page_tracking(&mut self) {
        if core::mem::take(&mut self.dirty_pages_left) == 0 {
            return;
        }
        for index in 0..self.regions.len() {
            let region = &self.regions[index];
            let (vaddr, len) = (region.vaddr, region.len);
            if !region.dirty_pages.is_null() && region.dirty_prefix < len {
                self.raise_dirty_prefix(index, vaddr, len);
            }
        }
    }

    /// Returns whether no region has changed since the running machine code got its table from
    /// [`MemoryMap::fill_window_table`].
    #[inline(always)]
    pub(crate) fn is_known_to_code(&self) -> bool {
        self.is_known_to_code
    }

    /// Notes that the machine code has ended.
    pub(crate) fn end_code(&mut self) {
        self.is_known_to_code = false;
    }

    /// Fills the table that machine code looks regions up in: those that start where their window
    /// does, without gaps, or with gaps of `gap_min` bytes or more if that is given.
    ///
    /// Machine code must not use the table once [`MemoryMap::is_known_to_code`] is false.
    pub(crate) fn fill_window_table(&mut self, windows: &mut WindowTable, gap_min: Option<u64>) {
        self.is_known_to_code = true;
        for region in &self.regions {
            let window = usize_of(region.vaddr / REGION_SIZE);
            // Addresses beyond all windows use the entry of the last one, which stays empty.
            if window >= WINDOW_COUNT - 1 || !region.vaddr.is_multiple_of(REGION_SIZE) {
                continue;
            }
            let (mut start, mut gap_bits, mut mask) = (region.vaddr, 0, u64::MAX);
            let known = match region.gap_shift {
                None => true,
                Some(shift) => {
                    start /= 2;
                    (gap_bits, mask) = (1 << shift, !(1 << shift));
                    // A higher bit would belong to the number of the window.
                    let is_of_offset = gap_bits < REGION_SIZE;
                    is_of_offset && gap_min.is_some_and(|least| gap_bits >= least)
                }
            };
            let limit = if known { start + region.len.min(REGION_SIZE) } else { 0 };
            let storable_end = start + region.storable().min(REGION_SIZE);
            let stores = if known && region.writable { storable_end } else { 0 };
            windows.limits[window] = [limit, stores];
            if known
                && region.writable
                && self.dirty_pages_left > 0
                && !region.dirty_pages.is_null()
            {
                windows.tracked_ranges[window] = [start, region.len];
                windows.dirty_pages[window].write([region.dirty_pages as u64, 0]);
            }
            windows.bases[window].write([(region.host as u64).wrapping_sub(start), gap_bits]);
            windows.masks[window].write([mask, 0]);
        }
    }

    /// Returns the host address of the stack, if it is a writable region of `len` bytes or more at
    /// the start of its window, with gaps of `gap_bytes`.
    pub(crate) fn stack_address(&self, len: u64, gap_bytes: Option<u64>) -> Option<u64> {
        let region = &self.regions[self.region_index(STACK_START)?];
        let fits = region.vaddr == STACK_START
            && region.len >= len
            && region.writable
            && region.gap_shift == gap_bytes.map(u64::trailing_zeros);
        fits.then_some(region.host as u64)
    }

    /// Raises the dirty prefix of the stack to `len` bytes, and returns how many bytes of the stack
    /// may be stored to without recording it.
    pub(crate) fn raise_stack_dirty_prefix(&mut self, len: u64) -> u64 {
        let Some(index) = self.region_index(STACK_START) else { return 0 };
        if self.regions[index].dirty_prefix < len {
            self.regions[index].dirty_prefix = len;
            self.invalidate_window(index, STACK_START);
        }
        self.regions[index].storable()
    }

    /// Translates a group of accesses to the `len` bytes at `vaddr`, of which the last one starts
    /// `stride` bytes after the first. Returns the host address of the last byte, and the bounds
    /// of the region if it has no gaps and windows may have several regions.
    pub(crate) fn translate_span(
        &mut self,
        access: Access,
        vaddr: u64,
        len: u64,
        stride: u64,
    ) -> Option<(u64, Option<RegionBounds>)> {
        let index = self.region_index(vaddr)?;
        // With aligned mapping, the region of the next window decides on addresses there.
        if self.aligned && self.region_index(vaddr + stride) != Some(index) {
            return None;
        }
        let host = self.regions[index].host(access, vaddr, len)?;
        let last = self.regions[index].host(access, vaddr + stride, 1)? as u64;
        if last - host as u64 != stride {
            return None;
        }
        if access == Access::Store {
            self.record(index, vaddr, host, len);
        }
        let region = &self.regions[index];
        let bounds = RegionBounds {
            start: region.vaddr,
            ends: [
                region.vaddr + region.len,
                if region.writable { region.vaddr + region.storable() } else { 0 },
            ],
            base: (region.host as u64).wrapping_sub(region.vaddr),
        };
        let is_hint = region.gap_shift.is_none() && !self.aligned;
        Some((host as u64 + len - 1, is_hint.then_some(bounds)))
    }
}
