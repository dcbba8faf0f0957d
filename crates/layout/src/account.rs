//! Accounts of programs: fields at fixed places, and layouts as rows.

use core::{fmt, marker::PhantomData};

use crate::{
    kind::{Entry, Field, Name, Ref, read_fields},
    wire::{Fixed, Malformed, Reader},
};

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

/// A kind of accounts of a program.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The bytes that their data begin with.
    pub tag: Ref<[u8]>,
    /// The name of the kind.
    pub name: Name,
    /// What follows the first bytes.
    pub fields: Ref<[Field]>,
}

impl Layout {
    /// Reads the fields of an account's data; bytes after the last field are ignored.
    ///
    /// # Errors
    /// If the data do not begin with the layout's bytes, or have other fields.
    pub fn read<'a>(&'a self, data: &'a [u8]) -> Result<Vec<Entry<'a>>, Malformed> {
        let data = data.strip_prefix(&*self.tag).ok_or(Malformed)?;
        read_fields(&self.fields, &mut Reader::new(data))
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

    /// Returns the place of a field of this one, in the data of the whole account.
    #[must_use]
    pub const fn then<U: Fixed>(self, inner: At<U>) -> At<U> {
        At::new(self.offset.saturating_add(inner.offset))
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
