//! The result of linking: the file, its functions and data, and the link map.

use core::fmt::Write as _;

use selkie_isa::{Version, layout::SLOT_BYTES};

/// A linked program.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The bytes of the `.so`.
    pub elf: Vec<u8>,
    /// The same program with debug information, if the loader would refuse that in `elf`: until V2
    /// section names have at most 15 bytes, and DWARF 5's `.debug_str_offsets` has more.
    pub debug_elf: Option<Vec<u8>>,
    /// The sBPF version.
    pub version: Version,
    /// The functions, by ascending slot.
    pub functions: Vec<Function>,
    /// The data sections and common variables, by ascending address.
    pub data: Vec<Datum>,
    /// Size of the read-only data in bytes.
    pub rodata_bytes: u64,
    /// Bytes of the heap that writable variables and the space reserved for the allocator occupy; 0
    /// without such variables.
    pub heap_bytes: u64,
}

/// A function of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The name, demangled.
    pub name: String,
    /// The file, or archive and member, that defines it; `None` for the linker's own routines.
    pub object: Option<String>,
    /// The slot of its first instruction.
    pub pc: u32,
    /// The guest address of its first instruction.
    pub addr: u64,
    /// Its size in instruction slots.
    pub slots: u32,
    /// The number of slots that the expansion of eBPF instructions added.
    pub slots_added: u32,
    /// The number of bytes of its stack frame that it uses.
    pub stack: u64,
    /// Why it is linked; `None` for the entry.
    pub user: Option<User>,
    /// The names of equal functions that were folded into it.
    pub folded: Vec<String>,
}

/// The function or data that refers to another one, on a shortest way from the entry. A program keeps
/// what it refers to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// The name, demangled.
    pub name: String,
    /// Its guest address.
    pub addr: u64,
}

/// A data section of an object, or a common variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datum {
    /// The name of the section or variable.
    pub name: String,
    /// The file, or archive and member, that defines it.
    pub object: Option<String>,
    /// Its guest address.
    pub addr: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Whether the program may write it; it is in the heap then.
    pub is_writable: bool,
    /// Why it is linked.
    pub user: Option<User>,
}

impl Linked {
    /// Returns the size of the code in instruction slots.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.functions.iter().map(|it| it.slots).sum()
    }

    /// Returns the link map: a line for each function and data section with address, size in bytes,
    /// stack use, name and defining file.
    #[must_use]
    pub fn map(&self) -> String {
        let mut map = String::new();
        let _ = writeln!(map, "address             bytes  stack  name");
        for it in &self.functions {
            let bytes = u64::from(it.slots) * SLOT_BYTES as u64;
            let from = from(it.object.as_deref());
            let Function { addr, stack, name, .. } = it;
            let _ = writeln!(map, "{addr:#014x}  {bytes:>9}  {stack:>5}  {name}{from}");
        }
        for it in &self.data {
            let from = from(it.object.as_deref());
            let Datum { addr, size, name, .. } = it;
            let _ = writeln!(map, "{addr:#014x}  {size:>9}         {name}{from}");
        }
        map
    }
}

fn from(object: Option<&str>) -> String {
    object.map_or_else(|| "  [linker]".to_owned(), |object| format!("  [{object}]"))
}
