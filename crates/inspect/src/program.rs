//! What is looked into: a program, the names that are known of it, and its instructions in order.

use core::fmt::{self, Display as _};
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

/// A program and what is known of its names.
#[derive(Clone, Debug)]
pub struct Program {
    executable: Executable,
    symbols: Symbols,
    image: Image,
    /// Every function by slot, its name as linkers spell it.
    functions: BTreeMap<u32, String>,
    syscalls: BTreeMap<u32, String>,
    refusal: Option<ElfError>,
}

impl Program {
    /// A program that was loaded already, with no more names than it brings along.
    #[must_use]
    pub fn new(executable: Executable) -> Self {
        Self::with_symbols(executable, Symbols::default())
    }

    /// Raw instructions, as `version` reads them.
    #[must_use]
    pub fn bare(version: Version, text: &[u8], syscalls: &Arc<Syscalls>) -> Self {
        Self::new(salvage::unlinked(version, text, 0, syscalls))
    }

    /// Opens a file, and takes names from its symbol tables.
    ///
    /// A file that the loader refuses is opened too if instructions can be found in it; then
    /// [`Program::refusal`] says why it would not run, and calls may be left unresolved.
    ///
    /// # Errors
    /// The loader's, if it refuses the file and no instructions can be found either.
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

    /// The same, whatever its version is, as far as any loader knows one.
    ///
    /// # Errors
    /// As [`Program::open`].
    pub fn open_any(bytes: &[u8], environment: &Environment) -> Result<Self, ElfError> {
        let versions = Version::V0..=Version::V4;
        Self::open(bytes, &Environment { versions, labels: true, ..environment.clone() })
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

    /// The program.
    #[must_use]
    pub fn executable(&self) -> &Executable {
        &self.executable
    }

    /// The file's symbols.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Why the loader refused the file that this was found in.
    #[must_use]
    pub fn refusal(&self) -> Option<&ElfError> {
        self.refusal.as_ref()
    }

    /// The sBPF version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.executable.version()
    }

    /// The name of the syscall that hashes to `key`, if the environment or the file names it.
    #[must_use]
    pub fn syscall(&self, key: u32) -> Option<&str> {
        self.syscalls.get(&key).map(String::as_str)
    }

    /// The syscalls that the program's instructions call, by name, or by number if none is known.
    #[must_use]
    pub fn called_syscalls(&self) -> BTreeSet<String> {
        let found = |(pc, insn): (usize, Option<Insn>)| {
            let (pc, insn) = (u32::try_from(pc).ok()?, insn?);
            let is_call = matches!(insn.op.kind(), Kind::CallHash | Kind::CallStatic);
            let key =
                Some(key_of(&insn)).filter(|_| is_call && self.callee(pc, &insn).is_none())?;
            Some(self.syscall(key).map_or_else(|| format!("{key:#x}"), str::to_owned))
        };
        insn::instructions(self.version(), self.executable.text()).filter_map(found).collect()
    }

    /// The slot that a call at `pc` goes to, if it calls a function at all, in the program or out
    /// of it.
    #[must_use]
    pub fn callee(&self, pc: u32, insn: &Insn) -> Option<u32> {
        match insn.op.kind() {
            Kind::CallHash => self.executable.functions().get(key_of(insn)).map(|it| it.pc),
            Kind::CallStatic if insn.src == 1 => Some(static_callee(pc, insn)),
            _ => None,
        }
    }

    /// The slot of the instruction whose address an instruction loads.
    pub(crate) fn pointee(&self, insn: &Insn) -> Option<u32> {
        match insn.op.kind() {
            Kind::LoadImm64 => self.image.slot_of(insn.imm.cast_unsigned()),
            _ => None,
        }
    }

    /// The program's read-only data.
    pub(crate) fn image(&self) -> &Image {
        &self.image
    }

    /// The functions that the loader registered, by slot: those that anza's tools know.
    pub(crate) fn registered(&self) -> BTreeMap<u32, String> {
        let registered = self.executable.functions().iter();
        registered.map(|(_, it)| (it.pc, it.name.clone())).collect()
    }

    /// Every function, by the slot of its first instruction, with its name as linkers spell it: the
    /// entry, those that have a symbol, those that are called, those whose address is taken, and
    /// what stands before all of them.
    #[must_use]
    pub fn functions(&self) -> &BTreeMap<u32, String> {
        &self.functions
    }

    /// The function that the instruction at `pc` belongs to: the last one that starts at or before
    /// it. Its first slot, and its name as linkers spell it.
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

    /// The instructions in order.
    ///
    /// Anza's tools skip the second half of an `lddw` in V2 too, which has no `lddw`, and
    /// leave out one that is cut off; ours show every slot that is no part of an instruction.
    pub(crate) fn instructions(&self, style: Style) -> Vec<Instruction> {
        let (version, text) = (self.version(), self.executable.text());
        let found = |(pc, insn): (usize, Option<Insn>)| {
            let code = Slot::read(text, pc)?.code;
            let slots = insn.map_or(1, Insn::slots);
            let (pc, slots) = (u32::try_from(pc).ok()?, u32::try_from(slots).ok()?);
            Some(Instruction { pc, slots, code, insn })
        };
        match style {
            Style::Selkie => insn::instructions(version, text).map_while(found).collect(),
            Style::Anza => {
                let mut pc = 0;
                let next = || {
                    let slot = Slot::read(text, pc)?;
                    let at = pc;
                    pc += if slot.code == Op::Lddw.code() { 2 } else { 1 };
                    Slot::read(text, pc - 1)?;
                    let it = found((at, Insn::decode(version, text, at)))?;
                    Some(Instruction { slots: u32::try_from(pc - at).ok()?, ..it })
                };
                core::iter::from_fn(next).collect()
            }
        }
    }

    /// Slots of the program, whole ones only.
    pub(crate) fn slot_count(&self) -> u32 {
        u32::try_from(self.executable.text().len() / SLOT_BYTES).unwrap_or(u32::MAX)
    }
}

/// The text of the instruction at a slot, or why there is none.
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

/// An instruction in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// The slot that it starts at.
    pub pc: u32,
    /// How many slots it takes.
    pub slots: u32,
    /// The opcode.
    pub code: u8,
    /// What it is; `None` if the version has no such instruction.
    pub insn: Option<Insn>,
}

impl Instruction {
    /// The text of the instruction, as anza sbpf's disassembler has it.
    pub fn text<'a>(&'a self, names: &'a dyn Names) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match &self.insn {
            Some(insn) => insn.display(self.pc as usize, names).fmt(f),
            None => write!(f, "unknown opcode={:#x}", self.code),
        })
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
