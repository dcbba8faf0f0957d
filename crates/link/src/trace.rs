//! Reachability: which functions and data the program needs, from its entry on.

use std::collections::{BTreeMap, VecDeque};

use crate::{
    LinkError,
    decode::{address, decode},
    error::{CORRUPT, Errors},
    item::{Item, Reference},
    object::{R_BPF_64_64, R_BPF_64_ABS64, SectionKind},
    program::{AtomId, Body, Location, Program, Target},
};

/// A pointer in data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    pub(crate) offset: u64,
    pub(crate) target: Target,
}

/// The reachable atoms, in the order of the input.
#[derive(Default, Debug)]
pub(crate) struct Live {
    pub(crate) functions: BTreeMap<AtomId, Vec<Item>>,
    pub(crate) data: BTreeMap<AtomId, Vec<Pointer>>,
}

/// Finds everything that is reachable from `entry`, by ascending number of references on the way.
pub(crate) fn trace(program: &mut Program<'_>, entry: AtomId, errors: &mut Errors) -> Live {
    let mut live = Live::default();
    let mut pending = VecDeque::from([entry]);
    while let Some(atom) = pending.pop_front() {
        if live.functions.contains_key(&atom) || live.data.contains_key(&atom) {
            continue;
        }
        let mut reached = Vec::new();
        match program.atoms[atom.0].kind {
            SectionKind::Code => {
                let items = decode(program, atom, errors);
                reached.extend(items.iter().filter_map(|item| match item.reference {
                    Reference::Target(Target::Location(location)) => Some(location),
                    _ => None,
                }));
                live.functions.insert(atom, items);
            }
            _ => {
                let pointers = pointers(program, atom, errors);
                reached.extend(pointers.iter().filter_map(|it| match it.target {
                    Target::Location(location) => Some(location),
                    _ => None,
                }));
                live.data.insert(atom, pointers);
            }
        }
        for location in reached {
            if location.atom != entry {
                program.users.entry(location.atom).or_insert((atom, location));
                pending.push_back(location.atom);
            }
        }
    }
    live
}

/// Returns the pointers in a data section.
fn pointers(program: &mut Program<'_>, atom: AtomId, errors: &mut Errors) -> Vec<Pointer> {
    let Body::Part { object, section, .. } = program.atoms[atom.0].body else { return Vec::new() };
    let relocations = program.objects[object].sections[section].relocations.clone();
    let mut pointers = Vec::with_capacity(relocations.len());
    for relocation in relocations {
        if relocation.kind == 0 {
            continue;
        }
        let offset = relocation.offset;
        let fail = |program: &Program<'_>, error: LinkError| {
            let name = program.variable(Location { atom, offset: offset.cast_signed() });
            program.attribute(atom, error.offset(offset).symbol(name))
        };
        if !matches!(relocation.kind, R_BPF_64_ABS64 | R_BPF_64_64) {
            let message = format!("an unsupported relocation of type {} in data", relocation.kind);
            let help = "pointers in data must have eight bytes";
            errors.push(fail(program, LinkError::new(message).help(help)));
            continue;
        }
        let data = program.objects[object].sections[section].data;
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(bytes) = data.get(at..).and_then(<[u8]>::first_chunk) else {
            let message = "a pointer that crosses the end of its section";
            let error = LinkError::new(message).help(CORRUPT);
            errors.push(fail(program, error));
            continue;
        };
        match address(program, object, relocation.symbol, i64::from_le_bytes(*bytes)) {
            Ok(target) => pointers.push(Pointer { offset, target }),
            Err(error) => errors.push(fail(program, error)),
        }
    }
    pointers
}
