//! The program to analyse: its executable, names and instructions.

use core::fmt;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use selkie_elf::{ElfError, Environment, Executable, Syscalls};
use selkie_isa::{
    Insn, Kind, Op, Slot, Version, insn,
    layout::SLOT_BYTES,
    symbol::{ENTRYPOINT, murmur3},
    syntax::Names,
};

use crate::{Style, image::Image, salvage, symbols::Symbols};

/// A program with the names of its functions and syscalls.
#[derive(Clone, Debug)]
pub struct NamedProgram {
    executable: Executable,
    symbols: Symbols,
    image: Image,
    /// Names of functions by slot, not demangled.
    functions: BTreeMap<u32, String>,
    syscalls: BTreeMap<u32, String>,
    refusal: Option<ElfError>,
}

impl NamedProgram {
    /// Makes a program of an executable, with the names that it contains.
    #[must_use]
    pub fn new(executable: Executable) -> Self {
        Self::with_symbols(executable, Symbols::default())
    }

    /// Makes a program of raw instructions of a version.
    #[must_use]
    pub fn bare(version: Version, text: &[u8], syscalls: &Arc<Syscalls>) -> Self {
        Self::new(salvage::unlinked(version, text, 0, syscalls))
    }

    /// Opens a file, with names from its symbol tables.
    ///
    /// A file that the loader refuses is opened too if it has instructions. Then
    /// [`NamedProgram::refusal`] returns the loader's error, and calls may be unresolved.
    ///
    /// # Errors
    /// The loader's error, if it refuses the file and no instructions are found.
    pub fn open(bytes: &[u8], environment: &Environment) -> Result<Self, ElfError> {
        let symbols = Symbols::load(bytes);
        match selkie_elf::load(bytes, environment) {
            Ok(executable) => Ok(Self::with_symbols(executable, symbols)),
            Err(refusal) => match salvage::file(bytes, &environment.syscalls) {
                Some(it) => Ok(Self { refusal: Some(refusal), ..Self::with_symbols(it, symbols) }),
                None => Err(refusal),
            },
        }
    }

    /// Opens a file of any known version, with the names of functions.
    ///
    /// # Errors
    /// As [`NamedProgram::open`].
    pub fn open_any(bytes: &[u8], environment: &Environment) -> Result<Self, ElfError> {
        let versions = Version::V0..=Version::V4;
        Self::open(bytes, &Environment { versions, labels: true, ..environment.clone() })
    }

    /// Takes names from another file with the same code: the one with debug information, which the
    /// loader may refuse.
    #[must_use]
    pub fn with_names_of(self, file: &[u8]) -> Self {
        let Self { executable, refusal, .. } = self;
        Self { refusal, ..Self::with_symbols(executable, Symbols::load(file)) }
    }

    fn with_symbols(executable: Executable, symbols: Symbols) -> Self {
        let known = executable.syscalls();
        let names = symbols.imports().chain(known.names());
        let syscalls = names.map(|it| (murmur3(it.as_bytes()), it.to_owned())).collect();
        let image = Image::of(&executable);
        let functions = BTreeMap::new();
        let mut program = Self { executable, symbols, image, functions, syscalls, refusal: None };
        program.functions = program.find_functions();
        program
    }

    /// Returns the executable.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// Returns the symbols of the file.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Returns the loader's error, if it refused the file.
    #[must_use]
    pub fn refusal(&self) -> Option<&ElfError> {
        self.refusal.as_ref()
    }

    /// Returns the sBPF version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.executable.version()
    }

    /// Returns the name of the syscall that hashes to `key`, if environment or file contain it.
    #[must_use]
    pub fn syscall(&self, key: u32) -> Option<&str> {
        self.syscalls.get(&key).map(String::as_str)
    }

    /// Returns the syscalls that the program calls: their names, or hashes if the name is unknown.
    #[must_use]
    pub fn called_syscalls(&self) -> BTreeSet<String> {
        let called = |(pc, insn): (usize, Option<Insn>)| {
            let (pc, insn) = (u32::try_from(pc).ok()?, insn?);
            let is_call = matches!(insn.op.kind(), Kind::CallHash | Kind::CallStatic);
            let key = (is_call && self.callee(pc, &insn).is_none()).then(|| key_of(&insn))?;
            Some(self.syscall(key).map_or_else(|| format!("{key:#x}"), str::to_owned))
        };
        insn::instructions(self.version(), self.executable.text()).filter_map(called).collect()
    }

    /// Returns the slot of the function that the instruction at `pc` calls, which may be outside the
    /// program; `None` if it calls a syscall or is not a direct call.
    #[must_use]
    pub fn callee(&self, pc: u32, insn: &Insn) -> Option<u32> {
        match insn.op.kind() {
            Kind::CallHash => self.executable.functions().get(key_of(insn)).map(|it| it.pc),
            Kind::CallStatic if insn.src == 1 => Some(static_callee(pc, insn)),
            _ => None,
        }
    }

    /// Returns the slot of the instruction whose address this instruction loads.
    pub(crate) fn pointee(&self, insn: &Insn) -> Option<u32> {
        match insn.op.kind() {
            Kind::LoadImm64 => self.image.slot_of(insn.imm.cast_unsigned()),
            _ => None,
        }
    }

    /// Returns the read-only data.
    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    /// Returns the functions that the loader registered, by slot. Anza's tools know only these.
    pub(crate) fn registered(&self) -> BTreeMap<u32, String> {
        let registered = self.executable.functions().iter();
        registered.map(|(_, it)| (it.pc, it.name.clone())).collect()
    }

    /// Returns the names of all functions, not demangled, by the slot of their first instruction: the
    /// entry, functions with a symbol, called functions, functions whose address is taken, and slot
    /// 0.
    #[must_use]
    pub fn functions(&self) -> &BTreeMap<u32, String> {
        &self.functions
    }

    /// Returns first slot and name, not demangled, of the function that contains the instruction at
    /// `pc`: the last one that starts at or before it.
    #[must_use]
    pub fn function_at(&self, pc: u32) -> Option<(u32, &str)> {
        let (&start, name) = self.functions.range(..=pc).next_back()?;
        Some((start, name))
    }

    fn find_functions(&self) -> BTreeMap<u32, String> {
        let mut functions = self.registered();
        functions.extend(self.symbols.functions().map(|(pc, name)| (pc, name.to_owned())));
        functions.retain(|_, name| !name.is_empty());
        functions.entry(self.executable.entry_pc()).or_insert_with(|| ENTRYPOINT.to_owned());
        let mut add = |pc: u32| {
            functions.entry(pc).or_insert_with(|| format!("function_{pc}"));
        };
        let instructions = self.instructions(Style::Selkie);
        for it in &instructions {
            let Some(insn) = it.insn else { continue };
            self.callee(it.pc, &insn).into_iter().chain(self.pointee(&insn)).for_each(&mut add);
        }
        self.registered().into_keys().chain([0]).for_each(&mut add);
        self.image.pointers().filter_map(|addr| self.image.slot_of(addr)).for_each(add);
        functions.retain(|&pc, _| instructions.binary_search_by_key(&pc, |it| it.pc).is_ok());
        functions
    }

    /// Returns the instructions in order.
    ///
    /// Anza's tools skip the slot after an `lddw` opcode in V2 too, which has no `lddw`, and omit a
    /// truncated `lddw`. Selkie's style includes every slot.
    pub(crate) fn instructions(&self, style: Style) -> Vec<Instruction> {
        let (version, text) = (self.version(), self.executable.text());
        let instruction = |(pc, insn): (usize, Option<Insn>)| {
            let code = Slot::read(text, pc)?.code;
            let slots = insn.map_or(1, Insn::slots);
            let (pc, slots) = (u32::try_from(pc).ok()?, u32::try_from(slots).ok()?);
            Some(Instruction { pc, slots, code, insn })
        };
        match style {
            Style::Selkie => insn::instructions(version, text).map_while(instruction).collect(),
            Style::Anza => {
                let mut pc = 0;
                let next = || {
                    let slot = Slot::read(text, pc)?;
                    let start = pc;
                    pc += if slot.code == Op::Lddw.code() { 2 } else { 1 };
                    Slot::read(text, pc - 1)?;
                    let it = instruction((start, Insn::decode(version, text, start)))?;
                    Some(Instruction { slots: u32::try_from(pc - start).ok()?, ..it })
                };
                core::iter::from_fn(next).collect()
            }
        }
    }

    /// Returns the number of whole slots.
    pub(crate) fn slot_count(&self) -> u32 {
        u32::try_from(self.executable.text().len() / SLOT_BYTES).unwrap_or(u32::MAX)
    }
}

/// Returns the text of the instruction at a slot, or the reason why there is none.
#[must_use]
pub fn instruction_text(executable: &Executable, names: &dyn Names, pc: usize) -> String {
    if let Some(insn) = Insn::decode(executable.version(), executable.text(), pc) {
        return insn.display(pc, names).to_string();
    }
    let start = pc.saturating_mul(SLOT_BYTES);
    match executable.text().get(start..start.saturating_add(SLOT_BYTES)) {
        Some(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("no instruction: {hex}")
        }
        None => "past the end of the program".to_owned(),
    }
}

/// An instruction of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Its first slot.
    pub pc: u32,
    /// Its size in slots.
    pub slots: u32,
    /// Its opcode.
    pub code: u8,
    /// The decoded instruction; `None` if the version has no such instruction.
    pub insn: Option<Insn>,
}

impl Instruction {
    /// Returns the text of the instruction in the syntax of anza sbpf's disassembler.
    pub fn text<'a>(&'a self, names: &'a dyn Names) -> impl fmt::Display + 'a {
        Text { instruction: self, names }
    }
}

/// An instruction as its text.
struct Text<'a> {
    instruction: &'a Instruction,
    names: &'a dyn Names,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Instruction { pc, code, insn, .. } = self.instruction;
        match insn {
            Some(insn) => insn.display(*pc as usize, self.names).fmt(f),
            None => write!(f, "unknown opcode={code:#x}"),
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "keys are 32 bits")]
pub(crate) fn key_of(insn: &Insn) -> u32 {
    insn.imm as u32
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as the VM computes")]
pub(crate) fn static_callee(pc: u32, insn: &Insn) -> u32 {
    (i64::from(pc) + 1).wrapping_add(insn.imm) as u32
}
