//! What a field is: its name, how its bytes are read, and how it is shown.
//!
//! [`Kind`] is the declaration as data. Rust types have theirs as [`Wire::KIND`](crate::wire::Wire::KIND), so a row
//! that is written with Rust's types can be read either into them or into a [`Value`]; interface
//! descriptions of programs become the same kinds.

use core::{fmt, ops::Deref};
use std::{borrow::Cow, sync::Arc};

use solana_pubkey::Pubkey;

use crate::reader::{Malformed, Reader};

/// A name: words joined by underscores, or as an interface description has it.
pub type Name = Cow<'static, str>;

/// Something declared in this crate, or read from an interface description.
pub enum Ref<T: ?Sized + 'static> {
    /// Declared in this crate.
    Static(&'static T),
    /// Read at run time.
    Shared(Arc<T>),
}

impl<T: ?Sized> Clone for Ref<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Static(it) => Self::Static(it),
            Self::Shared(it) => Self::Shared(Arc::clone(it)),
        }
    }
}

impl<T: ?Sized> Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Static(it) => it,
            Self::Shared(it) => it,
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A field of an instruction's data or of an account's.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: Kind,
    /// How `jsonParsed` shows it.
    pub show: Show,
}

/// How `jsonParsed` shows a field, where that does not follow from its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// As its kind is shown; an option without a value is left out.
    Plain,
    /// A number as text.
    Text,
    /// An option without a value as null.
    Null,
    /// Not at all.
    Hidden,
    /// A token amount, whose decimals are the field `decimals`.
    Amount,
    /// How many accounts at the end are listed; not shown.
    Count,
    /// Under the name that it has, with its underscores.
    Verbatim,
    /// The name of a variant, with a small first letter.
    Lower,
    /// A list that is left out if it is empty.
    NonEmpty,
    /// Bytes in base58.
    Base58,
    /// The fields of a struct among those beside it.
    Flat,
}

/// How many bytes a length, a count or the number of a variant has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lens {
    /// One byte.
    One,
    /// Two bytes.
    Two,
    /// Four bytes.
    Four,
    /// Eight bytes.
    Eight,
}

/// How an option tells whether it has a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// By a byte before it, without which there is no value.
    One,
    /// By four bytes before it. The value's bytes are there in either case.
    Four,
    /// All bits of the value are clear if there is none.
    Zero,
    /// All bits of the value are set if there is none.
    Max,
}

/// A variant of an enumeration.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Ref<[Field]>,
}

impl Variant {
    /// Creates a variant without fields.
    #[must_use]
    pub const fn unit(name: &'static str) -> Self {
        Self { name: Name::Borrowed(name), fields: Ref::Static(&[]) }
    }
}

/// How bytes become a value.
#[derive(Clone, Debug)]
pub enum Kind {
    /// One byte, 0 or 1.
    Bool,
    /// A number without sign, of so many bytes, at most 16.
    Unsigned(usize),
    /// A number with a sign, of so many bytes, at most 16.
    Signed(usize),
    /// A number of four bytes with a fraction.
    F32,
    /// A number of eight bytes with a fraction.
    F64,
    /// An address.
    Key,
    /// So many bytes.
    Bytes(usize),
    /// Bytes behind their number.
    Blob(Lens),
    /// Text behind its length in bytes.
    Text(Lens),
    /// All remaining bytes, as text.
    Rest,
    /// A value that may be absent.
    Option(Tag, Ref<Kind>),
    /// Fields one after the other.
    Struct(Ref<[Field]>),
    /// The number of a variant, and its fields.
    Enum(Lens, Ref<[Variant]>),
    /// Values behind their number; `None` if they fill the remaining bytes.
    List(Option<Lens>, Ref<Kind>),
    /// So many values.
    Array(usize, Ref<Kind>),
    /// What this function reads.
    Other(for<'a> fn(&mut Reader<'a>) -> Result<Value<'a>, Malformed>),
    /// A type that an interface description does not say, or that contains itself. It has no values.
    Unknown,
}

/// A value, as bytes have it.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    /// No value of an option.
    None,
    /// Yes or no.
    Bool(bool),
    /// A number without sign.
    Unsigned(u128),
    /// A number with a sign.
    Signed(i128),
    /// A number with a fraction.
    Float(f64),
    /// An address.
    Key(Pubkey),
    /// Bytes.
    Bytes(&'a [u8]),
    /// Text.
    Text(&'a str),
    /// A variant of an enumeration.
    Variant(&'a str, Vec<Entry<'a>>),
    /// A list.
    List(Vec<Value<'a>>),
    /// Fields with their values.
    Struct(Vec<Entry<'a>>),
}

impl fmt::Display for Value<'_> {
    /// Shows bytes in hexadecimal, text in quotes, and names as they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Bool(it) => it.fmt(f),
            Self::Unsigned(it) => it.fmt(f),
            Self::Signed(it) => it.fmt(f),
            Self::Float(it) => it.fmt(f),
            Self::Key(it) => it.fmt(f),
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Text(it) => write!(f, "{it:?}"),
            Self::Variant(name, fields) if fields.is_empty() => f.write_str(name),
            Self::Variant(name, fields) => {
                write!(f, "{name} ")?;
                write_fields(fields, f)
            }
            Self::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    value.fmt(f)?;
                }
                f.write_str("]")
            }
            Self::Struct(fields) => write_fields(fields, f),
        }
    }
}

fn write_fields(fields: &[Entry<'_>], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("{ ")?;
    for (index, Entry { field, value }) in fields.iter().enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write!(f, "{}: {value}", field.name)?;
    }
    f.write_str(" }")
}

/// A field with its value.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The field.
    pub field: &'a Field,
    /// Its value.
    pub value: Value<'a>,
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.field.name == other.field.name && self.value == other.value
    }
}

/// Reads fields one after the other.
///
/// # Errors
/// If the bytes are too few, or no value of their field.
pub fn read_fields<'a>(
    fields: &'a [Field],
    it: &mut Reader<'a>,
) -> Result<Vec<Entry<'a>>, Malformed> {
    read_all(fields, it, &mut { VALUES_MAX })
}

/// The most values that are read at once: they may have no bytes, and types may nest.
const VALUES_MAX: u32 = 1 << 18;

fn read_all<'a>(
    fields: &'a [Field],
    it: &mut Reader<'a>,
    left: &mut u32,
) -> Result<Vec<Entry<'a>>, Malformed> {
    fields.iter().map(|field| Ok(Entry { value: field.kind.next(it, left)?, field })).collect()
}

impl Lens {
    /// Returns how many bytes these are.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    fn read(self, it: &mut Reader<'_>) -> Result<usize, Malformed> {
        match self {
            Self::One => it.u8().map(usize::from),
            Self::Two => it.u16().map(usize::from),
            Self::Four => usize::try_from(it.u32()?).map_err(|_| Malformed),
            Self::Eight => usize::try_from(it.u64()?).map_err(|_| Malformed),
        }
    }
}

impl Kind {
    /// Reads a value.
    ///
    /// # Errors
    /// If the bytes are too few, or no value of this kind.
    pub fn read<'a>(&'a self, it: &mut Reader<'a>) -> Result<Value<'a>, Malformed> {
        self.next(it, &mut { VALUES_MAX })
    }

    fn next<'a>(&'a self, it: &mut Reader<'a>, left: &mut u32) -> Result<Value<'a>, Malformed> {
        *left = left.checked_sub(1).ok_or(Malformed)?;
        Ok(match self {
            Self::Bool => Value::Bool(it.bool()?),
            Self::Unsigned(bytes) => Value::Unsigned(unsigned(it.bytes(*bytes)?)?),
            Self::Signed(bytes) => Value::Signed(signed(it.bytes(*bytes)?)?),
            Self::F32 => Value::Float(f32::from_le_bytes(it.array()?).into()),
            Self::F64 => Value::Float(f64::from_le_bytes(it.array()?)),
            Self::Key => Value::Key(it.pubkey()?),
            Self::Bytes(len) => Value::Bytes(it.bytes(*len)?),
            Self::Blob(lens) => {
                let len = lens.read(it)?;
                Value::Bytes(it.bytes(len)?)
            }
            Self::Text(lens) => {
                let len = lens.read(it)?;
                Value::Text(text(it.bytes(len)?)?)
            }
            Self::Rest => Value::Text(text(it.rest())?),
            Self::Option(tag, kind) => tag.read(kind, it, left)?,
            Self::Struct(fields) => Value::Struct(read_all(fields, it, left)?),
            Self::Enum(lens, variants) => {
                let variant = variants.get(lens.read(it)?).ok_or(Malformed)?;
                Value::Variant(&variant.name, read_all(&variant.fields, it, left)?)
            }
            Self::List(Some(lens), kind) => {
                let count = lens.read(it)?;
                list(kind, count, it, left)?
            }
            Self::List(None, kind) => {
                let mut values = Vec::new();
                while !it.remaining().is_empty() {
                    values.push(kind.next(it, left)?);
                }
                Value::List(values)
            }
            Self::Array(count, kind) => list(kind, *count, it, left)?,
            Self::Other(read) => read(it)?,
            Self::Unknown => return Err(Malformed),
        })
    }

    /// Returns how many bytes a value has, if all have as many.
    #[must_use]
    pub fn bytes(&self) -> Option<usize> {
        match self {
            Self::Bool => Some(1),
            Self::F32 => Some(4),
            Self::F64 => Some(8),
            Self::Key => Some(32),
            Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Bytes(bytes) => Some(*bytes),
            Self::Option(Tag::Four, kind) => kind.bytes()?.checked_add(4),
            Self::Option(Tag::Zero | Tag::Max, kind) => kind.bytes(),
            Self::Struct(fields) => {
                fields.iter().try_fold(0_usize, |sum, it| sum.checked_add(it.kind.bytes()?))
            }
            Self::Array(count, kind) => kind.bytes()?.checked_mul(*count),
            Self::Enum(lens, variants) if variants.iter().all(|it| it.fields.is_empty()) => {
                Some(lens.bytes())
            }
            _ => None,
        }
    }
}

impl Tag {
    fn read<'a>(
        self,
        kind: &'a Kind,
        it: &mut Reader<'a>,
        left: &mut u32,
    ) -> Result<Value<'a>, Malformed> {
        let empty = match self {
            Self::One => return if it.bool()? { kind.next(it, left) } else { Ok(Value::None) },
            Self::Four => {
                let is_there = match it.u32()? {
                    0 => false,
                    1 => true,
                    _ => return Err(Malformed),
                };
                let value = kind.next(it, left)?;
                return Ok(if is_there { value } else { Value::None });
            }
            Self::Zero => 0,
            Self::Max => 0xff,
        };
        let len = kind.bytes().ok_or(Malformed)?;
        let bytes = it.remaining().get(..len).ok_or(Malformed)?;
        let is_there = bytes.iter().any(|byte| *byte != empty);
        let value = kind.next(it, left)?;
        Ok(if is_there { value } else { Value::None })
    }
}

fn list<'a>(
    kind: &'a Kind,
    count: usize,
    it: &mut Reader<'a>,
    left: &mut u32,
) -> Result<Value<'a>, Malformed> {
    let mut values = Vec::new();
    for _ in 0..count {
        values.push(kind.next(it, left)?);
    }
    Ok(Value::List(values))
}

fn text(bytes: &[u8]) -> Result<&str, Malformed> {
    str::from_utf8(bytes).map_err(|_| Malformed)
}

fn unsigned(bytes: &[u8]) -> Result<u128, Malformed> {
    let mut number = [0; 16];
    number.get_mut(..bytes.len()).ok_or(Malformed)?.copy_from_slice(bytes);
    Ok(u128::from_le_bytes(number))
}

fn signed(bytes: &[u8]) -> Result<i128, Malformed> {
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut number = [if is_negative { 0xff } else { 0 }; 16];
    number.get_mut(..bytes.len()).ok_or(Malformed)?.copy_from_slice(bytes);
    Ok(i128::from_le_bytes(number))
}
