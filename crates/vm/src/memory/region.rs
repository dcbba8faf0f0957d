//! Regions: spans of guest addresses, each backed by a host buffer.

use core::{fmt, marker::PhantomData, ptr};

use crate::{dirty_pages, trap::Access};

/// A span of guest addresses backed by host memory.
///
/// The host buffer may be longer than the region ([`Region::reserve`]): a [`Host`](crate::Host) may
/// grow the region when the guest first stores beyond its end.
pub struct Region<'a> {
    pub(super) vaddr: u64,
    pub(super) host: *mut u8,
    /// Bytes that the guest sees, gaps not counted.
    pub(super) len: u64,
    /// Bytes of the buffer.
    pub(super) capacity: u64,
    /// Bytes from the start that may have been written to. Stores beyond it take the slow path,
    /// which raises it.
    pub(super) dirty_prefix: u64,
    /// The record of dirty pages beyond the prefix, [`dirty_pages::dirty_pages_len`] bytes, or
    /// null.
    pub(super) dirty_pages: *mut u8,
    pub(super) writable: bool,
    buffer_writable: bool,
    /// log2 of the frame size, if frames alternate with unmapped gaps of the same size.
    pub(super) gap_shift: Option<u32>,
    payload: Option<u16>,
    buffer: PhantomData<&'a mut [u8]>,
}

// SAFETY: a region owns no more than the `&'a [u8]` or `&'a mut [u8]` that it was made from, and
// its record of dirty pages, which it borrows mutably too; all of them can be sent to another
// thread.
unsafe impl Send for Region<'_> {}

impl fmt::Debug for Region<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let access = if self.writable { "rw" } else { "r" };
        write!(f, "{:#x}..{:#x} {access}", self.vaddr, self.vaddr_end())?;
        if self.gap_shift.is_some() { f.write_str(", gaps") } else { Ok(()) }
    }
}

impl<'a> Region<'a> {
    /// Creates a region that the guest may read.
    #[must_use]
    pub fn readonly(vaddr: u64, bytes: &'a [u8]) -> Self {
        let len = bytes.len() as u64;
        Self {
            vaddr,
            // Never written through: `writable` cannot be set without `buffer_writable`.
            host: bytes.as_ptr().cast_mut(),
            len,
            capacity: len,
            dirty_prefix: u64::MAX,
            dirty_pages: ptr::null_mut(),
            writable: false,
            buffer_writable: false,
            gap_shift: None,
            payload: None,
            buffer: PhantomData,
        }
    }

    /// Creates a region that the guest may read and write.
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

    /// Puts an unmapped gap of `frame_bytes` after every `frame_bytes` of the buffer, as in the
    /// stack of V0 programs.
    ///
    /// # Panics
    /// If `frame_bytes` is not a power of two.
    #[must_use]
    pub fn gapped(mut self, frame_bytes: u64) -> Self {
        assert!(frame_bytes.is_power_of_two(), "the frame size is a power of two");
        self.gap_shift = Some(frame_bytes.trailing_zeros());
        self
    }

    /// Records how many bytes from the start may have been written to: [`Region::dirty_prefix`].
    /// The record starts at `expected` bytes, since raising it takes the slow path.
    #[must_use]
    pub fn with_dirty_prefix(mut self, expected: u64) -> Self {
        self.dirty_prefix = expected;
        self
    }

    /// Records the pages that machine code and syscalls write to beyond the dirty prefix: see
    /// [`dirty_pages`]. Pages that are dirty at the start need no slow path.
    ///
    /// # Panics
    /// If `dirty_pages` is shorter than [`dirty_pages_len`](dirty_pages::dirty_pages_len) says.
    #[must_use]
    pub fn with_dirty_pages(mut self, dirty_pages: &'a mut [u8]) -> Self {
        assert!(
            dirty_pages.len() >= dirty_pages::dirty_pages_len(usize_of(self.capacity)),
            "the record has a byte for each page"
        );
        self.dirty_pages = dirty_pages.as_mut_ptr();
        self
    }

    /// Marks the pages of a span as dirty, and counts down `left` if one was clean. Returns `false`
    /// if there is no record or `left` came to 0: the prefix must cover the span then.
    pub(super) fn mark_dirty(&mut self, span: core::ops::Range<u64>, left: &mut u32) -> bool {
        if self.dirty_pages.is_null() {
            return false;
        }
        let len = dirty_pages::dirty_pages_len(usize_of(self.capacity));
        // SAFETY: `with_dirty_pages` borrowed `len` bytes mutably for `'a`, and of a region's
        // copies one is used at a time.
        let dirty_pages = unsafe { core::slice::from_raw_parts_mut(self.dirty_pages, len) };
        if !dirty_pages::mark_dirty(dirty_pages, usize_of(span.start)..usize_of(span.end)) {
            return true;
        }
        *left = left.saturating_sub(1);
        *left > 0
    }

    /// Returns how many bytes from the start of the buffer may have been written to, besides the
    /// pages recorded by [`Region::with_dirty_pages`]: all of them, unless
    /// [`Region::with_dirty_prefix`] began a record.
    #[must_use]
    pub fn dirty_prefix(&self) -> u64 {
        self.dirty_prefix.min(self.capacity)
    }

    /// Returns how many bytes from the start the guest may store to without recording it.
    pub(super) fn storable(&self) -> u64 {
        self.dirty_prefix.min(self.len)
    }

    /// Limits the region to the first `len` bytes of its buffer, until [`Region::grow`] extends it.
    #[must_use]
    pub fn reserve(mut self, len: u64) -> Self {
        self.len = len.min(self.capacity);
        self
    }

    /// Makes the region read-only, until [`Region::make_writable`] reverts that.
    #[must_use]
    pub fn protected(mut self) -> Self {
        self.writable = false;
        self
    }

    /// Attaches a number by which the [`Host`](crate::Host) can identify the region.
    #[must_use]
    pub fn with_payload(mut self, payload: u16) -> Self {
        self.payload = Some(payload);
        self
    }

    /// Returns the bytes of a frame, if frames alternate with gaps: see [`Region::gapped`].
    #[must_use]
    pub fn gap_bytes(&self) -> Option<u64> {
        self.gap_shift.map(|shift| 1 << shift)
    }

    /// Returns the guest address of the first byte.
    #[must_use]
    pub fn vaddr(&self) -> u64 {
        self.vaddr
    }

    /// Returns the number of bytes that the guest sees, gaps not counted.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the guest may write.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Returns the number attached by [`Region::with_payload`].
    #[must_use]
    pub fn payload(&self) -> Option<u16> {
        self.payload
    }

    /// Returns the bytes that the guest sees, without gaps.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the constructors took `capacity >= len` bytes at `host`, borrowed for `'a`.
        unsafe { core::slice::from_raw_parts(self.host, usize_of(self.len)) }
    }

    /// Extends the region to `len` bytes, or to its whole buffer if that is shorter.
    pub fn grow(&mut self, len: u64) {
        self.len = len.min(self.capacity);
    }

    /// Returns the whole buffer, including what the guest does not see, if it can be written. From
    /// then on all of it counts as dirty.
    #[must_use]
    pub fn buffer_mut(&mut self) -> Option<&mut [u8]> {
        self.dirty_prefix = u64::MAX;
        // SAFETY: `buffer_writable` says that the region was made from `capacity` bytes at `host`
        // that are borrowed mutably for `'a`, and regions do not share buffers.
        self.buffer_writable
            .then(|| unsafe { core::slice::from_raw_parts_mut(self.host, usize_of(self.capacity)) })
    }

    /// Sets whether the guest may write. A region with a read-only buffer stays read-only.
    pub fn set_writable(&mut self, writable: bool) {
        self.writable = writable && self.buffer_writable;
    }

    /// Sets or removes the number of [`Region::with_payload`].
    pub fn set_payload(&mut self, payload: Option<u16>) {
        self.payload = payload;
    }

    /// Makes the region writable if its buffer is. Returns whether it is.
    pub fn make_writable(&mut self) -> bool {
        self.writable = self.buffer_writable;
        self.writable
    }

    /// Replaces the buffer. The region has the length of the new one and is writable.
    pub fn replace(&mut self, bytes: &'a mut [u8]) {
        self.dirty_pages = ptr::null_mut();
        self.capacity = bytes.len() as u64;
        self.len = self.capacity;
        self.host = bytes.as_mut_ptr();
        self.writable = true;
        self.buffer_writable = true;
    }

    /// Returns the guest address after the last one, gaps counted.
    #[must_use]
    pub fn vaddr_end(&self) -> u64 {
        let span = if self.gap_shift.is_some() { self.len.saturating_mul(2) } else { self.len };
        self.vaddr.saturating_add(span)
    }

    /// Returns the host pointer for an access of `len` bytes at `vaddr`, if it is allowed.
    ///
    /// In a gapped region only the first byte must be outside of gaps: an access that runs over the
    /// end of a frame continues in the next frame, not in the gap.
    #[inline(always)]
    pub(super) fn host(&self, access: Access, vaddr: u64, len: u64) -> Option<*mut u8> {
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

    /// Returns a second region over the same buffer. The two must not be accessed at the same time,
    /// and the copy must not leave [`MemoryMap`](super::MemoryMap). A host that is handed one by
    /// reference cannot keep it because it cannot name its lifetime; if `Host` had that lifetime as
    /// a parameter, it could.
    pub(super) fn copy(&self) -> Self {
        Self { buffer: PhantomData, ..*self }
    }
}

/// Converts the number of a window, or an offset in a region or a length that was checked against
/// the region's buffer. All of them fit the 32 bits that hosts have at least.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "it fits, as the comment says")]
pub(super) const fn usize_of(value: u64) -> usize {
    value as usize
}

const _: () = assert!(size_of::<usize>() >= 4, "windows and lengths have up to 32 bits");
