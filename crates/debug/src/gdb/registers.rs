//! The registers that gdb sees, and their description.

use gdbstub::arch::{Arch, Registers};

use super::layout::{RUNTIME_RETURN, record_end};

/// The registers of RISC-V.
const INTEGERS: usize = 32;

/// The registers of sBPF, r0 to r10.
pub(super) const WORDS: usize = 11;

/// The register with the end of the frame's record.
const RECORD: usize = 31;

/// RISC-V of 64 bits, with registers of our own.
#[derive(Debug)]
pub(super) enum Riscv {}

impl Arch for Riscv {
    type Usize = u64;
    type Registers = Values;
    type BreakpointKind = usize;
    type RegId = ();
}

/// The values of the registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Values {
    /// r0 to r10, as gdb's x0 to x10.
    pub(super) integers: [u64; WORDS],
    /// The end of the frame's record.
    pub(super) record: u64,
    /// The address of the instruction.
    pub(super) pc: u64,
    /// r0 to r10 under their own names.
    pub(super) words: [u64; WORDS],
    /// The compute units left.
    pub(super) units: u64,
    /// The instructions executed before.
    pub(super) step: u64,
}

impl Default for Values {
    /// Returns the values outside of programs.
    fn default() -> Self {
        Self {
            integers: [0; WORDS],
            record: record_end(0),
            pc: RUNTIME_RETURN,
            words: [0; WORDS],
            units: 0,
            step: 0,
        }
    }
}

impl Values {
    /// Returns all of them, in the order of the description.
    fn all(&self) -> impl Iterator<Item = u64> {
        let mut integers = [0; INTEGERS];
        integers[..WORDS].copy_from_slice(&self.integers);
        integers[RECORD] = self.record;
        let rest = [self.units, self.step];
        integers.into_iter().chain([self.pc]).chain(self.words).chain(rest)
    }
}

impl Registers for Values {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.pc
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        self.all().flat_map(u64::to_le_bytes).for_each(|byte| write_byte(Some(byte)));
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|it| u64::from_le_bytes(*it));
        if words.len() != self.all().count() || !rest.is_empty() {
            return Err(());
        }
        let mut next = || words.next().ok_or(());
        let mut integers = [0; INTEGERS];
        for it in &mut integers {
            *it = next()?;
        }
        self.integers.copy_from_slice(&integers[..WORDS]);
        self.record = integers[RECORD];
        self.pc = next()?;
        for it in &mut self.words {
            *it = next()?;
        }
        (self.units, self.step) = (next()?, next()?);
        Ok(())
    }
}

/// Returns the description of the registers for gdb. For the system that gdb would take otherwise, it
/// would not ask for the programs.
pub(super) fn description() -> String {
    let register =
        |name: &str, kind: &str| format!("<reg name=\"{name}\" bitsize=\"64\" type=\"{kind}\"/>\n");
    let mut text = String::from(
        "<?xml version=\"1.0\"?>\n<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n<target>\n\
         <architecture>riscv:rv64</architecture>\n<osabi>none</osabi>\n<feature name=\"org.gnu.gdb.riscv.cpu\">\n",
    );
    text.extend((0..INTEGERS).map(|index| register(&format!("x{index}"), "int")));
    text.push_str(&register("pc", "code_ptr"));
    text.push_str("</feature>\n<feature name=\"selkie.sbpf\">\n");
    text.extend((0..WORDS).map(|index| register(&format!("r{index}"), "uint64")));
    text.extend(["units", "step"].map(|name| register(name, "uint64")));
    text.push_str("</feature>\n</target>\n");
    text
}
