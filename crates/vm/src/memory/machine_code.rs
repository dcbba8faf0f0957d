//! What machine code knows of memory.

use core::mem::MaybeUninit;

use selkie_isa::layout::{REGION_SIZE, STACK_START};

use super::{map::MemoryMap, region::usize_of, window::WINDOW_COUNT};
use crate::trap::Access;

/// What machine code knows of memory, by window. Addresses are *dense*: with the bit of the gap
/// taken out, in windows that have gaps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct WindowTable {
    /// One past the last byte that may be loaded, that may be stored; 0 for none.
    pub(crate) limits: [[u64; 2]; 8],
    /// From a dense address to the host's; the bits of an address that say that it is in a gap.
    /// Where the limits are 0, whatever stands here leads to the same: no access is known to be fine.
    pub(crate) bases: [MaybeUninit<[u64; 2]>; 8],
    /// The bits of an address that make up the dense one.
    pub(crate) masks: [MaybeUninit<[u64; 2]>; 8],
    /// Where pages are marked that may be stored to beyond the limit: the first address, and how
    /// many bytes there are; 0 for none.
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

/// One region, of those that share a window.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct RegionBounds {
    pub(crate) start: u64,
    /// One past the last byte that may be loaded, that may be stored; 0 for none.
    pub(crate) ends: [u64; 2],
    /// From the guest's address to the host's.
    pub(crate) base: u64,
}

/// How often pages are marked in a run, until it is better to record no more.
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

    /// Whether [`MemoryMap::fill_window_table`] has told the running machine code of this map, and no
    /// region was changed since.
    #[inline(always)]
    pub(crate) fn is_known_to_code(&self) -> bool {
        self.is_known_to_code
    }

    /// The machine code that knows the map runs no more.
    pub(crate) fn end_code(&mut self) {
        self.is_known_to_code = false;
    }

    /// The windows as machine code looks them up: those whose region starts where they do, and has
    /// no gaps shorter than `gap_min`; none with gaps if there is no such number. The windows must
    /// not be used once the map is no longer known to code.
    pub(crate) fn fill_window_table(&mut self, windows: &mut WindowTable, gap_min: Option<u64>) {
        self.is_known_to_code = true;
        for region in &self.regions {
            let window = usize_of(region.vaddr / REGION_SIZE);
            // Addresses beyond all windows fall into the last one, which stays empty.
            if window >= WINDOW_COUNT - 1 || !region.vaddr.is_multiple_of(REGION_SIZE) {
                continue;
            }
            let (mut start, mut gap_bits, mut mask) = (region.vaddr, 0, u64::MAX);
            let known = match region.gap_shift {
                None => true,
                Some(shift) => {
                    start /= 2;
                    (gap_bits, mask) = (1 << shift, !(1 << shift));
                    // Elsewhere the bit belongs to the number of the window.
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

    /// The host's address of the stack, if it is a writable region of `len` bytes at the start of
    /// its window with gaps as expected.
    pub(crate) fn stack_address(&self, len: u64, gap_bytes: Option<u64>) -> Option<u64> {
        let region = &self.regions[self.region_index(STACK_START)?];
        let fits = region.vaddr == STACK_START
            && region.len >= len
            && region.writable
            && region.gap_shift == gap_bytes.map(u64::trailing_zeros);
        fits.then_some(region.host as u64)
    }

    /// How much of the stack is touched; at least `len` bytes from now on, if it has as many.
    pub(crate) fn raise_stack_dirty_prefix(&mut self, len: u64) -> u64 {
        let Some(index) = self.region_index(STACK_START) else { return 0 };
        if self.regions[index].dirty_prefix < len {
            self.regions[index].dirty_prefix = len;
            self.invalidate_window(index, STACK_START);
        }
        self.regions[index].storable()
    }

    /// The host's address of the last of `len` bytes that may be accessed one by one: the first
    /// access starts at `vaddr`, the last one `stride` bytes behind. And their region, if it has no
    /// gaps.
    pub(crate) fn translate_span(
        &mut self,
        access: Access,
        vaddr: u64,
        len: u64,
        stride: u64,
    ) -> Option<(u64, Option<RegionBounds>)> {
        let index = self.region_index(vaddr)?;
        // With aligned mapping, what lies in the next window is judged by that.
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
        let near = RegionBounds {
            start: region.vaddr,
            ends: [
                region.vaddr + region.len,
                if region.writable { region.vaddr + region.storable() } else { 0 },
            ],
            base: (region.host as u64).wrapping_sub(region.vaddr),
        };
        let plain = region.gap_shift.is_none() && !self.aligned;
        Some((host as u64 + len - 1, plain.then_some(near)))
    }
}
