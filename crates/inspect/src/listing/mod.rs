//! Disassembly.
//!
//! [`Listing`] is the program as data: a [`Line`] for each instruction, a [`Datum`] for each piece of
//! read-only data. [`Listing::text`] writes it as assembler source; [`anza`] writes a program like
//! anza sbpf's disassembler.
//!
//! Invariant: the text of a listing assembles to the same instructions. Therefore an instruction is
//! written by its mnemonic only if its text determines all of its bits, and the assembler accepts it.
//! Any other slot is written as a number. Only calls of syscalls until V2 can lose bits, which have
//! no meaning.

mod anza;
mod data;
mod labels;
mod line;
mod text;

use selkie_isa::{Version, layout::BYTECODE_START};

use crate::{Style, program::NamedProgram};

pub use self::{anza::anza, data::Datum, line::Line, text::TextOptions};
use self::{labels::LabelMap, line::Writer};

/// A disassembled program.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The sBPF version.
    pub version: Version,
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// The label of that slot.
    pub entry: Option<String>,
    /// The file offset of the instructions, if the text must state it to preserve their addresses.
    pub text_offset: Option<u64>,
    /// The instructions, in order.
    pub lines: Vec<Line>,
    /// Bytes after the last whole slot.
    pub trailing: Vec<u8>,
    /// The read-only data, in order.
    pub data: Vec<Datum>,
    /// Called syscalls whose names only the file contains.
    pub syscalls: Vec<String>,
    /// The loader's error, if it refused the file.
    pub note: Option<String>,
}

impl Listing {
    /// Disassembles a program.
    #[must_use]
    pub fn new(program: &NamedProgram) -> Self {
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

/// Returns the file offset of the instructions, if it differs from the assembler's default, which is
/// right after the file header, and the assembler can express it.
fn text_offset(program: &NamedProgram) -> Option<u64> {
    const USUAL: u64 = 64;
    let offset = program.executable().text_vaddr().checked_sub(BYTECODE_START)?;
    let can_say = offset > USUAL && offset.is_multiple_of(8) && offset <= 1 << 20;
    (can_say && !program.version().strict_elf()).then_some(offset)
}
