//! The symbols of the program, for tools.

use selkie_elf::write::{self, SymbolKind};
use selkie_isa::layout::SLOT_BYTES;

use crate::{
    layout::Layout,
    legal::CALL_SLOTS,
    object::{Binding, Definition, SectionKind, Symbol},
    program::{AtomId, Body, Location, Program},
};

/// The total length of symbol names that are kept, which no real program reaches. Many symbols of
/// an object can share the bytes of one long name, but those of the program cannot.
const NAME_BYTES_MAX: usize = 64 << 20;

/// Returns the symbols of functions and data: those of objects, of common variables and of the
/// linker's routines.
pub(crate) fn symbols<'a>(program: &Program<'a>, layout: &Layout) -> Vec<write::Symbol<'a>> {
    let mut symbols = Vec::new();
    let mut name_bytes = 0;
    for (index, object) in program.objects.iter().enumerate() {
        for symbol in object.symbols.iter().filter(|it| !it.name.is_empty() && !it.is_section) {
            let Some(symbol) = object_symbol(program, layout, index, symbol) else { continue };
            name_bytes += symbol.name.len();
            if name_bytes <= NAME_BYTES_MAX {
                symbols.push(symbol);
            }
        }
    }
    let atoms = (0..program.atoms.len()).map(AtomId);
    symbols.extend(atoms.filter_map(|atom| atom_symbol(program, layout, atom)));
    symbols
}

/// Returns the symbol of an object as the file states it, if what it names is in the program.
fn object_symbol<'a>(
    program: &Program<'a>,
    layout: &Layout,
    object: usize,
    symbol: &Symbol<'a>,
) -> Option<write::Symbol<'a>> {
    let Definition::Section(section) = symbol.definition else { return None };
    let location = program.location(object, section, symbol.value.cast_signed())?;
    let (kind, offset, size) = match program.atoms[location.atom.0].kind {
        SectionKind::Code if !symbol.is_function && location.offset != 0 => return None,
        SectionKind::Code => {
            let slot = layout.slot(location)?;
            let end = location.offset.wrapping_add_unsigned(symbol.size);
            let end = layout.slot(Location { offset: end, ..location }).unwrap_or(slot);
            (SymbolKind::Function, bytes(slot), bytes(end.saturating_sub(slot)))
        }
        kind => {
            let address = layout.data.get(&location.atom)?.wrapping_add_signed(location.offset);
            let (kind, offset) = data_symbol(layout, kind, address);
            (kind, offset, symbol.size)
        }
    };
    let global = symbol.binding != Binding::Local;
    Some(write::Symbol { name: symbol.name, kind, offset, size, global })
}

/// Returns the names of the parts of functions that have more than one frame, with their places.
pub(crate) fn parts(program: &Program<'_>, layout: &Layout) -> Vec<(String, u64, u64)> {
    let mut parts = Vec::new();
    for (&atom, placed) in &layout.functions {
        let end = placed.start + placed.slots;
        for frame in 2..=placed.legal.frames {
            let start = placed.start + CALL_SLOTS * u32::try_from(frame - 1).unwrap_or_default();
            let next = if frame < placed.legal.frames { start + CALL_SLOTS } else { end };
            let name = format!("{}.{frame}", program.atoms[atom.0].name);
            parts.push((name, bytes(start), bytes(next - start)));
        }
    }
    parts
}

/// Returns the symbol of a part of a function.
pub(crate) fn of_part((name, offset, size): &(String, u64, u64)) -> write::Symbol<'_> {
    let (kind, offset, size) = (SymbolKind::Function, *offset, *size);
    write::Symbol { name, kind, offset, size, global: false }
}

/// Returns the symbol of a common variable or a routine, if it is in the program.
fn atom_symbol<'a>(
    program: &Program<'a>,
    layout: &Layout,
    atom: AtomId,
) -> Option<write::Symbol<'a>> {
    let it = &program.atoms[atom.0];
    let (kind, offset, size, global) = match it.body {
        Body::Part { .. } => return None,
        Body::Common { size, .. } => {
            let (kind, offset) = data_symbol(layout, it.kind, *layout.data.get(&atom)?);
            (kind, offset, size, true)
        }
        Body::Routine(_) => {
            let function = layout.functions.get(&atom)?;
            (SymbolKind::Function, bytes(function.start), bytes(function.slots), false)
        }
    };
    Some(write::Symbol { name: it.name, kind, offset, size, global })
}

/// Returns kind and offset of the symbol of data at an address.
fn data_symbol(layout: &Layout, kind: SectionKind, address: u64) -> (SymbolKind, u64) {
    match kind {
        SectionKind::ReadOnly => {
            (SymbolKind::Object, address.saturating_sub(layout.addresses.rodata))
        }
        _ => (SymbolKind::Absolute, address),
    }
}

fn bytes(slots: u32) -> u64 {
    u64::from(slots) * SLOT_BYTES as u64
}
