//! What was linked, for people and for tools.

use core::fmt::Write as _;

use selkie_isa::{Version, layout::SLOT_BYTES};

/// A program, and what is in it.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The bytes of the `.so`.
    pub elf: Vec<u8>,
    /// The same with debug information, where the loader would refuse that: until V2 it puts up
    /// with no section that has a long name, such as DWARF 5's `.debug_str_offsets`.
    pub debug_elf: Option<Vec<u8>>,
    /// The sBPF version.
    pub version: Version,
    /// Every function, in the order of the program.
    pub functions: Vec<Function>,
    /// Every piece of data, by address.
    pub data: Vec<Datum>,
    /// Bytes of read-only data.
    pub rodata_bytes: u64,
    /// Bytes of heap that variables take; 0 if there are none.
    pub heap_bytes: u64,
}

/// A function of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// The name, demangled.
    pub name: String,
    /// The file that it came from; of an archive with the member.
    pub object: Option<String>,
    /// The slot of its first instruction.
    pub pc: u32,
    /// The address of its first instruction.
    pub addr: u64,
    /// Its instructions, in slots.
    pub slots: u32,
    /// How many slots legalising added.
    pub slots_added: u32,
    /// The bytes of its frame that it uses.
    pub stack: u64,
}

/// A piece of data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datum {
    /// The name of its section, or of the variable.
    pub name: String,
    /// The file that it came from.
    pub object: Option<String>,
    /// Its address.
    pub addr: u64,
    /// Bytes.
    pub size: u64,
    /// Whether the program may write it: then it is in the heap.
    pub is_writable: bool,
}

impl Linked {
    /// Slots of instructions.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.functions.iter().map(|it| it.slots).sum()
    }

    /// The link map: what is where, and where it came from.
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
