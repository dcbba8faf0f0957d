//! The state of a stopped program that values are read from.

use core::fmt;

/// A function activation of a stopped program: its registers, and the program's memory.
pub trait Guest {
    /// Returns register r0 to r10 in the activation. `None` if it is not known: callers keep r6 to
    /// r10 alone.
    fn register(&self, index: u16) -> Option<u64>;

    /// Fills `bytes` with those at a guest address.
    ///
    /// # Errors
    /// If not all of them are in the program's memory.
    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable>;
}

/// Forwards to the referenced guest.
impl<G: Guest + ?Sized> Guest for &G {
    fn register(&self, index: u16) -> Option<u64> {
        (**self).register(index)
    }

    fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Unreadable> {
        (**self).read(address, bytes)
    }
}

/// Memory that the program cannot read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// The guest address.
    pub address: u64,
    /// The number of bytes.
    pub len: u64,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, len } = self;
        write!(f, "the program has no memory at {address:#x} ({len} bytes)")
    }
}

impl core::error::Error for Unreadable {}
