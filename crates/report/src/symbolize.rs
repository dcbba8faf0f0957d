//! The functions and lines of slots, for all programs of a report.

use std::{collections::BTreeMap, path::PathBuf, rc::Rc};

use selkie::{
    InstructionError, Pubkey,
    programs::{
        self,
        errors::{self, ErrorName},
    },
};
use selkie_inspect::{Location, dwarf::Refusal};
use selkie_replay::{DebugFiles, ProgramView, Timeline, offset_name};

use crate::text::hash;

/// A place in a source: file and line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Line {
    /// The file as the compiler recorded it.
    pub file: Rc<str>,
    /// The line, from 1.
    pub line: u32,
}

/// A function that contains a slot: one of its own, or one that was inlined into it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The demangled name.
    pub name: Rc<str>,
    /// The line in it: of the instruction, or of the call that was inlined.
    pub line: Option<Line>,
    /// Whether the line is in the user's own code.
    pub is_own: bool,
}

/// A program, with what is known of its slots.
#[derive(Debug)]
pub struct Symbols {
    /// The program itself.
    pub view: ProgramView,
    /// The name for people: that of a well-known program, or of the file with its debug information.
    pub name: Option<String>,
    slots: BTreeMap<u32, Rc<[Function]>>,
}

/// A program by its address, and the number of its ELF file among those that were at the address.
pub type Version = (Pubkey, usize);

/// The programs of a report. At one address there may be several, of different transactions: look-ups
/// by address give the one of the transaction that was added last.
#[derive(Default, Debug)]
pub struct Programs {
    files: DebugFiles,
    /// The programs at each address, in the order in which they were added.
    programs: BTreeMap<Pubkey, Vec<Symbols>>,
    /// Those of the last transaction.
    current: BTreeMap<Pubkey, usize>,
    builtins: BTreeMap<Pubkey, String>,
    /// The names that replays give.
    given: BTreeMap<Pubkey, String>,
}

impl Programs {
    /// Returns no programs; those to come are looked for in these files.
    #[must_use]
    pub fn new(files: DebugFiles) -> Self {
        Self { files, ..Self::default() }
    }

    /// Adds the programs that a transaction invokes.
    pub fn add(&mut self, timeline: &Timeline) {
        self.files.add_named(timeline.symbols());
        for invocation in timeline.invocations() {
            let id = invocation.program;
            if let Some(builtin) = timeline.svm().environment().builtins.get(&id) {
                self.builtins.insert(id, builtin.name.to_owned());
            }
            if let Some(name) = timeline.svm().name_of(&id) {
                self.given.insert(id, name);
            }
            let elf = timeline.program_file(&id);
            match elf.and_then(|elf| self.version_of(id, elf)) {
                Some(number) => self.current.insert(id, number),
                None => self.current.remove(&id),
            };
        }
    }

    /// Returns the number of an ELF file among those at an address, and adds it if it is new.
    fn version_of(&mut self, id: Pubkey, elf: Vec<u8>) -> Option<usize> {
        let versions = self.programs.entry(id).or_default();
        if let Some(known) = versions.iter().position(|it| it.view.elf == elf) {
            return Some(known);
        }
        let view = ProgramView::open(id, elf, &self.files, self.given.get(&id).cloned())?;
        let mut name = view.name.clone();
        if versions.iter().any(|it| it.name == name) {
            let plain = name.unwrap_or_else(|| id.to_string());
            name = Some(format!("{plain} (ELF {:.8})", hash(&view.elf)));
        }
        versions.push(Symbols { view, name, slots: BTreeMap::new() });
        Some(versions.len() - 1)
    }

    /// Returns which of the programs at an address is the one of the transaction added last.
    #[must_use]
    pub fn version(&self, id: &Pubkey) -> Version {
        (*id, self.current.get(id).copied().unwrap_or_default())
    }

    /// Returns a program; `None` if it is builtin or unknown.
    #[must_use]
    pub fn get(&self, id: &Pubkey) -> Option<&Symbols> {
        self.programs.get(id)?.get(*self.current.get(id)?)
    }

    /// Returns a program, to look up slots.
    pub fn get_mut(&mut self, id: &Pubkey) -> Option<&mut Symbols> {
        self.programs.get_mut(id)?.get_mut(*self.current.get(id)?)
    }

    /// Returns all programs that are not builtin, by address.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Version, &mut Symbols)> {
        let addresses = self.programs.iter_mut();
        addresses.flat_map(|(id, all)| (0..).map(|number| (*id, number)).zip(all))
    }

    /// Returns the name of a program for people, or else its address.
    #[must_use]
    pub fn name(&self, id: &Pubkey) -> String {
        let name = self.get(id).and_then(|it| it.name.as_ref()).or_else(|| self.builtins.get(id));
        name.or_else(|| self.given.get(id)).map_or_else(|| id.to_string(), Clone::clone)
    }

    /// Returns what the custom error means that a program returned; `None` if it is no custom error, or
    /// if nothing tells.
    #[must_use]
    pub fn error_name(
        &self,
        id: &Pubkey,
        error: &InstructionError,
        logs: &[String],
    ) -> Option<ErrorName> {
        let InstructionError::Custom(code) = *error else { return None };
        match self.get(id) {
            Some(program) => program.view.error_name(code, logs),
            None => errors::decode(id, code, logs),
        }
    }

    /// Returns the files and folders in which debug information was looked for.
    #[must_use]
    pub fn searched(&self) -> &[PathBuf] {
        self.files.searched()
    }

    /// Returns the names of the programs whose debug information is not used, and why.
    pub fn refusals(&self) -> impl Iterator<Item = (String, Refusal)> {
        let addresses = self.programs.iter();
        let all = addresses.flat_map(|(id, all)| (0..).map(|number| (*id, number)).zip(all));
        all.filter_map(|(id, symbols)| Some((self.name_of(id), symbols.view.map.refusal()?)))
    }

    /// Returns the names of the programs without lines, other than well-known ones, if no program has
    /// any.
    #[must_use]
    pub fn without_lines(&self) -> Vec<String> {
        let users = self.programs.keys().filter(|id| programs::by_id(id).is_none());
        let users: Vec<&Pubkey> = users.collect();
        let has_lines = |id: &&Pubkey| self.programs[*id].iter().any(|it| it.view.map.has_lines());
        match users.iter().any(has_lines) {
            true => Vec::new(),
            false => users.into_iter().map(|id| self.name(id)).collect(),
        }
    }

    /// Returns the name of one of the programs at an address.
    #[must_use]
    pub fn name_of(&self, (id, number): Version) -> String {
        let program = self.programs.get(&id).and_then(|all| all.get(number));
        program.and_then(|it| it.name.clone()).unwrap_or_else(|| self.name(&id))
    }
}

impl Symbols {
    /// Returns the functions that contain a slot, from the one that was not inlined to the innermost
    /// inlined one. There is always one.
    pub fn functions_at(&mut self, pc: u32) -> Rc<[Function]> {
        if let Some(known) = self.slots.get(&pc) {
            return Rc::clone(known);
        }
        let found = self.look_up(pc);
        self.slots.insert(pc, Rc::clone(&found));
        found
    }

    fn look_up(&self, pc: u32) -> Rc<[Function]> {
        let line = |it: Location| Line { file: it.file.into(), line: it.line };
        let frames = self.view.map.frames_at(pc);
        let own = self.view.map.own();
        let mut functions: Vec<Function> = frames
            .into_iter()
            .rev()
            .map(|frame| Function {
                name: frame.function.unwrap_or_default().into(),
                is_own: frame.location.as_ref().is_some_and(|it| own.contains(&it.file)),
                line: frame.location.map(line),
            })
            .collect();
        let slot = usize::try_from(pc).unwrap_or(usize::MAX);
        let name = || match self.view.function_at(slot) {
            Some((_, name)) => name,
            None => self.unnamed(pc),
        };
        match functions.first_mut() {
            // Without lines the name is that of the last symbol, which may be far away: called
            // functions begin a function too.
            Some(outermost) if outermost.name.is_empty() || outermost.line.is_none() => {
                outermost.name = name().into();
            }
            Some(_) => {}
            None => functions.push(Function { name: name().into(), line: None, is_own: false }),
        }
        functions.into()
    }

    /// Returns the name of a function without one, by its offset in the code: `token+0x39a8`.
    fn unnamed(&self, pc: u32) -> String {
        let name = self.name.clone().unwrap_or_else(|| self.view.id.to_string());
        offset_name(&name, pc)
    }

    /// Returns the line of a slot: that of the innermost function.
    pub fn line_at(&mut self, pc: u32) -> Option<Line> {
        self.functions_at(pc).last().and_then(|function| function.line.clone())
    }
}
