//! A region as machine code compares it.

use crate::memory::Near;

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
