//! Rows: instructions of programs, found by their first bytes and read by their layouts.

use serde_json::{Map, Value, json};

use crate::{
    parsed::{instructions::accounts::name_accounts, layout::read_fields},
    reader::Reader,
};

/// An instruction of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The bytes that the data starts with.
    pub(super) tag: &'static [u8],
    /// The name in the field `type`.
    pub(super) name: &'static str,
    /// The accounts, as `accounts::name_accounts` reads them.
    accounts: &'static str,
    /// The layout of the data behind the tag.
    data: &'static str,
}

/// Creates a row.
pub(super) const fn row(
    tag: &'static [u8],
    name: &'static str,
    accounts: &'static str,
    data: &'static str,
) -> Row {
    Row { tag, name, accounts, data }
}

/// Returns the row whose tag `data` starts with. The associated token program reads empty data as
/// its first instruction.
pub(super) fn find(tables: &[&'static [Row]], data: &[u8]) -> Option<&'static Row> {
    tables.iter().flat_map(|table| table.iter()).find(|row| data.starts_with(row.tag))
}

/// Reads an instruction by its row.
pub(super) fn fields(row: &Row, data: &[u8], accounts: &[String]) -> Option<Value> {
    let mut info = Map::new();
    let mut reader = Reader::new(data.get(row.tag.len()..)?);
    read_fields(&mut reader, row.data, &mut info)?;
    name_accounts(row.accounts, accounts, &mut info)?;
    Some(match info.is_empty() {
        true => json!({ "type": row.name }),
        false => json!({ "info": info, "type": row.name }),
    })
}
