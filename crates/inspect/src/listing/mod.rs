//! Disassembly.
//!
//! [`Listing`] is the program as data: one [`Line`] for each instruction, one [`Datum`] for each
//! piece of read-only data. [`Listing::text`] writes it as assembler source, and [`anza`] as anza
//! sbpf's disassembler does.
//!
//! Invariant: the text of a listing assembles to the instructions that it was made from. Hence an
//! instruction is written by its mnemonic only if its text says all of its bits, and if no
//! assembler would refuse it; any other slot is written as a number.

mod anza;
mod data;
mod labels;
mod line;
mod text;

use selkie_isa::Version;

use crate::{Style, program::Program};

pub use self::{anza::anza, data::Datum, line::Line, text::TextOptions};
use self::{data::Image, labels::LabelMap, line::Writer};

/// A program as a sequence of lines.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The sBPF version.
    pub version: Version,
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// The label of that slot.
    pub entry: Option<String>,
    /// The instructions, in order.
    pub lines: Vec<Line>,
    /// Bytes behind the last whole slot.
    pub trailing: Vec<u8>,
    /// The read-only data, in order.
    pub data: Vec<Datum>,
    /// Names of syscalls that the program calls.
    pub syscalls: Vec<String>,
    /// What the reader should know: why the loader refused the file.
    pub note: Option<String>,
}

impl Listing {
    /// Disassembles a program.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        let instructions = program.instructions(Style::Selkie);
        let image = Image::of(program);
        let labels = LabelMap::of(program, &instructions, &image);
        let mut writer = Writer::new(program, &labels, &image);
        let lines = instructions.iter().map(|it| writer.line(it)).collect();
        let executable = program.executable();
        let text = executable.text();
        let whole = program.slot_count() as usize * selkie_isa::layout::SLOT_BYTES;
        Self {
            version: program.version(),
            entry_pc: executable.entry_pc(),
            entry: labels.text(executable.entry_pc()).map(str::to_owned),
            lines,
            trailing: text.get(whole..).unwrap_or_default().to_vec(),
            data: image.data(&labels),
            syscalls: writer.syscalls.into_iter().collect(),
            note: program.refusal().map(ToString::to_string),
        }
    }
}
