//! Deserializes data in JSON files: text, text with encoding, or an array of bytes.

use core::fmt;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_isa::failure::{Failure, OrFailure as _, Result};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

use crate::data;

/// Data of a JSON file. A tree of JSON values would take dozens of times its memory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Data {
    /// There are none.
    #[default]
    None,
    /// Parts as in `u8:1,u64:500`.
    Text(String),
    /// Text and encoding.
    Encoded(String, String),
    /// The bytes themselves.
    Bytes(Vec<u8>),
    /// Data decoded to an object of fields.
    Fields,
    /// Any other value, with an error message.
    Wrong(String),
}

impl Data {
    /// Returns the bytes. `resolve` finds addresses in text.
    ///
    /// # Errors
    /// If they are not in one of the forms that are understood.
    pub fn bytes(self, resolve: data::Resolve<'_>) -> Result<Vec<u8>> {
        match self {
            Self::None => Ok(Vec::new()),
            Self::Text(text) => data::parse(&text, resolve),
            Self::Encoded(text, encoding) => match encoding.as_str() {
                "base64" => BASE64_STANDARD.decode(text).or_failure(),
                "base58" => data::base58(&text),
                "hex" => hex::decode(text).or_failure(),
                other => Err(Failure::new(format!("unsupported data encoding `{other}`")))
                    .advise("fetch the account with `--encoding base64`"),
            },
            Self::Bytes(bytes) => Ok(bytes),
            Self::Fields => {
                Err(Failure::new("data is decoded to fields, but its bytes are needed"))
                    .advise("fetch the account with `--encoding base64`")
            }
            Self::Wrong(why) => Err(Failure::new(why)),
        }
    }

    /// Reads an array of bytes, or of a text and its encoding.
    fn of_array<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let Some(first) = items.next_element()? else { return Ok(Self::Bytes(Vec::new())) };
        if let Item::Text(text) = first {
            let encoding = items.next_element()?;
            let is_pair = items.next_element::<IgnoredAny>()?.is_none();
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(match encoding {
                Some(Item::Text(encoding)) if is_pair => Self::Encoded(text, encoding),
                _ => Self::Wrong(format!("\"{text}\" is not a byte")),
            });
        }
        let (mut bytes, mut wrong) = (Vec::new(), None);
        let mut next = Some(first);
        while let Some(item) = next {
            match item {
                Item::Byte(byte) => bytes.push(byte),
                Item::Text(text) => wrong = wrong.or(Some(format!("\"{text}\""))),
                Item::Other(text) => wrong = wrong.or(Some(text)),
            }
            next = items.next_element()?;
        }
        Ok(wrong.map_or(Self::Bytes(bytes), |it| Self::Wrong(format!("{it} is not a byte"))))
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DataVisitor)
    }
}

struct DataVisitor;

impl<'de> Visitor<'de> for DataVisitor {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("data")
    }

    fn visit_unit<E>(self) -> Result<Data, E> {
        Ok(Data::None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Data, E> {
        Ok(Data::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Data, A::Error> {
        Data::of_array(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Data, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Data::Fields)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Data, E> {
        Ok(Data::Wrong(format!("{value} is no data")))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Data, E> {
        Ok(Data::Wrong(format!("{value} is no data")))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Data, E> {
        Ok(Data::Wrong(format!("{value} is no data")))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Data, E> {
        Ok(Data::Wrong(format!("{value} is no data")))
    }
}

/// An item of an array of data.
enum Item {
    Byte(u8),
    Text(String),
    /// Any other value, as it is shown.
    Other(String),
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a byte")
    }

    fn visit_u64<E>(self, value: u64) -> Result<Item, E> {
        Ok(u8::try_from(value).map_or_else(|_| Item::Other(value.to_string()), Item::Byte))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Item, E> {
        Ok(Item::Other(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Item, E> {
        Ok(Item::Other(value.to_string()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Item, E> {
        Ok(Item::Other(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Item, E> {
        Ok(Item::Other("null".to_owned()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Item, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Item::Other("an array".to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Item, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Item::Other("an object".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::data::parse_key;

    #[test]
    fn data_is_deserialized_from_every_form() {
        let read = |form: &Value| Data::deserialize(form).expect("all is read").bytes(&parse_key);
        for form in [json!([1, 2]), json!(["AQI=", "base64"]), json!("0102"), json!("u8:1,u8:2")] {
            assert_eq!(read(&form).expect("the form is known"), [1, 2], "{form}");
        }
        assert_eq!(read(&json!([])).expect("the form is known"), [0_u8; 0]);
        assert_eq!(read(&json!(null)).expect("the form is known"), [0_u8; 0]);
        let wrong = [
            json!([256]),
            json!([-1]),
            json!([1, "2"]),
            json!([[1]]),
            json!(["x", "zstd"]),
            json!(["AQI="]),
            json!(["AQI=", "base64", 1]),
            json!({"parsed": 1}),
            json!(5),
            json!(true),
        ];
        for form in wrong {
            assert!(read(&form).is_err(), "{form}");
        }
    }
}
