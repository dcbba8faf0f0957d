//! The listing as assembler source.

use core::fmt::{self, Write};

use super::{Datum, Line, Listing, labels::quoted};

/// The options of [`Listing::text`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TextOptions {
    /// Write slot and address of each instruction, and the address of data, as comments.
    pub addresses: bool,
    /// Write the bytes of each instruction as comments.
    pub bytes: bool,
}

/// The column in which comments start.
const NOTE_COLUMN: usize = 44;

impl Listing {
    /// Returns the listing as assembler source.
    #[must_use]
    pub fn text(&self, options: &TextOptions) -> String {
        let mut text = String::new();
        self.write(&mut text, options).expect("writing to a string does not fail");
        text
    }

    fn write(&self, out: &mut String, options: &TextOptions) -> fmt::Result {
        writeln!(out, "; sBPF {}", self.version)?;
        if let Some(note) = &self.note {
            writeln!(out, "; not loadable: {note}")?;
        }
        if let Some(entry) = &self.entry {
            writeln!(out, ".globl {}", quoted(entry))?;
        }
        for name in &self.syscalls {
            writeln!(out, ".syscall {}", quoted(name))?;
        }
        if let Some(offset) = self.text_offset {
            writeln!(out, ".text_offset {offset:#x}")?;
        }
        writeln!(out, ".text")?;
        for line in &self.lines {
            write_line(out, line, options)?;
        }
        if !self.trailing.is_empty() {
            let bytes: Vec<String> = self.trailing.iter().map(|it| format!("{it:#04x}")).collect();
            writeln!(out, "    .byte {}", bytes.join(", "))?;
        }
        if !self.data.is_empty() {
            writeln!(out, "\n.rodata")?;
        }
        for datum in &self.data {
            write_datum(out, datum, options)?;
        }
        Ok(())
    }
}

fn write_line(out: &mut String, line: &Line, options: &TextOptions) -> fmt::Result {
    if line.is_function {
        writeln!(out)?;
        let name = line.function.as_deref().filter(|name| line.label.as_deref() != Some(name));
        if let Some(name) = name {
            writeln!(out, "; {}", name.replace(char::is_control, " "))?;
        }
    }
    if let Some(label) = &line.label {
        writeln!(out, "{}:", quoted(label))?;
    }
    let mut notes = vec![];
    if options.addresses {
        notes.push(format!("{:>6} {:#x}", line.pc, line.vaddr));
    }
    if options.bytes {
        let bytes: Vec<String> = line.bytes.iter().map(|it| format!("{it:02x}")).collect();
        notes.push(bytes.join(" "));
    }
    notes.extend(line.comment.clone());
    write_statement(out, &line.mnemonic, &line.operands, &notes.join("  "))
}

fn write_datum(out: &mut String, datum: &Datum, options: &TextOptions) -> fmt::Result {
    if let Some(label) = &datum.label {
        writeln!(out, "{}:", quoted(label))?;
    }
    let note = if options.addresses { format!("{:#x}", datum.vaddr) } else { String::new() };
    write_statement(out, datum.directive, &datum.operands, &note)
}

fn write_statement(out: &mut String, verb: &str, operands: &[String], note: &str) -> fmt::Result {
    let start = out.len();
    write!(out, "    {verb}")?;
    if !operands.is_empty() {
        write!(out, " {}", operands.join(", "))?;
    }
    if !note.is_empty() {
        let width = (out.len() - start).max(NOTE_COLUMN - 2) + 2;
        out.extend(core::iter::repeat_n(' ', width - (out.len() - start)));
        write!(out, "; {note}")?;
    }
    writeln!(out)
}
