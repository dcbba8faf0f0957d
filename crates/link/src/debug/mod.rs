//! Debug information of the program.
//!
//! The debug sections of all objects that contribute code are concatenated by name and relocated.
//! In addition, line programs, sizes of functions and ranges contain distances between instructions,
//! which have no relocations, and which change where a function is left out or legalised. They are
//! corrected in place, except for line programs, which are rewritten, since they may grow. Locations
//! of variables are not corrected.
//!
//! Nothing here fails: debug information that cannot be read is copied unchanged.

mod info;
mod leb;
mod line;
mod locate;

pub(crate) use locate::line_of;

use std::collections::BTreeMap;

use selkie_isa::layout::{BYTECODE_START, SLOT_BYTES, STACK_START};

use crate::{
    layout::{Layout, PlacedFunction},
    object::{
        Definition, Object, R_BPF_64_ABS32, R_BPF_64_NODYLD32, Relocation, Section, SectionKind,
    },
    program::{AtomId, Body, Location, Program, Target},
};

/// Sections that are left out: an index of addresses, which would have to be rebuilt, and rules for
/// unwinding frames, which the virtual machine does itself.
const DROPPED: &[&str] = &[".debug_aranges", ".debug_frame"];

/// Sections of lists that a pair of zeros terminates.
const LISTS: &[&str] = &[".debug_ranges", ".debug_loc"];

/// A position in the code of an object as compiled: section and offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CodeOffset {
    pub(super) section: usize,
    pub(super) offset: u64,
}

/// The mapping from the code of an object as compiled to addresses in the program.
pub(super) struct CodeMap<'m, 'a> {
    program: &'m Program<'a>,
    layout: &'m Layout,
    object: usize,
    /// By section: start and end as compiled of the functions that are in the program, ascending.
    live: BTreeMap<usize, Vec<(u64, u64, &'m PlacedFunction)>>,
}

/// A debug section with its distances corrected.
struct Rewritten {
    bytes: Vec<u8>,
    /// Old start, length and new start of the parts that were copied, ascending. `None`: all offsets
    /// are unchanged.
    parts: Option<Vec<(u64, u64, u64)>>,
}

impl Rewritten {
    /// Returns the new offset of an old one.
    fn offset(&self, offset: u64) -> Option<u64> {
        let Some(parts) = &self.parts else { return Some(offset) };
        let index = parts.partition_point(|it| it.0 <= offset).checked_sub(1)?;
        let &(start, length, now) = parts.get(index)?;
        (offset - start < length).then(|| now + (offset - start))
    }
}

impl CodeMap<'_, '_> {
    /// Returns the address in the program of a compiled position. For a function that was left out,
    /// it is that of the next one in its section, so the order of addresses is kept.
    pub(super) fn address(&self, location: CodeOffset) -> u64 {
        let CodeOffset { section, offset } = location;
        self.find(section, offset).unwrap_or(0)
    }

    /// Returns the distance in the program between `start` and the position `length` behind it.
    pub(super) fn distance(&self, start: CodeOffset, length: u64) -> u64 {
        let end = CodeOffset { offset: start.offset.saturating_add(length), ..start };
        self.address(end).saturating_sub(self.address(start))
    }

    /// Converts a guest address to the one in the file: until V2, symbols and debug information use
    /// addresses that start at 0.
    fn in_file(&self, address: u64) -> u64 {
        let is_program = (BYTECODE_START..STACK_START).contains(&address);
        match is_program && !self.layout.version.strict_elf() {
            true => address - BYTECODE_START,
            false => address,
        }
    }

    fn find(&self, section: usize, offset: u64) -> Option<u64> {
        let live = self.live.get(&section)?;
        let text = self.in_file(self.layout.addresses.text);
        let address = |slot: u32| text + u64::from(slot) * SLOT_BYTES as u64;
        let next = live.partition_point(|it| it.1 <= offset);
        let Some(&(from, _, placed)) = live.get(next) else {
            let (.., last) = live.last()?;
            return Some(address(last.start + last.slots));
        };
        let slot = offset.checked_sub(from).map_or(Some(0), |it| u32::try_from(it / 8).ok())?;
        Some(address(if slot == 0 { placed.start } else { placed.slot_around(slot) }))
    }
}

/// Returns the position that a relocation of debug information refers to, if it is in code.
pub(super) fn code_location(
    object: &Object<'_>,
    it: &Relocation,
    addend: u64,
) -> Option<CodeOffset> {
    let symbol = &object.symbols[it.symbol];
    let Definition::Section(section) = symbol.definition else { return None };
    let is_code = object.sections[section].kind == SectionKind::Code;
    is_code.then(|| CodeOffset { section, offset: symbol.value.wrapping_add(addend) })
}

/// Returns the relocation at `offset`.
pub(super) fn relocation_at<'s>(section: &'s Section<'_>, offset: u64) -> Option<&'s Relocation> {
    let index = section.relocations.binary_search_by_key(&offset, |it| it.offset).ok()?;
    section.relocations.get(index)
}

/// Returns the debug sections of all objects that contribute code, joined by name and relocated.
pub(crate) fn sections<'a>(program: &Program<'a>, layout: &Layout) -> Vec<(&'a str, Vec<u8>)> {
    let part = |atom: &AtomId| match program.atoms[atom.0].body {
        Body::Part { object, .. } => Some(object),
        _ => None,
    };
    let mut used: Vec<usize> = layout.functions.keys().filter_map(part).collect();
    used.sort_unstable();
    used.dedup();
    let mut joined: BTreeMap<&'a str, Vec<u8>> = BTreeMap::new();
    for object in used {
        let mut live: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for (atom, placed) in &layout.functions {
            match program.atoms[atom.0].body {
                Body::Part { object: of, section, start, end } if of == object => {
                    live.entry(section).or_default().push((start, end, placed));
                }
                _ => {}
            }
        }
        let code_map = CodeMap { program, layout, object, live };
        join(&code_map, &mut joined);
    }
    joined.into_iter().collect()
}

/// Adds the debug sections of an object.
fn join<'a>(code_map: &CodeMap<'_, 'a>, joined: &mut BTreeMap<&'a str, Vec<u8>>) {
    let object = &code_map.program.objects[code_map.object];
    let is_debug = |it: &Section<'_>| it.kind == SectionKind::Debug && !DROPPED.contains(&it.name);
    let mut rewritten: BTreeMap<usize, (u64, Rewritten)> = BTreeMap::new();
    let mut patches: BTreeMap<usize, Vec<info::Patch>> = BTreeMap::new();
    for patch in info::patches(object, code_map) {
        patches.entry(patch.0).or_default().push(patch);
    }
    for (index, section) in object.sections.iter().enumerate().filter(|it| is_debug(it.1)) {
        let line =
            (section.name == ".debug_line").then(|| line::rewrite(object, section, code_map));
        let mut it = line
            .flatten()
            .unwrap_or_else(|| Rewritten { bytes: section.data.to_vec(), parts: None });
        for (_, offset, bytes) in patches.remove(&index).into_iter().flatten() {
            let at = usize::try_from(offset).unwrap_or(usize::MAX);
            if let Some(location) = it.bytes.get_mut(at..at.saturating_add(bytes.len())) {
                location.copy_from_slice(&bytes);
            }
        }
        let base = joined.get(section.name).map_or(0, Vec::len) as u64;
        joined.entry(section.name).or_default().extend_from_slice(&it.bytes);
        rewritten.insert(index, (base, it));
    }
    for &index in rewritten.keys() {
        relocate(code_map, &rewritten, index, joined);
    }
}

/// Applies the relocations of a debug section.
fn relocate(
    code_map: &CodeMap<'_, '_>,
    rewritten: &BTreeMap<usize, (u64, Rewritten)>,
    index: usize,
    joined: &mut BTreeMap<&str, Vec<u8>>,
) {
    let object = &code_map.program.objects[code_map.object];
    let section = &object.sections[index];
    let Some(((base, now), bytes)) = rewritten.get(&index).zip(joined.get_mut(section.name)) else {
        return;
    };
    for it in &section.relocations {
        let size = match it.kind {
            R_BPF_64_ABS32 | R_BPF_64_NODYLD32 => 4,
            _ => 8,
        };
        let field = now.offset(it.offset).and_then(|offset| {
            let start = usize::try_from(base + offset).ok()?;
            bytes.get_mut(start..start.checked_add(size)?)
        });
        let Some(field) = field else { continue };
        let mut addend = [0; 8];
        addend[..size].copy_from_slice(field);
        let addend = u64::from_le_bytes(addend);
        let mut value = value(code_map, rewritten, it, addend);
        // A pair of zeros would terminate the list.
        if value == 0 && LISTS.contains(&section.name) {
            value = u64::from(code_location(object, it, addend).is_some());
        }
        field.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// Returns the value of a relocation in debug information. Code and data that were left out are at
/// 0, where no instruction is.
fn value(
    code_map: &CodeMap<'_, '_>,
    rewritten: &BTreeMap<usize, (u64, Rewritten)>,
    relocation: &Relocation,
    addend: u64,
) -> u64 {
    let object = &code_map.program.objects[code_map.object];
    if let Some(location) = code_location(object, relocation, addend) {
        return code_map.address(location);
    }
    let symbol = &object.symbols[relocation.symbol];
    let offset = symbol.value.wrapping_add(addend);
    match symbol.definition {
        Definition::Section(section) => {
            if let Some((base, it)) = rewritten.get(&section) {
                return base + it.offset(offset).unwrap_or(offset);
            }
            let location =
                code_map.program.location(code_map.object, section, offset.cast_signed());
            let target = |location: Location| code_map.layout.address(Target::Location(location));
            code_map.in_file(location.and_then(target).unwrap_or(0))
        }
        Definition::Absolute => offset,
        Definition::Undefined | Definition::Common => 0,
    }
}
