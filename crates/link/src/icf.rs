//! Identical code folding: functions and constants that are equal are linked once.
//!
//! Two atoms are equal if their bytes are, and if what they refer to is the same or equal. A reference
//! of a function to itself equals that of another function to itself.
//!
//! Folding gives two functions one address. Functions that are only called do not notice. Others are
//! folded if the options say that addresses of functions need not differ, which is so in Rust. Data
//! is folded if it belongs to the compiler, not to a variable: its name begins with `.L`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use selkie_isa::Kind;

use crate::{
    Icf,
    item::{Item, Operation, Reference},
    object::SectionKind,
    program::{AtomId, Body, Location, Program, Target},
    trace::Live,
};

/// Rounds of comparisons. Each finds the atoms that are equal since those of the round before are.
const ROUNDS_MAX: usize = 16;

/// The atoms that were left out, with the equal ones that are linked in their place.
pub(crate) type Folded = BTreeMap<AtomId, AtomId>;

/// Leaves out reachable functions and constants that are equal to others.
pub(crate) fn fold(program: &Program<'_>, live: &mut Live, entry: AtomId, icf: Icf) -> Folded {
    let mut folded = Folded::new();
    if icf == Icf::None {
        return folded;
    }
    let kept_apart = match icf {
        Icf::All => BTreeSet::from([entry]),
        _ => live
            .functions
            .keys()
            .copied()
            .filter(|it| *it == entry)
            .chain(addressed(live))
            .collect(),
    };
    let is_candidate = |atom: AtomId| match program.atoms[atom.0].kind {
        SectionKind::Code => !kept_apart.contains(&atom) && program.version(atom).is_none(),
        kind => kind == SectionKind::ReadOnly && is_of_compiler(program.atoms[atom.0].name),
    };
    for _ in 0..ROUNDS_MAX {
        let replaced = equals(program, live, is_candidate);
        if replaced.is_empty() {
            break;
        }
        replace(live, &replaced);
        folded.values_mut().for_each(|kept| *kept = *replaced.get(kept).unwrap_or(kept));
        folded.extend(replaced);
    }
    folded
}

/// Returns whether a section holds a constant of the compiler: `.rodata..Lanon.7` or
/// `.rodata..L.str.1`. A symbol whose name begins with `.L` is not visible to the linker, and compilers
/// give such names to constants whose address does not matter.
fn is_of_compiler(section: &str) -> bool {
    section.contains("..L")
}

/// Returns the functions whose address is more than the target of a call.
fn addressed(live: &Live) -> impl Iterator<Item = AtomId> {
    let items = live.functions.values().flatten().filter(|it| !is_call(it));
    let loaded = items.filter_map(|it| match it.reference {
        Reference::Target(Target::Location(it)) => Some(it.atom),
        _ => None,
    });
    let pointers = live.data.values().flatten().filter_map(|it| match it.target {
        Target::Location(it) => Some(it.atom),
        _ => None,
    });
    loaded.chain(pointers)
}

fn is_call(item: &Item) -> bool {
    matches!(item.operation, Operation::Insn(insn) if !matches!(insn.op.kind(), Kind::LoadImm64))
}

/// The content of an atom. Equal atoms have equal contents.
#[derive(PartialEq, Eq, Hash)]
struct Content<'a> {
    kind: SectionKind,
    align: u64,
    bytes: &'a [u8],
    /// For each reference its offset, and what it refers to.
    references: Vec<(u64, Referent)>,
}

/// The target of a reference.
#[derive(PartialEq, Eq, Hash)]
enum Referent {
    /// An offset of the atom that refers.
    Itself(i64),
    Other(Target),
}

impl Referent {
    fn new(from: AtomId, target: Target) -> Self {
        match target {
            Target::Location(it) if it.atom == from => Self::Itself(it.offset),
            other => Self::Other(other),
        }
    }
}

/// Returns candidates and the first atoms that they are equal to.
fn equals(
    program: &Program<'_>,
    live: &Live,
    is_candidate: impl Fn(AtomId) -> bool,
) -> BTreeMap<AtomId, AtomId> {
    let mut first: HashMap<Content<'_>, AtomId> = HashMap::new();
    let mut replaced = BTreeMap::new();
    let atoms: BTreeSet<AtomId> = live.functions.keys().chain(live.data.keys()).copied().collect();
    for atom in atoms.into_iter().filter(|&it| is_candidate(it)) {
        let Some(content) = content(program, live, atom) else { continue };
        let kept = *first.entry(content).or_insert(atom);
        if kept != atom {
            replaced.insert(atom, kept);
        }
    }
    replaced
}

fn content<'a>(program: &Program<'a>, live: &Live, atom: AtomId) -> Option<Content<'a>> {
    let Body::Part { object, section, start, end } = program.atoms[atom.0].body else {
        return None;
    };
    let [start, end] = [start, end].map(|it| usize::try_from(it).unwrap_or(usize::MAX));
    let bytes = program.objects[object].sections[section].data.get(start..end)?;
    let referent = |target| Referent::new(atom, target);
    let references = match live.functions.get(&atom) {
        Some(items) => items
            .iter()
            .filter_map(|it| match it.reference {
                Reference::Target(target) => Some((u64::from(it.slot), referent(target))),
                Reference::Syscall(name) => {
                    Some((u64::from(it.slot), referent(Target::Syscall(name))))
                }
                Reference::None | Reference::Jump(_) => None,
            })
            .collect(),
        None => live.data.get(&atom)?.iter().map(|it| (it.offset, referent(it.target))).collect(),
    };
    let atom = &program.atoms[atom.0];
    Some(Content { kind: atom.kind, align: atom.align, bytes, references })
}

/// Leaves out the replaced atoms, and redirects all references to them.
fn replace(live: &mut Live, replaced: &BTreeMap<AtomId, AtomId>) {
    let redirect = |target: &mut Target| {
        if let Target::Location(Location { atom, .. }) = target {
            *atom = *replaced.get(atom).unwrap_or(atom);
        }
    };
    live.functions.retain(|atom, _| !replaced.contains_key(atom));
    live.data.retain(|atom, _| !replaced.contains_key(atom));
    for item in live.functions.values_mut().flatten() {
        if let Reference::Target(target) = &mut item.reference {
            redirect(target);
        }
    }
    live.data.values_mut().flatten().for_each(|it| redirect(&mut it.target));
}
