//! The guest's memory: where every access is checked.
//!
//! Invariant: no host pointer leaves this module, and none is followed, unless `Region::host`
//! has bounded the access by the buffer that the region was made from; a region borrows its
//! buffer for as long as it lives. What a change must keep besides is exactness: which region an
//! address belongs to, the quirk of gapped regions, and the choice of error are consensus rules
//! (anza sbpf: `memory_region.rs`).
//!
//! Most accesses hit one of a few windows of 4 GiB. For each window the map remembers one region
//! that an access may be tried against first; it is only ever an abbreviation of the search, since
//! regions do not overlap.

#![allow(unsafe_code, reason = "this module alone turns guest addresses into host pointers")]

mod window;

use core::{fmt, marker::PhantomData, ptr};

use selkie_isa::{
    Version,
    layout::{HEAP_START, REGION_SIZE, STACK_START},
};

use crate::{
    config::Config,
    host::Host,
    jit::{Near, Windows},
    marks,
    region_index::RegionIndex,
    trap::Trap,
};

pub(crate) use self::window::Room;
use self::window::{KnownWindows, WINDOW_COUNT, Window};

/// What an instruction or a syscall does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Read.
    Load,
    /// Write.
    Store,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "reading",
            Self::Store => "writing",
        })
    }
}

/// A span of guest addresses backed by host memory.
///
/// The host buffer may be longer than what the guest sees of it ([`Region::reserve`]): a
/// [`Host`] may then let the region grow when the guest first stores beyond its end.
pub struct Region<'a> {
    vaddr: u64,
    host: *mut u8,
    len: u64,
    capacity: u64,
    /// Bytes from the start that may have been written to. Stores beyond take the long way, which
    /// raises it.
    touched: u64,
    /// Records stores beyond by pages: as many bytes as [`marks::marks_len`] says; null if there are
    /// none.
    marks: *mut u8,
    writable: bool,
    buffer_writable: bool,
    /// log2 of the frame size, if frames alternate with unmapped gaps of the same size.
    gap_shift: Option<u32>,
    payload: Option<u16>,
    buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: a region owns no more than the `&'a [u8]` or `&'a mut [u8]` that it was made from, and its
// marks, which it borrows mutably too; all of them can be sent to another thread.
unsafe impl Send for Region<'_> {}

impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = if self.writable { "rw" } else { "r" };
        write!(f, "{:#x}..{:#x} {access}", self.vaddr, self.vaddr_end())?;
        if self.gap_shift.is_some() { f.write_str(", gaps") } else { Ok(()) }
    }
}

impl<'a> Region<'a> {
    /// A region that the guest may read.
    #[must_use]
    pub fn readonly(vaddr: u64, bytes: &'a [u8]) -> Self {
        let len = bytes.len() as u64;
        Self {
            vaddr,
            // Never written through: `writable` cannot be set without `buffer_writable`.
            host: bytes.as_ptr().cast_mut(),
            len,
            capacity: len,
            touched: u64::MAX,
            marks: ptr::null_mut(),
            writable: false,
            buffer_writable: false,
            gap_shift: None,
            payload: None,
            buffer: PhantomData,
        }
    }

    /// A region that the guest may read and write.
    #[must_use]
    pub fn writable(vaddr: u64, bytes: &'a mut [u8]) -> Self {
        let len = bytes.len() as u64;
        Self {
            host: bytes.as_mut_ptr(),
            writable: true,
            buffer_writable: true,
            ..Self::readonly(vaddr, &[])
        }
        .with_len(len)
    }

    fn with_len(mut self, len: u64) -> Self {
        (self.len, self.capacity) = (len, len);
        self
    }

    /// Puts an unmapped gap of `frame_bytes` after every `frame_bytes` of the buffer, as V0's
    /// stack has them.
    ///
    /// # Panics
    /// If `frame_bytes` is no power of two.
    #[must_use]
    pub fn gapped(mut self, frame_bytes: u64) -> Self {
        assert!(frame_bytes.is_power_of_two(), "frames are a power of two");
        self.gap_shift = Some(frame_bytes.trailing_zeros());
        self
    }

    /// Keeps a record of how far the buffer is written to: [`Region::touched`]. Raising it takes a
    /// moment; so it starts at `expected` bytes, those that are likely to be written to.
    #[must_use]
    pub fn tracked(mut self, expected: u64) -> Self {
        self.touched = expected;
        self
    }

    /// Keeps a record by pages of what machine code and syscalls write to beyond that: see
    /// [`marks`]. A page that is marked at the start may be written to at once.
    ///
    /// # Panics
    /// If there are fewer marks than the buffer has pages.
    #[must_use]
    pub fn marked(mut self, marks: &'a mut [u8]) -> Self {
        assert!(marks.len() >= marks::marks_len(usize_of(self.capacity)), "each page has a mark");
        self.marks = marks.as_mut_ptr();
        self
    }

    /// Marks the pages of a span; whether there was room for such a record.
    fn mark(&mut self, span: core::ops::Range<u64>, left: &mut u32) -> bool {
        if self.marks.is_null() {
            return false;
        }
        let len = marks::marks_len(usize_of(self.capacity));
        // SAFETY: `marked` borrowed as many mutably for `'a`, and of a region's copies one is used
        // at a time.
        let marks = unsafe { core::slice::from_raw_parts_mut(self.marks, len) };
        if !marks::mark(marks, usize_of(span.start)..usize_of(span.end)) {
            return true;
        }
        *left = left.saturating_sub(1);
        *left > 0
    }

    /// Bytes from the start of the buffer that may have been written to; of the others those that
    /// are [`Region::marked`]. As much as there is, unless the region is [`Region::tracked`].
    #[must_use]
    pub fn touched(&self) -> u64 {
        self.touched.min(self.capacity)
    }

    /// Bytes from the start that the guest may store to without a record.
    fn storable(&self) -> u64 {
        self.touched.min(self.len)
    }

    /// Hides all but the first `len` bytes of the buffer, until [`Region::grow`] shows more.
    #[must_use]
    pub fn reserve(mut self, len: u64) -> Self {
        self.len = len.min(self.capacity);
        self
    }

    /// Takes the guest's right to write, until [`Region::make_writable`] gives it back.
    #[must_use]
    pub fn protected(mut self) -> Self {
        self.writable = false;
        self
    }

    /// Attaches a number for the [`Host`] to know the region by.
    #[must_use]
    pub fn with_payload(mut self, payload: u16) -> Self {
        self.payload = Some(payload);
        self
    }

    /// The guest address of the first byte.
    #[must_use]
    pub fn vaddr(&self) -> u64 {
        self.vaddr
    }

    /// Bytes that the guest sees, gaps not counted.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the guest may write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// The number that [`Region::with_payload`] attached.
    #[must_use]
    pub fn payload(&self) -> Option<u16> {
        self.payload
    }

    /// The bytes that the guest sees, gaps left out.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the constructors took `capacity >= len` bytes at `host`, borrowed for `'a`.
        unsafe { core::slice::from_raw_parts(self.host, usize_of(self.len)) }
    }

    /// Lets the guest see `len` bytes of the buffer, or all of it if it has fewer.
    pub fn grow(&mut self, len: u64) {
        self.len = len.min(self.capacity);
    }

    /// All of the buffer, what is hidden from the guest included, if it can be written. From here
    /// on all of it counts as touched.
    #[must_use]
    pub fn buffer_mut(&mut self) -> Option<&mut [u8]> {
        self.touched = u64::MAX;
        // SAFETY: `buffer_writable` says that the region was made from `capacity` bytes at `host`
        // that are borrowed mutably for `'a`, and regions do not share buffers.
        self.buffer_writable
            .then(|| unsafe { core::slice::from_raw_parts_mut(self.host, usize_of(self.capacity)) })
    }

    /// Takes or gives the guest's right to write; a buffer that cannot be written stays so.
    pub fn set_writable(&mut self, writable: bool) {
        self.writable = writable && self.buffer_writable;
    }

    /// Sets or takes away the number of [`Region::with_payload`].
    pub fn set_payload(&mut self, payload: Option<u16>) {
        self.payload = payload;
    }

    /// Lets the guest write, if the buffer can be written; says whether it can.
    pub fn make_writable(&mut self) -> bool {
        self.writable = self.buffer_writable;
        self.writable
    }

    /// Backs the region by another buffer.
    pub fn replace(&mut self, bytes: &'a mut [u8]) {
        self.marks = ptr::null_mut();
        self.capacity = bytes.len() as u64;
        self.len = self.capacity;
        self.host = bytes.as_mut_ptr();
        self.writable = true;
        self.buffer_writable = true;
    }

    /// One past the last guest address, gaps counted.
    #[must_use]
    pub fn vaddr_end(&self) -> u64 {
        let span = if self.gap_shift.is_some() { self.len.saturating_mul(2) } else { self.len };
        self.vaddr.saturating_add(span)
    }

    /// The host pointer for `len` bytes at `vaddr`, if the guest may access them so.
    ///
    /// Of a gapped region only the first byte is held against the gaps: an access that runs over
    /// the end of a frame goes on in the next frame, not in the gap.
    #[inline(always)]
    fn host(&self, access: Access, vaddr: u64, len: u64) -> Option<*mut u8> {
        if access == Access::Store && !self.writable {
            return None;
        }
        let mut offset = vaddr.checked_sub(self.vaddr)?;
        if let Some(shift) = self.gap_shift {
            if offset >> shift & 1 == 1 {
                return None;
            }
            let within = (1 << shift) - 1;
            offset = (offset & !within) >> 1 | offset & within;
        }
        let fits = offset <= self.len && len <= self.len - offset;
        // The pointer stays within the buffer, or one past its end for an empty access.
        fits.then(|| self.host.wrapping_add(usize_of(offset)))
    }

    /// A second region over the same buffer: not to be followed while the first one is, and not to
    /// get out of [`MemoryMap::reconsider`]. A host that is handed one cannot keep it, because it
    /// cannot name its lifetime; were `Host` to get that lifetime as a parameter, it could.
    fn copy(&self) -> Self {
        Self { buffer: PhantomData, ..*self }
    }
}

/// What is touched is counted in steps of this.
const TOUCHED_STEP_BYTES: u64 = 4096;

/// How often pages are marked in a run, until it is better to record no more.
const MARKINGS_MAX: u32 = 64;

/// All of the guest's memory.
pub struct MemoryMap<'a> {
    /// Sorted by address. With aligned mapping the index is the window's number.
    regions: Vec<Region<'a>>,
    /// None until something is looked up in them, since machine code has windows of its own.
    known: KnownWindows,
    index: RegionIndex,
    /// The region that the last search ended at.
    recent: usize,
    aligned: bool,
    /// Whether windows may have gaps. In a version whose code does not provide for them, a region
    /// with gaps is searched for at each access.
    gaps: bool,
    /// Size of the slots that stack violations are counted in; `None` if they are not told apart.
    stack_slot_bytes: Option<u64>,
    call_depth_max: u64,
    /// Whether running machine code knows the regions as they are. Of a new map it knows nothing,
    /// so that one which takes the place of another is told from it.
    is_known_to_code: bool,
    /// How many times pages may yet be marked; 0 as long as machine code, which alone gains by it,
    /// is not at work.
    markings_left: u32,
}

impl fmt::Debug for MemoryMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.regions).finish()
    }
}

/// An access that the map refused, as a [`Host`] gets to see it.
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
            known: KnownWindows::default(),
            index: RegionIndex::default(),
            recent: usize::MAX,
            aligned,
            gaps: version.stack_frame_gaps(),
            stack_slot_bytes: fixed_frames.then_some(config.stack_frame_bytes),
            call_depth_max: config.call_depth_max as u64,
            is_known_to_code: false,
            markings_left: 0,
        };
        if !aligned {
            let vaddrs: Vec<u64> = map.regions.iter().map(|region| region.vaddr).collect();
            map.index = RegionIndex::new(&vaddrs);
        }
        Ok(map)
    }

    /// Gives the map room for its windows, which another one had.
    pub(crate) fn give_room(&mut self, room: Room) {
        self.known = KnownWindows::with_room(room);
    }

    /// Takes the room for windows away, for another map.
    pub(crate) fn take_room(&mut self) -> Room {
        core::mem::take(&mut self.known).into_room()
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
    fn record(&mut self, index: usize, vaddr: u64, host: *mut u8, len: u64) {
        let region = &self.regions[index];
        let end = (host as u64).wrapping_sub(region.host as u64) + len;
        if end > region.touched {
            self.note(index, vaddr, end - len..end);
        }
    }

    /// Notes a store beyond what is touched.
    #[cold]
    fn note(&mut self, index: usize, vaddr: u64, span: core::ops::Range<u64>) {
        let end = span.end;
        if self.markings_left == 0 || !self.regions[index].mark(span, &mut self.markings_left) {
            self.touch(index, vaddr, end);
        }
    }

    /// Machine code begins: from here on pages are marked.
    pub(crate) fn begin_marks(&mut self) {
        self.markings_left = MARKINGS_MAX;
    }

    /// Marks no more pages: what has marks counts as touched as a whole.
    pub(crate) fn end_marks(&mut self) {
        if core::mem::take(&mut self.markings_left) == 0 {
            return;
        }
        for index in 0..self.regions.len() {
            let region = &self.regions[index];
            let Region { vaddr, len, .. } = *region;
            if !region.marks.is_null() && region.touched < len {
                self.touch(index, vaddr, len);
            }
        }
    }

    /// From here on stores to the first `len` bytes of a region, at least, need no record.
    #[cold]
    fn touch(&mut self, index: usize, vaddr: u64, len: u64) {
        let region = &mut self.regions[index];
        region.touched = match region.vaddr {
            // They are often used from both ends.
            HEAP_START => region.len,
            // Stacks grow upwards from where they start. Of an input, programs change what they
            // were told to: it is not likely that more comes behind.
            STACK_START => len.max(region.touched * 2).next_multiple_of(TOUCHED_STEP_BYTES),
            _ => len.max(region.touched / 8 * 9).next_multiple_of(TOUCHED_STEP_BYTES / 4),
        };
        self.forget_window(index, vaddr);
    }

    /// What may be stored to through a region has changed.
    fn forget_window(&mut self, index: usize, vaddr: u64) {
        self.is_known_to_code = false;
        if !self.known.is_empty() {
            self.known.forget(vaddr);
            self.remember(index, vaddr);
        }
    }

    /// Reads `N` bytes through the window's own region (`GAPS` if it may have gaps, which only
    /// V0 programs provide for): `None` if the guest may not, or if
    /// the address belongs to another region of the window.
    #[inline(always)]
    pub(crate) fn load<const N: usize, const GAPS: bool>(&self, vaddr: u64) -> Option<[u8; N]> {
        debug_assert!(GAPS || !self.gaps, "code for flat windows meets one with gaps");
        let host = self.known.window(vaddr).host::<N, GAPS>(Access::Load, vaddr)?;
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
        let host = self.known.window(vaddr).host::<N, GAPS>(Access::Store, vaddr)?;
        // SAFETY: the window bounded `N` writable bytes at `host`; byte arrays have no alignment.
        unsafe { host.cast::<[u8; N]>().write(bytes) };
        Some(())
    }

    /// As [`MemoryMap::load`], through whichever region the address belongs to.
    pub(crate) fn load_far<const N: usize>(&mut self, vaddr: u64) -> Option<[u8; N]> {
        let host = self.search(Access::Load, vaddr, N as u64)?;
        // SAFETY: `search` bounded `N` bytes at `host`; byte arrays have no alignment.
        Some(unsafe { host.cast::<[u8; N]>().read() })
    }

    /// As [`MemoryMap::store`], through whichever region the address belongs to.
    pub(crate) fn store_far<const N: usize>(&mut self, vaddr: u64, bytes: [u8; N]) -> Option<()> {
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
        if self.known.is_empty() {
            self.remember_all();
        } else if index == self.recent {
            self.remember(index, vaddr);
        }
        self.recent = index;
        Some(host)
    }

    fn remember(&mut self, index: usize, vaddr: u64) {
        let region = &self.regions[index];
        if self.gaps || region.gap_shift.is_none() {
            self.known.set(vaddr, Window::of(region));
        }
    }

    /// Remembers the first region of each window.
    #[cold]
    pub(crate) fn remember_all(&mut self) {
        self.known.make();
        for index in (0..self.regions.len()).rev() {
            self.remember(index, self.regions[index].vaddr);
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
        self.known.forget_all();
        self.is_known_to_code = false;
        Ok(())
    }

    /// Makes ready for a store by a syscall: what a store of the program may change of a region,
    /// this one may too.
    ///
    /// # Errors
    /// [`Trap::AccessViolation`] or [`Trap::StackAccessViolation`], or
    /// [`Trap::InvalidMemoryRegion`] if the region comes to reach into the next one.
    pub fn prepare_store(
        &mut self,
        host: &mut (impl Host + ?Sized),
        vaddr: u64,
        len: u64,
    ) -> Result<(), Trap> {
        if self.locate(Access::Store, vaddr, len).is_err() {
            self.reconsider(Access::Store, vaddr, len, |violation, region| {
                host.access_violation(violation, region);
            })?;
        }
        self.locate(Access::Store, vaddr, len).map(|_| ())
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
            self.known.forget_all();
            self.is_known_to_code = false;
        } else {
            // What was written to its buffer stays.
            let touched = &mut self.regions[index].touched;
            *touched = region.touched.max(*touched);
        }
        Some(result)
    }

    /// Whether [`MemoryMap::fill_windows`] has told the running machine code of this map, and no
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
    pub(crate) fn fill_windows(&mut self, windows: &mut Windows, gap_min: Option<u64>) {
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
            let touched = start + region.storable().min(REGION_SIZE);
            let stores = if known && region.writable { touched } else { 0 };
            windows.limits[window] = [limit, stores];
            if known && region.writable && self.markings_left > 0 && !region.marks.is_null() {
                windows.spans[window] = [start, region.len];
                windows.marks[window].write([region.marks as u64, 0]);
            }
            windows.bases[window].write([(region.host as u64).wrapping_sub(start), gap_bits]);
            windows.masks[window].write([mask, 0]);
        }
    }

    /// The host's address of the stack, if it is a writable region of `len` bytes at the start of
    /// its window with gaps as expected.
    pub(crate) fn stack_for_code(&self, len: u64, gap_bytes: Option<u64>) -> Option<u64> {
        let region = &self.regions[self.region_index(STACK_START)?];
        let fits = region.vaddr == STACK_START
            && region.len >= len
            && region.writable
            && region.gap_shift == gap_bytes.map(u64::trailing_zeros);
        fits.then_some(region.host as u64)
    }

    /// How much of the stack is touched; at least `len` bytes from now on, if it has as many.
    pub(crate) fn touch_stack(&mut self, len: u64) -> u64 {
        let Some(index) = self.region_index(STACK_START) else { return 0 };
        if self.regions[index].touched < len {
            self.regions[index].touched = len;
            self.forget_window(index, STACK_START);
        }
        self.regions[index].storable()
    }

    /// The host's address of the last of `len` bytes that may be accessed one by one: the first
    /// access starts at `vaddr`, the last one `stride` bytes behind. And their region, if it has no
    /// gaps.
    pub(crate) fn span_for_code(
        &mut self,
        access: Access,
        vaddr: u64,
        len: u64,
        stride: u64,
    ) -> Option<(u64, Option<Near>)> {
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
        let near = Near {
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

/// Guest sizes and offsets fit the host: `selkie` runs on 64-bit hosts.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "checked below")]
const fn usize_of(value: u64) -> usize {
    value as usize
}

const _: () = assert!(size_of::<usize>() == 8, "guest addresses are 64 bits wide");
