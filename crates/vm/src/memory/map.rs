//! The map of all regions, and every access through it.

use core::{fmt, ptr};

use selkie_isa::{
    Version,
    layout::{HEAP_START, REGION_SIZE, STACK_START},
};

use super::{
    region::{Region, usize_of},
    region_index::RegionIndex,
    window::{Window, WindowBuffer, WindowCache},
};
use crate::{
    config::Config,
    trap::{Access, Trap},
};

/// What is touched is counted in steps of this.
const DIRTY_PREFIX_STEP_BYTES: u64 = 4096;

/// All of the guest's memory.
pub struct MemoryMap<'a> {
    /// Sorted by address. With aligned mapping the index is the window's number.
    pub(super) regions: Vec<Region<'a>>,
    /// None until something is looked up in them, since machine code has windows of its own.
    cache: WindowCache,
    index: RegionIndex,
    /// The region that the last search ended at.
    recent: usize,
    pub(super) aligned: bool,
    /// Whether windows may have gaps. In a version whose code does not provide for them, a region
    /// with gaps is searched for at each access.
    gaps: bool,
    /// Size of the slots that stack violations are counted in; `None` if they are not told apart.
    stack_slot_bytes: Option<u64>,
    call_depth_max: u64,
    /// Whether running machine code knows the regions as they are. Of a new map it knows nothing,
    /// so that one which takes the place of another is told from it.
    pub(super) is_known_to_code: bool,
    /// How many times pages may yet be marked; 0 as long as machine code, which alone gains by it,
    /// is not at work.
    pub(super) dirty_pages_left: u32,
}

impl fmt::Debug for MemoryMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.regions).finish()
    }
}

/// An access that the map refused, as a [`Host`](crate::Host) gets to see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What was tried.
    pub access: Access,
    /// The guest address.
    pub vaddr: u64,
    /// Bytes.
    pub len: u64,
    /// The most that the region could be long without reaching the next one.
    pub len_max: u64,
}

impl<'a> MemoryMap<'a> {
    /// Maps `regions`, in any order.
    ///
    /// # Errors
    /// [`Trap::InvalidMemoryRegion`] if two regions overlap or, with aligned mapping, share a
    /// window.
    pub fn new(
        mut regions: Vec<Region<'a>>,
        config: &Config,
        version: Version,
    ) -> Result<Self, Trap> {
        let aligned = config.aligned_memory || version.aligned_memory();
        if !regions.is_sorted_by_key(|region| region.vaddr) {
            regions.sort_by_key(|region| region.vaddr);
        }
        if aligned {
            regions = one_per_window(regions)?;
        } else {
            let overlap = regions.windows(2).position(|it| it[0].vaddr_end() > it[1].vaddr);
            if let Some(index) = overlap {
                return Err(Trap::InvalidMemoryRegion(index + 1));
            }
        }
        let fixed_frames = !version.dynamic_frames();
        let mut map = Self {
            regions,
            cache: WindowCache::default(),
            index: RegionIndex::default(),
            recent: usize::MAX,
            aligned,
            gaps: version.stack_frame_gaps(),
            stack_slot_bytes: fixed_frames.then_some(config.stack_frame_bytes),
            call_depth_max: config.call_depth_max as u64,
            is_known_to_code: false,
            dirty_pages_left: 0,
        };
        if !aligned {
            let vaddrs: Vec<u64> = map.regions.iter().map(|region| region.vaddr).collect();
            map.index = RegionIndex::new(&vaddrs);
        }
        Ok(map)
    }

    /// Gives the map room for its windows, which another one had.
    pub(crate) fn set_window_buffer(&mut self, room: WindowBuffer) {
        self.cache = WindowCache::with_buffer(room);
    }

    /// Takes the room for windows away, for another map.
    pub(crate) fn take_window_buffer(&mut self) -> WindowBuffer {
        core::mem::take(&mut self.cache).into_buffer()
    }

    /// The regions, in the order of their addresses.
    #[must_use]
    pub fn regions(&self) -> &[Region<'a>] {
        &self.regions
    }

    /// Which region an access at `vaddr` is judged by, whether or not it lies within.
    #[must_use]
    pub fn region_index(&self, vaddr: u64) -> Option<usize> {
        if self.aligned {
            let index = usize_of(vaddr / REGION_SIZE);
            (index < self.regions.len()).then_some(index)
        } else {
            let (low, high) = self.index.narrow(vaddr, self.regions.len());
            let ahead = self.regions.get(low..high).unwrap_or(&self.regions);
            (low + ahead.partition_point(|region| region.vaddr <= vaddr)).checked_sub(1)
        }
    }

    /// The region that holds all of an access, and the offset of the access in its buffer.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`].
    pub fn locate(&self, access: Access, vaddr: u64, len: u64) -> Result<(usize, u64), Trap> {
        self.region_index(vaddr)
            .and_then(|index| {
                let region = &self.regions[index];
                let host = region.host(access, vaddr, len)?;
                Some((index, (host as u64).wrapping_sub(region.host as u64)))
            })
            .ok_or_else(|| self.violation(access, vaddr, len))
    }

    /// The bytes at `vaddr`, for reading.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`].
    pub fn slice(&self, vaddr: u64, len: u64) -> Result<&[u8], Trap> {
        let host = self.translate(Access::Load, vaddr, len)?;
        // SAFETY: `translate` bounded `len` bytes at `host`; the map is borrowed meanwhile, so
        // nothing writes through it.
        Ok(unsafe { core::slice::from_raw_parts(host, usize_of(len)) })
    }

    /// The bytes at `vaddr`, for writing.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`].
    pub fn slice_mut(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], Trap> {
        let host = self.translate_store(vaddr, len)?;
        // SAFETY: `translate_store` bounded `len` writable bytes at `host`; the map is borrowed mutably
        // meanwhile, and regions do not share buffers.
        Ok(unsafe { core::slice::from_raw_parts_mut(host, usize_of(len)) })
    }

    /// Copies `len` bytes from `src` to `dst`, which may overlap. The destination is checked
    /// first.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`].
    pub fn copy(&mut self, dst: u64, src: u64, len: u64) -> Result<(), Trap> {
        let to = self.translate_store(dst, len)?;
        let from = self.translate(Access::Load, src, len)?;
        // SAFETY: both bounded `len` bytes; `ptr::copy` allows overlap.
        unsafe { ptr::copy(from, to, usize_of(len)) };
        Ok(())
    }

    fn translate(&self, access: Access, vaddr: u64, len: u64) -> Result<*mut u8, Trap> {
        self.region_index(vaddr)
            .and_then(|index| self.regions[index].host(access, vaddr, len))
            .ok_or_else(|| self.violation(access, vaddr, len))
    }

    /// As [`MemoryMap::translate`] for a store, which is recorded.
    fn translate_store(&mut self, vaddr: u64, len: u64) -> Result<*mut u8, Trap> {
        let found = self.region_index(vaddr).and_then(|index| {
            let host = self.regions[index].host(Access::Store, vaddr, len)?;
            self.record(index, vaddr, host, len);
            Some(host)
        });
        found.ok_or_else(|| self.violation(Access::Store, vaddr, len))
    }

    /// Records a store of `len` bytes at `host`, which is the host's pointer for `vaddr`.
    #[inline(always)]
    pub(super) fn record(&mut self, index: usize, vaddr: u64, host: *mut u8, len: u64) {
        let region = &self.regions[index];
        let end = (host as u64).wrapping_sub(region.host as u64) + len;
        if end > region.dirty_prefix {
            self.note(index, vaddr, end - len..end);
        }
    }

    /// Notes a store beyond what is touched.
    #[cold]
    fn note(&mut self, index: usize, vaddr: u64, span: core::ops::Range<u64>) {
        let end = span.end;
        if self.dirty_pages_left == 0
            || !self.regions[index].mark_dirty(span, &mut self.dirty_pages_left)
        {
            self.raise_dirty_prefix(index, vaddr, end);
        }
    }

    /// From here on stores to the first `len` bytes of a region, at least, need no record.
    #[cold]
    pub(super) fn raise_dirty_prefix(&mut self, index: usize, vaddr: u64, len: u64) {
        let region = &mut self.regions[index];
        region.dirty_prefix = match region.vaddr {
            // They are often used from both ends.
            HEAP_START => region.len,
            // Stacks grow upwards from where they start. Of an input, programs change what they
            // were told to: it is not likely that more comes behind.
            STACK_START => {
                len.max(region.dirty_prefix * 2).next_multiple_of(DIRTY_PREFIX_STEP_BYTES)
            }
            _ => len.max(region.dirty_prefix / 8 * 9).next_multiple_of(DIRTY_PREFIX_STEP_BYTES / 4),
        };
        self.invalidate_window(index, vaddr);
    }

    /// What may be stored to through a region has changed.
    pub(super) fn invalidate_window(&mut self, index: usize, vaddr: u64) {
        self.is_known_to_code = false;
        if !self.cache.is_empty() {
            self.cache.remove(vaddr);
            self.cache_window(index, vaddr);
        }
    }

    /// Reads `N` bytes through the window's own region (`GAPS` if it may have gaps, which only
    /// V0 programs provide for): `None` if the guest may not, or if
    /// the address belongs to another region of the window.
    #[inline(always)]
    pub(crate) fn load<const N: usize, const GAPS: bool>(&self, vaddr: u64) -> Option<[u8; N]> {
        debug_assert!(GAPS || !self.gaps, "code for flat windows meets one with gaps");
        let host = self.cache.window(vaddr).host::<N, GAPS>(Access::Load, vaddr)?;
        // SAFETY: the window bounded `N` bytes at `host`; byte arrays have no alignment.
        Some(unsafe { host.cast::<[u8; N]>().read() })
    }

    /// Writes `N` bytes through the window's own region (`GAPS` as above): `None` if the guest may not, or if
    /// the address belongs to another region of the window.
    #[inline(always)]
    pub(crate) fn store<const N: usize, const GAPS: bool>(
        &mut self,
        vaddr: u64,
        bytes: [u8; N],
    ) -> Option<()> {
        debug_assert!(GAPS || !self.gaps, "code for flat windows meets one with gaps");
        let host = self.cache.window(vaddr).host::<N, GAPS>(Access::Store, vaddr)?;
        // SAFETY: the window bounded `N` writable bytes at `host`; byte arrays have no alignment.
        unsafe { host.cast::<[u8; N]>().write(bytes) };
        Some(())
    }

    /// As [`MemoryMap::load`], through whichever region the address belongs to.
    pub(crate) fn load_any_region<const N: usize>(&mut self, vaddr: u64) -> Option<[u8; N]> {
        let host = self.search(Access::Load, vaddr, N as u64)?;
        // SAFETY: `search` bounded `N` bytes at `host`; byte arrays have no alignment.
        Some(unsafe { host.cast::<[u8; N]>().read() })
    }

    /// As [`MemoryMap::store`], through whichever region the address belongs to.
    pub(crate) fn store_any_region<const N: usize>(
        &mut self,
        vaddr: u64,
        bytes: [u8; N],
    ) -> Option<()> {
        let host = self.search(Access::Store, vaddr, N as u64)?;
        // SAFETY: `search` bounded `N` writable bytes at `host`; byte arrays have no alignment.
        unsafe { host.cast::<[u8; N]>().write(bytes) };
        Some(())
    }

    /// A window changes its region once two searches in a row end at the same one: accesses that
    /// wander about many regions are not slowed down by changing it each time.
    #[inline(always)]
    fn search(&mut self, access: Access, vaddr: u64, len: u64) -> Option<*mut u8> {
        let index = self.region_index(vaddr)?;
        let host = self.regions[index].host(access, vaddr, len)?;
        if access == Access::Store {
            self.record(index, vaddr, host, len);
        }
        if self.cache.is_empty() {
            self.cache_all_windows();
        } else if index == self.recent {
            self.cache_window(index, vaddr);
        }
        self.recent = index;
        Some(host)
    }

    fn cache_window(&mut self, index: usize, vaddr: u64) {
        let region = &self.regions[index];
        if self.gaps || region.gap_shift.is_none() {
            self.cache.set(vaddr, Window::of(region));
        }
    }

    /// Remembers the first region of each window.
    #[cold]
    pub(crate) fn cache_all_windows(&mut self) {
        self.cache.make();
        for index in (0..self.regions.len()).rev() {
            self.cache_window(index, self.regions[index].vaddr);
        }
    }

    /// Gives `decide` the chance to change the region that a refused access is judged by. The
    /// change is kept if the access then succeeds, and is forgotten if it does not.
    ///
    /// # Errors
    /// [`Trap::InvalidMemoryRegion`] if the access would succeed, but the changed region reaches
    /// into the next one or out of its window.
    pub(crate) fn reconsider(
        &mut self,
        access: Access,
        vaddr: u64,
        len: u64,
        decide: impl FnOnce(&Violation, &mut Region<'a>),
    ) -> Result<(), Trap> {
        let Some(index) = self.region_index(vaddr) else { return Ok(()) };
        let mut region = self.regions[index].copy();
        let end = self.regions.get(index + 1).map_or(u64::MAX, |next| next.vaddr);
        let len_max = end.saturating_sub(region.vaddr);
        decide(&Violation { access, vaddr, len, len_max }, &mut region);
        if region.host(access, vaddr, len).is_none() {
            return Ok(());
        }
        let last = region.vaddr.saturating_add(region.len.saturating_sub(1));
        let leaves_window = self.aligned && usize_of(last / REGION_SIZE) != index;
        if region.vaddr_end() > end || leaves_window {
            return Err(Trap::InvalidMemoryRegion(index));
        }
        self.regions[index] = region;
        self.cache.clear();
        self.is_known_to_code = false;
        Ok(())
    }

    /// Lets `change` alter a region, by its place in [`MemoryMap::regions`]: for a runtime that
    /// changes what the program may see while a syscall runs. The region must not come to reach
    /// into the next one.
    pub fn change_region<R>(
        &mut self,
        index: usize,
        change: impl FnOnce(&mut Region<'_>) -> R,
    ) -> Option<R> {
        // As in `reconsider`, the region that is handed out cannot be kept, nor can a buffer that
        // is borrowed for less than `'a` get in: its lifetime has no name.
        let mut region = self.regions.get(index)?.copy();
        let result = change(&mut region);
        let end = self.regions.get(index + 1).map_or(u64::MAX, |next| next.vaddr);
        if region.vaddr_end() <= end {
            self.regions[index] = region;
            self.cache.clear();
            self.is_known_to_code = false;
        } else {
            // What was written to its buffer stays.
            let touched = &mut self.regions[index].dirty_prefix;
            *touched = region.dirty_prefix.max(*touched);
        }
        Some(result)
    }

    /// The error for an access that was refused.
    pub(crate) fn violation(&self, access: Access, vaddr: u64, len: u64) -> Trap {
        if let Some(frame) = self.stack_frame(vaddr) {
            return Trap::StackAccessViolation { access, vaddr, len, frame };
        }
        let within = self
            .region_index(vaddr)
            .map(|index| &self.regions[index])
            .is_some_and(|region| (region.vaddr..region.vaddr_end()).contains(&vaddr));
        let region = match vaddr / REGION_SIZE {
            _ if !within => "unallocated",
            1 => "program",
            2 => "stack",
            3 => "heap",
            4 => "input",
            _ => "allocated",
        };
        Trap::AccessViolation { access, vaddr, len, region }
    }

    /// The slot of the stack that `vaddr` falls into, if it is near the stack. Division truncates
    /// towards zero, so that what lies just below the stack is in slot 0.
    fn stack_frame(&self, vaddr: u64) -> Option<i64> {
        let slot_bytes = self.stack_slot_bytes?.cast_signed();
        let offset = vaddr.cast_signed().saturating_sub(STACK_START.cast_signed());
        let frame = offset.checked_div(slot_bytes)?;
        (-1..=self.call_depth_max.cast_signed()).contains(&frame).then_some(frame)
    }
}

/// Fills the windows without a region with empty ones, so that a window's number is an index.
fn one_per_window(mut regions: Vec<Region<'_>>) -> Result<Vec<Region<'_>>, Trap> {
    let mut next = 0;
    while let Some(region) = regions.get(next) {
        let window = usize_of(region.vaddr / REGION_SIZE);
        if window >= WINDOWS_MAX || window < next {
            return Err(Trap::InvalidMemoryRegion(window));
        }
        for empty in next..window {
            regions.insert(empty, Region::readonly(empty as u64 * REGION_SIZE, &[]));
        }
        next = window + 1;
    }
    Ok(regions)
}

/// Aligned maps are tables indexed by window. Far more windows than any program has.
const WINDOWS_MAX: usize = 1 << 16;
