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
//! | [`RestBytes`] | all that remain |

use solana_pubkey::Pubkey;

use crate::kind::{Kind, Lens, Ref, Tag, Value};
pub use crate::reader::{Malformed, Reader};

type Result<T> = core::result::Result<T, Malformed>;

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

pub(crate) fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 0x7f {
        let [low, ..] = number.to_le_bytes();
        out.push(low | 0x80);
        number >>= 7;
    }
    let [low, ..] = number.to_le_bytes();
    out.push(low);
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

/// All the bytes that remain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RestBytes<'a>(pub &'a [u8]);

impl<'a> Wire<'a> for RestBytes<'a> {
    const KIND: Kind = Kind::Other(|it| Ok(Value::Bytes(it.rest())));

    fn read(it: &mut Reader<'a>) -> Result<Self> {
        Ok(Self(it.rest()))
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
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
