//! Debug information of a program: functions, inlined calls, variables, types and lines.
//!
//! It is read from DWARF on the first question. Invariants: malformed debug information gives fewer
//! answers, never an error or a panic; every walk is bounded, by the size of the file or by a limit
//! beside it.

mod entry;
mod lines;
mod location;
mod places;
mod ranges;
mod scope;
mod stack;
mod tree;
mod types;

use core::fmt;
use std::sync::Arc;

use gimli::{Dwarf, Unit};
use selkie_elf::Sections;
use selkie_inspect::{
    Location, OwnCode, Symbols, demangle,
    dwarf::{self, Reader, Refusal},
};
use selkie_isa::{Version, layout::SLOT_BYTES};

pub(crate) use self::places::is_called;
use self::{lines::Lines, ranges::Functions, stack::FrameBases, tree::Tree};
pub use self::{
    places::{LinePlaces, PathMap},
    scope::{Scope, Variable},
    tree::EntryId,
    types::{Kind, Member, Scalar, Type, TypeRef, Variant},
};

/// The debug information and symbols of a program.
pub struct DebugInfo {
    dwarf: Dwarf<Reader>,
    refusal: Option<Refusal>,
    units: Vec<Unit<Reader>>,
    tree: Tree,
    functions: Functions,
    lines: Lines,
    symbols: Symbols,
    own: OwnCode,
    frame_bases: FrameBases,
    /// The sBPF version of the code, which is here to see how it uses the stack.
    version: Version,
    text: Vec<u8>,
    /// The address of the first instruction, as debug information states it.
    text_addr: u64,
    slots: u32,
}

impl DebugInfo {
    /// Reads the debug information of an ELF file, which may have none.
    #[must_use]
    pub fn load(bytes: &Arc<[u8]>) -> Self {
        let nothing = || dwarf::load(&Arc::from([])).expect("no sections are quickly read");
        let loaded = dwarf::load(bytes);
        let refusal = loaded.as_ref().err().copied();
        let dwarf = loaded.unwrap_or_else(|_| nothing());
        let units = read_units(&dwarf);
        let tree = Tree::read(&units);
        let lines = Lines::read(&dwarf, &units);
        let sections = Sections::read(bytes);
        let text = sections.get(".text");
        let slots = text.map_or(0, |it| it.bytes.len() / SLOT_BYTES);
        let mut info = Self {
            dwarf,
            refusal,
            units,
            tree,
            lines,
            functions: Functions::default(),
            symbols: Symbols::load(bytes),
            own: OwnCode::default(),
            frame_bases: FrameBases::default(),
            version: selkie_elf::version(bytes).unwrap_or_default(),
            text: text.map_or_else(Vec::new, |it| it.bytes.to_vec()),
            text_addr: text.map_or(0, |it| it.addr),
            slots: u32::try_from(slots).unwrap_or(u32::MAX),
        };
        info.functions = Functions::read(&info);
        let entry = dwarf::entry_address(bytes).and_then(|it| info.functions.at(it));
        // Assembly has no functions, but is one unit.
        let unit = entry.and_then(|it| info.unit(it)).or_else(|| info.units.first());
        info.own = unit.map(OwnCode::of_unit).unwrap_or_default();
        info
    }

    /// Returns why the file's debug information is not used, if that is so.
    #[must_use]
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// Returns whether there are lines: whether the program was built with debug information.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.lines.files().next().is_some()
    }

    /// Returns the paths of source files, as the compiler recorded them.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.lines.files().map(|(_, path)| path).filter(|path| !path.is_empty())
    }

    /// Returns which of the source files are the user's own.
    #[must_use]
    pub fn own(&self) -> &OwnCode {
        &self.own
    }

    /// Returns the position of an instruction in the innermost function that it belongs to.
    #[must_use]
    pub fn location(&self, pc: u32) -> Option<Location> {
        self.lines.location(self.address(pc))
    }

    /// Returns first slot and demangled name of the function that contains an instruction, from the
    /// symbol table.
    #[must_use]
    pub fn symbol_at(&self, pc: u32) -> Option<(u32, String)> {
        self.symbols.function_at(pc).map(|(start, name)| (start, demangle(name)))
    }

    /// Returns first slot and demangled name of each function of the symbol table.
    pub fn symbols(&self) -> impl Iterator<Item = (u32, String)> {
        self.symbols.functions().map(|(pc, name)| (pc, demangle(name)))
    }

    fn address(&self, pc: u32) -> u64 {
        self.text_addr.wrapping_add(u64::from(pc) * SLOT_BYTES as u64)
    }

    /// Returns the slot at an address, if it is one of the program's.
    fn slot(&self, address: u64) -> Option<u32> {
        let pc = address.checked_sub(self.text_addr)? / SLOT_BYTES as u64;
        u32::try_from(pc).ok().filter(|&pc| pc < self.slots)
    }
}

fn read_units(dwarf: &Dwarf<Reader>) -> Vec<Unit<Reader>> {
    let mut headers = dwarf.units();
    let headers = core::iter::from_fn(|| headers.next().ok().flatten());
    // A unit that cannot be read is left out.
    headers.filter_map(|header| dwarf.unit(header).ok()).collect()
}

impl fmt::Debug for DebugInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DebugInfo").field("units", &self.units.len()).finish_non_exhaustive()
    }
}
