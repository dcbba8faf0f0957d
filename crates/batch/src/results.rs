//! Collects results into a batch.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, RecordBatch,
    builder::{
        BinaryBuilder, BooleanBuilder, Int64Builder, ListBuilder, StringBuilder, StructBuilder,
    },
};
use arrow_schema::{DataType, Field};
use selkie_svm::ReadableAccount;

use crate::{
    effects::Written,
    error::BatchError,
    outcome::{Executed, Outcome},
    schema,
};

/// The version that results state.
const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The columns of the result table.
pub(crate) struct Results {
    keeps_data: bool,
    item_id: BinaryBuilder,
    engine_version: StringBuilder,
    status: StringBuilder,
    error: StringBuilder,
    error_index: Int64Builder,
    compute_units: Int64Builder,
    fee: Int64Builder,
    return_data: BinaryBuilder,
    logs_hash: BinaryBuilder,
    logs: ListBuilder<StringBuilder>,
    post: Post,
    effects_hash: BinaryBuilder,
    matches: BooleanBuilder,
    nanoseconds: Int64Builder,
    bytes_in: Int64Builder,
    effort: StringBuilder,
    findings: StringBuilder,
}

impl Results {
    /// Creates a table for so many rows. With `keeps_data`, it holds the data of written accounts.
    pub(crate) fn new(rows: usize, keeps_data: bool) -> Self {
        let hashes = || BinaryBuilder::with_capacity(rows, rows.saturating_mul(32));
        let texts = || StringBuilder::with_capacity(rows, rows.saturating_mul(8));
        let numbers = || Int64Builder::with_capacity(rows);
        let line = Field::new("item", DataType::Utf8, false);
        Self {
            keeps_data,
            item_id: hashes(),
            engine_version: texts(),
            status: texts(),
            error: StringBuilder::new(),
            error_index: numbers(),
            compute_units: numbers(),
            fee: numbers(),
            return_data: BinaryBuilder::new(),
            logs_hash: hashes(),
            logs: ListBuilder::new(StringBuilder::new()).with_field(line),
            post: Post::new(),
            effects_hash: hashes(),
            matches: BooleanBuilder::new(),
            nanoseconds: numbers(),
            bytes_in: numbers(),
            effort: StringBuilder::new(),
            findings: StringBuilder::new(),
        }
    }

    /// Returns how many bytes of logs and data a row adds.
    pub(crate) fn kept_bytes(&self, outcome: &Outcome) -> usize {
        let Outcome { ended, .. } = outcome;
        let logs = ended.executed.iter().filter_map(|it| it.logs.kept.as_ref()).flatten();
        let logs: usize = logs.map(String::len).sum();
        let data = ended.post.iter().map(|it| it.account.data().len());
        logs.saturating_add(if self.keeps_data { data.sum() } else { 0 })
    }

    /// Appends a row.
    pub(crate) fn push(&mut self, item_id: &[u8], outcome: &Outcome, nanoseconds: u64) {
        let Outcome { ended, matches, bytes_in } = outcome;
        self.item_id.append_value(item_id);
        self.engine_version.append_value(ENGINE_VERSION);
        self.status.append_value(ended.status.name());
        self.error.append_option(ended.error.as_deref());
        self.error_index.append_option(ended.error_index.map(i64::from));
        self.push_executed(ended.executed.as_ref());
        self.post.push(&ended.post, self.keeps_data);
        self.effects_hash.append_value(ended.effects_hash);
        self.matches.append_option(*matches);
        self.nanoseconds.append_value(nanoseconds.cast_signed());
        self.bytes_in.append_value(bytes_in.cast_signed());
        self.findings.append_option(ended.findings.as_deref());
    }

    fn push_executed(&mut self, executed: Option<&Executed>) {
        self.compute_units.append_option(executed.map(|it| it.compute_units.cast_signed()));
        self.fee.append_option(executed.map(|it| it.fee.cast_signed()));
        self.return_data.append_option(executed.and_then(|it| it.return_data.as_deref()));
        self.effort.append_option(executed.and_then(|it| it.effort.as_deref()));
        let logs = executed.map(|it| &it.logs);
        self.logs_hash.append_option(logs.map(|it| it.hash));
        match logs.and_then(|it| it.kept.as_ref()) {
            Some(logs) => self.logs.append_value(logs.iter().map(Some)),
            None => self.logs.append_null(),
        }
    }

    /// Returns the rows as a batch.
    ///
    /// # Errors
    /// If they are too large for one.
    pub(crate) fn finish(mut self) -> Result<RecordBatch, BatchError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.item_id.finish()),
            Arc::new(self.engine_version.finish()),
            Arc::new(self.status.finish()),
            Arc::new(self.error.finish()),
            Arc::new(self.error_index.finish()),
            Arc::new(self.compute_units.finish()),
            Arc::new(self.fee.finish()),
            Arc::new(self.return_data.finish()),
            Arc::new(self.logs_hash.finish()),
            Arc::new(self.logs.finish()),
            Arc::new(self.post.list.finish()),
            Arc::new(self.effects_hash.finish()),
            Arc::new(self.matches.finish()),
            Arc::new(self.nanoseconds.finish()),
            Arc::new(self.bytes_in.finish()),
            Arc::new(self.effort.finish()),
            Arc::new(self.findings.finish()),
        ];
        Ok(RecordBatch::try_new(schema::results(), columns)?)
    }
}

/// The column of written accounts.
struct Post {
    list: ListBuilder<StructBuilder>,
}

impl Post {
    fn new() -> Self {
        let entry = StructBuilder::from_fields(schema::post_fields(), 0);
        let field = Field::new("item", DataType::Struct(schema::post_fields()), false);
        Self { list: ListBuilder::new(entry).with_field(field) }
    }

    fn push(&mut self, written: &[Written], keeps_data: bool) {
        for Written { pubkey, account, data_hash } in written {
            let entry = self.list.values();
            binary(entry, 0).append_value(pubkey);
            number(entry, 1).append_value(account.lamports().cast_signed());
            binary(entry, 2).append_value(account.owner());
            boolean(entry, 3).append_value(account.executable());
            binary(entry, 4).append_value(data_hash);
            binary(entry, 5).append_option(keeps_data.then(|| account.data()));
            entry.append(true);
        }
        self.list.append(true);
    }
}

/// Returns a field of a struct under construction, by the order of the schema.
pub(crate) fn binary(entry: &mut StructBuilder, field: usize) -> &mut BinaryBuilder {
    entry.field_builder(field).expect("the schema says binary")
}

/// As [`binary`], for numbers.
pub(crate) fn number(entry: &mut StructBuilder, field: usize) -> &mut Int64Builder {
    entry.field_builder(field).expect("the schema says int64")
}

/// As [`binary`], for booleans.
pub(crate) fn boolean(entry: &mut StructBuilder, field: usize) -> &mut BooleanBuilder {
    entry.field_builder(field).expect("the schema says boolean")
}
