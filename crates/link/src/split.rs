//! Splitting of code sections into functions.
//!
//! Two functions stay in one piece if a symbol, a jump or falling through leads from one into the
//! other.

use selkie_isa::Slot;

use crate::object::{Binding, Definition, Object, Section, Symbol};

/// Returns the functions that an object defines, by section.
pub(crate) fn functions_by_section<'o, 'a>(object: &'o Object<'a>) -> Vec<Vec<&'o Symbol<'a>>> {
    let mut functions = vec![Vec::new(); object.sections.len()];
    for symbol in object.symbols.iter().filter(|it| it.is_function) {
        if let Definition::Section(section) = symbol.definition {
            functions[section].push(symbol);
        }
    }
    functions
}

/// A function, or several that stay together, in a code section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) name: &'a str,
}

/// Splits a code section at the starts of its functions.
pub(crate) fn pieces<'a>(section: &Section<'a>, mut functions: Vec<&Symbol<'a>>) -> Vec<Piece<'a>> {
    // The first global name of a function is used, or its first local one.
    functions.sort_by_key(|it| (it.value, it.binding == Binding::Local));
    let starts = starts(section, &functions);
    if let [(_, name)] = starts[..] {
        return vec![Piece { start: 0, end: section.size, name }];
    }
    let crossings = crossings(section, &functions, &starts);
    let mut pieces: Vec<Piece<'a>> = Vec::with_capacity(starts.len());
    let mut open = 0;
    for (&(start, name), crossing) in starts.iter().zip(crossings) {
        open += crossing;
        match pieces.last_mut() {
            Some(last) if open == 0 => {
                last.end = start;
                pieces.push(Piece { start, end: section.size, name });
            }
            Some(_) => {}
            None => pieces.push(Piece { start, end: section.size, name }),
        }
    }
    pieces
}

/// Returns the offsets at which functions start, with their names. The first offset is 0.
fn starts<'a>(section: &Section<'a>, functions: &[&Symbol<'a>]) -> Vec<(u64, &'a str)> {
    let is_start = |it: &&&Symbol<'_>| it.value.is_multiple_of(8) && it.value < section.size;
    let mut starts: Vec<(u64, &'a str)> =
        functions.iter().filter(is_start).map(|it| (it.value, it.name)).collect();
    starts.dedup_by_key(|it| it.0);
    if starts.first().is_none_or(|it| it.0 != 0) {
        starts.insert(0, (0, section.name));
    }
    starts
}

/// Returns, for each start, by how much the number of symbols and control flow edges that cross it
/// exceeds that of the start before.
fn crossings(
    section: &Section<'_>,
    functions: &[&Symbol<'_>],
    starts: &[(u64, &str)],
) -> Vec<isize> {
    let piece = |offset: u64| starts.partition_point(|it| it.0 <= offset).saturating_sub(1);
    let mut crossings = vec![0; starts.len() + 1];
    let mut cross = |from: usize, to: usize| {
        crossings[from.min(to) + 1] += 1;
        crossings[from.max(to) + 1] -= 1;
    };
    for it in functions.iter().filter(|it| it.size > 0 && it.value < section.size) {
        cross(piece(it.value), piece(it.value.saturating_add(it.size - 1)));
    }
    for (from, to) in edges(section.data) {
        if to < section.size {
            cross(piece(from), piece(to));
        }
    }
    crossings
}

/// Returns the control flow edges between instructions, except calls: offsets from and to. An edge
/// can lead behind the last instruction.
fn edges(code: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let mut slot = 0;
    let instructions = core::iter::from_fn(move || {
        let raw = Slot::read(code, slot)?;
        let start = slot;
        slot += if raw.code == 0x18 { 2 } else { 1 };
        Some((start, raw, slot))
    });
    instructions.flat_map(|(start, raw, next)| {
        let from = start as u64 * 8;
        let offset = |slot: i64| u64::try_from(slot).ok().map(|it| it.saturating_mul(8));
        let pc = i64::try_from(start).unwrap_or(i64::MAX);
        let target = |distance: i64| offset(pc.saturating_add(1).saturating_add(distance));
        // An exit, a jump, or a call, which may not return.
        let ends = matches!(raw.code, 0x95 | 0x05 | 0x06 | 0x85 | 0x8d);
        let jump = match (raw.code, raw.code & 7) {
            (0x85 | 0x8d | 0x95, _) => None,
            (0x06, _) => target(raw.imm.into()),
            (_, 5 | 6) => target(raw.off.into()),
            _ => None,
        };
        let fall_through = (!ends).then_some(next as u64 * 8);
        [jump, fall_through].into_iter().flatten().map(move |to| (from, to))
    })
}
