//! Everything that was read, as one: atoms, which live or die as a whole, and what names mean.
//!
//! An atom is a function, or a section of data: compilers give each variable a section of its own
//! if they are asked to (`-fdata-sections`, and rustc without being asked), and where they do not,
//! nothing says which variable an address within the section was meant for.

use std::collections::{BTreeMap, HashMap};

use selkie_isa::{Slot, Version};

use crate::{
    LinkError,
    error::Errors,
    object::{Binding, Home, Object, Section, SectionKind, Symbol},
    support::{self, Support},
};

/// An atom's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AtomId(pub(crate) usize);

/// What an atom is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// Bytes `start..end` of a section.
    Part { object: usize, section: usize, start: u64, end: u64 },
    /// A variable that several objects declare and none gives a value (`-fcommon`).
    Common { object: usize, size: u64 },
    /// A routine that the linker writes.
    Support(Support),
}

/// A function or a section of data.
#[derive(Clone, Debug)]
pub(crate) struct Atom<'a> {
    pub(crate) body: Body,
    pub(crate) kind: SectionKind,
    pub(crate) align: u64,
    /// As the linker spells it.
    pub(crate) name: &'a str,
}

/// A place in an atom. It may lie outside of the atom's bytes: just behind, for the end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub(crate) atom: AtomId,
    pub(crate) offset: i64,
}

/// What a symbol stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Place(Place),
    /// A number: of an absolute symbol, or 0 for a weak one that nobody defines.
    Number(u64),
    Syscall(&'static str),
    /// The first byte of the heap that statics leave free.
    HeapStart,
}

/// The symbol that programs may ask for to know where their allocator can begin.
pub(crate) const HEAP_START: &str = "__heap_start";

/// The objects and what is known of them.
pub(crate) struct Program<'a> {
    pub(crate) objects: Vec<Object<'a>>,
    pub(crate) atoms: Vec<Atom<'a>>,
    /// By object and section: the atoms of the section, ascending.
    parts: Vec<Vec<Vec<AtomId>>>,
    globals: HashMap<&'a str, (usize, usize)>,
    commons: BTreeMap<&'a str, AtomId>,
    supports: BTreeMap<Support, AtomId>,
    /// Names that were looked for in vain, with what to do about it.
    missing: BTreeMap<&'a str, String>,
}

/// For more names than this nobody wants to hear what might have been meant.
const SUGGESTIONS_MAX: usize = 20;

impl<'a> Program<'a> {
    pub(crate) fn new(objects: Vec<Object<'a>>, errors: &mut Errors) -> Self {
        let mut program = Self {
            objects: Vec::new(),
            atoms: Vec::new(),
            parts: Vec::new(),
            globals: HashMap::new(),
            commons: BTreeMap::new(),
            supports: BTreeMap::new(),
            missing: BTreeMap::new(),
        };
        for (index, object) in objects.iter().enumerate() {
            let functions = functions_by_section(object);
            let sections = functions.into_iter().enumerate();
            let split = |(section, functions)| program.split(index, object, section, functions);
            let parts = sections.map(split).collect();
            program.parts.push(parts);
            if let Some(it) = object.sections.iter().find(|it| is_constructor(it)) {
                let message = "functions that should run before or after the program: nobody \
                               would call them";
                let help = "give globals constant initializers, and call the rest from the entry";
                let error = LinkError::new(message).object(&object.name);
                errors.push(error.section(it.name).help(help));
            }
        }
        for (index, object) in objects.iter().enumerate() {
            for (number, symbol) in object.symbols.iter().enumerate() {
                if symbol.binding != Binding::Local && symbol.home != Home::Undefined {
                    program.define(&objects, (index, number), symbol, errors);
                }
            }
        }
        program.objects = objects;
        program
    }

    fn define(
        &mut self,
        objects: &[Object<'a>],
        id: (usize, usize),
        symbol: &Symbol<'a>,
        errors: &mut Errors,
    ) {
        // No archive is searched for what the linker provides, nor asked where it was pulled for
        // something else.
        if objects[id.0].is_member && support::provides(symbol.name) {
            return;
        }
        let rank = |it: &Symbol<'_>| match (it.home, it.binding) {
            (Home::Common, _) => 1,
            (_, Binding::Weak) => 0,
            _ => 2,
        };
        if symbol.home == Home::Common {
            self.common(id.0, symbol);
        }
        let Some(&(object, number)) = self.globals.get(symbol.name) else {
            self.globals.insert(symbol.name, id);
            return;
        };
        let known = &objects[object].symbols[number];
        match (rank(known), rank(symbol)) {
            (2, 2) => {
                let (first, second) = (&objects[object].name, &objects[id.0].name);
                let message = format!("defined twice: in {first} and in {second}");
                let help = "rename one, or make one `static` or weak";
                errors.push(LinkError::new(message).object(second).symbol(symbol.name).help(help));
            }
            (known, new) if new > known => _ = self.globals.insert(symbol.name, id),
            _ => {}
        }
    }

    /// Common symbols of one name are one variable, as large as the largest. Their alignment is
    /// their value.
    fn common(&mut self, object: usize, symbol: &Symbol<'a>) {
        let align = symbol.value.clamp(1, 4096).next_power_of_two();
        let atoms = &mut self.atoms;
        let id = *self.commons.entry(symbol.name).or_insert_with(|| {
            let body = Body::Common { object, size: 0 };
            atoms.push(Atom { body, kind: SectionKind::Zeroed, align, name: symbol.name });
            AtomId(atoms.len() - 1)
        });
        let atom = &mut self.atoms[id.0];
        atom.align = atom.align.max(align);
        if let Body::Common { size, .. } = &mut atom.body {
            *size = symbol.size.max(*size);
        }
    }

    /// Makes the atoms of a section.
    fn split(
        &mut self,
        index: usize,
        object: &Object<'a>,
        number: usize,
        functions: Vec<&Symbol<'a>>,
    ) -> Vec<AtomId> {
        let section = &object.sections[number];
        let cuts = match section.kind {
            SectionKind::Code => cuts(section, functions),
            SectionKind::ReadOnly | SectionKind::Writable | SectionKind::Zeroed => {
                vec![(0, section.size, section.name)]
            }
            _ => return Vec::new(),
        };
        let mut ids = Vec::with_capacity(cuts.len());
        for (start, end, name) in cuts {
            let body = Body::Part { object: index, section: number, start, end };
            ids.push(AtomId(self.atoms.len()));
            self.atoms.push(Atom { body, kind: section.kind, align: section.align, name });
        }
        ids
    }

    /// The place at `offset` of a section. Of two atoms that meet there, the later one.
    pub(crate) fn place(&self, object: usize, section: usize, offset: i64) -> Option<Place> {
        let parts = self.parts.get(object)?.get(section)?;
        let start = |id: &AtomId| match self.atoms[id.0].body {
            Body::Part { start, .. } => start,
            _ => 0,
        };
        let index = parts.partition_point(|id| start(id).cast_signed() <= offset).max(1) - 1;
        let &atom = parts.get(index)?;
        Some(Place { atom, offset: offset - start(&atom).cast_signed() })
    }

    /// What symbol `number` of an object stands for.
    pub(crate) fn resolve(&mut self, object: usize, number: usize) -> Result<Target, LinkError> {
        let symbol = self.objects[object].symbols[number];
        if symbol.binding != Binding::Local && support::is_refused(symbol.name) {
            let message = "a number of 128 bits becomes a floating-point one, or the other way";
            return Err(LinkError::new(format!("{message}: `{}`", symbol.name))
                .object(&self.objects[object].name)
                .help("convert by way of 64 bits")
                .once());
        }
        let (object, symbol) = match symbol.binding {
            Binding::Local => (object, symbol),
            _ => match self.globals.get(symbol.name) {
                Some(&(object, number)) => (object, self.objects[object].symbols[number]),
                None => return self.provided(object, &symbol),
            },
        };
        match symbol.home {
            Home::Undefined => self.provided(object, &symbol),
            Home::Absolute => Ok(Target::Number(symbol.value)),
            Home::Common => match self.commons.get(symbol.name) {
                Some(&atom) => Ok(Target::Place(Place { atom, offset: 0 })),
                None => {
                    Err(LinkError::new(format!("the common symbol `{}` is local", symbol.name)))
                }
            },
            Home::Section(section) => {
                let place = self.place(object, section, symbol.value.cast_signed());
                place.map(Target::Place).ok_or_else(|| self.not_loadable(object, section))
            }
        }
    }

    fn not_loadable(&self, object: usize, section: usize) -> LinkError {
        let section = &self.objects[object].sections[section];
        let message = format!("{} is no part of a program, but is referred to", section.name);
        match section.kind {
            SectionKind::ThreadLocal => {
                let message = "variables that each thread has its own of: programs have no threads";
                LinkError::new(message).help("make them plain statics")
            }
            _ => LinkError::new(message),
        }
    }

    /// What the linker itself makes of a name that no object defines.
    fn provided(&mut self, object: usize, symbol: &Symbol<'a>) -> Result<Target, LinkError> {
        if let Some(name) = support::syscall(symbol.name) {
            return Ok(Target::Syscall(name));
        }
        if let Some(support) = Support::by_name(symbol.name) {
            return Ok(Target::Place(Place { atom: self.support(support), offset: 0 }));
        }
        if symbol.name == HEAP_START {
            return Ok(Target::HeapStart);
        }
        if symbol.binding == Binding::Weak {
            return Ok(Target::Number(0));
        }
        Err(self.undefined(object, symbol.name))
    }

    /// The routine that the linker writes, made on first use.
    pub(crate) fn support(&mut self, support: Support) -> AtomId {
        let atoms = &mut self.atoms;
        *self.supports.entry(support).or_insert_with(|| {
            let (body, kind) = (Body::Support(support), SectionKind::Code);
            atoms.push(Atom { body, kind, align: 8, name: support.name() });
            AtomId(atoms.len() - 1)
        })
    }

    fn undefined(&mut self, object: usize, name: &'a str) -> LinkError {
        if !self.missing.contains_key(name) && self.missing.len() < SUGGESTIONS_MAX {
            let mut names: Vec<&str> = self.globals.keys().copied().collect();
            names.sort_unstable();
            let known = names.into_iter().chain(support::names().map(|it| -> &str { it }));
            let meant = selkie_asm::suggest::nearest(name, known);
            let help = match (support::advice_of_builtin(name), meant) {
                (Some(advice), _) => advice.to_owned(),
                (None, Some(meant)) => format!("did you mean `{meant}`?"),
                (None, None) => support::advice(name).to_owned(),
            };
            self.missing.insert(name, help);
        }
        let help = self.missing.get(name).map_or_else(|| support::advice(name), String::as_str);
        let message = format!("`{}` is not defined anywhere", selkie_inspect::demangle(name));
        LinkError::new(message).object(&self.objects[object].name).help(help).once()
    }

    /// The place that the program starts at, and the names that were meant if there is none.
    pub(crate) fn entry(&mut self, name: &str) -> Result<AtomId, LinkError> {
        let message = format!("no function `{name}` for the program to start at");
        let Some(&(object, number)) = self.globals.get(name) else {
            let mut functions: Vec<&str> = self.functions().collect();
            functions.sort_unstable();
            let error = LinkError::new(message);
            return Err(match selkie_asm::suggest::nearest(name, functions.iter().copied()) {
                Some(meant) => error.help(format!("did you mean `{meant}`? --entry {meant}")),
                None if functions.is_empty() => error.help("no object defines a global function"),
                None => {
                    functions.truncate(5);
                    let list = functions.join("`, `");
                    error.help(format!("--entry names another function: `{list}`"))
                }
            });
        };
        match self.resolve(object, number)? {
            Target::Place(Place { atom, offset: 0 })
                if self.atoms[atom.0].kind == SectionKind::Code =>
            {
                Ok(atom)
            }
            Target::Place(Place { atom, .. }) if self.atoms[atom.0].kind == SectionKind::Code => {
                let message = format!("`{name}` lies within another function");
                Err(LinkError::new(message).object(&self.objects[object].name))
            }
            _ => {
                let message = format!("`{name}` is no function");
                Err(LinkError::new(message).object(&self.objects[object].name))
            }
        }
    }

    /// The sBPF version that a function is written in; `None` for eBPF.
    pub(crate) fn version(&self, atom: AtomId) -> Option<Version> {
        match self.atoms[atom.0].body {
            Body::Part { object, .. } => self.objects[object].version,
            _ => None,
        }
    }

    fn functions(&self) -> impl Iterator<Item = &'a str> + '_ {
        let symbols = self.objects.iter().flat_map(|it| &it.symbols);
        let defined = symbols.filter(|it| it.is_function && it.binding != Binding::Local);
        defined.filter(|it| it.home != Home::Undefined).map(|it| it.name)
    }

    /// The object and section of an atom, for messages.
    pub(crate) fn blame(&self, atom: AtomId, error: LinkError) -> LinkError {
        match self.atoms[atom.0].body {
            Body::Part { object: index, section, .. } => {
                let object = &self.objects[index];
                let error = error.object(&object.name).section(object.sections[section].name);
                error.compiled(index, section)
            }
            Body::Common { object, .. } => error.object(&self.objects[object].name),
            Body::Support(_) => error,
        }
    }

    /// The variable at `offset` of a section of data, or what else to call the place.
    pub(crate) fn variable(&self, place: Place) -> &'a str {
        let atom = &self.atoms[place.atom.0];
        let Body::Part { object, section, .. } = atom.body else { return atom.name };
        let at = u64::try_from(place.offset).unwrap_or_default();
        let symbols = self.objects[object].symbols.iter();
        let here = symbols.filter(|it| it.home == Home::Section(section) && !it.name.is_empty());
        let before: Vec<_> = here.filter(|it| it.value <= at).collect();
        let holds = |it: &&&Symbol<'_>| at - it.value < it.size.max(1);
        let holding = before.iter().filter(holds).min_by_key(|it| it.binding == Binding::Local);
        // Assembly need not say how large its data is.
        let open = before.iter().filter(|it| it.size == 0).max_by_key(|it| it.value);
        holding.or(open).map_or(atom.name, |it| it.name)
    }
}

fn is_constructor(section: &Section<'_>) -> bool {
    section.kind == SectionKind::Constructors && section.size > 0
}

/// The functions that an object defines, by section.
fn functions_by_section<'o, 'a>(object: &'o Object<'a>) -> Vec<Vec<&'o Symbol<'a>>> {
    let mut functions = vec![Vec::new(); object.sections.len()];
    for symbol in object.symbols.iter().filter(|it| it.is_function) {
        if let Home::Section(section) = symbol.home {
            functions[section].push(symbol);
        }
    }
    functions
}

/// Where a section of code falls into functions: start, end and name of each. Where a symbol, a jump
/// or control itself goes from one into the next, they stay in one piece.
fn cuts<'a>(section: &Section<'a>, mut functions: Vec<&Symbol<'a>>) -> Vec<(u64, u64, &'a str)> {
    // Of several names for one function the global one counts, and of these the first.
    functions.sort_by_key(|it| (it.value, it.binding == Binding::Local));
    let is_start = |it: &&&Symbol<'_>| it.value.is_multiple_of(8) && it.value < section.size;
    let mut starts: Vec<(u64, &'a str)> =
        functions.iter().filter(is_start).map(|it| (it.value, it.name)).collect();
    starts.dedup_by_key(|it| it.0);
    if starts.first().is_none_or(|it| it.0 != 0) {
        starts.insert(0, (0, section.name));
    }
    if starts.len() == 1 {
        return vec![(0, section.size, starts[0].1)];
    }
    let part = |at: u64| starts.partition_point(|it| it.0 <= at).saturating_sub(1);
    // For each function, how many more ways lead over its start than over that of the one before.
    let mut crossings = vec![0_isize; starts.len() + 1];
    let mut cross = |from: usize, to: usize| {
        crossings[from.min(to) + 1] += 1;
        crossings[from.max(to) + 1] -= 1;
    };
    for it in functions.iter().filter(|it| it.size > 0 && it.value < section.size) {
        cross(part(it.value), part(it.value.saturating_add(it.size - 1)));
    }
    for (from, to) in ways(section.data) {
        if to < section.size {
            cross(part(from), part(to));
        }
    }
    let mut cuts: Vec<(u64, u64, &str)> = Vec::with_capacity(starts.len());
    let mut over = 0;
    for (&(start, name), crossing) in starts.iter().zip(crossings) {
        over += crossing;
        match cuts.last_mut() {
            Some(last) if over == 0 => {
                last.1 = start;
                cuts.push((start, section.size, name));
            }
            Some(_) => {}
            None => cuts.push((start, section.size, name)),
        }
    }
    cuts
}

/// Every way through instructions but calls and from one to the next within a function: from where
/// to where. What comes behind the last instruction is a place too.
fn ways(code: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let mut slot = 0;
    let steps = core::iter::from_fn(move || {
        let raw = Slot::read(code, slot)?;
        let at = slot;
        slot += if raw.code == 0x18 { 2 } else { 1 };
        Some((at, raw, slot))
    });
    steps.flat_map(|(at, raw, next)| {
        let from = at as u64 * 8;
        let place = |slot: i64| u64::try_from(slot).ok().map(|it| it.saturating_mul(8));
        let here = i64::try_from(at).unwrap_or(i64::MAX);
        let target = |distance: i64| place(here.saturating_add(1).saturating_add(distance));
        // An exit, a jump, or a call, which may be one that does not return.
        let ends = matches!(raw.code, 0x95 | 0x05 | 0x06 | 0x85 | 0x8d);
        let jump = match (raw.code, raw.code & 7) {
            (0x85 | 0x8d | 0x95, _) => None,
            (0x06, _) => target(raw.imm.into()),
            (_, 5 | 6) => target(raw.off.into()),
            _ => None,
        };
        let on = (!ends).then_some(next as u64 * 8);
        [jump, on].into_iter().flatten().map(move |to| (from, to))
    })
}
