//! What the program needs: everything that can be reached from its entry over references.

use std::collections::BTreeMap;

use crate::{
    LinkError,
    decode::{address, decode},
    error::Errors,
    item::{Item, Link},
    object::{R_BPF_64_64, R_BPF_64_ABS64, SectionKind},
    program::{AtomId, Body, Place, Program, Target},
};

/// A pointer in data: where, and to what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    pub(crate) offset: u64,
    pub(crate) target: Target,
}

/// What is alive, in the order of the input.
#[derive(Default, Debug)]
pub(crate) struct Live {
    pub(crate) functions: BTreeMap<AtomId, Vec<Item>>,
    pub(crate) data: BTreeMap<AtomId, Vec<Pointer>>,
    /// Who needs an atom: the first place that was found to refer to it.
    pub(crate) users: BTreeMap<AtomId, (AtomId, Place)>,
}

/// Follows every reference from `entry` on.
pub(crate) fn trace(program: &mut Program<'_>, entry: AtomId, errors: &mut Errors) -> Live {
    let mut live = Live::default();
    let mut pending = vec![entry];
    while let Some(atom) = pending.pop() {
        if live.functions.contains_key(&atom) || live.data.contains_key(&atom) {
            continue;
        }
        let mut reached = Vec::new();
        match program.atoms[atom.0].kind {
            SectionKind::Code => {
                let items = decode(program, atom, errors);
                reached.extend(items.iter().filter_map(|item| match item.link {
                    Link::Target(Target::Place(place)) => Some(place),
                    _ => None,
                }));
                live.functions.insert(atom, items);
            }
            _ => {
                let pointers = pointers(program, atom, errors);
                reached.extend(pointers.iter().filter_map(|it| match it.target {
                    Target::Place(place) => Some(place),
                    _ => None,
                }));
                live.data.insert(atom, pointers);
            }
        }
        for place in reached {
            live.users.entry(place.atom).or_insert((atom, place));
            pending.push(place.atom);
        }
    }
    live
}

/// The pointers in a section of data.
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
            let name = program.variable(Place { atom, offset: offset.cast_signed() });
            program.blame(atom, error.offset(offset).symbol(name))
        };
        if !matches!(relocation.kind, R_BPF_64_ABS64 | R_BPF_64_64) {
            let message = format!("a relocation of type {} in data", relocation.kind);
            let help = "a pointer has eight bytes; only clang's and rustc's objects are known";
            errors.push(fail(program, LinkError::new(message).help(help)));
            continue;
        }
        let data = program.objects[object].sections[section].data;
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        let Some(bytes) = data.get(at..).and_then(<[u8]>::first_chunk) else {
            let message = "a pointer that reaches over the section's end";
            errors.push(fail(program, LinkError::new(message)));
            continue;
        };
        match address(program, object, relocation.symbol, i64::from_le_bytes(*bytes)) {
            Ok(target) => pointers.push(Pointer { offset, target }),
            Err(error) => errors.push(fail(program, error)),
        }
    }
    pointers
}
