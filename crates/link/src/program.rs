//! All inputs combined: atoms, and symbol resolution.
//!
//! An atom is the unit that is linked or left out: a function, or a whole data section. Data is not
//! split into variables, since an address within a section does not say which variable was meant.
//! With `-fdata-sections`, and always in rustc, each variable has a section of its own.

use std::collections::{BTreeMap, HashMap};

use selkie_isa::Version;

use crate::{
    LinkError,
    error::Errors,
    object::{Binding, Definition, Object, Section, SectionKind, Symbol},
    routines::{self, Routine},
    split::{Piece, functions_by_section, pieces},
};

/// The index of an atom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct AtomId(pub(crate) usize);

/// The content of an atom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// Bytes `start..end` of a section.
    Part { object: usize, section: usize, start: u64, end: u64 },
    /// A common symbol: a variable without initial value that several objects may define
    /// (`-fcommon`).
    Common { object: usize, size: u64 },
    /// A routine that the linker provides.
    Routine(Routine),
}

/// A function or a data section.
#[derive(Clone, Debug)]
pub(crate) struct Atom<'a> {
    pub(crate) body: Body,
    pub(crate) kind: SectionKind,
    pub(crate) align: u64,
    /// Not demangled.
    pub(crate) name: &'a str,
}

/// An offset in an atom. It may be outside the atom: its end, for instance.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Location {
    pub(crate) atom: AtomId,
    pub(crate) offset: i64,
}

/// The value of a resolved symbol.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Target {
    Location(Location),
    /// The value of an absolute symbol, or 0 for an undefined weak one.
    Number(u64),
    Syscall(&'static str),
    /// The first byte of the heap behind writable variables.
    HeapStart,
}

/// The symbol whose address is the first byte of the heap that an allocator may use.
pub(crate) const HEAP_START: &str = "__heap_start";

/// The objects, their atoms and their symbols.
pub(crate) struct Program<'a> {
    pub(crate) objects: Vec<Object<'a>>,
    pub(crate) atoms: Vec<Atom<'a>>,
    /// By object and section: the atoms of the section, ascending by offset.
    section_atoms: Vec<Vec<Vec<AtomId>>>,
    globals: HashMap<&'a str, (usize, usize)>,
    commons: BTreeMap<&'a str, AtomId>,
    routines: BTreeMap<Routine, AtomId>,
    /// A reference to each reachable atom on a shortest way from the entry: the referring atom, and the
    /// location referred to. Found by `trace`.
    pub(crate) users: BTreeMap<AtomId, (AtomId, Location)>,
    /// Help texts for undefined symbols.
    undefined_help: BTreeMap<&'a str, String>,
}

/// The number of undefined symbols for which a similar name is searched.
const SUGGESTIONS_MAX: usize = 20;

impl<'a> Program<'a> {
    pub(crate) fn new(objects: Vec<Object<'a>>, errors: &mut Errors) -> Self {
        let mut program = Self {
            objects: Vec::new(),
            atoms: Vec::new(),
            section_atoms: Vec::new(),
            globals: HashMap::new(),
            commons: BTreeMap::new(),
            routines: BTreeMap::new(),
            users: BTreeMap::new(),
            undefined_help: BTreeMap::new(),
        };
        for (index, object) in objects.iter().enumerate() {
            let functions = functions_by_section(object);
            let sections = functions.into_iter().enumerate();
            let split = |(section, functions)| program.split(index, object, section, functions);
            let section_atoms = sections.map(split).collect();
            program.section_atoms.push(section_atoms);
            if let Some(it) = object.sections.iter().find(|it| is_constructor(it)) {
                let message = "constructors or destructors, which no Solana program runs";
                let help = "give globals constant initializers, and call other constructors from \
                            the entry function";
                let error = LinkError::new(message).object(&object.name);
                errors.push(error.section(it.name).help(help));
            }
        }
        for (index, object) in objects.iter().enumerate() {
            for (number, symbol) in object.symbols.iter().enumerate() {
                if symbol.binding != Binding::Local && symbol.definition != Definition::Undefined {
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
        // The linker's own routines take precedence over those of archive members.
        if objects[id.0].is_member && routines::provides(symbol.name) {
            return;
        }
        let rank = |it: &Symbol<'_>| match (it.definition, it.binding) {
            (Definition::Common, _) => 1,
            (_, Binding::Weak) => 0,
            _ => 2,
        };
        if symbol.definition == Definition::Common {
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
                let message = format!("defined twice, in {first} and in {second}");
                let help = "rename one of them, or make it `static` or weak";
                errors.push(LinkError::new(message).object(second).symbol(symbol.name).help(help));
            }
            (known, new) if new > known => _ = self.globals.insert(symbol.name, id),
            _ => {}
        }
    }

    /// Adds a common symbol. Those of one name share an atom of the largest size. The value of a
    /// common symbol is its alignment.
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

    /// Splits a section into atoms and adds them.
    fn split(
        &mut self,
        index: usize,
        object: &Object<'a>,
        number: usize,
        functions: Vec<&Symbol<'a>>,
    ) -> Vec<AtomId> {
        let section = &object.sections[number];
        let pieces = match section.kind {
            SectionKind::Code => pieces(section, functions),
            SectionKind::ReadOnly | SectionKind::Writable | SectionKind::Zeroed => {
                vec![Piece { start: 0, end: section.size, name: section.name }]
            }
            _ => return Vec::new(),
        };
        let mut ids = Vec::with_capacity(pieces.len());
        for Piece { start, end, name } in pieces {
            let body = Body::Part { object: index, section: number, start, end };
            ids.push(AtomId(self.atoms.len()));
            self.atoms.push(Atom { body, kind: section.kind, align: section.align, name });
        }
        ids
    }

    /// Returns the location of an offset in a section. Where two atoms meet, it is in the later one.
    pub(crate) fn location(&self, object: usize, section: usize, offset: i64) -> Option<Location> {
        let section_atoms = self.section_atoms.get(object)?.get(section)?;
        let start = |id: &AtomId| match self.atoms[id.0].body {
            Body::Part { start, .. } => start,
            _ => 0,
        };
        let index =
            section_atoms.partition_point(|id| start(id).cast_signed() <= offset).max(1) - 1;
        let &atom = section_atoms.get(index)?;
        Some(Location { atom, offset: offset - start(&atom).cast_signed() })
    }

    /// Resolves symbol `number` of an object.
    pub(crate) fn resolve(&mut self, object: usize, number: usize) -> Result<Target, LinkError> {
        let symbol = self.objects[object].symbols[number];
        let (object, symbol) = match symbol.binding {
            Binding::Local => (object, symbol),
            _ => match self.globals.get(symbol.name) {
                Some(&(object, number)) => (object, self.objects[object].symbols[number]),
                None => return self.provided(object, &symbol),
            },
        };
        match symbol.definition {
            Definition::Undefined => self.provided(object, &symbol),
            Definition::Absolute => Ok(Target::Number(symbol.value)),
            Definition::Common => match self.commons.get(symbol.name) {
                Some(&atom) => Ok(Target::Location(Location { atom, offset: 0 })),
                None => {
                    Err(LinkError::new(format!("the common symbol `{}` is local", symbol.name)))
                }
            },
            Definition::Section(section) => {
                let location = self.location(object, section, symbol.value.cast_signed());
                location.map(Target::Location).ok_or_else(|| self.not_loadable(object, section))
            }
        }
    }

    fn not_loadable(&self, object: usize, section: usize) -> LinkError {
        let section = &self.objects[object].sections[section];
        match section.kind {
            SectionKind::ThreadLocal => {
                let message = "thread-local variables are not supported: programs have no threads";
                LinkError::new(message).help("make them plain statics")
            }
            _ => LinkError::new(format!("a reference to {}, which is not linked", section.name))
                .help("put the symbol into a section of code or data"),
        }
    }

    /// Resolves a symbol that no object defines: the linker may provide it, or it may be weak.
    fn provided(&mut self, object: usize, symbol: &Symbol<'a>) -> Result<Target, LinkError> {
        if let Some(name) = routines::syscall(symbol.name) {
            return Ok(Target::Syscall(name));
        }
        if let Some(routine) = Routine::by_name(symbol.name) {
            return Ok(Target::Location(Location { atom: self.routine(routine), offset: 0 }));
        }
        if symbol.name == HEAP_START {
            return Ok(Target::HeapStart);
        }
        if symbol.binding == Binding::Weak {
            return Ok(Target::Number(0));
        }
        Err(self.undefined(object, symbol.name))
    }

    /// Returns the atom of a routine that the linker provides, and adds it on first use.
    pub(crate) fn routine(&mut self, routine: Routine) -> AtomId {
        let atoms = &mut self.atoms;
        *self.routines.entry(routine).or_insert_with(|| {
            let (body, kind) = (Body::Routine(routine), SectionKind::Code);
            atoms.push(Atom { body, kind, align: 8, name: routine.name() });
            AtomId(atoms.len() - 1)
        })
    }

    fn undefined(&mut self, object: usize, name: &'a str) -> LinkError {
        if !self.undefined_help.contains_key(name) && self.undefined_help.len() < SUGGESTIONS_MAX {
            let mut names: Vec<&str> = self.globals.keys().copied().collect();
            names.sort_unstable();
            let known = names.into_iter().chain(routines::names().map(|it| -> &str { it }));
            let meant = selkie_isa::suggest::nearest(name, known);
            let help = match (routines::advice_of_builtin(name), meant) {
                (Some(advice), _) => advice.to_owned(),
                (None, Some(meant)) => format!("did you mean `{meant}`?"),
                (None, None) => routines::advice(name).to_owned(),
            };
            self.undefined_help.insert(name, help);
        }
        let help =
            self.undefined_help.get(name).map_or_else(|| routines::advice(name), String::as_str);
        let message = format!("undefined symbol `{}`", selkie_inspect::demangle(name));
        LinkError::new(message).object(&self.objects[object].name).help(help).once()
    }

    /// Returns the entry function.
    pub(crate) fn entry(&mut self, name: &str) -> Result<AtomId, LinkError> {
        let Some(&(object, number)) = self.globals.get(name) else {
            return Err(self.no_entry(name));
        };
        let target = self.resolve(object, number)?;
        let error = |message: String| {
            let help = "the entry must be a function: name one with --entry";
            Err(LinkError::new(message).object(&self.objects[object].name).help(help))
        };
        match target {
            Target::Location(it) if self.atoms[it.atom.0].kind != SectionKind::Code => {
                error(format!("the entry `{name}` is not a function"))
            }
            Target::Location(Location { atom, offset: 0 }) => Ok(atom),
            Target::Location(_) => {
                error(format!("the entry `{name}` is in the middle of a function"))
            }
            _ => error(format!("the entry `{name}` is not a function")),
        }
    }

    /// Makes the error for a missing entry function, with names that may have been meant.
    fn no_entry(&self, name: &str) -> LinkError {
        let mut functions: Vec<&str> = self.functions().collect();
        functions.sort_unstable();
        let error = LinkError::new(format!("no entry function `{name}`"));
        match selkie_isa::suggest::nearest(name, functions.iter().copied()) {
            Some(meant) => error.help(format!("did you mean `{meant}`? --entry {meant}")),
            None if functions.is_empty() => error.help(
                "no object defines a global function; in Rust, `entrypoint!` or Anchor's `#[program]` \
                 defines it, unless a feature such as `no-entrypoint` leaves it out, or only one such \
                 as `bpf-entrypoint` puts it in: `selkie build -- --features bpf-entrypoint`",
            ),
            None => {
                functions.truncate(5);
                let list = functions.join("`, `");
                error.help(format!("--entry selects another function: `{list}`"))
            }
        }
    }

    /// Returns the sBPF version of a function; `None` for eBPF.
    pub(crate) fn version(&self, atom: AtomId) -> Option<Version> {
        match self.atoms[atom.0].body {
            Body::Part { object, .. } => self.objects[object].version,
            _ => None,
        }
    }

    fn functions(&self) -> impl Iterator<Item = &'a str> + '_ {
        let symbols = self.objects.iter().flat_map(|it| &it.symbols);
        let defined = symbols.filter(|it| it.is_function && it.binding != Binding::Local);
        defined.filter(|it| it.definition != Definition::Undefined).map(|it| it.name)
    }

    /// Adds object and section of an atom to an error.
    pub(crate) fn attribute(&self, atom: AtomId, error: LinkError) -> LinkError {
        match self.atoms[atom.0].body {
            Body::Part { object: index, section, .. } => {
                let object = &self.objects[index];
                let error = error.object(&object.name).section(object.sections[section].name);
                error.section_index(index, section)
            }
            Body::Common { object, .. } => error.object(&self.objects[object].name),
            Body::Routine(_) => error,
        }
    }

    /// Returns the names of what keeps the code or data at an offset of a section: what refers to it,
    /// what refers to that, and so on up to the entry.
    pub(crate) fn kept_by(&self, object: usize, section: usize, offset: u64) -> Vec<String> {
        let location = self.location(object, section, offset.cast_signed());
        location.map(|it| self.users_of(it.atom)).unwrap_or_default()
    }

    /// Returns the names of what keeps an atom.
    pub(crate) fn users_of(&self, atom: AtomId) -> Vec<String> {
        let user = |atom: &AtomId| self.users.get(atom).map(|it| it.0);
        // Atoms were reached from the entry, so following their users ends there.
        let users = core::iter::successors(user(&atom), user);
        users.map(|it| selkie_inspect::demangle(self.atoms[it.0].name)).collect()
    }

    /// Returns the name of the variable at a location, or else that of the section.
    pub(crate) fn variable(&self, location: Location) -> &'a str {
        let atom = &self.atoms[location.atom.0];
        let Body::Part { object, section, .. } = atom.body else { return atom.name };
        let offset = u64::try_from(location.offset).unwrap_or_default();
        let is_in = |it: &&Symbol<'_>| it.definition == Definition::Section(section);
        let symbols = self.objects[object].symbols.iter().filter(is_in);
        let before: Vec<_> =
            symbols.filter(|it| !it.name.is_empty() && it.value <= offset).collect();
        let contains = |it: &&&Symbol<'_>| offset - it.value < it.size.max(1);
        let containing =
            before.iter().filter(contains).min_by_key(|it| it.binding == Binding::Local);
        // Symbols of assembly may have no size.
        let unsized_ = before.iter().filter(|it| it.size == 0).max_by_key(|it| it.value);
        containing.or(unsized_).map_or(atom.name, |it| it.name)
    }
}

fn is_constructor(section: &Section<'_>) -> bool {
    section.kind == SectionKind::Constructors && section.size > 0
}
