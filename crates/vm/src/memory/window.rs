//! The cache of one region per window, which the interpreter's accesses try first.

use core::{
    fmt,
    ptr::{self, NonNull},
};

use selkie_isa::layout::REGION_SIZE;

use super::region::{Region, usize_of};
use crate::trap::Access;

/// Windows with an entry in [`WindowCache`]: all that programs use.
pub(super) const WINDOW_COUNT: usize = 8;

/// Returns the entry for the window of an address.
#[inline(always)]
fn window_of(vaddr: u64) -> usize {
    usize_of(vaddr / REGION_SIZE) % WINDOW_COUNT
}

/// A region, flattened so that regions with and without gaps are checked alike, in few steps.
#[derive(Clone, Copy)]
#[repr(align(128))]
pub(super) struct Window {
    vaddr: u64,
    host: *mut u8,
    /// The bit of an offset that is set in gaps; 0 if there are none.
    gap_bit: u64,
    /// The bits of an offset from the gap bit upwards, which count half; 0 if there are no gaps.
    halved: u64,
    /// Behind the last offset at which an access may start, by [`Access`] and by the logarithm of
    /// its size.
    end: [[u64; 4]; 2],
}

// SAFETY: a window points into the buffer of one of the map's regions, which are `Send`, and never
// outlives the map: a `WindowBuffer` is empty.
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

    /// Like [`Region::host`], for accesses of `N` bytes: 1, 2, 4 or 8. Without `GAPS`, the region
    /// must have none.
    #[inline(always)]
    pub(super) fn host<const N: usize, const GAPS: bool>(
        &self,
        access: Access,
        vaddr: u64,
    ) -> Option<*mut u8> {
        const { assert!(matches!(N, 1 | 2 | 4 | 8)) };
        // Below the start, the offset wraps to one after the end of any region.
        let offset = vaddr.wrapping_sub(self.vaddr);
        let in_gap = GAPS && offset & self.gap_bit != 0;
        let halved = if GAPS { self.halved } else { 0 };
        let offset = offset - ((offset & halved) >> 1);
        let fits = offset < self.end[access as usize][N.trailing_zeros() as usize];
        (fits && !in_gap).then(|| self.host.wrapping_add(usize_of(offset)))
    }
}

/// Empty windows.
static NO_WINDOWS: NoWindows = NoWindows([Window::NONE; WINDOW_COUNT]);

struct NoWindows([Window; WINDOW_COUNT]);

// SAFETY: the pointers are null and never change: only windows in `WindowCache::own` are written.
unsafe impl Sync for NoWindows {}

/// The cached windows of a map; none until [`WindowCache::make`].
pub(super) struct WindowCache {
    /// Points to `own`, or to [`NO_WINDOWS`] while `own` is empty.
    lookup: NonNull<[Window; WINDOW_COUNT]>,
    own: Vec<Window>,
}

// SAFETY: `lookup` points to the heap allocation of `own`, which moves with it, or to a static that
// is never written.
unsafe impl Send for WindowCache {}

impl Default for WindowCache {
    fn default() -> Self {
        Self { lookup: NonNull::from(&NO_WINDOWS.0), own: Vec::new() }
    }
}

/// The allocation of a [`WindowCache`], to be reused by the next map.
#[derive(Default)]
pub(crate) struct WindowBuffer(Vec<Window>);

// SAFETY: it contains no windows.
unsafe impl Sync for WindowBuffer {}

impl fmt::Debug for WindowBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WindowBuffer")
    }
}

impl WindowCache {
    /// Creates an empty cache with the allocation of another one.
    pub(super) fn with_buffer(WindowBuffer(mut own): WindowBuffer) -> Self {
        own.clear();
        own.reserve(WINDOW_COUNT);
        Self { own, ..Self::default() }
    }

    pub(super) fn into_buffer(mut self) -> WindowBuffer {
        self.own.clear();
        WindowBuffer(self.own)
    }

    /// Returns whether no windows were made yet.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Makes empty windows.
    pub(super) fn make(&mut self) {
        self.own.resize(WINDOW_COUNT, Window::NONE);
        // Made from the raw pointer, so that later references to `own` do not invalidate it.
        let own = self.own.as_mut_ptr().cast();
        self.lookup = NonNull::new(own).expect("vectors have non-null pointers");
    }

    /// Returns the window of an address.
    #[inline(always)]
    pub(super) fn window(&self, vaddr: u64) -> &Window {
        // SAFETY: it points to a static, or to the windows in `own`, which do not move: only `make`
        // adds windows, and it sets the pointer again.
        let windows = unsafe { self.lookup.as_ref() };
        &windows[window_of(vaddr)]
    }

    /// Sets the window of an address, if windows were made.
    pub(super) fn set(&mut self, vaddr: u64, window: Window) {
        if let Some(entry) = self.own.get_mut(window_of(vaddr)) {
            *entry = window;
        }
    }

    /// Empties the window of an address.
    pub(super) fn remove(&mut self, vaddr: u64) {
        self.set(vaddr, Window::NONE);
    }

    /// Empties all windows.
    pub(super) fn clear(&mut self) {
        self.own.fill(Window::NONE);
    }
}
