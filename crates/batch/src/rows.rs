//! Reads rows of the item table.

use core::ops::Range;

use arrow_array::{
    Array, BinaryArray, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use solana_pubkey::Pubkey;

use crate::{
    Sha256,
    columns::{self, Columns},
    error::{BatchError, Malformed},
    item::{Expectation, Item, ItemAccount, ItemData, Kind, Override},
    schema::{self, column as c},
};

/// The columns of a batch of items.
pub(crate) struct ItemRows<'a> {
    id: &'a BinaryArray,
    kind: &'a StringArray,
    slot: &'a Int64Array,
    epoch: &'a Int64Array,
    unix_timestamp: &'a Int64Array,
    env_ref: &'a BinaryArray,
    blockhash: &'a BinaryArray,
    message: &'a BinaryArray,
    accounts: AccountRows<'a>,
    overrides: OverrideRows<'a>,
    verify_signatures: &'a BooleanArray,
    check_blockhash: &'a BooleanArray,
    expect: ExpectationRows<'a>,
}

impl<'a> ItemRows<'a> {
    /// Finds the columns.
    ///
    /// # Errors
    /// If one is missing or has another type.
    pub(crate) fn of(batch: &'a RecordBatch) -> Result<Self, BatchError> {
        columns::check_columns(batch, &schema::items())?;
        let table = Columns::Table(batch);
        Ok(Self {
            id: table.binary(c::ITEM_ID),
            kind: table.string(c::KIND),
            slot: table.int64(c::SLOT),
            epoch: table.int64(c::EPOCH),
            unix_timestamp: table.int64(c::UNIX_TIMESTAMP),
            env_ref: table.binary(c::ENV_REF),
            blockhash: table.binary(c::BLOCKHASH),
            message: table.binary(c::MESSAGE),
            accounts: AccountRows::of(table),
            overrides: OverrideRows::of(table),
            verify_signatures: table.boolean(c::VERIFY_SIGNATURES),
            check_blockhash: table.boolean(c::CHECK_BLOCKHASH),
            expect: ExpectationRows::of(table),
        })
    }

    /// Returns the id that a row states: its bytes, whatever they are.
    pub(crate) fn stated_id(&self, row: usize) -> &'a [u8] {
        optional(self.id, row).map_or(&[], |row| self.id.value(row))
    }

    /// Reads a row.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub(crate) fn item(&self, row: usize) -> Result<Item<'a>, Malformed> {
        let kind = self.kind.value(required(self.kind, row, c::KIND)?);
        let unknown = || {
            let known = Kind::ALL.map(|it| format!("`{}`", it.name())).join(", ");
            format!("items of kind `{kind}` are not known, only {known}")
        };
        Ok(Item {
            kind: Kind::parse(kind).ok_or_else(unknown)?,
            slot: number(self.slot, row),
            epoch: number(self.epoch, row),
            unix_timestamp: optional(self.unix_timestamp, row)
                .map(|row| self.unix_timestamp.value(row)),
            env_ref: array(self.env_ref, row, c::ENV_REF)?,
            blockhash: optional_array(self.blockhash, row, c::BLOCKHASH)?,
            message: bytes(self.message, row, c::MESSAGE)?,
            accounts: self.accounts.read(row)?,
            overrides: self.overrides.read(row)?,
            verify_signatures: boolean(self.verify_signatures, row, c::VERIFY_SIGNATURES)?,
            check_blockhash: boolean(self.check_blockhash, row, c::CHECK_BLOCKHASH)?,
            expect: self.expect.read(row)?,
        })
    }
}

struct AccountRows<'a> {
    list: &'a ListArray,
    pubkey: &'a BinaryArray,
    lamports: &'a Int64Array,
    owner: &'a BinaryArray,
    executable: &'a BooleanArray,
    reference: &'a BinaryArray,
    data: &'a BinaryArray,
}

impl<'a> AccountRows<'a> {
    fn of(table: Columns<'a>) -> Self {
        let (list, entries) = table.list(c::ACCOUNTS);
        Self {
            list,
            pubkey: entries.binary(c::PUBKEY),
            lamports: entries.int64(c::LAMPORTS),
            owner: entries.binary(c::OWNER),
            executable: entries.boolean(c::EXECUTABLE),
            reference: entries.binary(c::REF),
            data: entries.binary(c::DATA),
        }
    }

    fn read(&self, row: usize) -> Result<Vec<ItemAccount<'a>>, Malformed> {
        entries(self.list, row, c::ACCOUNTS)?.map(|entry| self.entry(entry)).collect()
    }

    fn entry(&self, entry: usize) -> Result<ItemAccount<'a>, Malformed> {
        let data = match (optional(self.reference, entry), optional(self.data, entry)) {
            (Some(_), Some(_)) => {
                return Err(Malformed::from("an account has both `ref` and `data`"));
            }
            (Some(_), None) => ItemData::Ref(array(self.reference, entry, "accounts.ref")?),
            (None, Some(entry)) => ItemData::Inline(self.data.value(entry)),
            (None, None) => ItemData::Inline(&[]),
        };
        Ok(ItemAccount {
            pubkey: array(self.pubkey, entry, "accounts.pubkey")?.into(),
            lamports: number(self.lamports, entry).ok_or_else(|| null("accounts.lamports"))?,
            owner: array(self.owner, entry, "accounts.owner")?.into(),
            executable: boolean(self.executable, entry, "accounts.executable")?,
            data,
        })
    }
}

struct OverrideRows<'a> {
    list: &'a ListArray,
    pubkey: &'a BinaryArray,
    lamports: &'a Int64Array,
    owner: &'a BinaryArray,
    offset: &'a Int64Array,
    bytes: &'a BinaryArray,
}

impl<'a> OverrideRows<'a> {
    fn of(table: Columns<'a>) -> Self {
        let (list, entries) = table.list(c::OVERRIDES);
        Self {
            list,
            pubkey: entries.binary(c::PUBKEY),
            lamports: entries.int64(c::LAMPORTS),
            owner: entries.binary(c::OWNER),
            offset: entries.int64(c::OFFSET),
            bytes: entries.binary(c::BYTES),
        }
    }

    fn read(&self, row: usize) -> Result<Vec<Override<'a>>, Malformed> {
        entries(self.list, row, c::OVERRIDES)?.map(|entry| self.entry(entry)).collect()
    }

    fn entry(&self, entry: usize) -> Result<Override<'a>, Malformed> {
        let offset = number(self.offset, entry);
        let bytes = optional(self.bytes, entry).map(|entry| self.bytes.value(entry));
        if offset.is_some() && bytes.is_none() {
            return Err(Malformed::from("an override has an `offset`, but no `bytes`"));
        }
        Ok(Override {
            pubkey: array(self.pubkey, entry, "overrides.pubkey")?.into(),
            lamports: number(self.lamports, entry),
            owner: optional_array(self.owner, entry, "overrides.owner")?.map(Pubkey::from),
            bytes: bytes.map(|bytes| (offset, bytes)),
        })
    }
}

struct ExpectationRows<'a> {
    all: &'a StructArray,
    status: &'a StringArray,
    error: &'a StringArray,
    compute_units: &'a Int64Array,
    effects_hash: &'a BinaryArray,
}

impl<'a> ExpectationRows<'a> {
    fn of(table: Columns<'a>) -> Self {
        let all = table.structure(c::EXPECT);
        let fields = Columns::Struct(all);
        Self {
            all,
            status: fields.string(c::STATUS),
            error: fields.string(c::ERROR),
            compute_units: fields.int64(c::COMPUTE_UNITS),
            effects_hash: fields.binary(c::EFFECTS_HASH),
        }
    }

    fn read(&self, row: usize) -> Result<Option<Expectation<'a>>, Malformed> {
        if self.all.is_null(row) {
            return Ok(None);
        }
        Ok(Some(Expectation {
            status: optional(self.status, row).map(|row| self.status.value(row)),
            error: optional(self.error, row).map(|row| self.error.value(row)),
            compute_units: number(self.compute_units, row),
            effects_hash: optional_array(self.effects_hash, row, "expect.effects_hash")?,
        }))
    }
}

fn null(column: &str) -> Malformed {
    format!("column `{column}` is null").into()
}

/// Returns the row if it has a value.
fn optional(array: &impl Array, row: usize) -> Option<usize> {
    (!array.is_null(row)).then_some(row)
}

fn required(array: &impl Array, row: usize, column: &str) -> Result<usize, Malformed> {
    optional(array, row).ok_or_else(|| null(column))
}

/// Returns an unsigned number, which has the bits of the signed one.
fn number(array: &Int64Array, row: usize) -> Option<u64> {
    optional(array, row).map(|row| array.value(row).cast_unsigned())
}

fn boolean(array: &BooleanArray, row: usize, column: &str) -> Result<bool, Malformed> {
    Ok(array.value(required(array, row, column)?))
}

fn bytes<'a>(array: &'a BinaryArray, row: usize, column: &str) -> Result<&'a [u8], Malformed> {
    Ok(array.value(required(array, row, column)?))
}

/// Returns a hash or an address.
fn array(array: &BinaryArray, row: usize, column: &str) -> Result<Sha256, Malformed> {
    let bytes = bytes(array, row, column)?;
    let wrong = |_| format!("column `{column}` has {} bytes, but should have 32", bytes.len());
    Ok(bytes.try_into().map_err(wrong)?)
}

fn optional_array(
    array_: &BinaryArray,
    row: usize,
    column: &str,
) -> Result<Option<Sha256>, Malformed> {
    optional(array_, row).map(|row| array(array_, row, column)).transpose()
}

/// Returns the entries of a row's list, as rows of the array of all entries.
fn entries(list: &ListArray, row: usize, column: &str) -> Result<Range<usize>, Malformed> {
    let row = required(list, row, column)?;
    let [start, end] = [row, row.saturating_add(1)].map(|it| list.value_offsets().get(it));
    let at = |offset: Option<&i32>| offset.and_then(|it| usize::try_from(*it).ok());
    Ok(at(start).unwrap_or_default()..at(end).unwrap_or_default())
}
