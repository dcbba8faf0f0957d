//! The fields of an account's data with their places, to be shown and changed one by one.
//!
//! A field is changed by text in the form in which [`Value`] shows it; one whose size depends on its value is
//! not.

use core::{error::Error, fmt, ops::Range};
use std::collections::{HashMap, HashSet};

use crate::{
    account::Layout,
    kind::{Kind, Lens, Tag, Value},
    wire::{Malformed, Reader},
};

/// How many places are told apart; beyond, a field is shown as a whole.
const PLACES_MAX: usize = 1024;
/// Changes of longer data are not told by fields.
const CHANGED_BYTES_MAX: usize = 64 << 10;
/// How many fields that changed are told.
const CHANGES_MAX: usize = 256;
/// The characters of a value beyond which it is cut.
const CHANGED_CHARS_MAX: usize = 200;

/// A field with its place in an account's data.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The names that lead to it, as `limits.daily` and `owners[2]`.
    pub path: String,
    /// The bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: &'a Kind,
    /// Its value.
    pub value: Value<'a>,
}

/// Reads an account's data into fields that contain no others, each with its place.
///
/// # Errors
/// If the data do not begin with the layout's bytes, or have other fields.
pub fn places<'a>(layout: &'a Layout, data: &'a [u8]) -> Result<Vec<Place<'a>>, Malformed> {
    let rest = data.strip_prefix(&*layout.tag).ok_or(Malformed)?;
    let mut walk = Walk { len: data.len(), reader: Reader::new(rest), found: Vec::new() };
    for field in &*layout.fields {
        walk.kind(field.name.to_string(), &field.kind)?;
    }
    Ok(walk.found)
}

/// Why data cannot have other values: the path of a field, and the text that is none of its values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UnwritableField {
    /// The data do not have the layout.
    Layout,
    /// There is no such field, or it has others.
    Absent(String),
    /// The text is no value of it.
    Value(String, String),
    /// The value has another size than the one before it.
    Size(String),
}

impl fmt::Display for UnwritableField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout => f.write_str("the data do not have the layout"),
            Self::Absent(path) => write!(f, "there is no field {path}"),
            Self::Value(path, text) => write!(f, "{text:?} is no value of {path}"),
            Self::Size(path) => write!(f, "{path} has another size"),
        }
    }
}

impl Error for UnwritableField {}

/// Returns an account's data with other values of fields: their paths, as `is_path` compares them with those of
/// [`places`], and the values' texts.
///
/// # Errors
/// If the data have no such field, or it no such value.
pub fn with_values<'t>(
    layout: &Layout,
    data: &[u8],
    values: impl IntoIterator<Item = (&'t String, &'t String)>,
    is_path: impl Fn(&str, &str) -> bool,
) -> Result<Vec<u8>, UnwritableField> {
    let places = places(layout, data).map_err(|Malformed| UnwritableField::Layout)?;
    let mut written = data.to_vec();
    for (path, text) in values {
        let place = places.iter().find(|it| is_path(&it.path, path));
        let place = place.ok_or_else(|| UnwritableField::Absent(path.clone()))?;
        let bytes = place.kind.parse(text);
        let bytes = bytes.ok_or_else(|| UnwritableField::Value(path.clone(), text.clone()))?;
        let target = written.get_mut(place.range.clone()).filter(|it| it.len() == bytes.len());
        let size = || UnwritableField::Size(path.clone());
        target.ok_or_else(size)?.copy_from_slice(&bytes);
    }
    Ok(written)
}

/// A field that changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// The names that lead to it.
    pub path: String,
    /// Its value before, in the form in which [`Value`] shows it; `None` if there was no such field.
    pub before: Option<String>,
    /// Its value afterwards.
    pub after: Option<String>,
}

/// Returns the fields of an account's data that changed: at most 256, with values of at most 200 characters. Data
/// that their layout cannot read, or that have more than 64 KiB, have none.
#[must_use]
pub fn changes(before: Option<(&Layout, &[u8])>, after: Option<(&Layout, &[u8])>) -> Vec<Change> {
    let read = |side: Option<(&Layout, &[u8])>| {
        let (layout, data) = side.filter(|(_, data)| data.len() <= CHANGED_BYTES_MAX)?;
        let found = places(layout, data).ok()?;
        Some(found.into_iter().map(|it| (it.path, it.value.to_string())).collect::<Vec<_>>())
    };
    let (before, after) = (read(before).unwrap_or_default(), read(after).unwrap_or_default());
    let old: HashMap<&str, &str> = before.iter().map(|(path, it)| (&**path, &**it)).collect();
    let new: HashSet<&str> = after.iter().map(|(path, _)| &**path).collect();
    let kept = after.iter().map(|(path, it)| (path, old.get(&**path).copied(), Some(&**it)));
    let gone = before.iter().filter(|(path, _)| !new.contains(&**path));
    let gone = gone.map(|(path, it)| (path, Some(&**it), None));
    let changed = kept.chain(gone).filter(|(_, before, after)| before != after);
    let changed = changed.map(|(path, before, after)| Change {
        path: path.clone(),
        before: before.map(cut),
        after: after.map(cut),
    });
    changed.take(CHANGES_MAX).collect()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(CHANGED_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

struct Walk<'a> {
    len: usize,
    reader: Reader<'a>,
    found: Vec<Place<'a>>,
}

impl<'a> Walk<'a> {
    fn kind(&mut self, path: String, kind: &'a Kind) -> Result<(), Malformed> {
        let is_full = self.found.len() >= PLACES_MAX;
        match kind {
            Kind::Struct(fields) if !is_full => {
                fields.iter().try_for_each(|it| self.kind(format!("{path}.{}", it.name), &it.kind))
            }
            Kind::Array(count, inner) if !is_full && *count <= PLACES_MAX => {
                (0..*count).try_for_each(|index| self.kind(format!("{path}[{index}]"), inner))
            }
            _ => {
                let start = self.offset();
                let value = kind.read(&mut self.reader)?;
                let range = start..self.offset();
                self.found.push(Place { path, range, kind, value });
                Ok(())
            }
        }
    }

    fn offset(&self) -> usize {
        self.len.saturating_sub(self.reader.remaining().len())
    }
}

impl Kind {
    /// Returns whether [`Kind::parse`] knows values of this kind.
    #[must_use]
    pub fn is_parsed(&self) -> bool {
        match self {
            Self::Bool | Self::Unsigned(_) | Self::Signed(_) | Self::F32 | Self::F64 => true,
            Self::Key | Self::Bytes(_) => true,
            Self::Option(Tag::Four | Tag::Zero | Tag::Max, inner) => {
                inner.is_parsed() && inner.bytes().is_some()
            }
            Self::Enum(_, variants) => variants.iter().all(|it| it.fields.is_empty()),
            _ => false,
        }
    }

    /// Returns the bytes of a value from its text. `None` if it is no value of this kind, or the kind's size
    /// depends on its value.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<Vec<u8>> {
        let text = text.trim();
        match self {
            Self::Bool => text.parse::<bool>().ok().map(|it| vec![it.into()]),
            Self::Unsigned(size) => {
                let number = text.parse::<u128>().ok()?.to_le_bytes();
                let (low, high) = number.split_at_checked(*size)?;
                high.iter().all(|byte| *byte == 0).then(|| low.to_vec())
            }
            Self::Signed(size) => {
                let number = text.parse::<i128>().ok()?.to_le_bytes();
                let (low, high) = number.split_at_checked(*size)?;
                let is_negative = low.last()? & 0x80 != 0;
                let fill = if is_negative { 0xff } else { 0 };
                let fits = high.iter().all(|byte| *byte == fill);
                // Of 16 bytes there are none above, and all numbers fit.
                fits.then(|| low.to_vec())
            }
            Self::F32 => text.parse::<f32>().ok().map(|it| it.to_le_bytes().to_vec()),
            Self::F64 => text.parse::<f64>().ok().map(|it| it.to_le_bytes().to_vec()),
            Self::Key => text.parse::<solana_pubkey::Pubkey>().ok().map(|it| it.to_bytes().into()),
            Self::Bytes(size) => hex(text).filter(|it| it.len() == *size),
            Self::Option(tag, inner) => tag.parse(text, inner),
            Self::Enum(lens, variants) if self.is_parsed() => {
                let index = variants.iter().position(|it| it.name == text)?;
                lens.write(index)
            }
            _ => None,
        }
    }
}

impl Tag {
    fn parse(self, text: &str, inner: &Kind) -> Option<Vec<u8>> {
        let size = inner.bytes()?;
        let value = if text == "none" { None } else { Some(inner.parse(text)?) };
        Some(match self {
            Self::One => return None,
            Self::Four => {
                let tag = u32::from(value.is_some()).to_le_bytes();
                [&tag[..], &value.unwrap_or_else(|| vec![0; size])].concat()
            }
            Self::Zero => value.unwrap_or_else(|| vec![0; size]),
            Self::Max => value.unwrap_or_else(|| vec![0xff; size]),
        })
    }
}

impl Lens {
    fn write(self, number: usize) -> Option<Vec<u8>> {
        Kind::Unsigned(self.bytes()).parse(&number.to_string())
    }
}

/// Reads bytes in hexadecimal, with `0x` or without.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text).as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        kind::{Field, Name, Ref, Show, Variant},
        program,
        token::{self, TokenAccount},
    };
    use solana_pubkey::Pubkey;
    use std::sync::Arc;

    #[test]
    fn fields_of_an_account_are_placed_and_changed_by_their_text() {
        let account = TokenAccount::new(Pubkey::new_unique(), Pubkey::new_unique(), 500);
        let mut data = account.bytes();
        let layout = program::account(&token::ID, &data).unwrap();
        let found = places(layout, &data).unwrap();
        let amount = found.iter().find(|it| it.path == "amount").unwrap();
        assert_eq!((amount.range.clone(), amount.value.to_string()), (64..72, "500".to_owned()));
        for it in &found {
            // What a field shows is what it is changed by.
            assert_eq!(it.kind.parse(&it.value.to_string()).as_deref(), data.get(it.range.clone()));
        }
        let (range, bytes) = (amount.range.clone(), amount.kind.parse("7").unwrap());
        data[range].copy_from_slice(&bytes);
        let state = places(layout, &data).unwrap();
        assert_eq!(state.iter().find(|it| it.path == "amount").unwrap().value, Value::Unsigned(7));
    }

    #[test]
    fn changes_are_told_by_fields() {
        let account = |amount| TokenAccount::new(Pubkey::default(), token::ID, amount).bytes();
        let (old, new) = (account(500), account(7));
        let side = |data| Some((program::account(&token::ID, data).unwrap(), data));
        let change = |path: &str, before: Option<&str>, after: Option<&str>| Change {
            path: path.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        assert_eq!(changes(side(&old), side(&new)), [change("amount", Some("500"), Some("7"))]);
        assert_eq!(changes(side(&old), side(&old)), []);
        let opened = changes(None, side(&new));
        assert!(opened.contains(&change("amount", None, Some("7"))), "{opened:?}");
        let closed = changes(side(&new), None);
        assert!(closed.contains(&change("amount", Some("7"), None)), "{closed:?}");
        assert_eq!(opened.len(), closed.len());
    }

    #[test]
    fn long_values_are_cut_and_long_data_left_out() {
        let field = Field { name: Name::Borrowed("it"), kind: Kind::Bytes(300), show: Show::Plain };
        let fields = Ref::Shared([field].into());
        let layout = Layout { tag: Ref::Static(&[]), name: Name::Borrowed("long"), fields };
        let changed = changes(Some((&layout, &[1; 300])), Some((&layout, &[2; 300])));
        let after = changed[0].after.as_ref().unwrap();
        assert_eq!((after.chars().count(), after.ends_with('…')), (201, true));
        let long = vec![1; CHANGED_BYTES_MAX + 1];
        assert_eq!(changes(None, Some((&layout, &long))), []);
    }

    #[test]
    fn kinds_within_others_have_paths() {
        let field = |name, kind| Field { name: Name::Borrowed(name), kind, show: Show::Plain };
        let pair = [field("x", Kind::Unsigned(1)), field("y", Kind::Signed(2))];
        let array = Kind::Array(2, Ref::Shared(Arc::new(Kind::Struct(Ref::Shared(pair.into())))));
        let fields = [field("points", array), field("name", Kind::Text(Lens::Four))];
        let fields = Ref::Shared(fields.into());
        let layout = Layout { tag: Ref::Static(&[9]), name: Name::Borrowed("path"), fields };
        let data = [9, 1, 0xfe, 0xff, 2, 3, 0, 2, 0, 0, 0, b'h', b'i'];
        let found = places(&layout, &data).unwrap();
        let shown = found.iter().map(|it| format!("{} {:?} {}", it.path, it.range, it.value));
        let expected = [
            "points[0].x 1..2 1",
            "points[0].y 2..4 -2",
            "points[1].x 4..5 2",
            "points[1].y 5..7 3",
            "name 7..13 \"hi\"",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
        assert!(!found[4].kind.is_parsed());
        assert!(places(&layout, &data[1..]).is_err() && places(&layout, &data[..3]).is_err());
    }

    #[test]
    fn text_that_is_no_value_is_refused() {
        let variants = [Variant::unit("Open"), Variant::unit("Closed")];
        let variants = Kind::Enum(Lens::One, Ref::Shared(variants.into()));
        let byte = || Ref::Static(&Kind::Unsigned(1));
        let cases: [(Kind, &str, Option<&[u8]>); 14] = [
            (Kind::Unsigned(1), "255", Some(&[255])),
            (Kind::Unsigned(1), "256", None),
            (Kind::Signed(1), "-128", Some(&[128])),
            (Kind::Signed(1), "128", None),
            (Kind::Signed(2), "-129", Some(&[0x7f, 0xff])),
            (Kind::Bool, "2", None),
            (Kind::Bytes(2), "0x0aFF", Some(&[10, 255])),
            (Kind::Bytes(2), "0a0", None),
            (Kind::Key, "1", None),
            (variants.clone(), "Closed", Some(&[1])),
            (variants, "closed", None),
            (Kind::Option(Tag::Four, byte()), "none", Some(&[0, 0, 0, 0, 0])),
            (Kind::Option(Tag::Four, byte()), "7", Some(&[1, 0, 0, 0, 7])),
            (Kind::Option(Tag::One, byte()), "7", None),
        ];
        for (kind, text, expected) in cases {
            assert_eq!(kind.parse(text).as_deref(), expected, "{kind:?} {text}");
        }
    }
}
