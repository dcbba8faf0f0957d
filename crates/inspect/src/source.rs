//! Functions and source lines of instructions.
//!
//! Functions are from the symbol table. Lines are from the DWARF sections, which are read on first
//! use. Invariant: nothing here fails. Missing or broken symbols and debug information result in no
//! functions and no lines.

use core::{cell::OnceCell, fmt};
use std::sync::Arc;

use addr2line::Context;
use selkie_elf::Sections;
use selkie_isa::{layout::SLOT_BYTES, plain};

use crate::{
    dwarf::{self, Reader, Refusal},
    own::OwnCode,
    symbols::{Symbols, demangle},
};

/// How many entries of debug information may lead from an inlined call to the function's declaration.
const ORIGINS_MAX: usize = 4;

/// A position in a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The path of the file as the compiler recorded it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, if the compiler recorded it.
    pub column: Option<u32>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
    }
}

/// A function, possibly inlined, that contains an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFrame {
    /// The demangled name of the function.
    pub function: Option<String>,
    /// The position of the instruction, or of the inlined call, in the function.
    pub location: Option<Location>,
}

/// An instruction with its function and source line, if known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodeLocation {
    /// Its slot.
    pub pc: usize,
    /// The demangled name of its function.
    pub function: Option<String>,
    /// Its position in the source.
    pub location: Option<Location>,
}

/// Writes function and source line, to follow the slot in a sentence: ` in entrypoint (hello.s:4:5)`.
impl fmt::Display for CodeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, " in {function}")?;
        }
        self.location.as_ref().map_or(Ok(()), |location| write!(f, " ({location})"))
    }
}

/// The functions and lines of a file's instructions.
pub struct SourceMap {
    bytes: Arc<[u8]>,
    /// The address of the first instruction in symbols and debug information: until V2 a file
    /// address, from V3 a guest address.
    text_addr: u64,
    symbols: Symbols,
    lines: OnceCell<Result<Context<Reader>, Refusal>>,
    own: OnceCell<OwnCode>,
}

impl SourceMap {
    /// Reads the symbols of a file. Debug information is read on first use.
    #[must_use]
    pub fn load(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        let symbols = Symbols::load(&bytes);
        let text_addr = Sections::read(&bytes).get(".text").map_or(0, |text| text.addr);
        Self { bytes, text_addr, symbols, lines: OnceCell::new(), own: OnceCell::new() }
    }

    /// Returns the symbols of the file.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Returns the demangled name of the function that contains the instruction at `pc`: the last one
    /// that starts at or before it.
    #[must_use]
    pub fn function_at(&self, pc: u32) -> Option<String> {
        self.symbols.function_at(pc).map(|(_, name)| demangle(name))
    }

    /// Returns the source position of the instruction at `pc`.
    #[must_use]
    pub fn line_at(&self, pc: u32) -> Option<Location> {
        location(&self.lines()?.find_location(self.address(pc)).ok()??)
    }

    /// Returns the innermost position of the instruction at `pc` that is in the user's own code: its own,
    /// or that of a call that was inlined.
    #[must_use]
    pub fn own_line_at(&self, pc: u32) -> Option<Location> {
        let mut locations = self.frames_at(pc).into_iter().filter_map(|it| it.location);
        locations.find(|it| self.own().contains(&it.file))
    }

    /// Returns function and source position of the instruction at `pc`.
    #[must_use]
    pub fn locate(&self, pc: usize) -> CodeLocation {
        let slot = u32::try_from(pc).unwrap_or(u32::MAX);
        CodeLocation { pc, function: self.function_at(slot), location: self.line_at(slot) }
    }

    /// Returns the functions that contain the instruction at `pc`, from the innermost inlined one to
    /// the one that was not inlined.
    #[must_use]
    pub fn frames_at(&self, pc: u32) -> Vec<SourceFrame> {
        let mut frames = self.debug_frames(pc).unwrap_or_default();
        match frames.last_mut() {
            Some(outermost) if outermost.function.is_none() => {
                outermost.function = self.function_at(pc);
            }
            Some(_) => {}
            None => frames.extend(
                self.function_at(pc).map(|it| SourceFrame { function: Some(it), location: None }),
            ),
        }
        frames
    }

    fn debug_frames(&self, pc: u32) -> Option<Vec<SourceFrame>> {
        let iterator = self.lines()?.find_frames(self.address(pc)).skip_all_loads();
        let mut iterator = iterator.ok()?;
        let mut frames = vec![];
        while let Ok(Some(frame)) = iterator.next() {
            let name = frame.function.as_ref().and_then(|it| it.raw_name().ok());
            let function = name.map(|name| demangle(&name));
            frames.push(SourceFrame {
                function,
                location: frame.location.as_ref().and_then(location),
            });
        }
        Some(frames)
    }

    /// Returns the line in which a function was declared that [`SourceMap::frames_at`] lists for an
    /// instruction, by its number in that list.
    #[must_use]
    pub fn declared_line(&self, pc: u32, frame: usize) -> Option<u32> {
        let (lines, address) = (self.lines()?, self.address(pc));
        let unit = lines.find_dwarf_and_unit(address).skip_all_loads()?;
        let mut frames = lines.find_frames(address).skip_all_loads().ok()?;
        let mut found = None;
        for _ in 0..=frame {
            found = frames.next().ok()??.dw_die_offset;
        }
        let mut offset = found?;
        for _ in 0..ORIGINS_MAX {
            let entry = unit.entry(offset).ok()?;
            if let Some(line) = entry.attr_value(gimli::DW_AT_decl_line) {
                return u32::try_from(line.udata_value()?).ok();
            }
            let origins = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
            offset = origins.into_iter().find_map(|name| match entry.attr_value(name)? {
                gimli::AttributeValue::UnitRef(offset) => Some(offset),
                gimli::AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
                _ => None,
            })?;
        }
        None
    }

    /// Returns whether there are lines: whether the program was built with debug information.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        Sections::read(&self.bytes).get(".debug_line").is_some_and(|it| !it.bytes.is_empty())
            && self.lines().is_some()
    }

    /// Returns which of the source files are the user's own.
    pub fn own(&self) -> &OwnCode {
        self.own.get_or_init(|| {
            let unit = self.lines().and_then(|lines| {
                let entry = dwarf::entry_address(&self.bytes)?;
                lines.find_dwarf_and_unit(entry).skip_all_loads()
            });
            unit.map(|it| OwnCode::of_unit(it.unit)).unwrap_or_default()
        })
    }

    fn lines(&self) -> Option<&Context<Reader>> {
        self.read().as_ref().ok()
    }

    /// Returns why the file's debug information is not used, if that is so.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.read().as_ref().err().copied()
    }

    fn read(&self) -> &Result<Context<Reader>, Refusal> {
        self.lines.get_or_init(|| {
            let dwarf = dwarf::load(&self.bytes)?;
            Context::from_dwarf(dwarf).map_err(|_| Refusal::Malformed)
        })
    }

    fn address(&self, pc: u32) -> u64 {
        self.text_addr.wrapping_add(u64::from(pc) * SLOT_BYTES as u64)
    }
}

impl fmt::Debug for SourceMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, text_addr, symbols, lines, own: _ } = self;
        f.debug_struct("SourceMap")
            .field("bytes", &bytes.len())
            .field("text_addr", text_addr)
            .field("symbols", symbols)
            .field("is_read", &lines.get().is_some())
            .finish()
    }
}

/// Converts a position, if it has at least file and line.
fn location(it: &addr2line::Location<'_>) -> Option<Location> {
    let file = plain::line(it.file?).into_owned();
    let line = it.line.filter(|&line| line != 0)?;
    Some(Location { file, line, column: it.column.filter(|&column| column != 0) })
}
