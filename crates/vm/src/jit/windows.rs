//! What machine code knows of memory.

use core::mem::MaybeUninit;

/// What machine code knows of memory, by window. Addresses are *dense*: with the bit of the gap
/// taken out, in windows that have gaps.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Windows {
    /// One past the last byte that may be loaded, that may be stored; 0 for none.
    pub(crate) limits: [[u64; 2]; 8],
    /// From a dense address to the host's; the bits of an address that say that it is in a gap.
    /// Where the limits are 0, whatever stands here leads to the same: no access is known to be fine.
    pub(crate) bases: [MaybeUninit<[u64; 2]>; 8],
    /// The bits of an address that make up the dense one.
    pub(crate) masks: [MaybeUninit<[u64; 2]>; 8],
    /// Where pages are marked that may be stored to beyond the limit: the first address, and how
    /// many bytes there are; 0 for none.
    pub(crate) spans: [[u64; 2]; 8],
    /// The host's address of the marks.
    pub(crate) marks: [MaybeUninit<[u64; 2]>; 8],
}

impl Windows {
    pub(crate) const EMPTY: Self = Self {
        limits: [[0; 2]; 8],
        bases: [MaybeUninit::uninit(); 8],
        masks: [MaybeUninit::uninit(); 8],
        spans: [[0; 2]; 8],
        marks: [MaybeUninit::uninit(); 8],
    };
}

/// One region, of those that share a window.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Near {
    pub(crate) start: u64,
    /// One past the last byte that may be loaded, that may be stored; 0 for none.
    pub(crate) ends: [u64; 2],
    /// From the guest's address to the host's.
    pub(crate) base: u64,
}

/// The same as machine code compares it: offsets from the start cannot wrap around to be small,
/// as addresses can.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Reach {
    pub(crate) start: u64,
    /// How many bytes may be loaded, and stored.
    pub(crate) lens: [u64; 2],
    /// From the guest's address to the host's.
    pub(crate) base: u64,
}

impl Reach {
    pub(crate) const EMPTY: Self = Self { start: 0, lens: [0; 2], base: 0 };
}

impl From<Near> for Reach {
    fn from(near: Near) -> Self {
        let lens = near.ends.map(|end| end.saturating_sub(near.start));
        Self { start: near.start, lens, base: near.base }
    }
}
