//! Types whose layout differs from the official toolchain's, found in a program's debug information.
//!
//! Where `llvm` cannot change the compiler, 128-bit integers are aligned to 16 bytes instead of 8. A
//! type whose fields are laid out in their order, as `repr(C)` demands, then may have other offsets or another
//! size than in programs on mainnet. Debug information does not tell `repr(C)`; but Rust orders the fields of
//! other types by alignment, so a type counts if it is what the rules of C give. Such a type can lie over the
//! bytes of accounts if the program has a pointer to it, or to one that contains it.

use core::fmt;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwTag, Dwarf, Unit, constants as dw,
};
use selkie_inspect::dwarf::{self, Reader};

/// The alignment of 128-bit integers officially.
const OFFICIAL_ALIGN: u64 = 8;

/// How deep types are looked into that contain each other.
const DEPTH_MAX: u32 = 64;

/// Crates whose types no program puts over the bytes of accounts.
const STANDARD_CRATES: [&str; 3] = ["core", "alloc", "std"];

/// A type that the official toolchain lays out otherwise.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Difference {
    /// The path of the type: `amm::Pool`.
    pub type_name: String,
    /// The first field that has another offset; `None` if only the size differs.
    pub field: Option<String>,
    /// The field's offset, or the type's size, in bytes: here and officially.
    pub bytes: (u64, u64),
    /// Whether the program has a pointer to the type, or to one that contains it.
    pub is_pointed_to: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (here, official) = self.bytes;
        match &self.field {
            Some(field) => write!(
                f,
                "field `{field}` of `{}` is at offset {here}, and at {official} with the official toolchain",
                self.type_name
            ),
            None => write!(
                f,
                "`{}` has {here} bytes, and {official} with the official toolchain",
                self.type_name
            ),
        }
    }
}

/// Returns the types of a program that differ, in the order of their names. A program without debug
/// information has none.
#[must_use]
pub fn differences(program: &[u8]) -> Vec<Difference> {
    let Ok(dwarf) = dwarf::load(&Arc::from(program)) else { return Vec::new() };
    let mut types = Types::default();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if let Ok(unit) = dwarf.unit(header) {
            types.read(&dwarf, &unit);
        }
    }
    let pointed_to = types.pointed_to();
    let mut found = BTreeMap::<String, Difference>::new();
    for (at, aggregate) in &types.aggregates {
        let difference = types.difference(aggregate, pointed_to.contains(&at.0));
        let Some(difference) = difference else { continue };
        let name = difference.type_name.clone();
        let known = found.entry(name).or_insert_with(|| difference.clone());
        known.is_pointed_to |= difference.is_pointed_to;
    }
    found.into_values().collect()
}

/// Size and alignment in bytes.
type Layout = (u64, u64);

struct Field {
    name: String,
    offset: u64,
    type_at: DebugInfoOffset,
    /// Whether it is the tag of an enum, which rustc makes as wide as the fields are aligned.
    is_tag: bool,
}

/// A structure, or a variant of an enum with its tag as the first field.
struct Aggregate {
    name: String,
    is_standard: bool,
    is_union: bool,
    size: u64,
    align: Option<u64>,
    fields: Vec<Field>,
    /// The variants, if it is an enum with fields.
    variants: Vec<DebugInfoOffset>,
}

enum Other {
    Scalar(u64),
    Pointer(Option<DebugInfoOffset>),
    Array { element: DebugInfoOffset, count: u64 },
    Alias(DebugInfoOffset),
}

/// An entry whose descendants are being read.
struct Open {
    depth: isize,
    tag: DwTag,
    at: DebugInfoOffset,
    name: String,
}

/// The types of a program. Units refer to types of each other.
#[derive(Default)]
struct Types {
    aggregates: BTreeMap<DebugInfoOffset, Aggregate>,
    others: BTreeMap<DebugInfoOffset, Other>,
}

impl Types {
    fn read(&mut self, dwarf: &Dwarf<Reader>, unit: &Unit<Reader>) {
        let mut around: Vec<Open> = Vec::new();
        let mut entries = unit.entries();
        let mut discriminants = BTreeMap::<DebugInfoOffset, Field>::new();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let depth = entry.depth();
            around.retain(|it| it.depth < depth);
            let entry = Entry { dwarf, unit, entry };
            let name = entry.name();
            let Some(at) = entry.entry.offset().to_debug_info_offset(&unit.header) else {
                continue;
            };
            match entry.entry.tag() {
                dw::DW_TAG_structure_type | dw::DW_TAG_union_type => {
                    self.aggregates.insert(at, entry.aggregate(&name, &around));
                }
                dw::DW_TAG_member => {
                    let field = entry.reference(dw::DW_AT_type).map(|type_at| Field {
                        name,
                        offset: entry.number(dw::DW_AT_data_member_location).unwrap_or_default(),
                        type_at,
                        is_tag: false,
                    });
                    self.put_member(&around, field, &mut discriminants);
                    continue;
                }
                dw::DW_TAG_base_type | dw::DW_TAG_enumeration_type => {
                    let size = entry.number(dw::DW_AT_byte_size).unwrap_or_default();
                    self.others.insert(at, Other::Scalar(size));
                }
                dw::DW_TAG_pointer_type => {
                    self.others.insert(at, Other::Pointer(entry.reference(dw::DW_AT_type)));
                }
                dw::DW_TAG_array_type => {
                    if let Some(element) = entry.reference(dw::DW_AT_type) {
                        self.others.insert(at, Other::Array { element, count: 0 });
                    }
                }
                dw::DW_TAG_typedef => {
                    if let Some(of) = entry.reference(dw::DW_AT_type) {
                        self.others.insert(at, Other::Alias(of));
                    }
                }
                dw::DW_TAG_subrange_type => {
                    let given = entry.number(dw::DW_AT_count);
                    let last = || Some(entry.number(dw::DW_AT_upper_bound)?.saturating_add(1));
                    let array = around.last().map(|it| it.at);
                    let array = array.and_then(|it| self.others.get_mut(&it));
                    if let Some(Other::Array { count, .. }) = array {
                        *count = given.or_else(last).unwrap_or_default();
                    }
                    continue;
                }
                _ => {}
            }
            around.push(Open { depth, tag: entry.entry.tag(), at, name });
        }
        self.put_discriminants(discriminants);
    }

    /// Adds a field to the type around it, or notes that it is the tag of an enum or its variant.
    fn put_member(
        &mut self,
        around: &[Open],
        field: Option<Field>,
        discriminants: &mut BTreeMap<DebugInfoOffset, Field>,
    ) {
        let (Some(field), Some(parent)) = (field, around.last()) else { return };
        let is_aggregate = |it: &&Open| self.aggregates.contains_key(&it.at);
        let Some(owner) = around.iter().rev().find(is_aggregate).map(|it| it.at) else { return };
        let Some(aggregate) = self.aggregates.get_mut(&owner) else { return };
        match parent.tag {
            dw::DW_TAG_variant => aggregate.variants.push(field.type_at),
            dw::DW_TAG_variant_part => drop(discriminants.insert(owner, field)),
            _ => aggregate.fields.push(field),
        }
    }

    /// Makes the tag of each enum the first field of its variants. If it lies in a niche, the layout is not
    /// that of C, and the variant is found to differ from it.
    fn put_discriminants(&mut self, discriminants: BTreeMap<DebugInfoOffset, Field>) {
        for (owner, tag) in discriminants {
            let variants = self.aggregates.get(&owner).map(|it| it.variants.clone());
            for variant in variants.unwrap_or_default() {
                if let Some(it) = self.aggregates.get_mut(&variant) {
                    // It is that of the enum.
                    it.align = None;
                    let Field { offset, type_at, .. } = tag;
                    let name = "tag".to_owned();
                    it.fields.insert(0, Field { name, offset, type_at, is_tag: true });
                }
            }
        }
    }

    /// Returns the types that pointers lead to, and those that are within them.
    fn pointed_to(&self) -> BTreeSet<usize> {
        let targets = self.others.values().filter_map(|it| match it {
            Other::Pointer(to) => *to,
            _ => None,
        });
        let mut open: Vec<DebugInfoOffset> = targets.collect();
        let mut seen = BTreeSet::new();
        while let Some(at) = open.pop() {
            if !seen.insert(at.0) {
                continue;
            }
            if let Some(it) = self.aggregates.get(&at) {
                open.extend(
                    it.fields.iter().map(|it| it.type_at).chain(it.variants.iter().copied()),
                );
            }
            match self.others.get(&at) {
                Some(&Other::Array { element: to, .. } | &Other::Alias(to)) => open.push(to),
                Some(Other::Scalar(_) | Other::Pointer(_)) | None => {}
            }
        }
        seen
    }

    fn difference(&self, aggregate: &Aggregate, is_pointed_to: bool) -> Option<Difference> {
        if aggregate.is_standard || !self.is_as_in_c(aggregate, 0) {
            return None;
        }
        let fields = aggregate.fields.iter().collect::<Vec<_>>();
        let (official, (size, _)) = self.offsets(aggregate, &fields, true, 0);
        let moved = aggregate.fields.iter().zip(official).find(|(it, to)| it.offset != *to);
        let (field, bytes) = match moved {
            Some((field, to)) => (Some(field.name.clone()), (field.offset, to)),
            None if aggregate.size != size => (None, (aggregate.size, size)),
            None => return None,
        };
        Some(Difference { type_name: aggregate.name.clone(), field, bytes, is_pointed_to })
    }

    /// Returns whether the rules of C give a type the layout that it has.
    fn is_as_in_c(&self, aggregate: &Aggregate, depth: u32) -> bool {
        let fields = aggregate.fields.iter().collect::<Vec<_>>();
        let (offsets, (size, align)) = self.offsets(aggregate, &fields, false, depth);
        !aggregate.fields.is_empty()
            && size == aggregate.size
            && aggregate.align.is_none_or(|it| it >= align)
            && aggregate.fields.iter().map(|it| it.offset).eq(offsets)
    }

    /// Lays fields of a type out as C does in the given order, officially or with the alignments of this
    /// program.
    fn offsets(
        &self,
        aggregate: &Aggregate,
        fields: &[&Field],
        official: bool,
        depth: u32,
    ) -> (Vec<u64>, Layout) {
        let (mut end, mut align) = (0_u64, 1);
        let mut natural = 1;
        let mut offsets = Vec::new();
        for field in fields {
            let (mut size, of_field) = self.layout(field.type_at, official, depth + 1);
            if official && field.is_tag {
                size = size.min(OFFICIAL_ALIGN);
            }
            natural = natural.max(self.layout(field.type_at, false, depth + 1).1);
            align = align.max(of_field);
            let offset = if aggregate.is_union {
                0
            } else {
                end.checked_next_multiple_of(of_field).unwrap_or(end)
            };
            offsets.push(offset);
            end = end.max(offset.saturating_add(size));
        }
        // More than its fields need: `repr(align(16))`.
        let stated = aggregate.align.filter(|it| *it > natural && it.is_power_of_two());
        let align = stated.unwrap_or(align);
        (offsets, (end.checked_next_multiple_of(align).unwrap_or(end), align))
    }

    fn layout(&self, at: DebugInfoOffset, official: bool, depth: u32) -> Layout {
        if depth > DEPTH_MAX {
            return (0, 1);
        }
        if let Some(aggregate) = self.aggregates.get(&at) {
            return self.layout_of(aggregate, official, depth);
        }
        match self.others.get(&at) {
            Some(&Other::Scalar(size)) => {
                let align = size.next_power_of_two().clamp(1, 16);
                (size, if official { align.min(OFFICIAL_ALIGN) } else { align })
            }
            Some(Other::Pointer(_)) => (8, 8),
            Some(&Other::Array { element, count }) => {
                let (size, align) = self.layout(element, official, depth + 1);
                (size.saturating_mul(count), align)
            }
            Some(&Other::Alias(to)) => self.layout(to, official, depth + 1),
            None => (0, 1),
        }
    }

    /// Returns the layout of a type within another. Rust orders the fields of types without `repr`; officially,
    /// too, they lie one behind the other. Of a type that has other gaps, as where a tag lies in a niche, only
    /// the alignment is known: where it has 16 because of an integer, it officially has 8, and the size is a
    /// multiple of that.
    fn layout_of(&self, aggregate: &Aggregate, official: bool, depth: u32) -> Layout {
        let variants = aggregate.variants.iter().filter_map(|it| self.aggregates.get(it));
        let all: Vec<&Aggregate> = match aggregate.variants.is_empty() {
            true => vec![aggregate],
            false => variants.collect(),
        };
        let all: Vec<(&Aggregate, Vec<&Field>)> =
            all.into_iter().map(|it| (it, in_memory(it))).collect();
        let of = |(it, fields): &(&Aggregate, Vec<&Field>), official| {
            self.offsets(it, fields, official, depth).1
        };
        let natural = all.iter().map(|it| of(it, false).1).max().unwrap_or(1);
        let align = aggregate.align.unwrap_or(natural);
        if !official {
            return (aggregate.size, align);
        }
        let most = |official| {
            let layouts = all.iter().map(|it| of(it, official));
            let (size, align): Layout =
                layouts.fold((0, 1), |most, it| (most.0.max(it.0), most.1.max(it.1)));
            // `repr(align)` of an enum.
            let align = aggregate.align.filter(|it| *it > natural).unwrap_or(align);
            (size.checked_next_multiple_of(align).unwrap_or(size), align)
        };
        let is_dense = |(it, fields): &(&Aggregate, Vec<&Field>)| {
            let (offsets, _) = self.offsets(it, fields, false, depth);
            fields.iter().map(|it| it.offset).eq(offsets)
        };
        if most(false).0 == aggregate.size && all.iter().all(is_dense) {
            return most(true);
        }
        let from_integer = align == 16 && natural == 16;
        (aggregate.size, if from_integer { OFFICIAL_ALIGN } else { align })
    }
}

/// Returns the fields in the order in which they lie in memory.
fn in_memory(aggregate: &Aggregate) -> Vec<&Field> {
    let mut fields: Vec<&Field> = aggregate.fields.iter().collect();
    fields.sort_by_key(|it| it.offset);
    fields
}

/// An entry and what it belongs to.
struct Entry<'a> {
    dwarf: &'a Dwarf<Reader>,
    unit: &'a Unit<Reader>,
    entry: &'a DebuggingInformationEntry<Reader>,
}

impl Entry<'_> {
    /// Returns the structure or union without its fields, with its path in the entries around it.
    fn aggregate(&self, name: &str, around: &[Open]) -> Aggregate {
        let has_name =
            |it: &&Open| [dw::DW_TAG_namespace, dw::DW_TAG_structure_type].contains(&it.tag);
        let path = around.iter().filter(has_name).map(|it| it.name.as_str()).chain([name]);
        let names: Vec<&str> = path.filter(|it| !it.is_empty()).collect();
        Aggregate {
            name: names.join("::"),
            is_standard: names.len() > 1 && STANDARD_CRATES.contains(&names[0]),
            is_union: self.entry.tag() == dw::DW_TAG_union_type,
            size: self.number(dw::DW_AT_byte_size).unwrap_or_default(),
            align: self.number(dw::DW_AT_alignment),
            fields: Vec::new(),
            variants: Vec::new(),
        }
    }

    fn name(&self) -> String {
        let value = self.entry.attr_value(dw::DW_AT_name);
        let text = value.and_then(|it| self.dwarf.attr_string(self.unit, it).ok());
        text.map(|it| String::from_utf8_lossy(&it).into_owned()).unwrap_or_default()
    }

    fn number(&self, name: gimli::DwAt) -> Option<u64> {
        self.entry.attr_value(name)?.udata_value()
    }

    fn reference(&self, name: gimli::DwAt) -> Option<DebugInfoOffset> {
        match self.entry.attr_value(name)? {
            AttributeValue::UnitRef(at) => at.to_debug_info_offset(&self.unit.header),
            AttributeValue::DebugInfoRef(at) => Some(at),
            _ => None,
        }
    }
}
