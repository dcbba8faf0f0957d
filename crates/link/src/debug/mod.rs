//! Debug information for where things went.
//!
//! The sections of all objects that something came from are joined by name and relocated. That is
//! not all: line programs, sizes of functions and ranges hold distances between instructions,
//! which no relocation names, and which change where a function is left out or legalised. They are
//! rewritten in place, but for line programs, which may grow. Locations of variables are left as
//! the compiler wrote them.
//!
//! Nothing here fails. What cannot be read is passed on as it is.

mod info;
mod leb;
mod line;
mod locate;

pub(crate) use locate::line_of;

use std::collections::BTreeMap;

use selkie_isa::layout::{BYTECODE_START, SLOT_BYTES, STACK_START};

use crate::{
    layout::{Layout, Placed},
    object::{Home, Object, R_BPF_64_ABS32, R_BPF_64_NODYLD32, Relocation, Section, SectionKind},
    program::{AtomId, Body, Place, Program, Target},
};

/// Sections about ranges of code that nobody misses: an index of addresses, which would have to be
/// made anew to be complete, and how to unwind frames, which the machine does itself.
const DROPPED: &[&str] = &[".debug_aranges", ".debug_frame"];

/// Lists that end with two zeros.
const LISTS: &[&str] = &[".debug_ranges", ".debug_loc"];

/// A place in an object as it was compiled: section and offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Compiled {
    pub(super) section: usize,
    pub(super) offset: u64,
}

/// Where the code of an object went.
pub(super) struct Moves<'m, 'a> {
    program: &'m Program<'a>,
    layout: &'m Layout,
    object: usize,
    /// By section: the functions that are in the program, ascending by where they were compiled
    /// to.
    live: BTreeMap<usize, Vec<(u64, u64, &'m Placed)>>,
}

/// A debug section with its distances corrected, and where its parts are now.
struct Rewritten {
    bytes: Vec<u8>,
    /// Start and length as compiled, and the start now; ascending. `None`: nothing moved.
    parts: Option<Vec<(u64, u64, u64)>>,
}

impl Rewritten {
    /// Where an offset of the compiled section is now.
    fn offset(&self, offset: u64) -> Option<u64> {
        let Some(parts) = &self.parts else { return Some(offset) };
        let index = parts.partition_point(|it| it.0 <= offset).checked_sub(1)?;
        let &(start, length, now) = parts.get(index)?;
        (offset - start < length).then(|| now + (offset - start))
    }
}

impl Moves<'_, '_> {
    /// The address of what was compiled to a place: of a function that was left out, that of the
    /// next one in its section. So addresses only ever come closer, and stay in order.
    pub(super) fn address(&self, place: Compiled) -> u64 {
        let Compiled { section, offset } = place;
        self.find(section, offset).unwrap_or(0)
    }

    /// How far `start` and the place `length` behind it are apart now.
    pub(super) fn distance(&self, start: Compiled, length: u64) -> u64 {
        let end = Compiled { offset: start.offset.saturating_add(length), ..start };
        self.address(end).saturating_sub(self.address(start))
    }

    /// Until V2 files have addresses of their own, which begin at zero: symbols and debug
    /// information keep to these.
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

/// The place that a relocation of debug information names, if it is in code.
pub(super) fn code_place(object: &Object<'_>, it: &Relocation, addend: u64) -> Option<Compiled> {
    let symbol = &object.symbols[it.symbol];
    let Home::Section(section) = symbol.home else { return None };
    let is_code = object.sections[section].kind == SectionKind::Code;
    is_code.then(|| Compiled { section, offset: symbol.value.wrapping_add(addend) })
}

/// The relocation of the bytes at `offset`.
pub(super) fn relocation_at<'s>(section: &'s Section<'_>, offset: u64) -> Option<&'s Relocation> {
    let index = section.relocations.binary_search_by_key(&offset, |it| it.offset).ok()?;
    section.relocations.get(index)
}

/// The debug sections of all objects that something came from, joined by name and relocated.
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
        let moves = Moves { program, layout, object, live };
        join(&moves, &mut joined);
    }
    joined.into_iter().collect()
}

/// Adds the debug sections of an object.
fn join<'a>(moves: &Moves<'_, 'a>, joined: &mut BTreeMap<&'a str, Vec<u8>>) {
    let object = &moves.program.objects[moves.object];
    let is_debug = |it: &Section<'_>| it.kind == SectionKind::Debug && !DROPPED.contains(&it.name);
    let mut rewritten: BTreeMap<usize, (u64, Rewritten)> = BTreeMap::new();
    let mut patches: BTreeMap<usize, Vec<info::Patch>> = BTreeMap::new();
    for patch in info::patches(object, moves) {
        patches.entry(patch.0).or_default().push(patch);
    }
    for (index, section) in object.sections.iter().enumerate().filter(|it| is_debug(it.1)) {
        let line = (section.name == ".debug_line").then(|| line::rewrite(object, section, moves));
        let mut it = line
            .flatten()
            .unwrap_or_else(|| Rewritten { bytes: section.data.to_vec(), parts: None });
        for (_, offset, bytes) in patches.remove(&index).into_iter().flatten() {
            let at = usize::try_from(offset).unwrap_or(usize::MAX);
            if let Some(place) = it.bytes.get_mut(at..at.saturating_add(bytes.len())) {
                place.copy_from_slice(&bytes);
            }
        }
        let base = joined.get(section.name).map_or(0, Vec::len) as u64;
        joined.entry(section.name).or_default().extend_from_slice(&it.bytes);
        rewritten.insert(index, (base, it));
    }
    for (&index, (base, now)) in &rewritten {
        let section = &object.sections[index];
        let Some(bytes) = joined.get_mut(section.name) else { continue };
        for it in &section.relocations {
            let size = match it.kind {
                R_BPF_64_ABS32 | R_BPF_64_NODYLD32 => 4,
                _ => 8,
            };
            let place = now.offset(it.offset).and_then(|offset| {
                let start = usize::try_from(base + offset).ok()?;
                bytes.get_mut(start..start.checked_add(size)?)
            });
            let Some(place) = place else { continue };
            let mut addend = [0; 8];
            addend[..size].copy_from_slice(place);
            let addend = u64::from_le_bytes(addend);
            let mut value = value(moves, &rewritten, it, addend);
            // Two zeros would end the list there.
            if value == 0 && LISTS.contains(&section.name) {
                value = u64::from(code_place(object, it, addend).is_some());
            }
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
}

/// What a symbol is worth in debug information. What is not in the program is at 0, where no
/// instruction is.
fn value(
    moves: &Moves<'_, '_>,
    rewritten: &BTreeMap<usize, (u64, Rewritten)>,
    relocation: &Relocation,
    addend: u64,
) -> u64 {
    let object = &moves.program.objects[moves.object];
    if let Some(place) = code_place(object, relocation, addend) {
        return moves.address(place);
    }
    let symbol = &object.symbols[relocation.symbol];
    let offset = symbol.value.wrapping_add(addend);
    match symbol.home {
        Home::Section(section) => {
            if let Some((base, it)) = rewritten.get(&section) {
                return base + it.offset(offset).unwrap_or(offset);
            }
            let place = moves.program.place(moves.object, section, offset.cast_signed());
            let target = |place: Place| moves.layout.address(Target::Place(place));
            moves.in_file(place.and_then(target).unwrap_or(0))
        }
        Home::Absolute => offset,
        Home::Undefined | Home::Common => 0,
    }
}
