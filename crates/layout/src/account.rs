//! Fields of accounts at fixed places.

use core::{fmt, marker::PhantomData};

use crate::wire::{Fixed, Reader};

/// A field at a fixed offset of an account's data.
pub struct At<T> {
    /// The offset in bytes.
    pub offset: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for At<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for At<T> {}

impl<T> fmt::Debug for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "At({})", self.offset)
    }
}

impl<T: Fixed> At<T> {
    /// The size of the field in bytes.
    pub const BYTES: usize = T::BYTES;

    /// Creates the field at an offset.
    #[must_use]
    pub const fn new(offset: usize) -> Self {
        Self { offset, of: PhantomData }
    }

    /// Returns the offset behind the field.
    #[must_use]
    pub const fn end(self) -> usize {
        self.offset.saturating_add(T::BYTES)
    }

    /// Reads the field; `None` if the data are too short, or have no such value there.
    #[must_use]
    #[inline]
    pub fn get(self, data: &[u8]) -> Option<T> {
        T::read(&mut Reader::new(data.get(self.offset..)?)).ok()
    }

    /// Writes the field; `None` if the data are too short, which are left as they are then.
    pub fn put(self, data: &mut [u8], value: &T) -> Option<()> {
        let target = data.get_mut(self.offset..self.end())?;
        let mut bytes = Vec::with_capacity(T::BYTES);
        value.write(&mut bytes);
        target.copy_from_slice(&bytes);
        Some(())
    }
}
