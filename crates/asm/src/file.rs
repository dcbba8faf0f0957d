//! The ELF file of a program.

use selkie_elf::write;

use crate::{assembly::Assembly, dwarf};

impl Assembly {
    /// Returns the bytes of the `.so` file.
    #[must_use]
    pub fn to_elf(&self) -> Vec<u8> {
        let syscalls: Vec<(u32, &str)> =
            self.syscalls.iter().map(|(pc, name)| (*pc, name.as_str())).collect();
        let symbols = self.file_symbols();
        let debug =
            if self.debug_info && !self.strip { dwarf::of_program(self) } else { Vec::new() };
        write::write(&write::Image {
            version: self.version,
            text: &self.text,
            text_offset: self.text_offset,
            rodata: &self.rodata,
            entry_pc: self.entry_pc,
            syscalls: &syscalls,
            symbols: &symbols,
            debug: &debug,
            strip: self.strip,
        })
    }

    /// Returns the entries of the symbol table, without the labels of compilers unless there is
    /// debug information.
    fn file_symbols(&self) -> Vec<write::Symbol<'_>> {
        self.symbols
            .iter()
            .filter(|symbol| self.debug_info || !symbol.name.starts_with(".L"))
            .map(|symbol| write::Symbol {
                name: &symbol.name,
                kind: symbol.kind,
                offset: symbol.offset.into(),
                size: symbol.size.into(),
                global: symbol.global,
            })
            .collect()
    }
}
