//! Collects items into a batch.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BinaryBuilder, BooleanBuilder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
    },
};
use arrow_schema::{DataType, Field, Fields};

use crate::{
    error::BatchError,
    item::{Expectation, Item, ItemAccount, ItemData, Override},
    results::{binary, boolean, number},
    schema,
};

/// Items that are to become a batch.
#[derive(Debug)]
pub struct Items {
    item_id: BinaryBuilder,
    kind: StringBuilder,
    slot: Int64Builder,
    epoch: Int64Builder,
    unix_timestamp: Int64Builder,
    env_ref: BinaryBuilder,
    blockhash: BinaryBuilder,
    message: BinaryBuilder,
    accounts: ListBuilder<StructBuilder>,
    overrides: ListBuilder<StructBuilder>,
    verify_signatures: BooleanBuilder,
    check_blockhash: BooleanBuilder,
    expect: StructBuilder,
    rows: usize,
}

impl Default for Items {
    fn default() -> Self {
        Self {
            item_id: BinaryBuilder::new(),
            kind: StringBuilder::new(),
            slot: Int64Builder::new(),
            epoch: Int64Builder::new(),
            unix_timestamp: Int64Builder::new(),
            env_ref: BinaryBuilder::new(),
            blockhash: BinaryBuilder::new(),
            message: BinaryBuilder::new(),
            accounts: list(schema::account_fields()),
            overrides: list(schema::override_fields()),
            verify_signatures: BooleanBuilder::new(),
            check_blockhash: BooleanBuilder::new(),
            expect: StructBuilder::from_fields(schema::expect_fields(), 0),
            rows: 0,
        }
    }
}

fn list(fields: Fields) -> ListBuilder<StructBuilder> {
    let field = Field::new("item", DataType::Struct(fields.clone()), false);
    ListBuilder::new(StructBuilder::from_fields(fields, 0)).with_field(field)
}

impl Items {
    /// Creates an empty collection.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns how many items there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no items.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds an item.
    pub fn push(&mut self, item: &Item<'_>) {
        self.rows = self.rows.saturating_add(1);
        self.item_id.append_value(item.id());
        self.kind.append_value(item.kind.name());
        self.slot.append_option(item.slot.map(u64::cast_signed));
        self.epoch.append_option(item.epoch.map(u64::cast_signed));
        self.unix_timestamp.append_option(item.unix_timestamp);
        self.env_ref.append_value(item.env_ref);
        self.blockhash.append_option(item.blockhash);
        self.message.append_value(item.message);
        item.accounts.iter().for_each(|it| push_account(self.accounts.values(), it));
        self.accounts.append(true);
        item.overrides.iter().for_each(|it| push_override(self.overrides.values(), it));
        self.overrides.append(true);
        self.verify_signatures.append_value(item.verify_signatures);
        self.check_blockhash.append_value(item.check_blockhash);
        push_expectation(&mut self.expect, item.expect.as_ref());
    }

    /// Returns the items as a batch, and starts over.
    ///
    /// # Errors
    /// If they are too large for one.
    pub fn finish(&mut self) -> Result<RecordBatch, BatchError> {
        self.rows = 0;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.item_id.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.slot.finish()),
            Arc::new(self.epoch.finish()),
            Arc::new(self.unix_timestamp.finish()),
            Arc::new(self.env_ref.finish()),
            Arc::new(self.blockhash.finish()),
            Arc::new(self.message.finish()),
            Arc::new(self.accounts.finish()),
            Arc::new(self.overrides.finish()),
            Arc::new(self.verify_signatures.finish()),
            Arc::new(self.check_blockhash.finish()),
            Arc::new(self.expect.finish()),
        ];
        Ok(RecordBatch::try_new(schema::items(), columns)?)
    }
}

fn push_account(entry: &mut StructBuilder, account: &ItemAccount<'_>) {
    let (reference, data) = match &account.data {
        ItemData::Ref(hash) => (Some(hash), None),
        ItemData::Inline(data) => (None, Some(*data).filter(|it| !it.is_empty())),
    };
    binary(entry, 0).append_value(account.pubkey);
    number(entry, 1).append_value(account.lamports.cast_signed());
    binary(entry, 2).append_value(account.owner);
    boolean(entry, 3).append_value(account.executable);
    binary(entry, 4).append_option(reference);
    binary(entry, 5).append_option(data);
    entry.append(true);
}

fn push_override(entry: &mut StructBuilder, change: &Override<'_>) {
    let offset = change.bytes.and_then(|(offset, _)| offset);
    binary(entry, 0).append_value(change.pubkey);
    number(entry, 1).append_option(change.lamports.map(u64::cast_signed));
    binary(entry, 2).append_option(change.owner);
    number(entry, 3).append_option(offset.map(u64::cast_signed));
    binary(entry, 4).append_option(change.bytes.map(|(_, bytes)| bytes));
    entry.append(true);
}

fn push_expectation(entry: &mut StructBuilder, expected: Option<&Expectation<'_>>) {
    let text = |entry: &mut StructBuilder, field, text: Option<&str>| {
        let builder: &mut StringBuilder =
            entry.field_builder(field).expect("the schema says string");
        builder.append_option(text);
    };
    text(entry, 0, expected.and_then(|it| it.status));
    text(entry, 1, expected.and_then(|it| it.error));
    let units = expected.and_then(|it| it.compute_units);
    number(entry, 2).append_option(units.map(u64::cast_signed));
    binary(entry, 3).append_option(expected.and_then(|it| it.effects_hash));
    entry.append(expected.is_some());
}
