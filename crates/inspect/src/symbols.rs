//! The functions of symbol tables, and demangling of their names.

use core::fmt::{self, Write as _};
use std::collections::{BTreeMap, btree_map::Entry};

use selkie_elf::{DYNAMIC_NAME_BYTES_MAX, Sections, Symbol};
use selkie_isa::{layout::SLOT_BYTES, truncate};

/// The functions and imports of a file's symbol tables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Symbols {
    functions: BTreeMap<u32, String>,
    imports: Vec<String>,
}

impl Symbols {
    /// Reads the symbol tables of an ELF file; a file that cannot be read has no symbols.
    #[must_use]
    pub fn load(bytes: &[u8]) -> Self {
        let sections = Sections::read(bytes);
        // Names can overlap in the file, so their total length in memory is limited to its size.
        let mut budget = bytes.len();
        let mut symbols = Self { imports: imports(&sections, &mut budget), ..Self::default() };
        let Some(text) = sections.get(".text") else { return symbols };
        for symbol in sections.symbols().filter(|symbol| symbol.is_function) {
            let offset = symbol.addr.wrapping_sub(text.addr);
            if offset < text.bytes.len() as u64
                && offset.is_multiple_of(SLOT_BYTES as u64)
                && let Ok(pc) = u32::try_from(offset / SLOT_BYTES as u64)
                && let Entry::Vacant(entry) = symbols.functions.entry(pc)
            {
                let Some(name) = take_name(&mut budget, &symbol) else { break };
                entry.insert(name);
            }
        }
        symbols
    }

    /// Returns first slot and name, not demangled, of the function that contains the instruction at
    /// `pc`: the last one that starts at or before it.
    #[must_use]
    pub fn function_at(&self, pc: u32) -> Option<(u32, &str)> {
        let (&start, name) = self.functions.range(..=pc).next_back()?;
        Some((start, name))
    }

    /// Returns first slot and name of each function, in the order of slots.
    pub fn functions(&self) -> impl Iterator<Item = (u32, &str)> {
        self.functions.iter().map(|(&pc, name)| (pc, name.as_str()))
    }

    /// Returns the names of undefined symbols: the syscalls of the program.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        self.imports.iter().map(String::as_str)
    }
}

/// Returns the names of imported symbols that are not too long for the loader.
fn imports(sections: &Sections<'_>, budget: &mut usize) -> Vec<String> {
    let names = sections.imports().map_while(|symbol| take_name(budget, &symbol));
    names.filter(|name| name.len() < DYNAMIC_NAME_BYTES_MAX).collect()
}

/// Returns the name of a symbol and subtracts its length from the budget, unless that is exceeded.
fn take_name(budget: &mut usize, symbol: &Symbol<'_>) -> Option<String> {
    let name = symbol.name();
    *budget = budget.checked_sub(name.len())?;
    Some(name.into_owned())
}

/// Demangles a Rust or C++ name. Other names are returned unchanged. Long names are cut
/// ([`truncate::name`]).
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

/// Returns the name of the item that a closure belongs to, and other names unchanged.
///
/// ```
/// use selkie_inspect::item_name;
/// assert_eq!(item_name("tally::entry::{closure#0}"), "tally::entry");
/// assert_eq!(item_name("amm::swap"), "amm::swap");
/// ```
#[must_use]
pub fn item_name(function: &str) -> &str {
    let end = function.find("::{closure#").or_else(|| function.find("::{{closure}}"));
    // A closure may also be a type parameter or the type of a method.
    let is_last = |it: &usize| !function[*it..].contains(['<', '>', ' ']);
    end.filter(is_last).map_or(function, |end| &function[..end])
}

fn rust(name: &str) -> Option<String> {
    let rust = rustc_demangle::try_demangle(name).ok()?;
    Bounded::write(|text| write!(text, "{rust:#}").ok())
}

/// Demangles a name like anza's tools: Rust's with the hash of legacy mangling, C++'s not at all.
pub(crate) fn demangle_rust(name: &str) -> String {
    let rust = rustc_demangle::demangle(name);
    Bounded::write(|text| write!(text, "{rust}").ok()).unwrap_or_else(|| name.to_owned())
}

fn cpp(name: &str) -> Option<String> {
    let symbol = name.starts_with("_Z").then(|| cpp_demangle::Symbol::new(name).ok())??;
    let options = cpp_demangle::DemangleOptions::new();
    Bounded::write(|text| symbol.structured_demangle(text, &options).ok())
}

/// A string of at most 4096 bytes. Parts of a mangled name can refer to each other such that the
/// demangled text grows exponentially.
struct Bounded(String);

impl Bounded {
    /// Returns the written text; `None` if it is too long.
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
