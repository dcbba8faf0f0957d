//! A cursor over bytes.

use solana_pubkey::Pubkey;

/// The length in bytes to which instruction data are truncated before decoding: the size of a packet.
const INSTRUCTION_BYTES_MAX: usize = 1232;

/// The error of bytes that do not decode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

type Result<T> = core::result::Result<T, Malformed>;

/// A cursor that decodes fields front to back.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Returns a reader of all the bytes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns a reader of the instruction data that builtin programs decode. Bytes after the last
    /// field are ignored.
    #[must_use]
    pub fn instruction(data: &'a [u8]) -> Self {
        Self(data.get(..INSTRUCTION_BYTES_MAX).unwrap_or(data))
    }

    /// Returns what has not been read.
    #[must_use]
    pub fn remaining(&self) -> &'a [u8] {
        self.0
    }

    /// Reads what has not been read.
    pub fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    /// Reads a byte that is 0 or 1.
    ///
    /// # Errors
    /// If there is no byte, or another one.
    #[inline]
    pub fn bool(&mut self) -> Result<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// Reads so many bytes.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(len).ok_or(Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads an array of bytes.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// Reads a byte.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads a number.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads an address.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn pubkey(&mut self) -> Result<Pubkey> {
        self.array().map(Pubkey::new_from_array)
    }

    /// Reads a byte, 0 or 1, and a value if it is 1.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn option<T>(&mut self, some: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        match self.array()? {
            [0] => Ok(None),
            [1] => some(self).map(Some),
            _ => Err(Malformed),
        }
    }

    /// Reads a `u64` length and that many bytes.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn counted(&mut self) -> Result<&'a [u8]> {
        let len = usize::try_from(self.u64()?).map_err(|_| Malformed)?;
        self.bytes(len)
    }

    /// Reads a `u64` count and that many values.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn list<T>(&mut self, mut value: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.u64()?;
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(value(self)?);
        }
        Ok(values)
    }

    /// Reads a LEB128 number (seven bits per byte, lowest first) in its shortest encoding.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return if byte == 0 && shift > 0 { Err(Malformed) } else { Ok(value) };
            }
        }
        Err(Malformed)
    }

    /// Reads a count in the compact-u16 encoding of transactions: a [`Reader::varint`] of 16 bits.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn short_count(&mut self) -> Result<u16> {
        u16::try_from(self.varint()?).map_err(|_| Malformed)
    }

    /// Reads text behind its length in eight bytes.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    #[inline]
    pub fn string(&mut self) -> Result<&'a str> {
        str::from_utf8(self.counted()?).map_err(|_| Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_past_the_end_or_an_invalid_option_tag_is_malformed() {
        let bytes = [2, 0, 0, 0, 0, 0, 0, 0, b'h', b'i', 1];
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.string(), Ok("hi"));
        assert_eq!(reader.option(Reader::u32), Err(Malformed));
        assert_eq!(Reader::new(&bytes[..9]).counted(), Err(Malformed));
        assert_eq!(Reader::new(&[0xff; 16]).counted(), Err(Malformed));
        assert_eq!(Reader::new(&[2]).option(Reader::u64), Err(Malformed));
        assert_eq!(Reader::new(&[0]).option(Reader::u64), Ok(None));
    }

    #[test]
    fn varints_are_accepted_only_in_their_shortest_form() {
        let read = |bytes: &[u8]| Reader::new(bytes).varint();
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0xff, 0x7f]), Ok(0x3fff));
        assert_eq!(read(&[0x80, 0x80, 1]), Ok(1 << 14));
        let max = [[0xff; 9].as_slice(), &[1]].concat();
        assert_eq!(read(&max), Ok(u64::MAX));
        let too_large = [[0xff; 9].as_slice(), &[2]].concat();
        for bytes in [&[0x80, 0][..], &[0x80], &[], &too_large, &[0x80; 11]] {
            assert_eq!(read(bytes), Err(Malformed), "{bytes:?}");
        }
        assert_eq!(Reader::new(&[0xff, 0xff, 3]).short_count(), Ok(u16::MAX));
        assert_eq!(Reader::new(&[0xff, 0xff, 4]).short_count(), Err(Malformed));
    }

    #[test]
    fn instruction_data_are_truncated_to_1232_bytes() {
        let bytes = [0; 2000];
        assert!(Reader::instruction(&bytes).bytes(1232).is_ok());
        assert!(Reader::instruction(&bytes).bytes(1233).is_err());
    }
}
