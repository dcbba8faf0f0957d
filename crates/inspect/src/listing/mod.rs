//! Disassembly.
//!
//! [`Listing`] is the program as data: one [`Line`] for each instruction, one [`Datum`] for each
//! piece of read-only data. [`Listing::text`] writes it as assembler source, and [`anza`] as anza
//! sbpf's disassembler does.
//!
//! Invariant: the text of a listing assembles to the instructions that it was made from. Hence an
//! instruction is written by its mnemonic only if its text says all of its bits, and if no
//! assembler would refuse it; any other slot is written as a number. Only calls of syscalls until V2
//! can lose bits: those that mean nothing.

mod anza;
mod data;
mod labels;
mod line;
mod text;

use selkie_isa::{Version, layout::BYTECODE_START};

use crate::{Style, program::Program};

pub use self::{anza::anza, data::Datum, line::Line, text::TextOptions};
use self::{labels::LabelMap, line::Writer};

/// A program as a sequence of lines.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The sBPF version.
    pub version: Version,
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// The label of that slot.
    pub entry: Option<String>,
    /// Where the instructions start in the file, if the text must say so to keep their addresses.
    pub text_offset: Option<u64>,
    /// The instructions, in order.
    pub lines: Vec<Line>,
    /// Bytes behind the last whole slot.
    pub trailing: Vec<u8>,
    /// The read-only data, in order.
    pub data: Vec<Datum>,
    /// Syscalls that the program calls by names that only its file knows.
    pub syscalls: Vec<String>,
    /// What the reader should know: why the loader refused the file.
    pub note: Option<String>,
}

impl Listing {
    /// Disassembles a program.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let instructions = program.instructions(Style::Selkie);
        let labels = LabelMap::of(program, &instructions);
        let mut writer = Writer::new(program, &labels);
        let lines = instructions.iter().map(|it| writer.line(it)).collect();
        let executable = program.executable();
        let text = executable.text();
        let whole = program.slot_count() as usize * selkie_isa::layout::SLOT_BYTES;
        Self {
            version: program.version(),
            entry_pc: executable.entry_pc(),
            entry: labels.text(executable.entry_pc()).map(str::to_owned),
            text_offset: text_offset(program),
            lines,
            trailing: text.get(whole..).unwrap_or_default().to_vec(),
            data: program.image().data(&labels),
            syscalls: writer.syscalls.into_iter().collect(),
            note: program.refusal().map(ToString::to_string),
        }
    }
}

/// Until V2 a program may start anywhere; an assembler that is told nothing puts it right behind
/// the file's header.
fn text_offset(program: &Program) -> Option<u64> {
    const USUAL: u64 = 64;
    let offset = program.executable().text_vaddr().checked_sub(BYTECODE_START)?;
    let can_say = offset > USUAL && offset.is_multiple_of(8) && offset <= 1 << 20;
    (can_say && !program.version().strict_elf()).then_some(offset)
}
