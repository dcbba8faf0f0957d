//! Reports that explain a trap: what happened, where in the sources, and likely causes.
//!
//! Symbols and sources are only looked up when a report is requested.

use core::fmt;
use std::{fs, path::Path};

use selkie_inspect::{CodeLocation, Graph, Labels, Program, SourceMap, Style, instruction_text};
use selkie_svm::{FeatureSet, Purpose, Stop, elf_environment};

/// An explanation of a trap.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TrapReport {
    /// The trap's message, as in the log.
    pub message: String,
    /// The instruction that trapped.
    pub place: CodeLocation,
    /// Its disassembly.
    pub instruction: String,
    /// The call sites of the active call frames, innermost first.
    pub callers: Vec<CodeLocation>,
    /// The registers r0 to r10.
    pub registers: [u64; 11],
    /// Likely causes, one sentence each.
    pub notes: Vec<String>,
}

impl TrapReport {
    /// Explains a stop from the program's ELF file, its debug information and its logs.
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

    /// Renders a line per caller, innermost first; consecutive equal callers (recursion) share one.
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

/// Prints everything but the registers.
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
        None => "the file cannot be decoded".to_owned(),
    }
}

fn open(elf: &[u8]) -> Option<Program> {
    Program::open_any(elf, &elf_environment(FeatureSet::all(), Purpose::Execution)).ok()
}

/// Reads the debug file next to a program, `program.so.debug`; `None` if there is none or its code
/// differs from the program's.
#[must_use]
pub fn debug_file(path: &Path, elf: &[u8]) -> Option<Vec<u8>> {
    /// Larger than any file a linker writes.
    const FILE_BYTES_MAX: u64 = 512 << 20;
    let beside = path.with_extension("so.debug");
    let is_file = fs::metadata(&beside).is_ok_and(|it| it.is_file() && it.len() <= FILE_BYTES_MAX);
    let debug = is_file.then(|| fs::read(&beside).ok()).flatten()?;
    (open(elf)?.executable().text() == open(&debug)?.executable().text()).then_some(debug)
}
