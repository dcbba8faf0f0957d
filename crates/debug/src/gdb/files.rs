//! What gdb fetches before it asks anything: the list of programs, their files, the registers.

use core::fmt::Write as _;

use super::{layout, machine::Machine, registers};

/// The name of the file of what is outside of programs.
pub(super) const RUNTIME: &str = "/runtime";

/// What gdb fetches.
#[derive(Debug)]
pub(super) struct Files {
    /// The description of the registers.
    pub(super) registers: String,
    /// The list of the programs.
    pub(super) libraries: String,
    /// The files by name. Their number is gdb's descriptor of an open one.
    files: Vec<(String, Vec<u8>)>,
}

impl Files {
    /// Makes the files of a machine.
    pub(super) fn of(machine: &mut Machine) -> Self {
        let names = machine.names();
        let mut files = vec![(RUNTIME.to_owned(), machine.runtime.elf.clone())];
        let mut libraries = String::from("<library-list>\n");
        for (index, (name, image)) in names.into_iter().zip(&machine.programs).enumerate() {
            let (name_text, base) = (escaped(&name), layout::base(index));
            let section = format!("<section address=\"{base:#x}\"/>");
            let _ = writeln!(libraries, "<library name=\"{name_text}\">{section}</library>");
            files.push((name, image.elf.clone()));
        }
        libraries.push_str("</library-list>\n");
        Self { registers: registers::description(), libraries, files }
    }

    /// Returns the descriptor of a file.
    pub(super) fn open(&self, name: &[u8]) -> Option<u32> {
        let index = self.files.iter().position(|(file, _)| file.as_bytes() == name);
        u32::try_from(index?).ok()
    }

    /// Returns the file of a descriptor.
    pub(super) fn get(&self, descriptor: u32) -> Option<&[u8]> {
        let index = usize::try_from(descriptor).ok()?;
        self.files.get(index).map(|(_, bytes)| bytes.as_slice())
    }
}

/// Escapes a name for XML.
fn escaped(name: &str) -> String {
    let name = name.replace('&', "&amp;").replace('<', "&lt;");
    name.replace('>', "&gt;").replace('"', "&quot;")
}

/// Copies a part of a text or file, and returns its length: 0 behind the end.
pub(super) fn part(from: &[u8], offset: u64, len: usize, to: &mut [u8]) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|it| from.get(it..)).unwrap_or_default();
    let len = rest.len().min(len).min(to.len());
    to[..len].copy_from_slice(&rest[..len]);
    len
}
