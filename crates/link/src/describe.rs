//! The description of a linked program.

use selkie_isa::layout::{HEAP_START, SLOT_BYTES};

use crate::{
    icf::Folded,
    layout::{self, Layout, PlacedFunction},
    object::SectionKind,
    program::{AtomId, Body, Program},
    report::{Datum, Function, Linked, User},
    trace::Live,
};

/// What is known of a linked program.
pub(crate) struct Description<'a, 'p> {
    pub(crate) program: &'a Program<'p>,
    pub(crate) live: &'a Live,
    pub(crate) folded: &'a Folded,
    pub(crate) layout: &'a Layout,
}

impl Description<'_, '_> {
    /// Describes the program of a file.
    pub(crate) fn of(&self, elf: Vec<u8>) -> Linked {
        let placed = self.layout.functions.iter();
        let mut functions: Vec<Function> =
            placed.map(|(&atom, it)| self.function(atom, it)).collect();
        functions.sort_by_key(|it| it.pc);
        let mut data: Vec<Datum> = self.live.data.keys().map(|&atom| self.datum(atom)).collect();
        data.sort_by_key(|it| it.addr);
        let has_statics = data.iter().any(|it| it.is_writable);
        Linked {
            elf,
            debug_elf: None,
            version: self.layout.version,
            functions,
            rodata_bytes: self.layout.rodata_bytes,
            heap_bytes: if has_statics { self.layout.heap_start - HEAP_START } else { 0 },
            data,
        }
    }

    fn function(&self, atom: AtomId, placed: &PlacedFunction) -> Function {
        let folded = self.folded.iter().filter(|(_, kept)| **kept == atom);
        Function {
            name: self.name(atom),
            object: self.object(atom),
            pc: placed.start,
            addr: self.layout.addresses.text + u64::from(placed.start) * SLOT_BYTES as u64,
            slots: placed.slots,
            slots_added: placed.slots.saturating_sub(placed.map.last().map_or(0, |it| it.0)),
            stack: placed.legal.stack,
            user: self.user(atom),
            folded: folded.map(|(&atom, _)| self.name(atom)).collect(),
        }
    }

    fn datum(&self, atom: AtomId) -> Datum {
        Datum {
            name: self.program.atoms[atom.0].name.to_owned(),
            object: self.object(atom),
            addr: self.layout.data[&atom],
            size: layout::size(self.program, atom),
            is_writable: self.program.atoms[atom.0].kind != SectionKind::ReadOnly,
            user: self.user(atom),
        }
    }

    fn name(&self, atom: AtomId) -> String {
        selkie_inspect::demangle(self.program.atoms[atom.0].name)
    }

    fn object(&self, atom: AtomId) -> Option<String> {
        match self.program.atoms[atom.0].body {
            Body::Part { object, .. } | Body::Common { object, .. } => {
                Some(self.program.objects[object].name.clone())
            }
            Body::Routine(_) => None,
        }
    }

    fn user(&self, atom: AtomId) -> Option<User> {
        let &(user, _) = self.program.users.get(&atom)?;
        let linked = *self.folded.get(&user).unwrap_or(&user);
        let addr = match self.layout.functions.get(&linked) {
            Some(it) => self.layout.addresses.text + u64::from(it.start) * SLOT_BYTES as u64,
            None => *self.layout.data.get(&linked)?,
        };
        Some(User { name: self.name(linked), addr })
    }
}
