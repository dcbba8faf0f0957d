//! Bytes to values and back: fixed-width little-endian fields, one after the other, as bincode and Borsh
//! write them.
//!
//! Every length is compared with the remaining bytes before anything is allocated for it.
//!
//! | type | its bytes |
//! |---|---|
//! | numbers, `[u8; N]`, [`Pubkey`] | as many as it has |
//! | `bool` | 0 or 1 |
//! | `Option` | 0; or 1, and the value |
//! | [`COption`] | four bytes, 0 or 1, and the value in either case |
//! | [`OrZero`] | the value; of nothing, all bits are clear |
//! | `&str`, `&[u8]` | the length in eight bytes, and the bytes |
//! | [`ShortText`] | the length in four bytes, and the text |
//! | `Vec` | the count in eight bytes, and the values |
//! | [`Rest`] | all that remain, as text |

use solana_pubkey::Pubkey;

use crate::kind::{Kind, Lens, Ref, Tag};

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

/// A type whose values have a layout.
pub trait Wire<'a>: Sized {
    /// The layout as data.
    const KIND: Kind;

    /// Reads a value.
    ///
    /// # Errors
    /// If the bytes are too few or not such a value.
    fn read(it: &mut Reader<'a>) -> Result<Self>;

    /// Appends the bytes of the value.
    fn write(&self, out: &mut Vec<u8>);
}

/// A type whose values all have as many bytes.
pub trait Fixed: for<'a> Wire<'a> {
    /// As many.
    const BYTES: usize;
}

macro_rules! numbers {
    ($($type:ty: $kind:expr;)*) => {
        $(
            impl Wire<'_> for $type {
                const KIND: Kind = $kind;

                #[inline]
                fn read(it: &mut Reader<'_>) -> Result<Self> {
                    it.array().map(Self::from_le_bytes)
                }

                #[inline]
                fn write(&self, out: &mut Vec<u8>) {
                    out.extend_from_slice(&self.to_le_bytes());
                }
            }

            impl Fixed for $type {
                const BYTES: usize = size_of::<$type>();
            }
        )*
    };
}

numbers! {
    u8: Kind::Unsigned(1);
    u16: Kind::Unsigned(2);
    u32: Kind::Unsigned(4);
    u64: Kind::Unsigned(8);
    u128: Kind::Unsigned(16);
    i8: Kind::Signed(1);
    i16: Kind::Signed(2);
    i64: Kind::Signed(8);
    f64: Kind::F64;
}

impl Wire<'_> for bool {
    const KIND: Kind = Kind::Bool;

    fn read(it: &mut Reader<'_>) -> Result<Self> {
        it.bool()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }
}

impl Fixed for bool {
    const BYTES: usize = 1;
}

impl Wire<'_> for Pubkey {
    const KIND: Kind = Kind::Key;

    #[inline]
    fn read(it: &mut Reader<'_>) -> Result<Self> {
        it.pubkey()
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_array());
    }
}

impl Fixed for Pubkey {
    const BYTES: usize = 32;
}

impl<const N: usize> Wire<'_> for [u8; N] {
    const KIND: Kind = Kind::Bytes(N);

    #[inline]
    fn read(it: &mut Reader<'_>) -> Result<Self> {
        it.array()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl<const N: usize> Fixed for [u8; N] {
    const BYTES: usize = N;
}

impl<'a, T: Wire<'a> + 'a> Wire<'a> for Option<T> {
    const KIND: Kind = Kind::Option(Tag::One, Ref::Static(&T::KIND));

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        it.option(T::read)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.is_some().into());
        if let Some(value) = self {
            value.write(out);
        }
    }
}

/// A value behind a tag of four bytes; of nothing, the value's bytes are there, too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct COption<T>(pub Option<T>);

impl<'a, T: Fixed + Default> Wire<'a> for COption<T> {
    const KIND: Kind = Kind::Option(Tag::Four, Ref::Static(&<T as Wire<'static>>::KIND));

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        let tag = it.u32()?;
        let value = T::read(it)?;
        match tag {
            0 => Ok(Self(None)),
            1 => Ok(Self(Some(value))),
            _ => Err(Malformed),
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        u32::from(self.0.is_some()).write(out);
        match &self.0 {
            Some(value) => value.write(out),
            None => T::default().write(out),
        }
    }
}

impl<T: Fixed + Default> Fixed for COption<T> {
    #[allow(clippy::arithmetic_side_effects, reason = "types are short")]
    const BYTES: usize = 4 + T::BYTES;
}

/// A value that is absent if all its bits are clear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OrZero<T>(pub Option<T>);

impl<'a, T: Fixed> Wire<'a> for OrZero<T> {
    const KIND: Kind = Kind::Option(Tag::Zero, Ref::Static(&<T as Wire<'static>>::KIND));

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        let bytes = it.remaining();
        let value = T::read(it)?;
        let is_there = bytes.iter().take(T::BYTES).any(|byte| *byte != 0);
        Ok(Self(Some(value).filter(|_| is_there)))
    }

    fn write(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Some(value) => value.write(out),
            None => out.resize(out.len().saturating_add(T::BYTES), 0),
        }
    }
}

impl<T: Fixed> Fixed for OrZero<T> {
    const BYTES: usize = T::BYTES;
}

impl<'a> Wire<'a> for &'a str {
    const KIND: Kind = Kind::Text(Lens::Eight);

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        it.string()
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.as_bytes().write(out);
    }
}

impl<'a> Wire<'a> for &'a [u8] {
    const KIND: Kind = Kind::Blob(Lens::Eight);

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        it.counted()
    }

    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        out.extend_from_slice(self);
    }
}

/// Text behind its length in four bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShortText<'a>(pub &'a str);

impl<'a> Wire<'a> for ShortText<'a> {
    const KIND: Kind = Kind::Text(Lens::Four);

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        let len = usize::try_from(it.u32()?).map_err(|_| Malformed)?;
        str::from_utf8(it.bytes(len)?).map(Self).map_err(|_| Malformed)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let len = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        len.write(out);
        out.extend_from_slice(self.0.as_bytes());
    }
}

/// All the bytes that remain, as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rest<'a>(pub &'a str);

impl<'a> Wire<'a> for Rest<'a> {
    const KIND: Kind = Kind::Rest;

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        str::from_utf8(it.rest()).map(Self).map_err(|_| Malformed)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

impl<'a, T: Wire<'a> + 'a> Wire<'a> for Vec<T> {
    const KIND: Kind = Kind::List(Some(Lens::Eight), Ref::Static(&T::KIND));

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        it.list(T::read)
    }

    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        self.iter().for_each(|value| value.write(out));
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
