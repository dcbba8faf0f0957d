//! Debug information for where things went.

use std::collections::BTreeMap;

use crate::{
    layout::Layout,
    object::{Home, R_BPF_64_ABS32, R_BPF_64_NODYLD32, SectionKind},
    program::{Body, Program, Target},
};

/// The debug sections of all objects that something came from, joined by name and relocated.
pub(crate) fn sections<'a>(program: &Program<'a>, layout: &Layout) -> Vec<(&'a str, Vec<u8>)> {
    let mut used: Vec<usize> = layout
        .functions
        .keys()
        .filter_map(|atom| match program.atoms[atom.0].body {
            Body::Part { object, .. } => Some(object),
            _ => None,
        })
        .collect();
    used.sort_unstable();
    used.dedup();
    let mut joined: BTreeMap<&'a str, Vec<u8>> = BTreeMap::new();
    let mut bases: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for &object in &used {
        for (index, section) in program.objects[object].sections.iter().enumerate() {
            if section.kind == SectionKind::Debug {
                let bytes = joined.entry(section.name).or_default();
                bases.insert((object, index), bytes.len() as u64);
                bytes.extend_from_slice(section.data);
            }
        }
    }
    for &object in &used {
        for (index, section) in program.objects[object].sections.iter().enumerate() {
            if section.kind != SectionKind::Debug {
                continue;
            }
            let Some(bytes) = joined.get_mut(section.name) else { continue };
            let base = bases[&(object, index)];
            for it in &section.relocations {
                let size = match it.kind {
                    R_BPF_64_ABS32 | R_BPF_64_NODYLD32 => 4,
                    _ => 8,
                };
                let start = usize::try_from(base + it.offset).unwrap_or(usize::MAX);
                let Some(place) = start.checked_add(size).and_then(|end| bytes.get_mut(start..end))
                else {
                    continue;
                };
                let mut addend = [0; 8];
                addend[..size].copy_from_slice(place);
                let addend = u64::from_le_bytes(addend);
                let value = value(program, layout, &bases, (object, it.symbol), addend);
                place.copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
    }
    joined.into_iter().collect()
}

/// What a symbol is worth in debug information. What is not in the program is at 0, where no
/// instruction is.
fn value(
    program: &Program<'_>,
    layout: &Layout,
    bases: &BTreeMap<(usize, usize), u64>,
    (object, number): (usize, usize),
    addend: u64,
) -> u64 {
    let symbol = &program.objects[object].symbols[number];
    match symbol.home {
        Home::Section(section) => {
            let offset = symbol.value.wrapping_add(addend);
            if let Some(base) = bases.get(&(object, section)) {
                return base.wrapping_add(offset);
            }
            let place = program.place(object, section, offset.cast_signed());
            place.and_then(|place| layout.address(Target::Place(place))).unwrap_or(0)
        }
        Home::Absolute => symbol.value.wrapping_add(addend),
        Home::Undefined | Home::Common => 0,
    }
}
