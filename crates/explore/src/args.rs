//! Arguments: what actions make of the bytes of a call.

/// The bytes of a call, which an action reads its arguments from.
///
/// Every sequence of bytes has a meaning: behind the end there are zeros. A number in range is stored
/// as it is, so that the values which a program compares are found in the bytes.
#[derive(Clone, Debug)]
pub struct Args<'a> {
    bytes: &'a [u8],
}

impl<'a> Args<'a> {
    /// Creates arguments from bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the next bytes, or zeros.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let len = N.min(self.bytes.len());
        let (first, rest) = self.bytes.split_at(len);
        if let Some(start) = array.get_mut(..len) {
            start.copy_from_slice(first);
        }
        self.bytes = rest;
        array
    }

    /// Returns a number of one byte.
    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    /// Returns a number of two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Returns a number of four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Returns a number of eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// Returns a truth value.
    pub fn bool(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// Returns a number from `first` to `last`, both included; `first` if `last` is less.
    pub fn range(&mut self, first: u64, last: u64) -> u64 {
        let number = self.u64();
        if (first..=last).contains(&number) || last <= first {
            return number.clamp(first, last.max(first));
        }
        // Not all numbers are in range, so that the count does not overflow.
        let count = last.saturating_sub(first).saturating_add(1);
        first.saturating_add(number.checked_rem(count).unwrap_or(0))
    }

    /// Returns one of the items.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        let index = usize::from(self.u8()).checked_rem(items.len());
        index.and_then(|index| items.get(index)).expect("there is something to pick from")
    }

    /// Returns up to `max` bytes, whose number is the next byte.
    pub fn bytes(&mut self, max: usize) -> &'a [u8] {
        let len = usize::from(self.u8()).min(max).min(self.bytes.len());
        let (bytes, rest) = self.bytes.split_at(len);
        self.bytes = rest;
        bytes
    }

    /// Returns all bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.bytes)
    }
}
