//! The names of functions: from symbol tables, and from linkers' spelling to people's.

use core::fmt::{self, Write as _};
use std::collections::{BTreeMap, btree_map::Entry};

use selkie_elf::{DYNAMIC_NAME_BYTES_MAX, Sections, Symbol};
use selkie_isa::{layout::SLOT_BYTES, truncate};

/// The functions of a file by the slot of their first instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symbols {
    functions: BTreeMap<u32, String>,
    imports: Vec<String>,
}

impl Symbols {
    /// Reads the symbol tables of an ELF file. A file that cannot be read has none.
    #[must_use]
    pub fn load(bytes: &[u8]) -> Self {
        let sections = Sections::read(bytes);
        // Names that overlap in the file do not in memory: they get no more bytes than it has.
        let mut budget = bytes.len();
        let mut symbols = Self { imports: imports(&sections, &mut budget), ..Self::default() };
        let Some(text) = sections.get(".text") else { return symbols };
        for symbol in sections.symbols().filter(|symbol| symbol.is_function) {
            let offset = symbol.addr.wrapping_sub(text.addr);
            if offset < text.bytes.len() as u64
                && offset.is_multiple_of(SLOT_BYTES as u64)
                && let Ok(pc) = u32::try_from(offset / SLOT_BYTES as u64)
                && let Entry::Vacant(place) = symbols.functions.entry(pc)
            {
                let Some(name) = take(&mut budget, &symbol) else { break };
                place.insert(name);
            }
        }
        symbols
    }

    /// The function that the instruction at `pc` belongs to: the last one that starts at or
    /// before it. Its first slot, and its name as the linker spells it.
    #[must_use]
    pub fn function_at(&self, pc: u32) -> Option<(u32, &str)> {
        let (&start, name) = self.functions.range(..=pc).next_back()?;
        Some((start, name))
    }

    /// Every function, by its first slot.
    pub fn functions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.functions.iter().map(|(&pc, name)| (pc, name.as_str()))
    }

    /// The names that the file uses but does not define: its syscalls.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        self.imports.iter().map(String::as_str)
    }
}

/// The names of the symbols that a file imports, but for those that no loader would take.
fn imports(sections: &Sections<'_>, budget: &mut usize) -> Vec<String> {
    let names = sections.imports().map_while(|symbol| take(budget, &symbol));
    names.filter(|name| name.len() < DYNAMIC_NAME_BYTES_MAX).collect()
}

/// The name of a symbol, unless the budget has fewer bytes left than it takes.
fn take(budget: &mut usize, symbol: &Symbol<'_>) -> Option<String> {
    let name = symbol.name();
    *budget = budget.checked_sub(name.len())?;
    Some(name.into_owned())
}

/// A name as people write it: Rust's and C++'s mangling undone, all else as it is. What is too long
/// to be shown is cut ([`truncate::name`]).
///
/// ```
/// use selkie_inspect::demangle;
/// assert_eq!(demangle("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
/// assert_eq!(demangle("_Z3addii"), "add(int, int)");
/// assert_eq!(demangle("entrypoint"), "entrypoint");
/// ```
#[must_use]
pub fn demangle(name: &str) -> String {
    let plain = rust(name).or_else(|| cpp(name));
    truncate::name(plain.as_deref().unwrap_or(name)).into_owned()
}

fn rust(name: &str) -> Option<String> {
    let rust = rustc_demangle::try_demangle(name).ok()?;
    Bounded::write(|text| write!(text, "{rust:#}").ok())
}

/// The name as anza's tools write it: with the hash of Rust's older mangling, and C++'s as it is.
pub(crate) fn demangle_rust(name: &str) -> String {
    let rust = rustc_demangle::demangle(name);
    Bounded::write(|text| write!(text, "{rust}").ok()).unwrap_or_else(|| name.to_owned())
}

fn cpp(name: &str) -> Option<String> {
    let symbol = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok())??;
    let options = cpp_demangle::DemangleOptions::new();
    Bounded::write(|text| symbol.structured_demangle(text, &options).ok())
}

/// Takes no more than a page of text: parts of a mangled name can refer to each other so that the
/// text of a short one would fill the memory.
struct Bounded(String);

impl Bounded {
    /// What is written, unless it is too long.
    fn write(write: impl FnOnce(&mut Self) -> Option<()>) -> Option<String> {
        let mut text = Self(String::new());
        write(&mut text)?;
        Some(text.0)
    }
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > 4096 {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
