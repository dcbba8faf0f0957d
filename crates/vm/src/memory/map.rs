//! The memory map: all regions of a program, and accesses through them.

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

/// The granularity at which the dirty prefix is raised.
const DIRTY_PREFIX_STEP_BYTES: u64 = 4096;

/// All memory of a guest program.
pub struct MemoryMap<'a> {
    /// Sorted by address. With aligned mapping the index is the window's number.
    pub(super) regions: Vec<Region<'a>>,
    /// Empty until the interpreter accesses memory, since machine code has its own
    /// [`WindowTable`](super::WindowTable).
    cache: WindowCache,
    index: RegionIndex,
    /// The result of the last search.
    recent: usize,
    pub(super) aligned: bool,
    /// Whether cached windows may have gaps. The interpreter's handlers for other versions do not
    /// handle gaps, so a region with gaps is searched for at each access.
    gaps: bool,
    /// Bytes of the frame slots that stack violations are reported in; `None` with dynamic frames,
    /// which are not reported.
    stack_slot_bytes: Option<u64>,
    call_depth_max: u64,
    /// Whether the running machine code has been told of the regions as they are now. A new map
    /// starts with `false`, so that machine code notices when a host has replaced the map.
    pub(super) is_known_to_code: bool,
    /// How many more pages may be recorded as dirty; 0 while no machine code runs, since only
    /// machine code gains from the record.
    pub(super) dirty_pages_left: u32,
    /// The writes since the log was taken, if they are logged.
    write_log: Option<Box<WriteLog>>,
}

/// Spans of guest memory that were written to: address and length of each, in order.
pub type WriteLog = Vec<(u64, u64)>;

impl fmt::Debug for MemoryMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.regions).finish()
    }
}

/// An access that the map refused, as passed to [`Host::access_violation`](crate::Host).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Whether it was a load or a store.
    pub access: Access,
    /// Guest address of the first byte.
    pub vaddr: u64,
    /// Length in bytes.
    pub len: u64,
    /// The length in bytes that the region can grow to before it reaches the next one.
    pub len_max: u64,
}

impl<'a> MemoryMap<'a> {
    /// Creates a map of `regions`, which may be in any order.
    ///
    /// # Errors
    /// [`Trap::InvalidMemoryRegion`] if two regions overlap or, with aligned mapping, share a
    /// window.
    #[inline]
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
            write_log: None,
        };
        if !aligned {
            let vaddrs: Vec<u64> = map.regions.iter().map(|region| region.vaddr).collect();
            map.index = RegionIndex::new(&vaddrs);
        }
        Ok(map)
    }

    /// Sets the allocation to use for the window cache.
    pub(crate) fn set_window_buffer(&mut self, buffer: WindowBuffer) {
        self.cache = WindowCache::with_buffer(buffer);
    }

    /// Takes the allocation of the window cache, for another map.
    pub(crate) fn take_window_buffer(&mut self) -> WindowBuffer {
        core::mem::take(&mut self.cache).into_buffer()
    }

    /// Begins to log every write: of instructions, and of the host through this map. From then on
    /// stores take the slow path, and the regions' dirty prefixes are no longer kept.
    ///
    /// A change of a whole buffer ([`MemoryMap::change_region`]) is logged as a write to all of its
    /// region, even if it has left the bytes as they were.
    #[cold]
    pub fn log_writes(&mut self) {
        self.write_log = Some(Box::default());
        self.regions.iter_mut().for_each(|region| region.dirty_prefix = 0);
        self.cache.clear();
        self.is_known_to_code = false;
    }

    /// Stops to log writes, so that machine code may run. Returns whether they were logged.
    pub fn stop_logging_writes(&mut self) -> bool {
        self.write_log.take().is_some()
    }

    /// Returns the logged writes, to be cleared by the caller; `None` if none are logged.
    pub fn writes_mut(&mut self) -> Option<&mut WriteLog> {
        self.write_log.as_deref_mut()
    }

    /// Returns the regions in ascending order of addresses.
    #[must_use]
    pub fn regions(&self) -> &[Region<'a>] {
        &self.regions
    }

    /// Returns the index of the region that decides on accesses at `vaddr`: with aligned mapping
    /// the one of its window, otherwise the last one that starts at or before `vaddr`. The address
    /// need not lie within it.
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

    /// Returns the index of the region that contains an access, and the offset of the access in its
    /// buffer.
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

    /// Returns the `len` bytes at `vaddr`, for reading.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`].
    pub fn slice(&self, vaddr: u64, len: u64) -> Result<&[u8], Trap> {
        let host = self.translate(Access::Load, vaddr, len)?;
        // SAFETY: `translate` bounded `len` bytes at `host`; the map is borrowed meanwhile, so
        // nothing writes through it.
        Ok(unsafe { core::slice::from_raw_parts(host, usize_of(len)) })
    }

    /// Returns the `len` bytes at `vaddr`, for writing.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`].
    pub fn slice_mut(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], Trap> {
        let host = self.translate_store(vaddr, len)?;
        // SAFETY: `translate_store` bounded `len` writable bytes at `host`; the map is borrowed
        // mutably meanwhile, and regions do not share buffers.
        Ok(unsafe { core::slice::from_raw_parts_mut(host, usize_of(len)) })
    }

    /// Copies `len` bytes from `src` to `dst`, which may overlap. The destination is checked first.
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

    /// Translates like [`MemoryMap::translate`] for a store, and records the store.
    fn translate_store(&mut self, vaddr: u64, len: u64) -> Result<*mut u8, Trap> {
        let host = self.region_index(vaddr).and_then(|index| {
            let host = self.regions[index].host(Access::Store, vaddr, len)?;
            self.record(index, vaddr, host, len);
            Some(host)
        });
        host.ok_or_else(|| self.violation(Access::Store, vaddr, len))
    }

    /// Records a store of `len` bytes at `vaddr`, whose host pointer is `host`.
    #[inline(always)]
    pub(super) fn record(&mut self, index: usize, vaddr: u64, host: *mut u8, len: u64) {
        let region = &self.regions[index];
        let end = (host as u64).wrapping_sub(region.host as u64) + len;
        if end > region.dirty_prefix {
            self.record_beyond_prefix(index, vaddr, end - len..end);
        }
    }

    /// Records a store beyond the dirty prefix: in the record of dirty pages if possible, otherwise
    /// by raising the prefix.
    #[cold]
    fn record_beyond_prefix(&mut self, index: usize, vaddr: u64, span: core::ops::Range<u64>) {
        let end = span.end;
        if let Some(log) = &mut self.write_log {
            log.push((vaddr, end - span.start));
        } else if self.dirty_pages_left == 0
            || !self.regions[index].mark_dirty(span, &mut self.dirty_pages_left)
        {
            self.raise_dirty_prefix(index, vaddr, end);
        }
    }

    /// Raises the dirty prefix of a region to `len` bytes or more.
    #[cold]
    pub(super) fn raise_dirty_prefix(&mut self, index: usize, vaddr: u64, len: u64) {
        let region = &mut self.regions[index];
        region.dirty_prefix = match region.vaddr {
            // Heaps are often used from both ends.
            HEAP_START => region.len,
            // Stacks grow upwards from their start. In an input, programs change the accounts that
            // they were told to change: stores further along are not likely.
            STACK_START => {
                len.max(region.dirty_prefix * 2).next_multiple_of(DIRTY_PREFIX_STEP_BYTES)
            }
            _ => len.max(region.dirty_prefix / 8 * 9).next_multiple_of(DIRTY_PREFIX_STEP_BYTES / 4),
        };
        self.invalidate_window(index, vaddr);
    }

    /// Drops what the window cache and machine code know of a region whose storable bytes changed.
    pub(super) fn invalidate_window(&mut self, index: usize, vaddr: u64) {
        self.is_known_to_code = false;
        if !self.cache.is_empty() {
            self.cache.remove(vaddr);
            self.cache_window(index, vaddr);
        }
    }

    /// Reads `N` bytes through the cached region of the window. Returns `None` if the access is not
    /// allowed or the address belongs to another region of the window.
    ///
    /// Without `GAPS`, the map must not cache regions with gaps: only V0 programs have them.
    #[inline(always)]
    pub(crate) fn load<const N: usize, const GAPS: bool>(&self, vaddr: u64) -> Option<[u8; N]> {
        debug_assert!(GAPS || !self.gaps, "handlers without gaps run on a map with gaps");
        let host = self.cache.window(vaddr).host::<N, GAPS>(Access::Load, vaddr)?;
        // SAFETY: the window bounded `N` bytes at `host`; byte arrays have no alignment.
        Some(unsafe { host.cast::<[u8; N]>().read() })
    }

    /// Writes `N` bytes through the cached region of the window, like [`MemoryMap::load`].
    #[inline(always)]
    pub(crate) fn store<const N: usize, const GAPS: bool>(
        &mut self,
        vaddr: u64,
        bytes: [u8; N],
    ) -> Option<()> {
        debug_assert!(GAPS || !self.gaps, "handlers without gaps run on a map with gaps");
        let host = self.cache.window(vaddr).host::<N, GAPS>(Access::Store, vaddr)?;
        // SAFETY: the window bounded `N` writable bytes at `host`; byte arrays have no alignment.
        unsafe { host.cast::<[u8; N]>().write(bytes) };
        Some(())
    }

    /// Reads `N` bytes through whichever region the address belongs to.
    pub(crate) fn load_any_region<const N: usize>(&mut self, vaddr: u64) -> Option<[u8; N]> {
        let host = self.search(Access::Load, vaddr, N as u64)?;
        // SAFETY: `search` bounded `N` bytes at `host`; byte arrays have no alignment.
        Some(unsafe { host.cast::<[u8; N]>().read() })
    }

    /// Writes `N` bytes through whichever region the address belongs to.
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

    /// Returns the host pointer for an access, searching all regions.
    ///
    /// The window caches a region once two searches in a row end at it, so that accesses that
    /// alternate between many regions do not pay for changing the cache each time.
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

    /// Caches the first region of each window.
    #[cold]
    pub(crate) fn cache_all_windows(&mut self) {
        self.cache.make();
        for index in (0..self.regions.len()).rev() {
            self.cache_window(index, self.regions[index].vaddr);
        }
    }

    /// Lets `decide` change the region that refused an access. The change is kept if the region
    /// then allows the access, and is discarded otherwise.
    ///
    /// # Errors
    /// [`Trap::InvalidMemoryRegion`] if the region then allows the access, but overlaps the next
    /// one or leaves its window.
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

    /// Lets `change` modify the region at `index` of [`MemoryMap::regions`] and returns its result,
    /// or `None` if there is no such region. For runtimes that change what the program sees during
    /// a syscall. Changes that make the region overlap the next one are discarded.
    pub fn change_region<R>(
        &mut self,
        index: usize,
        change: impl FnOnce(&mut Region<'_>) -> R,
    ) -> Option<R> {
        // As in `reconsider`, `change` can neither keep the region nor put a buffer into it that is
        // borrowed for less than `'a`, because it cannot name the lifetime.
        let mut region = self.regions.get(index)?.copy();
        let result = change(&mut region);
        if let Some(log) = &mut self.write_log
            && region.dirty_prefix > 0
        {
            log.push((region.vaddr, region.len));
            region.dirty_prefix = 0;
        }
        let end = self.regions.get(index + 1).map_or(u64::MAX, |next| next.vaddr);
        if region.vaddr_end() <= end {
            self.regions[index] = region;
            self.cache.clear();
            self.is_known_to_code = false;
        } else {
            // What `change` wrote to the buffer stays.
            let dirty_prefix = &mut self.regions[index].dirty_prefix;
            *dirty_prefix = region.dirty_prefix.max(*dirty_prefix);
        }
        Some(result)
    }

    /// Returns the error for an access that was refused.
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

    /// Returns the frame slot that `vaddr` falls into, if it is in or next to the stack. Division
    /// truncates towards zero, so addresses just below the stack are in slot 0.
    fn stack_frame(&self, vaddr: u64) -> Option<i64> {
        let slot_bytes = self.stack_slot_bytes?.cast_signed();
        let offset = vaddr.cast_signed().saturating_sub(STACK_START.cast_signed());
        let frame = offset.checked_div(slot_bytes)?;
        (-1..=self.call_depth_max.cast_signed()).contains(&frame).then_some(frame)
    }
}

/// Adds an empty region for each window without one, so that the number of a window is an index.
///
/// # Errors
/// [`Trap::InvalidMemoryRegion`] if two regions share a window, or one is beyond [`WINDOWS_MAX`].
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

/// Windows of an aligned map, which is a table indexed by window: far more than any program has.
const WINDOWS_MAX: usize = 1 << 16;
