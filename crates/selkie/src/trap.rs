//! Why a program was stopped, for people: where, by what, and what may be behind it.
//!
//! Nothing of this is looked for before it is asked for.

use core::fmt;
use std::{fs, path::Path};

use selkie_inspect::{CodeLocation, Graph, Labels, Program, SourceMap, Style, instruction_text};
use selkie_svm::{FeatureSet, Purpose, Stop, elf_environment};

/// Why a program was stopped, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TrapReport {
    /// The error, in the words of the log.
    pub message: String,
    /// The instruction that could not be executed.
    pub place: CodeLocation,
    /// Its text.
    pub instruction: String,
    /// The calls that had not returned, innermost first.
    pub callers: Vec<CodeLocation>,
    /// r0 to r10.
    pub registers: [u64; 11],
    /// What may be behind it, as sentences.
    pub notes: Vec<String>,
}

impl TrapReport {
    /// Explains a stop by the program's file, by names and lines of `map`, and by what was logged.
    #[must_use]
    pub fn new(stop: &Stop<'_>, elf: &[u8], map: &SourceMap, logs: &[String]) -> Self {
        Self {
            message: stop.trap.to_string(),
            place: map.locate(stop.pc),
            instruction: instruction_at(elf, stop.pc),
            callers: stop.call_sites().map(|pc| map.locate(pc)).collect(),
            registers: *stop.registers,
            notes: stop.notes(logs),
        }
    }

    /// A line for each caller, innermost first: a recursion is one line.
    pub fn callers_shown(&self) -> impl Iterator<Item = String> {
        self.callers.chunk_by(|a, b| a == b).filter_map(|same| {
            let caller = same.first()?;
            let times = match same.len() {
                1 => String::new(),
                count => format!("  {count} times"),
            };
            Some(format!("called from pc {}{caller}{times}", caller.pc))
        })
    }
}

/// Everything but registers.
impl fmt::Display for TrapReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, place, instruction, notes, .. } = self;
        write!(f, "trap: {message}\n  --> pc {}{place}: {instruction}", place.pc)?;
        self.callers_shown().try_for_each(|caller| write!(f, "\n  {caller}"))?;
        notes.iter().try_for_each(|note| write!(f, "\nnote: {note}"))
    }
}

fn instruction_at(elf: &[u8], pc: usize) -> String {
    match open(elf) {
        Some(program) => {
            let graph = Graph::new(&program, Style::Selkie);
            instruction_text(program.executable(), &Labels::new(&program, &graph), pc)
        }
        None => "the file cannot be read".to_owned(),
    }
}

fn open(elf: &[u8]) -> Option<Program> {
    Program::open_any(elf, &elf_environment(FeatureSet::all(), Purpose::Execution)).ok()
}

/// What lies beside the file of a program with its names and lines, `program.so.debug`, if its
/// code is the program's.
#[must_use]
pub fn debug_file(path: &Path, elf: &[u8]) -> Option<Vec<u8>> {
    /// More than any file has that a linker writes.
    const FILE_BYTES_MAX: u64 = 512 << 20;
    let beside = path.with_extension("so.debug");
    let is_file = fs::metadata(&beside).is_ok_and(|it| it.is_file() && it.len() <= FILE_BYTES_MAX);
    let debug = is_file.then(|| fs::read(&beside).ok()).flatten()?;
    (open(elf)?.executable().text() == open(&debug)?.executable().text()).then_some(debug)
}
