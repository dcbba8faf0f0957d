//! Corrections of function sizes and address ranges, in place.

use std::collections::{BTreeMap, BTreeSet};

use gimli::{
    Abbreviation, AttributeValue, DebugAbbrev, DebugInfo, DwRle, EndianSlice, EntriesRaw,
    LittleEndian, UnitHeader, constants as dw,
};

use super::{
    CodeMap, CodeOffset, code_location,
    leb::{Reader, uleb_of_length},
    relocation_at,
};
use crate::object::{Object, Section};

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A correction: section, offset and new bytes.
pub(super) type Patch = (usize, u64, Vec<u8>);

/// The attributes of a unit that are needed to read its ranges.
#[derive(Clone, Copy, Default)]
struct Unit {
    low: Option<CodeOffset>,
    addr_base: u64,
    ranges_base: Option<u64>,
}

/// The attributes of an entry that describe its code.
struct Attributes<'a> {
    /// Offset and value of `DW_AT_low_pc`.
    low: Option<(u64, AttributeValue<Slice<'a>>)>,
    /// Offset, encoded length and value of `DW_AT_high_pc`.
    high: Option<(u64, u64, u64)>,
}

struct Patcher<'a> {
    object: &'a Object<'a>,
    code_map: &'a CodeMap<'a, 'a>,
    addresses: Option<&'a Section<'a>>,
    abbrev_bytes: usize,
    info: (usize, &'a Section<'a>),
    patches: Vec<Patch>,
    units: Vec<Unit>,
    /// Until DWARF 4: offsets of range lists, with the units to which they belong.
    ranges: Vec<(u64, usize)>,
    /// The remaining bytes of abbreviations that may be read. Any number of units can refer to the
    /// same long table.
    budget: usize,
}

/// The limit on bytes of abbreviations, which no real object reaches.
const ABBREVIATION_BYTES_MAX: usize = 1 << 30;

/// Returns the corrections of an object's debug information, as far as it can be read.
pub(super) fn patches<'a>(object: &'a Object<'a>, code_map: &'a CodeMap<'a, 'a>) -> Vec<Patch> {
    let find = |name: &str| object.sections.iter().enumerate().find(|it| it.1.name == name);
    let (Some(info), Some((_, abbrev))) = (find(".debug_info"), find(".debug_abbrev")) else {
        return Vec::new();
    };
    let addresses = find(".debug_addr").map(|it| it.1);
    let (patches, units, ranges) = (Vec::new(), Vec::new(), Vec::new());
    let budget = ABBREVIATION_BYTES_MAX;
    let mut patcher = Patcher {
        object,
        code_map,
        addresses,
        abbrev_bytes: abbrev.data.len(),
        info,
        patches,
        units,
        ranges,
        budget,
    };
    // Corrections found before an error are valid.
    let _ = patcher.info(&DebugAbbrev::new(abbrev.data, LittleEndian));
    if let Some((index, section)) = find(".debug_rnglists") {
        let _ = patcher.range_lists(index, section);
    }
    if let Some((index, section)) = find(".debug_ranges") {
        patcher.ranges.sort_unstable();
        patcher.ranges.dedup();
        let mut seen = BTreeSet::new();
        for list in core::mem::take(&mut patcher.ranges) {
            let _ = patcher.ranges(index, section, list, &mut seen);
        }
    }
    patcher.patches
}

impl<'a> Patcher<'a> {
    fn info(&mut self, abbrev: &DebugAbbrev<Slice<'a>>) -> gimli::Result<()> {
        let section = DebugInfo::new(self.info.1.data, LittleEndian);
        let mut units = section.units();
        while let Some(header) = units.next()? {
            self.unit(&header, abbrev)?;
        }
        Ok(())
    }

    fn unit(
        &mut self,
        header: &UnitHeader<Slice<'a>>,
        abbrev: &DebugAbbrev<Slice<'a>>,
    ) -> gimli::Result<()> {
        let length = self.abbrev_bytes.saturating_sub(header.debug_abbrev_offset().0);
        self.budget = self.budget.checked_sub(length).ok_or(gimli::Error::OffsetOutOfBounds(0))?;
        let abbreviations = header.abbreviations(abbrev)?;
        let start = header.debug_info_offset().map_or(0, |it| it.0) as u64;
        let mut unit = Unit::default();
        let mut entries = header.entries_raw(&abbreviations, None)?;
        let mut is_first = true;
        while !entries.is_empty() {
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            let attributes = self.attributes(&mut unit, &mut entries, abbreviation, start)?;
            let low = attributes.low.and_then(|(offset, value)| self.low_pc(&unit, offset, value));
            if is_first {
                unit.low = low;
                is_first = false;
            }
            if let (Some(low), Some((offset, length @ (1 | 2 | 4 | 8), size))) =
                (low, attributes.high)
            {
                let now = self.code_map.distance(low, size).to_le_bytes();
                let length = usize::try_from(length).unwrap_or(8);
                self.patches.push((self.info.0, offset, now[..length].to_vec()));
            }
        }
        self.units.push(unit);
        Ok(())
    }

    /// Reads the attributes of an entry.
    fn attributes(
        &mut self,
        unit: &mut Unit,
        entries: &mut EntriesRaw<'_, Slice<'a>>,
        abbreviation: &Abbreviation,
        start: u64,
    ) -> gimli::Result<Attributes<'a>> {
        let mut attributes = Attributes { low: None, high: None };
        for &specification in abbreviation.attributes() {
            let offset = start + entries.next_offset().0 as u64;
            let attribute = entries.read_attribute(specification)?;
            let end = start + entries.next_offset().0 as u64;
            match (specification.name(), attribute.raw_value()) {
                (dw::DW_AT_low_pc, value) => attributes.low = Some((offset, value)),
                (dw::DW_AT_high_pc, value) => {
                    let length = value.udata_value();
                    attributes.high = length.map(|length| (offset, end - offset, length));
                }
                (dw::DW_AT_addr_base, AttributeValue::SecOffset(base)) => {
                    unit.addr_base = base as u64;
                }
                (dw::DW_AT_ranges, AttributeValue::SecOffset(start)) => {
                    self.ranges.push((start as u64, self.units.len()));
                }
                (dw::DW_AT_rnglists_base, AttributeValue::SecOffset(base)) => {
                    unit.ranges_base = Some(base as u64);
                }
                _ => {}
            }
        }
        Ok(attributes)
    }

    /// Returns the position that the attribute `DW_AT_low_pc` at an offset refers to.
    fn low_pc(
        &self,
        unit: &Unit,
        offset: u64,
        value: AttributeValue<Slice<'a>>,
    ) -> Option<CodeOffset> {
        match value {
            AttributeValue::Addr(addend) => {
                let relocation = relocation_at(self.info.1, offset)?;
                code_location(self.object, relocation, addend)
            }
            AttributeValue::DebugAddrIndex(index) => self.indexed(unit, index.0 as u64),
            _ => None,
        }
    }

    /// Returns the position of address number `index` of a unit.
    fn indexed(&self, unit: &Unit, index: u64) -> Option<CodeOffset> {
        let section = self.addresses?;
        let at = unit.addr_base.checked_add(index.checked_mul(8)?)?;
        let addend = Reader::new(section.data, usize::try_from(at).ok()?).u64()?;
        code_location(self.object, relocation_at(section, at)?, addend)
    }

    /// Reads the range lists of DWARF 5, one table per unit that has any.
    fn range_lists(&mut self, index: usize, section: &Section<'_>) -> Option<()> {
        let bases = self.units.iter().filter_map(|it| Some((it.ranges_base?, *it)));
        let units: BTreeMap<u64, Unit> = bases.collect();
        let mut start = 0;
        while start < section.data.len() {
            let mut reader = Reader::new(section.data, start);
            let length = reader.u32().filter(|&it| it < 0xffff_fff0)?;
            let end = reader.position().checked_add(length as usize)?;
            let _version_address_and_segment_size = reader.take(4)?;
            let count = reader.u32()? as usize;
            let base = reader.position() as u64;
            let unit = *units.get(&base)?;
            reader.take(count.checked_mul(4)?)?;
            while reader.position() < end {
                self.range_list((index, section), &mut reader, &unit)?;
            }
            start = end;
        }
        Some(())
    }

    fn range_list(
        &mut self,
        (index, section): (usize, &Section<'_>),
        reader: &mut Reader<'_>,
        unit: &Unit,
    ) -> Option<()> {
        let mut base = unit.low;
        let absolute = |reader: &mut Reader<'_>, object: &Object<'_>| {
            let at = reader.position() as u64;
            let addend = reader.u64()?;
            Some(relocation_at(section, at).and_then(|it| code_location(object, it, addend)))
        };
        loop {
            let low = match DwRle(reader.byte()?) {
                dw::DW_RLE_end_of_list => return Some(()),
                dw::DW_RLE_base_addressx => {
                    let number = reader.uleb()?;
                    base = self.indexed(unit, number);
                    continue;
                }
                dw::DW_RLE_startx_endx => {
                    reader.uleb()?;
                    reader.uleb()?;
                    continue;
                }
                dw::DW_RLE_startx_length => {
                    let number = reader.uleb()?;
                    self.indexed(unit, number)
                }
                dw::DW_RLE_offset_pair => {
                    self.distance(index, reader, base)?;
                    base
                }
                dw::DW_RLE_base_address => {
                    base = absolute(reader, self.object)?;
                    continue;
                }
                dw::DW_RLE_start_end => {
                    reader.take(16)?;
                    continue;
                }
                dw::DW_RLE_start_length => absolute(reader, self.object)?,
                _ => return None,
            };
            self.distance(index, reader, low)?;
        }
    }

    /// Reads a range list of DWARF 4: pairs of addresses, which have relocations, or of distances.
    fn ranges(
        &mut self,
        index: usize,
        section: &Section<'_>,
        (start, unit): (u64, usize),
        seen: &mut BTreeSet<u64>,
    ) -> Option<()> {
        let mut base = self.units.get(unit)?.low;
        let mut reader = Reader::new(section.data, usize::try_from(start).ok()?);
        loop {
            let at = reader.position() as u64;
            if !seen.insert(at) {
                return None;
            }
            let (first, last) = (reader.u64()?, reader.u64()?);
            let place = |at, addend| {
                relocation_at(section, at).map(|it| code_location(self.object, it, addend))
            };
            match (place(at, first), place(at + 8, last)) {
                (None, None) if (first, last) == (0, 0) => return Some(()),
                (None, Some(place)) if first == u64::MAX => base = place,
                (None, None) => {
                    for (at, length) in [(at, first), (at + 8, last)] {
                        let base = base?;
                        let now = self.code_map.distance(base, length).to_le_bytes().to_vec();
                        self.patches.push((index, at, now));
                    }
                }
                _ => {}
            }
        }
    }

    /// Corrects a distance from a position.
    fn distance(
        &mut self,
        index: usize,
        reader: &mut Reader<'_>,
        from: Option<CodeOffset>,
    ) -> Option<()> {
        let at = reader.position();
        let length = reader.uleb()?;
        if let Some(from) = from {
            let bytes =
                uleb_of_length(self.code_map.distance(from, length), reader.position() - at);
            self.patches.push((index, at as u64, bytes));
        }
        Some(())
    }
}
