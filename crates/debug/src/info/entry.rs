//! Attributes of entries.

use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_linkage_name, DW_AT_name, DW_AT_specification,
    DW_AT_type, DebuggingInformationEntry, DwAt, DwTag, Unit,
};
use selkie_inspect::{demangle, dwarf::Reader};
use selkie_isa::truncate;

use super::{DebugInfo, EntryId};

/// The references that are followed from an entry to where its name or type is. Compilers need two.
const REFERENCES_MAX: usize = 8;

/// An entry with its attributes.
pub(crate) struct Entry<'a> {
    pub(crate) info: &'a DebugInfo,
    pub(crate) id: EntryId,
    attributes: DebuggingInformationEntry<Reader>,
}

impl DebugInfo {
    /// Reads the attributes of an entry.
    pub(crate) fn entry(&self, id: EntryId) -> Option<Entry<'_>> {
        let attributes = self.unit(id)?.entry(self.tree.node(id).offset()).ok()?;
        Some(Entry { info: self, id, attributes })
    }

    pub(crate) fn unit(&self, id: EntryId) -> Option<&Unit<Reader>> {
        self.units.get(self.tree.node(id).unit as usize)
    }
}

impl<'a> Entry<'a> {
    pub(crate) fn tag(&self) -> DwTag {
        self.attributes.tag()
    }

    pub(crate) fn unit(&self) -> &'a Unit<Reader> {
        self.info.unit(self.id).expect("the entry was read from it")
    }

    pub(crate) fn attributes(&self) -> &DebuggingInformationEntry<Reader> {
        &self.attributes
    }

    pub(crate) fn value(&self, name: DwAt) -> Option<AttributeValue<Reader>> {
        self.attributes.attr_value(name)
    }

    /// Returns a number without sign.
    pub(crate) fn unsigned(&self, name: DwAt) -> Option<u64> {
        self.attributes.attr(name)?.udata_value()
    }

    /// Returns a number, which has a sign if its form has one.
    pub(crate) fn number(&self, name: DwAt) -> Option<i128> {
        match self.value(name)? {
            AttributeValue::Sdata(value) => Some(value.into()),
            value => value.udata_value().map(i128::from),
        }
    }

    /// Returns the entry that an attribute refers to.
    pub(crate) fn reference(&self, name: DwAt) -> Option<EntryId> {
        let info = self.info;
        match self.value(name)? {
            AttributeValue::UnitRef(offset) => {
                info.tree.find(info.tree.node(self.id).unit as usize, offset)
            }
            AttributeValue::DebugInfoRef(offset) => {
                // Units are in the order of the section.
                let start = |unit: &Unit<Reader>| unit.header.debug_info_offset();
                let after = info.units.partition_point(|unit| start(unit) <= Some(offset));
                let index = after.checked_sub(1)?;
                info.tree.find(index, offset.to_unit_offset(&info.units[index].header)?)
            }
            _ => None,
        }
    }

    /// Returns what `get` finds in this entry, or in the ones that it completes.
    pub(crate) fn find<T>(&self, get: impl Fn(&Entry<'a>) -> Option<T>) -> Option<T> {
        if let Some(found) = get(self) {
            return Some(found);
        }
        let mut next = self.completed();
        for _ in 0..REFERENCES_MAX {
            let entry = self.info.entry(next?)?;
            if let Some(found) = get(&entry) {
                return Some(found);
            }
            next = entry.completed();
        }
        None
    }

    /// Returns the entry that this one completes.
    fn completed(&self) -> Option<EntryId> {
        self.reference(DW_AT_abstract_origin).or_else(|| self.reference(DW_AT_specification))
    }

    /// Returns the type that the entry, or the one that it completes, refers to.
    pub(crate) fn type_id(&self) -> Option<EntryId> {
        self.find(|it| it.reference(DW_AT_type))
    }

    fn own_text(&self, name: DwAt) -> Option<String> {
        let text = self.info.dwarf.attr_string(self.unit(), self.value(name)?).ok()?;
        // Names may overlap in the file, so each is cut.
        Some(truncate::name(&String::from_utf8_lossy(text.bytes())).into_owned())
    }

    /// Returns the name in the source, without its module.
    pub(crate) fn name(&self) -> Option<String> {
        self.find(|it| it.own_text(DW_AT_name))
    }

    /// Returns the demangled name of a function, with its module.
    pub(crate) fn function_name(&self) -> Option<String> {
        let linkage = |it: &Entry<'a>| {
            let name = info_text(it, DW_AT_linkage_name)?;
            Some(demangle(&name))
        };
        self.find(linkage).or_else(|| self.name())
    }
}

/// Returns a text that is not cut, since a cut name cannot be demangled.
fn info_text(entry: &Entry<'_>, name: DwAt) -> Option<String> {
    let text = entry.info.dwarf.attr_string(entry.unit(), entry.value(name)?).ok()?;
    Some(String::from_utf8_lossy(text.bytes()).into_owned())
}
