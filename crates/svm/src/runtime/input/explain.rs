//! Describes a serialized input field by field, for display.
//!
//! The buffer may be untrusted: a dump, the input of another engine, or malformed on purpose. The fields
//! up to the first invalid one are described, and then the error.

mod abi;

use core::fmt;

use selkie_isa::layout::INPUT_START;
use solana_pubkey::Pubkey;

pub use self::abi::{AbiMismatch, abi_mismatch, built_for};
use super::{ALIGNMENT, Abi, NOT_DUPLICATE, RENT_EPOCH};
use crate::chain::cost::ACCOUNT_GROWTH_MAX;

/// The most accounts of an input; no cluster has ever passed more to a program.
const ACCOUNTS_MAX: u64 = 256;

/// A field of the buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// The offset in the buffer.
    pub offset: usize,
    /// The guest address.
    pub vaddr: u64,
    /// The length in bytes.
    pub len: usize,
    /// The path, such as `accounts[0].lamports`.
    pub path: String,
    /// The value.
    pub value: Value,
    /// A remark, mostly empty.
    pub note: String,
}

/// The value of a field, except for account and instruction data, which stay in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// The byte of a boolean.
    Flag(u8),
    /// The byte that marks duplicate accounts.
    Marker(u8),
    /// A number.
    Number(u64),
    /// An address.
    Pubkey(Pubkey),
    /// Data.
    Bytes,
    /// Padding.
    Padding {
        /// The number of bytes that are not zero.
        dirty: usize,
    },
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(0) => f.write_str("false"),
            Self::Flag(1) => f.write_str("true"),
            Self::Flag(byte) | Self::Marker(byte) => write!(f, "{byte:#04x}"),
            Self::Number(number) => number.fmt(f),
            Self::Pubkey(pubkey) => pubkey.fmt(f),
            Self::Bytes => f.write_str("data"),
            Self::Padding { dirty: 0 } => f.write_str("zeros"),
            Self::Padding { dirty } => write!(f, "{dirty} bytes not zero"),
        }
    }
}

/// The error of a malformed buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExplainError {
    /// The buffer ends within a field.
    Truncated {
        /// The field.
        path: String,
        /// The offset of the field.
        offset: usize,
        /// The length of the field in bytes.
        needed: u64,
        /// The bytes that remain in the buffer.
        available: usize,
    },
    /// More accounts than a program is ever passed.
    TooManyAccounts(u64),
    /// A duplicate account refers to itself or to a later account.
    InvalidDuplicate {
        /// The account index.
        account: u64,
        /// The index that it refers to.
        of: u8,
    },
    /// The buffer is longer than its fields.
    TrailingBytes {
        /// The offset of the first byte behind the last field.
        offset: usize,
        /// The number of trailing bytes.
        len: usize,
    },
}

impl fmt::Display for ExplainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { path, offset, needed, available } => write!(
                f,
                "input ends within {path} at offset {offset:#x}: {needed} bytes needed, \
                 {available} left"
            ),
            Self::TooManyAccounts(count) => {
                write!(f, "no program is passed {count} accounts, {ACCOUNTS_MAX} at most")
            }
            Self::InvalidDuplicate { account, of } => {
                write!(f, "accounts[{account}] is said to be the earlier accounts[{of}]")
            }
            Self::TrailingBytes { offset, len } => {
                write!(f, "{len} bytes left behind the program id at offset {offset:#x}")
            }
        }
    }
}

impl core::error::Error for ExplainError {}

/// The description of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// The layout by which the buffer was read.
    pub abi: Abi,
    /// The fields, without gaps from the start.
    pub fields: Vec<Field>,
    /// The error that ended the description, if any.
    pub error: Option<ExplainError>,
}

impl Explanation {
    /// Returns the field at a guest address.
    #[must_use]
    pub fn find(&self, vaddr: u64) -> Option<&Field> {
        let index = self.fields.partition_point(|field| field.vaddr <= vaddr).checked_sub(1)?;
        let field = self.fields.get(index)?;
        (vaddr.abs_diff(field.vaddr) < field.len as u64).then_some(field)
    }
}

/// Describes a buffer by a layout, or by the one that fits better.
#[must_use]
pub fn explain(bytes: &[u8], abi: Option<Abi>) -> Explanation {
    if let Some(abi) = abi {
        return explain_as(bytes, abi);
    }
    let aligned = explain_as(bytes, Abi::Aligned);
    if aligned.error.is_none() {
        return aligned;
    }
    let unaligned = explain_as(bytes, Abi::Unaligned);
    if unaligned.error.is_none() { unaligned } else { aligned }
}

fn explain_as(bytes: &[u8], abi: Abi) -> Explanation {
    let mut reader = Reader { bytes, offset: 0, fields: Vec::new() };
    let error = read_input(&mut reader, abi).err();
    Explanation { abi, fields: reader.fields, error }
}

struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    fields: Vec<Field>,
}

impl<'a> Reader<'a> {
    /// Reads a field of `len` bytes.
    fn take(
        &mut self,
        path: String,
        len: u64,
        value: impl FnOnce(&[u8]) -> Value,
    ) -> Result<&'a [u8], ExplainError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let found = usize::try_from(len).ok().and_then(|len| rest.get(..len));
        let Some(bytes) = found else {
            let (offset, available) = (self.offset, rest.len());
            return Err(ExplainError::Truncated { path, offset, needed: len, available });
        };
        let offset = self.offset;
        let vaddr = INPUT_START.saturating_add(offset as u64);
        let (len, value) = (bytes.len(), value(bytes));
        self.fields.push(Field { offset, vaddr, len, path, value, note: String::new() });
        self.offset = self.offset.saturating_add(len);
        Ok(bytes)
    }

    fn number(&mut self, path: String) -> Result<u64, ExplainError> {
        let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let bytes = self.take(path, 8, |bytes| Value::Number(word(bytes)))?;
        Ok(word(bytes))
    }

    fn pubkey(&mut self, path: String) -> Result<(), ExplainError> {
        self.take(path, 32, |bytes| {
            let pubkey = Pubkey::try_from(bytes).unwrap_or_default();
            Value::Pubkey(pubkey)
        })?;
        Ok(())
    }

    fn byte(&mut self, path: String, value: fn(u8) -> Value) -> Result<u8, ExplainError> {
        let first = |bytes: &[u8]| bytes.first().copied().unwrap_or_default();
        let bytes = self.take(path, 1, |bytes| value(first(bytes)))?;
        Ok(first(bytes))
    }

    fn flag(&mut self, path: String) -> Result<(), ExplainError> {
        if self.byte(path, Value::Flag)? > 1 {
            self.note("a flag is 0 or 1".to_owned());
        }
        Ok(())
    }

    fn data(&mut self, path: String, len: u64) -> Result<(), ExplainError> {
        if len > 0 {
            self.take(path, len, |_| Value::Bytes)?;
        }
        Ok(())
    }

    fn padding(&mut self, path: String, len: u64) -> Result<(), ExplainError> {
        if len > 0 {
            let dirty = |bytes: &[u8]| bytes.iter().filter(|byte| **byte != 0).count();
            self.take(path, len, |bytes| Value::Padding { dirty: dirty(bytes) })?;
        }
        Ok(())
    }

    /// Adds a remark to the last field.
    fn note(&mut self, note: String) {
        if let Some(field) = self.fields.last_mut() {
            field.note = note;
        }
    }
}

fn read_input(reader: &mut Reader<'_>, abi: Abi) -> Result<(), ExplainError> {
    let count = reader.number("accounts.len".to_owned())?;
    if count > ACCOUNTS_MAX {
        return Err(ExplainError::TooManyAccounts(count));
    }
    for account in 0..count {
        read_record(reader, abi, account)?;
    }
    let len = reader.number("instruction_data.len".to_owned())?;
    reader.data("instruction_data".to_owned(), len)?;
    reader.pubkey("program_id".to_owned())?;
    match reader.bytes.len().saturating_sub(reader.offset) {
        0 => Ok(()),
        len => Err(ExplainError::TrailingBytes { offset: reader.offset, len }),
    }
}

fn read_record(reader: &mut Reader<'_>, abi: Abi, account: u64) -> Result<(), ExplainError> {
    let path = |field: &str| format!("accounts[{account}].{field}");
    let marker = reader.byte(path("marker"), Value::Marker)?;
    if marker == NOT_DUPLICATE {
        return match abi {
            Abi::Aligned => read_aligned(reader, &path),
            Abi::Unaligned => read_unaligned(reader, &path),
        };
    }
    if u64::from(marker) >= account {
        return Err(ExplainError::InvalidDuplicate { account, of: marker });
    }
    reader.note(format!("the same account as accounts[{marker}]"));
    if abi == Abi::Aligned {
        reader.padding(path("padding"), 7)?;
    }
    Ok(())
}

fn read_aligned(
    reader: &mut Reader<'_>,
    path: &impl Fn(&str) -> String,
) -> Result<(), ExplainError> {
    reader.flag(path("is_signer"))?;
    reader.flag(path("is_writable"))?;
    reader.flag(path("executable"))?;
    let len_before = read_original_len(reader, path)?;
    reader.pubkey(path("key"))?;
    reader.pubkey(path("owner"))?;
    reader.number(path("lamports"))?;
    let len = reader.number(path("data.len"))?;
    // The program may have changed the length; the offsets of later fields do not change.
    let growth_max = ACCOUNT_GROWTH_MAX as u64;
    let before = len_before.filter(|before| len <= before.saturating_add(growth_max));
    if let Some(before) = before.filter(|before| *before != len) {
        reader.note(format!("{before} before the program changed it"));
    }
    let before = before.unwrap_or(len);
    reader.data(path("data"), len)?;
    let spare = before.saturating_add(growth_max).saturating_sub(len);
    reader.padding(path("growth_space"), spare)?;
    let aligned = reader.offset.next_multiple_of(ALIGNMENT);
    reader.padding(path("alignment"), aligned.saturating_sub(reader.offset) as u64)?;
    read_rent_epoch(reader, path)
}

/// Reads the four bytes behind the flags. They are zero at first; the SDK's entrypoint stores the original
/// length of the data in them.
fn read_original_len(
    reader: &mut Reader<'_>,
    path: &impl Fn(&str) -> String,
) -> Result<Option<u64>, ExplainError> {
    let dirty = |bytes: &[u8]| bytes.iter().filter(|byte| **byte != 0).count();
    let bytes = reader.take(path("padding"), 4, |it| Value::Padding { dirty: dirty(it) })?;
    let len = bytes.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
    if len == 0 {
        return Ok(None);
    }
    reader.note(format!("the program noted the length {len} here"));
    Ok(Some(len.into()))
}

fn read_unaligned(
    reader: &mut Reader<'_>,
    path: &impl Fn(&str) -> String,
) -> Result<(), ExplainError> {
    reader.flag(path("is_signer"))?;
    reader.flag(path("is_writable"))?;
    reader.pubkey(path("key"))?;
    reader.number(path("lamports"))?;
    let len = reader.number(path("data.len"))?;
    reader.data(path("data"), len)?;
    reader.pubkey(path("owner"))?;
    reader.flag(path("executable"))?;
    read_rent_epoch(reader, path)
}

fn read_rent_epoch(
    reader: &mut Reader<'_>,
    path: &impl Fn(&str) -> String,
) -> Result<(), ExplainError> {
    if reader.number(path("rent_epoch"))? != RENT_EPOCH {
        reader.note("clusters pass the greatest number today".to_owned());
    }
    Ok(())
}
