//! Reports that explain a trap: what happened, where in the sources, and likely causes.
//!
//! Symbols and sources are only looked up when a report is requested.

use core::fmt;

use selkie_inspect::{
    Backtrace, CodeLocation, Graph, Labels, NamedProgram, SourceMap, Style, instruction_text,
};
use selkie_svm::{FeatureSet, Purpose, Stop, elf_environment};

/// An explanation of a trap.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TrapReport {
    /// The trap's message, as in the log.
    pub message: String,
    /// The instruction that trapped: function and position are those of the first frame of the user's own
    /// code, or of the innermost function if no frame is known to be that.
    pub place: CodeLocation,
    /// Its disassembly.
    pub instruction: String,
    /// The call sites of the active call frames, innermost first.
    pub callers: Vec<CodeLocation>,
    /// All functions around the instruction, inlined ones included.
    pub backtrace: Backtrace,
    /// The registers r0 to r10.
    pub registers: [u64; 11],
    /// Likely causes, one sentence each.
    pub notes: Vec<String>,
}

impl TrapReport {
    /// Explains a stop from the program's ELF file, its debug information and its logs.
    #[must_use]
    pub fn new(stop: &Stop<'_>, elf: &[u8], map: &SourceMap, logs: &[String]) -> Self {
        let sites = core::iter::once(stop.pc).chain(stop.call_sites());
        let backtrace = Backtrace::new(map, sites);
        let place = match backtrace.place() {
            Some(own) => CodeLocation {
                pc: stop.pc,
                function: own.function.clone(),
                location: own.location.clone(),
            },
            None => map.locate(stop.pc),
        };
        Self {
            message: stop.trap.to_string(),
            place,
            backtrace,
            instruction: instruction_at(elf, stop.pc),
            callers: stop.call_sites().map(|pc| map.locate(pc)).collect(),
            registers: *stop.registers,
            notes: stop.notes(logs),
        }
    }

    /// Renders where the trap was: `src/lib.rs:80:19 in amm::swap, pc 773`, or without lines
    /// `pc 773 in entrypoint`.
    #[must_use]
    pub fn place_line(&self) -> String {
        self.backtrace.instruction_line()
    }

    /// Renders the other frames: a line for each of the user's own, those of libraries folded, and
    /// recursion in one line.
    #[must_use]
    pub fn other_lines(&self) -> Vec<String> {
        self.backtrace.other_lines()
    }
}

/// Prints everything but the registers.
impl fmt::Display for TrapReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, instruction, notes, .. } = self;
        write!(f, "trap: {message}\n  --> {}: {instruction}", self.place_line())?;
        self.other_lines().iter().try_for_each(|line| write!(f, "\n  {line}"))?;
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

pub(crate) fn open(elf: &[u8]) -> Option<NamedProgram> {
    NamedProgram::open_any(elf, &elf_environment(FeatureSet::all(), Purpose::Execution)).ok()
}
