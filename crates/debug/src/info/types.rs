//! Types.

use gimli::{DwAt, DwTag};
use selkie_isa::truncate;

use super::{DebugInfo, EntryId, entry::Entry};

/// The qualifiers and aliases around a type that are looked through, and the modules around a name.
const NESTING_MAX: usize = 32;

/// The members, variants or enumerators of a type that are read.
const MEMBERS_MAX: usize = 4096;

/// How the bytes of a plain value are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scalar {
    /// An integer without sign.
    Unsigned,
    /// An integer in two's complement.
    Signed,
    /// 0 or 1.
    Bool,
    /// A character: a byte in C, a Unicode scalar value in Rust.
    Char,
    /// A floating-point number.
    Float,
}

impl Scalar {
    /// Returns the name of the type as in Rust.
    fn name(self, size: u8) -> String {
        let bits = u32::from(size) * 8;
        match self {
            Self::Unsigned => format!("u{bits}"),
            Self::Signed => format!("i{bits}"),
            Self::Float => format!("f{bits}"),
            Self::Bool => "bool".to_owned(),
            Self::Char => "char".to_owned(),
        }
    }
}

/// A type of debug information, or one made of such types or of none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum TypeRef {
    /// A type that is not known.
    #[default]
    Unknown,
    /// A type of debug information.
    Entry(EntryId),
    /// A plain value of so many bytes.
    Scalar(Scalar, u8),
    /// A pointer.
    Pointer(Box<Self>),
    /// So many values.
    Array(Box<Self>, u64),
}

impl From<Option<EntryId>> for TypeRef {
    fn from(id: Option<EntryId>) -> Self {
        id.map_or(Self::Unknown, Self::Entry)
    }
}

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Type {
    /// Its name with the modules it is in, as in `alloc::string::String`.
    pub name: String,
    /// The size of a value in bytes.
    pub size: u64,
    /// What its values consist of.
    pub kind: Kind,
}

/// What the values of a type consist of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Plain bytes.
    Scalar(Scalar),
    /// An address of a value of the type, which is unknown for `void*`.
    Pointer(TypeRef),
    /// Members one after the other, as in structs and tuples.
    Struct(Vec<Member>),
    /// Members in the same place.
    Union(Vec<Member>),
    /// One of several variants with fields, as in an `enum` of Rust.
    Variants {
        /// The member that tells the variants apart, unless there is only one.
        discriminant: Option<Member>,
        /// The variants.
        variants: Vec<Variant>,
    },
    /// One of several named numbers.
    Enumeration(Vec<(String, i128)>),
    /// Elements of a type; their count, if known.
    Array(TypeRef, Option<u64>),
    /// Code.
    Function,
    /// Something that debug information does not describe further.
    Opaque,
}

/// A member of a struct, union or variant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name; `__0` and so on in tuples.
    pub name: String,
    /// Its first byte.
    pub offset: u64,
    /// Its type.
    pub ty: TypeRef,
    /// First bit and number of bits, if it is a bit field. Bits are counted from the first byte of
    /// the value that it is a member of.
    pub bits: Option<(u64, u64)>,
}

/// A variant of a type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// The discriminant's value; `None` for the variant of all other values.
    pub value: Option<i128>,
    /// The fields: a member with the variant's name.
    pub member: Member,
}

impl DebugInfo {
    /// Returns a type, without the aliases and qualifiers around it.
    #[must_use]
    pub fn type_of(&self, ty: &TypeRef) -> Type {
        match ty {
            TypeRef::Unknown => Type { name: "?".to_owned(), size: 8, kind: Kind::Opaque },
            TypeRef::Entry(id) => self.type_of_entry(*id),
            TypeRef::Scalar(scalar, size) => {
                let name = scalar.name(*size);
                Type { name, size: u64::from(*size), kind: Kind::Scalar(*scalar) }
            }
            TypeRef::Pointer(target) => {
                let name = format!("{}*", self.type_of(target).name);
                Type { name, size: 8, kind: Kind::Pointer((**target).clone()) }
            }
            TypeRef::Array(element, count) => {
                let Type { name, size, .. } = self.type_of(element);
                let kind = Kind::Array((**element).clone(), Some(*count));
                Type { name: format!("[{name}; {count}]"), size: size.saturating_mul(*count), kind }
            }
        }
    }

    fn type_of_entry(&self, id: EntryId) -> Type {
        let name = self.type_name(id);
        let Some(entry) = self.plain(id) else {
            return Type { name, size: 0, kind: Kind::Opaque };
        };
        let (kind, size) = (self.kind(&entry), self.size_of(id));
        Type { name, size, kind }
    }

    /// Returns the size of a type's values in bytes.
    fn size_of(&self, id: EntryId) -> u64 {
        // Arrays of arrays have no size of their own.
        let mut next = Some(id);
        let mut elements = 1_u64;
        for _ in 0..NESTING_MAX {
            let Some(entry) = next.and_then(|id| self.plain(id)) else { break };
            if let Some(size) = entry.unsigned(gimli::DW_AT_byte_size) {
                return elements.saturating_mul(size);
            }
            match entry.tag() {
                gimli::DW_TAG_array_type => {
                    elements = elements.saturating_mul(self.count(&entry).unwrap_or(0));
                    next = entry.type_id();
                }
                tag if is_pointer(tag) => return elements.saturating_mul(8),
                _ => break,
            }
        }
        0
    }

    /// Returns the entry of a type without the aliases and qualifiers around it.
    fn plain(&self, id: EntryId) -> Option<Entry<'_>> {
        let mut entry = self.entry(id)?;
        for _ in 0..NESTING_MAX {
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => {
                    entry = self.entry(entry.reference(gimli::DW_AT_type)?)?
                }
                _ => return Some(entry),
            }
        }
        None
    }

    fn kind(&self, entry: &Entry<'_>) -> Kind {
        match entry.tag() {
            gimli::DW_TAG_base_type => scalar(entry).map_or(Kind::Opaque, Kind::Scalar),
            tag if is_pointer(tag) => Kind::Pointer(entry.type_id().into()),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => self.structure(entry.id),
            gimli::DW_TAG_union_type => Kind::Union(self.members(entry.id)),
            gimli::DW_TAG_enumeration_type => Kind::Enumeration(self.enumerators(entry.id)),
            gimli::DW_TAG_array_type => match entry.type_id() {
                Some(element) => Kind::Array(TypeRef::Entry(element), self.count(entry)),
                None => Kind::Opaque,
            },
            gimli::DW_TAG_subroutine_type => Kind::Function,
            _ => Kind::Opaque,
        }
    }

    fn structure(&self, id: EntryId) -> Kind {
        let is_part = |&it: &EntryId| self.tree.node(it).tag == gimli::DW_TAG_variant_part;
        match self.tree.children(id).find(is_part) {
            Some(part) => self.variants(part),
            None => Kind::Struct(self.members(id)),
        }
    }

    fn variants(&self, part: EntryId) -> Kind {
        let discriminant = self.entry(part).and_then(|it| it.reference(gimli::DW_AT_discr));
        let discriminant = discriminant.and_then(|id| self.member(id));
        let variants = self.tagged(part, gimli::DW_TAG_variant).filter_map(|id| {
            let value = self.entry(id)?.number(gimli::DW_AT_discr_value);
            Some(Variant { value, member: self.members(id).into_iter().next()? })
        });
        Kind::Variants { discriminant, variants: variants.collect() }
    }

    fn members(&self, id: EntryId) -> Vec<Member> {
        let is_member = |&it: &EntryId| {
            let tag = self.tree.node(it).tag;
            tag == gimli::DW_TAG_member || tag == gimli::DW_TAG_inheritance
        };
        let members = self.tree.children(id).filter(is_member).take(MEMBERS_MAX);
        members.filter_map(|id| self.member(id)).collect()
    }

    fn member(&self, id: EntryId) -> Option<Member> {
        let entry = self.entry(id)?;
        let offset = entry.unsigned(gimli::DW_AT_data_member_location).unwrap_or(0);
        let bits = entry.unsigned(gimli::DW_AT_bit_size).map(|size| {
            let first = entry.unsigned(gimli::DW_AT_data_bit_offset);
            (first.unwrap_or(offset.saturating_mul(8)), size)
        });
        let name = entry.name().unwrap_or_default();
        Some(Member { name, offset, ty: entry.type_id().into(), bits })
    }

    fn enumerators(&self, id: EntryId) -> Vec<(String, i128)> {
        let enumerators = self.tagged(id, gimli::DW_TAG_enumerator).filter_map(|id| {
            let entry = self.entry(id)?;
            Some((entry.name()?, entry.number(gimli::DW_AT_const_value)?))
        });
        enumerators.collect()
    }

    /// Returns the number of elements of an array.
    fn count(&self, array: &Entry<'_>) -> Option<u64> {
        let mut dimensions = self.tagged(array.id, gimli::DW_TAG_subrange_type);
        let range = self.entry(dimensions.next()?)?;
        let constant = |name: DwAt| range.unsigned(name);
        constant(gimli::DW_AT_count).or_else(|| {
            let first = constant(gimli::DW_AT_lower_bound).unwrap_or(0);
            constant(gimli::DW_AT_upper_bound)?.checked_sub(first)?.checked_add(1)
        })
    }

    fn tagged(&self, id: EntryId, tag: DwTag) -> impl Iterator<Item = EntryId> {
        let tagged = self.tree.children(id).filter(move |&it| self.tree.node(it).tag == tag);
        tagged.take(MEMBERS_MAX)
    }

    /// Returns the type that a generic type was made with, by the parameter's name, as `T`.
    #[must_use]
    pub fn type_parameter(&self, ty: &TypeRef, name: &str) -> Option<TypeRef> {
        let TypeRef::Entry(id) = *ty else { return None };
        let id = self.plain(id)?.id;
        let mut parameters = self.tagged(id, gimli::DW_TAG_template_type_parameter);
        parameters.find_map(|id| {
            let entry = self.entry(id)?;
            (entry.name()? == name).then(|| TypeRef::from(entry.type_id()))
        })
    }

    /// Returns the first type of this name, with or without its modules.
    #[must_use]
    pub fn find_type(&self, name: &str) -> Option<TypeRef> {
        let tags = &[
            gimli::DW_TAG_base_type,
            gimli::DW_TAG_structure_type,
            gimli::DW_TAG_class_type,
            gimli::DW_TAG_union_type,
            gimli::DW_TAG_enumeration_type,
            gimli::DW_TAG_typedef,
        ];
        let simple = name.rsplit("::").next().unwrap_or(name);
        let found = self.tree.all(tags).find(|&id| {
            let found = self.entry(id).and_then(|it| it.name());
            found.as_deref().is_some_and(|it| it == name || it == simple)
                && (simple == name || self.path(id).ends_with(name))
        });
        found.map(TypeRef::Entry)
    }

    /// Returns the name of a type with its modules. Pointers and arrays without a name have one made
    /// of their target's.
    fn type_name(&self, id: EntryId) -> String {
        let mut suffix = String::new();
        let mut next = Some(id);
        for _ in 0..NESTING_MAX {
            let Some(entry) = next.and_then(|id| self.entry(id)) else {
                return format!("void{suffix}");
            };
            if entry.name().is_some() {
                return format!("{}{suffix}", self.path(entry.id));
            }
            let tag = entry.tag();
            match tag {
                gimli::DW_TAG_array_type => {
                    let count = self.count(&entry).map(|it| it.to_string());
                    suffix.insert_str(0, &format!("[{}]", count.unwrap_or_default()));
                }
                tag if is_pointer(tag) => suffix.insert(0, '*'),
                gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type => {}
                _ => return format!("{{anonymous}}{suffix}"),
            }
            next = entry.type_id();
        }
        format!("?{suffix}")
    }

    /// Returns the name of an entry with the modules and types it is in.
    pub(crate) fn path(&self, id: EntryId) -> String {
        let mut parts = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next.filter(|_| parts.len() < NESTING_MAX) {
            let tag = self.tree.node(id).tag;
            if parts.is_empty()
                || tag == gimli::DW_TAG_namespace
                || tag == gimli::DW_TAG_structure_type
            {
                parts.extend(self.entry(id).and_then(|it| it.name()));
            }
            next = self.tree.parent(id);
        }
        parts.reverse();
        truncate::name(&parts.join("::")).into_owned()
    }
}

fn is_pointer(tag: DwTag) -> bool {
    tag == gimli::DW_TAG_pointer_type
        || tag == gimli::DW_TAG_reference_type
        || tag == gimli::DW_TAG_rvalue_reference_type
}

fn scalar(entry: &Entry<'_>) -> Option<Scalar> {
    let encoding = u8::try_from(entry.unsigned(gimli::DW_AT_encoding)?).ok()?;
    Some(match gimli::DwAte(encoding) {
        gimli::DW_ATE_boolean => Scalar::Bool,
        gimli::DW_ATE_signed_char | gimli::DW_ATE_signed => Scalar::Signed,
        gimli::DW_ATE_unsigned_char | gimli::DW_ATE_unsigned | gimli::DW_ATE_address => {
            Scalar::Unsigned
        }
        gimli::DW_ATE_UTF | gimli::DW_ATE_ASCII => Scalar::Char,
        gimli::DW_ATE_float => Scalar::Float,
        _ => return None,
    })
}
