//! Layouts: texts that say how bytes become JSON fields, such as `lamports:u64 owner:key`.
//!
//! The fields of a layout are separated by spaces and read one after the other.
//!
//! | field | what it reads |
//! |---|---|
//! | `name:kind` | a value of the kind, inserted under the name; the name `_` only skips it |
//! | `name:?kind` | an option with a tag of one byte, left out if there is none |
//! | `name:\|kind` | an option with a tag of one byte, null if there is none |
//! | `name:0?kind`, `name:0\|kind` | the same for bytes that are all zero if there is none |
//! | `name{ … }` | an object with the fields in between |
//!
//! | kind | what it is |
//! |---|---|
//! | `u8` … `f64` | a number |
//! | `su64`, `su128`, `sf64` | a number, as text |
//! | `bool` | one byte, 0 or 1 |
//! | `key` | an address |
//! | `keys` | addresses behind their number, of 8 bytes |
//! | `b32` … `b96` | as many bytes, as base64 |
//! | `skip2`, `skip128` | as many bytes, not shown |
//! | `blob` | bytes behind their number, of 8 bytes, as base64 |
//! | `str`, `str4` | text behind its length, of 8 or 4 bytes |
//! | `tail` | the remaining bytes, as text |
//! | `amount` | a token amount, whose decimals are the byte that follows |
//! | `fee` | a token amount with the decimals read last |
//! | `enum1(a,b)`, `enum4(a,b)` | the name at the index, of 1 or 4 bytes |
//! | `extensions` | the remaining bytes: numbers of token extensions, as names |
//! | `extensions?` | the same, left out if there are none |
//! | `u64s` | numbers behind their count, of 8 bytes |
//! | `root` | the root of a compact vote: a slot, or all bits set for none |
//! | `lockouts`, `offsets` | slots with confirmation counts; in a compact vote, as offsets from the root |
//! | `field` | the name of a field of token metadata |
//! | `pairs` | pairs of texts behind their count, of 4 bytes |

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use crate::{
    parsed::extension_table,
    reader::Reader,
    token_amount::{Scale, token_amount},
};

/// Reads the fields of `layout` into `fields`. `None` if the bytes do not have the layout.
pub(crate) fn read_fields(
    reader: &mut Reader<'_>,
    layout: &str,
    fields: &mut Map<String, Value>,
) -> Option<()> {
    let mut run = Run { reader, last_byte: 0, root: None };
    run.object(&mut layout.split_whitespace(), fields)
}

/// Reads an object with the fields of `layout` from the start of `bytes`.
pub(crate) fn read_object(bytes: &[u8], layout: &str) -> Option<Value> {
    let mut fields = Map::new();
    read_fields(&mut Reader::new(bytes), layout, &mut fields)?;
    Some(Value::Object(fields))
}

struct Run<'r, 'a> {
    reader: &'r mut Reader<'a>,
    /// The `u8` read last: the decimals of a `fee`.
    last_byte: u8,
    /// The `root` read last, from which `offsets` count.
    root: Option<u64>,
}

impl Run<'_, '_> {
    /// Reads fields up to the closing brace or the end of the layout.
    fn object<'l>(
        &mut self,
        layout: &mut impl Iterator<Item = &'l str>,
        fields: &mut Map<String, Value>,
    ) -> Option<()> {
        while let Some(field) = layout.next() {
            if field == "}" {
                break;
            }
            if let Some(name) = field.strip_suffix('{') {
                let mut inner = Map::new();
                self.object(layout, &mut inner)?;
                fields.insert(name.to_owned(), Value::Object(inner));
                continue;
            }
            let (name, kind) = field.split_once(':')?;
            if let Some(value) = self.optional(kind)?
                && name != "_"
            {
                fields.insert(name.to_owned(), value);
            }
        }
        Some(())
    }

    /// Reads a value; the inner `None` leaves the field out.
    fn optional(&mut self, kind: &str) -> Option<Option<Value>> {
        let (is_zero_none, kind) = match kind.strip_prefix('0') {
            Some(kind) => (true, kind),
            None => (false, kind),
        };
        if kind == "extensions?" {
            return self
                .sequence("extensions")
                .map(|names| Some(names).filter(|it| *it != json!([])));
        }
        let (absent, kind) = match (kind.strip_prefix('?'), kind.strip_prefix('|')) {
            (Some(kind), _) => (None, kind),
            (_, Some(kind)) => (Some(Value::Null), kind),
            _ => return self.value(kind).map(Some),
        };
        let is_present = if is_zero_none {
            !self.reader.rest().get(..32)?.iter().all(|byte| *byte == 0)
        } else {
            self.reader.bool()?
        };
        if is_present {
            return self.value(kind).map(Some);
        }
        if is_zero_none {
            self.reader.take(32)?;
        }
        Some(absent)
    }

    fn value(&mut self, kind: &str) -> Option<Value> {
        if let Some(names) = kind.strip_prefix("enum") {
            return self.name(names);
        }
        let reader = &mut *self.reader;
        Some(match kind {
            "u8" => {
                self.last_byte = reader.u8()?;
                json!(self.last_byte)
            }
            "u16" => json!(reader.u16()?),
            "u32" => json!(reader.u32()?),
            "u64" => json!(reader.u64()?),
            "i8" => json!(reader.i8()?),
            "i16" => json!(reader.i16()?),
            "i64" => json!(reader.i64()?),
            "f64" => json!(reader.f64()?),
            "su64" => json!(reader.u64()?.to_string()),
            "su128" => json!(reader.u128()?.to_string()),
            "sf64" => json!(reader.f64()?.to_string()),
            "bool" => json!(reader.bool()?),
            "key" => json!(reader.key()?.to_string()),
            "b32" => base64(reader.take(32)?),
            "b36" => base64(reader.take(36)?),
            "b48" => base64(reader.take(48)?),
            "b64" => base64(reader.take(64)?),
            "b96" => base64(reader.take(96)?),
            "skip2" => {
                reader.take(2)?;
                Value::Null
            }
            "skip128" => {
                reader.take(128)?;
                Value::Null
            }
            "root" => {
                self.root = Some(reader.u64()?).filter(|slot| *slot != u64::MAX);
                json!(self.root)
            }
            "amount" => {
                let amount = reader.u64()?;
                let decimals = *reader.rest().first()?;
                token_amount(amount, &Scale::new(decimals))
            }
            "fee" => token_amount(reader.u64()?, &Scale::new(self.last_byte)),
            _ => return self.sequence(kind),
        })
    }

    /// Reads a value of variable length.
    fn sequence(&mut self, kind: &str) -> Option<Value> {
        let reader = &mut *self.reader;
        Some(match kind {
            "str" => {
                let len = reader.u64()?.try_into().ok()?;
                json!(reader.text(len)?)
            }
            "str4" => {
                let len = reader.u32()?.try_into().ok()?;
                json!(reader.text(len)?)
            }
            "tail" => json!(reader.text(reader.rest().len())?),
            "blob" => {
                let len = reader.u64()?.try_into().ok()?;
                base64(reader.take(len)?)
            }
            "keys" => {
                let count = reader.u64()?;
                let keys: Option<Vec<String>> =
                    (0..count).map(|_| Some(reader.key()?.to_string())).collect();
                json!(keys?)
            }
            "u64s" => {
                let count = reader.u64()?;
                json!((0..count).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?)
            }
            "lockouts" => {
                let count = reader.u64()?;
                json!((0..count).map(|_| lockout(reader)).collect::<Option<Vec<Value>>>()?)
            }
            "offsets" => return self.offsets(),
            "field" => match reader.u8()? {
                0 => json!("name"),
                1 => json!("symbol"),
                2 => json!("uri"),
                3 => return self.sequence("str4"),
                _ => return None,
            },
            "pairs" => {
                let count = reader.u32()?;
                let pairs: Option<Vec<Value>> = (0..count)
                    .map(|_| Some(json!([self.sequence("str4")?, self.sequence("str4")?])))
                    .collect();
                json!(pairs?)
            }
            "extensions" => {
                let mut names = Vec::new();
                while !reader.rest().is_empty() {
                    names.push(extension_table::type_name(reader.u16()?)?);
                }
                json!(names)
            }
            _ => return None,
        })
    }

    /// Reads the lockouts of a compact vote.
    fn offsets(&mut self) -> Option<Value> {
        let count = self.reader.leb128()?;
        let mut slot = self.root.unwrap_or(0);
        let mut lockouts = Vec::new();
        for _ in 0..count {
            slot = slot.checked_add(self.reader.leb128()?)?;
            lockouts.push(json!({ "slot": slot, "confirmation_count": self.reader.u8()? }));
        }
        Some(json!(lockouts))
    }

    /// Reads a number of 1 or 4 bytes and returns the name at that index: `4(a,b)`.
    fn name(&mut self, names: &str) -> Option<Value> {
        let (bytes, names) = names.strip_suffix(')')?.split_once('(')?;
        let index = match bytes {
            "1" => usize::from(self.reader.u8()?),
            _ => self.reader.u32()?.try_into().ok()?,
        };
        names.split(',').nth(index).map(|name| json!(name))
    }
}

fn lockout(reader: &mut Reader<'_>) -> Option<Value> {
    Some(json!({ "slot": reader.u64()?, "confirmation_count": reader.u32()? }))
}

fn base64(bytes: &[u8]) -> Value {
    json!(BASE64_STANDARD.encode(bytes))
}
