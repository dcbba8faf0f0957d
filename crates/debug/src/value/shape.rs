//! What a value consists of, for display.

use super::{Contents, Missing, Number, Value, View};
use crate::info::{Kind, Member, Type, TypeRef, Variant};

/// A named part of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name; `__0` and so on in tuples.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// The elements of an array, slice or vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Items {
    /// The type of an element.
    pub element: TypeRef,
    /// Where the elements are.
    pub contents: Contents,
    /// Their number, as the program states it: a program with a bug may state any.
    pub count: u64,
}

/// What a value consists of.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// A plain value of so many bytes.
    Number(Number, u64),
    /// A value that a text stands for: a named number, an address of an account.
    Named(String),
    /// Text, the start of it if it is long, and its length in bytes.
    Text(Vec<u8>, u64),
    /// A guest address.
    Pointer(u64),
    /// Elements of one type.
    Items(Items),
    /// Named parts, with the name of the type or variant.
    Fields(String, Vec<Field>),
}

impl View<'_> {
    /// Returns what a value consists of. Types of the standard library and of Solana's have the shape
    /// that their users think of: a `String` is text.
    ///
    /// # Errors
    /// If what decides on the shape cannot be read.
    pub fn shape(&self, value: &Value) -> Result<Shape, Missing> {
        match value.contents {
            Contents::Absent => return Err(Missing::OptimizedOut),
            Contents::Misplaced => return Err(Missing::Misplaced),
            Contents::Memory(_) | Contents::Bytes(_) => {}
        }
        let value = self.unwrapped(value);
        let ty = self.info.type_of(&value.ty);
        match self.known(&value, &ty) {
            Some(shape) => Ok(shape),
            None => self.plain_shape(&value, &ty),
        }
    }

    fn plain_shape(&self, value: &Value, ty: &Type) -> Result<Shape, Missing> {
        match &ty.kind {
            Kind::Pointer(_) | Kind::Function => Ok(Shape::Pointer(self.word(value)?)),
            Kind::Scalar(_) | Kind::Opaque => Ok(Shape::Number(self.number(value)?, ty.size)),
            Kind::Enumeration(names) => {
                let number = self.number(value)?.integer();
                let named = names.iter().find(|(_, it)| same_bits(*it, number, ty.size));
                let text = named.map_or_else(|| number.to_string(), |(name, _)| name.clone());
                Ok(Shape::Named(text))
            }
            Kind::Array(element, count) => {
                let (element, contents) = (element.clone(), value.contents.clone());
                Ok(Shape::Items(Items { element, contents, count: count.unwrap_or(0) }))
            }
            Kind::Struct(members) | Kind::Union(members) => {
                Ok(Shape::Fields(simple(&ty.name), self.members(value, members)))
            }
            Kind::Variants { discriminant, variants } => {
                let variant = self.active(value, discriminant.as_ref(), variants)?;
                let name = variant.member.name.clone();
                Ok(Shape::Fields(name, self.variant_fields(value, variant)))
            }
        }
    }

    /// Returns the fields of a struct or union, or of the active variant.
    pub(super) fn fields(&self, value: &Value) -> Result<Vec<Field>, Missing> {
        match self.info.type_of(&value.ty).kind {
            Kind::Struct(members) | Kind::Union(members) => Ok(self.members(value, &members)),
            Kind::Variants { discriminant, variants } => {
                let variant = self.active(value, discriminant.as_ref(), &variants)?;
                Ok(self.variant_fields(value, variant))
            }
            _ => Err(Missing::NotApplicable("it has no fields")),
        }
    }

    fn members(&self, value: &Value, members: &[Member]) -> Vec<Field> {
        let field = |it: &Member| Field { name: it.name.clone(), value: self.member(value, it) };
        members.iter().map(field).collect()
    }

    fn variant_fields(&self, value: &Value, variant: &Variant) -> Vec<Field> {
        let inner = self.member(value, &variant.member);
        match self.info.type_of(&inner.ty).kind {
            Kind::Struct(members) => self.members(&inner, &members),
            _ => vec![Field { name: variant.member.name.clone(), value: inner }],
        }
    }

    /// Returns the variant that a value is.
    fn active<'v>(
        &self,
        value: &Value,
        discriminant: Option<&Member>,
        variants: &'v [Variant],
    ) -> Result<&'v Variant, Missing> {
        let found = match discriminant {
            None => variants.first(),
            Some(member) => {
                let size = self.info.type_of(&member.ty).size;
                let number = self.number(&self.member(value, member))?.integer();
                let is_active =
                    |it: &&Variant| it.value.is_some_and(|it| same_bits(it, number, size));
                let others = || variants.iter().find(|it| it.value.is_none());
                variants.iter().find(is_active).or_else(others)
            }
        };
        found.ok_or(Missing::NotApplicable("it is not a valid variant"))
    }

    /// Returns an element.
    #[must_use]
    pub fn item(&self, items: &Items, index: u64) -> Value {
        let size = self.info.type_of(&items.element).size;
        let contents = items.contents.part(index.wrapping_mul(size), size);
        Value::new(items.element.clone(), contents)
    }
}

/// Returns the name of a type without its modules, and a named one without its parameters. A reference,
/// slice or tuple has those of its parts: `&mut [AccountView]`.
fn simple(name: &str) -> String {
    if name.starts_with(|it: char| it.is_alphanumeric() || it == '_') {
        let base = name.split('<').next().unwrap_or(name);
        return base.rsplit("::").next().unwrap_or(base).to_owned();
    }
    let is_path = |it: char| it.is_alphanumeric() || it == '_' || it == ':';
    let mut text = String::new();
    for piece in name.split_inclusive(|it: char| !is_path(it)) {
        text.push_str(piece.rsplit("::").next().unwrap_or(piece));
    }
    text
}

/// Compares numbers of so many bytes, whether they were read with or without sign.
fn same_bits(a: i128, b: i128, size: u64) -> bool {
    let unused = 128_u64.saturating_sub(size.saturating_mul(8));
    let difference = (a ^ b).cast_unsigned();
    u32::try_from(unused).ok().and_then(|it| difference.checked_shl(it)).is_none_or(|it| it == 0)
}

#[cfg(test)]
mod tests {
    use super::simple;

    #[test]
    fn names_of_types_are_without_modules() {
        for (name, expected) in [
            ("vault::state::Vault", "Vault"),
            ("core::result::Result<u64, vault::Error>", "Result"),
            ("&mut [pinocchio::account::AccountView]", "&mut [AccountView]"),
            ("&alloc::vec::Vec<vault::Item>", "&Vec<Item>"),
            ("(u64, vault::Item)", "(u64, Item)"),
        ] {
            assert_eq!(simple(name), expected);
        }
    }
}
