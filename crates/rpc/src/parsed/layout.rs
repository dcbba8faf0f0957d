//! Values of layouts as JSON, as agave shows them.
//!
//! | value | JSON |
//! |---|---|
//! | an option without a value | left out, or null if its field says so |
//! | a number | a number, or text if its field says so |
//! | an address | base58 |
//! | bytes | base64, or base58 if their field says so |
//! | a variant | its name, or the value of its one field |

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_layout::{
    kind::{Entry, Field, Show, Value as Read, read_fields},
    wire::Reader,
};
use serde_json::{Map, Value, json};

use crate::token_amount::{Scale, token_amount};

/// The field that holds the length of a list of accounts at the end, which is removed again.
pub(crate) const COUNT: &str = "#";

/// Reads an object with these fields from the start of `bytes`. `None` if they do not have the layout.
pub(crate) fn read_object(bytes: &[u8], fields: &'static [Field]) -> Option<Value> {
    read_next(&mut Reader::new(bytes), fields)
}

/// Reads the next object with these fields.
pub(crate) fn read_next(reader: &mut Reader<'_>, fields: &'static [Field]) -> Option<Value> {
    let mut object = Map::new();
    read_into(reader, fields, &mut object)?;
    Some(Value::Object(object))
}

/// Reads objects with these fields, behind their number of eight bytes.
pub(crate) fn read_list(reader: &mut Reader<'_>, fields: &'static [Field]) -> Option<Value> {
    let count = reader.u64().ok()?;
    (0..count).map(|_| read_next(reader, fields)).collect::<Option<Vec<Value>>>().map(Value::Array)
}

/// Reads the next fields into an object.
pub(crate) fn read_into(
    reader: &mut Reader<'_>,
    fields: &'static [Field],
    object: &mut Map<String, Value>,
) -> Option<()> {
    insert_all(&read_fields(fields, reader).ok()?, object);
    Some(())
}

/// Inserts fields with their values into an object.
pub(crate) fn insert_all(entries: &[Entry<'_>], object: &mut Map<String, Value>) {
    for Entry { field, value } in entries {
        let shown = match (field.show, value) {
            (Show::Hidden, _) => continue,
            (Show::NonEmpty, Read::List(values)) if values.is_empty() => continue,
            (Show::Flat, Read::Struct(inner)) => {
                insert_all(inner, object);
                continue;
            }
            (Show::Null, Read::None) => Value::Null,
            (_, Read::None) => continue,
            (Show::Amount, Read::Unsigned(amount)) => {
                let amount = u64::try_from(*amount).unwrap_or(u64::MAX);
                token_amount(amount, &Scale::new(decimals(entries)))
            }
            (show, value) => shown(show, value),
        };
        let name = match field.show {
            Show::Verbatim => field.name.to_string(),
            Show::Count => COUNT.to_owned(),
            _ => camel(&field.name),
        };
        object.insert(name, shown);
    }
}

/// Returns the field `decimals` beside an amount.
fn decimals(entries: &[Entry<'_>]) -> u8 {
    let found = entries.iter().find(|it| it.field.name == "decimals");
    match found.map(|it| &it.value) {
        Some(Read::Unsigned(number)) => u8::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

fn shown(show: Show, value: &Read<'_>) -> Value {
    match value {
        Read::None => Value::Null,
        Read::Bool(it) => json!(it),
        Read::Unsigned(it) if show == Show::Text => json!(it.to_string()),
        Read::Signed(it) if show == Show::Text => json!(it.to_string()),
        Read::Float(it) if show == Show::Text => json!(it.to_string()),
        Read::Unsigned(it) => json!(u64::try_from(*it).unwrap_or(u64::MAX)),
        Read::Signed(it) => json!(i64::try_from(*it).unwrap_or(i64::MAX)),
        Read::Float(it) => json!(it),
        Read::Key(it) => json!(it.to_string()),
        Read::Bytes(it) if show == Show::Base58 => json!(bs58::encode(it).into_string()),
        Read::Bytes(it) => json!(BASE64_STANDARD.encode(it)),
        Read::Text(it) => json!(it),
        Read::Variant(name, fields) => match fields.as_slice() {
            [] if show == Show::Lower => json!(lower(name)),
            [] => json!(name),
            [only, ..] => shown(only.field.show, &only.value),
        },
        Read::List(values) => values.iter().map(|it| shown(show, it)).collect(),
        Read::Struct(entries) => {
            let mut object = Map::new();
            insert_all(entries, &mut object);
            Value::Object(object)
        }
    }
}

/// Returns a name as JSON has it: without underscores, with a capital letter behind each.
pub(crate) fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default();
    words.fold(first.to_owned(), |text, word| text + &upper(word))
}

/// Returns a word with a capital first letter.
pub(crate) fn upper(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns a word with a small first letter.
pub(crate) fn lower(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}
