//! Types that are shown as their users think of them: those of Rust's standard library, and Solana's.
//!
//! Each is a row: the names of the type, and a function that finds the parts in its layout. Layouts
//! change between versions of the libraries; a function that does not find a part returns `None`, and
//! the value is shown as any other.

use super::{Contents, Field, Items, Shape, Value, View};
use crate::info::{Kind, Scalar, Type, TypeRef};

/// The bytes of a text that are read.
const TEXT_BYTES_MAX: u64 = 1024;

/// The wrappers around a value, or around the pointer of a vector.
const WRAPPERS_MAX: usize = 8;

/// The largest size of an account's data.
const ACCOUNT_DATA_BYTES_MAX: u64 = 10 << 20;

/// The bytes of an account before its data in the input region.
const ACCOUNT_HEADER_BYTES: u64 = 88;

/// Finds the parts of a value. The value is of a type with one of the names of its row.
type Find = fn(&View<'_>, &Value) -> Option<Shape>;

/// The names of types, without parameters, and how their parts are found.
const KNOWN: &[(&[&str], Find)] = &[
    (&["alloc::string::String"], |view, value| view.string(value)),
    (&["&str", "&mut str"], |view, value| view.str_slice(value)),
    (&["alloc::vec::Vec"], |view, value| view.vector(value)),
    (&["Address", "Pubkey", "SolPubkey"], |view, value| view.address(value)),
    (&["AccountInfo"], |view, value| view.account_info(value)),
    (&["AccountView"], |view, value| view.account_view(value)),
];

/// Types that are shown as the value in them.
const TRANSPARENT: &[&str] = &[
    "core::cell::Cell",
    "core::cell::UnsafeCell",
    "core::mem::manually_drop::ManuallyDrop",
    "core::mem::maybe_dangling::MaybeDangling",
    "core::mem::maybe_uninit::MaybeUninit",
];

impl View<'_> {
    /// Returns the shape of a value of a known type.
    pub(super) fn known(&self, value: &Value, ty: &Type) -> Option<Shape> {
        let Kind::Struct(members) = &ty.kind else { return None };
        let base = ty.name.split('<').next().unwrap_or(&ty.name);
        let simple = base.rsplit("::").next().unwrap_or(base);
        let row = KNOWN.iter().find(|(names, _)| names.contains(&base) || names.contains(&simple));
        if let Some((_, find)) = row {
            return find(self, value);
        }
        let is_slice = ["data_ptr", "length"].iter().eq(members.iter().map(|it| &it.name));
        is_slice.then(|| self.slice(value))?
    }

    /// Returns the value in types that are shown as the value in them.
    pub(super) fn unwrapped(&self, value: &Value) -> Value {
        let mut value = value.clone();
        for _ in 0..WRAPPERS_MAX {
            let name = self.info.type_of(&value.ty).name;
            let is_wrapper = name.split('<').next().is_some_and(|it| TRANSPARENT.contains(&it));
            let inner = || self.field(&value, "value").or_else(|_| self.field(&value, "0"));
            let Some(Ok(inner)) = is_wrapper.then(inner) else { break };
            value = inner;
        }
        value
    }

    /// A slice: pointer and length.
    fn slice(&self, value: &Value) -> Option<Shape> {
        Some(Shape::Items(self.slice_items(value)?))
    }

    fn slice_items(&self, value: &Value) -> Option<Items> {
        let first = self.target(&self.field(value, "data_ptr").ok()?).ok()?;
        let count = self.word(&self.field(value, "length").ok()?).ok()?;
        Some(Items { element: first.ty, contents: first.contents, count })
    }

    fn str_slice(&self, value: &Value) -> Option<Shape> {
        self.text_of(&self.slice_items(value)?)
    }

    fn text_of(&self, items: &Items) -> Option<Shape> {
        let len = items.count.min(TEXT_BYTES_MAX);
        Some(Shape::Text(self.bytes(&items.contents, len).ok()?, items.count))
    }

    /// A `String` is a vector of bytes.
    fn string(&self, value: &Value) -> Option<Shape> {
        match self.vector(&self.field(value, "vec").ok()?)? {
            Shape::Items(items) => self.text_of(&items),
            _ => None,
        }
    }

    fn vector(&self, value: &Value) -> Option<Shape> {
        let element = self.info.type_parameter(&value.ty, "T")?;
        let count = self.word(&self.field(value, "len").ok()?).ok()?;
        let address = self.first_pointer(&self.field(value, "buf").ok()?)?;
        Some(Shape::Items(Items { element, contents: Contents::Memory(address), count }))
    }

    /// Returns the address in the wrappers around the pointer of a vector.
    fn first_pointer(&self, value: &Value) -> Option<u64> {
        let names = ["inner", "ptr", "pointer"];
        let mut value = value.clone();
        for _ in 0..WRAPPERS_MAX {
            if matches!(self.info.type_of(&value.ty).kind, Kind::Pointer(_)) {
                return self.word(&value).ok();
            }
            value = names.iter().find_map(|name| self.field(&value, name).ok())?;
        }
        None
    }

    /// The address of an account.
    fn address(&self, value: &Value) -> Option<Shape> {
        let bytes = self.bytes(&value.contents, 32).ok()?;
        (self.info.type_of(&value.ty).size == 32)
            .then(|| Shape::Named(bs58::encode(bytes).into_string()))
    }

    /// `solana_account_info::AccountInfo`: lamports and data are in cells with a count of references.
    fn account_info(&self, value: &Value) -> Option<Shape> {
        let whole = self.fields(value).ok()?;
        let field = |it: Field| {
            let path: &[&str] = match it.name.as_str() {
                "lamports" | "data" => &["ptr", "pointer", "value", "value", "value"],
                _ => &[],
            };
            let inner = self.walk(&it.value, path).unwrap_or(it.value);
            Field { name: it.name, value: self.target(&inner).unwrap_or(inner) }
        };
        Some(Shape::Fields("AccountInfo".to_owned(), whole.into_iter().map(field).collect()))
    }

    /// Follows fields, and pointers where they are in the way.
    fn walk(&self, value: &Value, path: &[&str]) -> Option<Value> {
        let mut value = value.clone();
        for name in path {
            value = self.target(&value).unwrap_or(value);
            value = self.field(&value, name).ok()?;
        }
        Some(value)
    }

    /// pinocchio's `AccountView`: a pointer to the account in the input region.
    fn account_view(&self, value: &Value) -> Option<Shape> {
        let account = self.target(&self.field(value, "raw").ok()?).ok()?;
        let mut fields = self.fields(&account).ok()?;
        let len = self.word(&self.field(&account, "data_len").ok()?).ok()?;
        let len = len.min(ACCOUNT_DATA_BYTES_MAX);
        let data = account.address()?.checked_add(ACCOUNT_HEADER_BYTES)?;
        let ty = TypeRef::Array(Box::new(TypeRef::Scalar(Scalar::Unsigned, 1)), len);
        let data = Value::new(ty, Contents::Memory(data));
        fields.retain(|it| it.name != "data_len" && it.name != "padding");
        fields.push(Field { name: "data".to_owned(), value: data });
        Some(Shape::Fields("AccountView".to_owned(), fields))
    }
}
