//! What an access may be tried against first: a region of its window.

use core::{
    fmt,
    ptr::{self, NonNull},
};

use selkie_isa::layout::REGION_SIZE;

use super::region::{Region, usize_of};
use crate::trap::Access;

/// Windows that have an entry in [`WindowCache`]: those of rodata to input.
pub(super) const WINDOW_COUNT: usize = 8;

/// The entry of the window that an address lies in.
#[inline(always)]
fn window_of(vaddr: u64) -> usize {
    usize_of(vaddr / REGION_SIZE) % WINDOW_COUNT
}

/// One region per window that an access may be tried against first, flattened so that gapped and
/// plain regions are looked up alike, in few steps.
#[derive(Clone, Copy)]
#[repr(align(128))]
pub(super) struct Window {
    vaddr: u64,
    host: *mut u8,
    /// The bit of an offset that is set within gaps; 0 if there are none.
    gap_bit: u64,
    /// The bits of an offset from the gap bit on, which count half; 0 if there are no gaps.
    halved: u64,
    /// One past the last offset at which an access may start, by [`Access`] and by the logarithm
    /// of its size.
    end: [[u64; 4]; 2],
}

// SAFETY: a window points into the buffer of one of the map's regions, which are `Send`, and is
// never apart from the map: room that is handed on is empty.
unsafe impl Send for Window {}

impl Window {
    const NONE: Self =
        Self { vaddr: 0, host: ptr::null_mut(), gap_bit: 0, halved: 0, end: [[0; 4]; 2] };

    pub(super) fn of(region: &Region<'_>) -> Self {
        let gap_bit = region.gap_shift.map_or(0, |shift| 1 << shift);
        let ends = |len: u64| [1, 2, 4, 8].map(|bytes| (len + 1).saturating_sub(bytes));
        Self {
            vaddr: region.vaddr,
            host: region.host,
            gap_bit,
            halved: gap_bit.wrapping_neg(),
            end: [ends(region.len), if region.writable { ends(region.storable()) } else { [0; 4] }],
        }
    }

    /// As [`Region::host`], for accesses of `N` bytes: 1, 2, 4 or 8. Without `GAPS`, the window
    /// must be of a region that has none.
    #[inline(always)]
    pub(super) fn host<const N: usize, const GAPS: bool>(
        &self,
        access: Access,
        vaddr: u64,
    ) -> Option<*mut u8> {
        const { assert!(matches!(N, 1 | 2 | 4 | 8)) };
        // Below the start, the offset wraps to one that no region reaches.
        let offset = vaddr.wrapping_sub(self.vaddr);
        let in_gap = GAPS && offset & self.gap_bit != 0;
        let halved = if GAPS { self.halved } else { 0 };
        let offset = offset - ((offset & halved) >> 1);
        let fits = offset < self.end[access as usize][N.trailing_zeros() as usize];
        (fits && !in_gap).then(|| self.host.wrapping_add(usize_of(offset)))
    }
}

/// Windows in which nothing is found.
static NO_WINDOWS: NoWindows = NoWindows([Window::NONE; WINDOW_COUNT]);

struct NoWindows([Window; WINDOW_COUNT]);

// SAFETY: there is nothing behind their pointers, and nobody writes to them: what changes windows
// does so in those that somebody owns.
unsafe impl Sync for NoWindows {}

/// The windows of a map; none until they are made.
pub(super) struct WindowCache {
    /// Where windows are looked up: in `own`, or in [`NO_WINDOWS`] as long as there are none.
    lookup: NonNull<[Window; WINDOW_COUNT]>,
    own: Vec<Window>,
}

// SAFETY: `lookup` points to windows of its own, which stay where they are when it moves, or to a
// static that nobody writes to.
unsafe impl Send for WindowCache {}

impl Default for WindowCache {
    fn default() -> Self {
        Self { lookup: NonNull::from(&NO_WINDOWS.0), own: Vec::new() }
    }
}

/// Buffer for the windows of a map, to be used again by the next.
#[derive(Default)]
pub(crate) struct WindowBuffer(Vec<Window>);

// SAFETY: there is nothing in it.
unsafe impl Sync for WindowBuffer {}

impl fmt::Debug for WindowBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WindowBuffer")
    }
}

impl WindowCache {
    /// None, and room for all.
    pub(super) fn with_buffer(WindowBuffer(mut own): WindowBuffer) -> Self {
        own.clear();
        own.reserve(WINDOW_COUNT);
        Self { own, ..Self::default() }
    }

    pub(super) fn into_buffer(mut self) -> WindowBuffer {
        self.own.clear();
        WindowBuffer(self.own)
    }

    /// Whether there are none yet.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Makes windows in which nothing is found.
    pub(super) fn make(&mut self) {
        self.own.resize(WINDOW_COUNT, Window::NONE);
        // No reference is made of it, so that those of others do not end it.
        let own = self.own.as_mut_ptr().cast();
        self.lookup = NonNull::new(own).expect("vectors are somewhere");
    }

    /// The window that an address lies in.
    #[inline(always)]
    pub(super) fn window(&self, vaddr: u64) -> &Window {
        // SAFETY: it is a static, or the windows in `own`, which stay where they are: only `make`
        // adds any, and sets it anew.
        let windows = unsafe { self.lookup.as_ref() };
        &windows[window_of(vaddr)]
    }

    /// Sets the window that an address lies in, if there are any.
    pub(super) fn set(&mut self, vaddr: u64, window: Window) {
        if let Some(place) = self.own.get_mut(window_of(vaddr)) {
            *place = window;
        }
    }

    /// Forgets what is known of the window that an address lies in.
    pub(super) fn remove(&mut self, vaddr: u64) {
        self.set(vaddr, Window::NONE);
    }

    /// Forgets all that is known.
    pub(super) fn clear(&mut self) {
        self.own.fill(Window::NONE);
    }
}
