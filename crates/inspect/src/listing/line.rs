//! The lines of a listing: an instruction by its mnemonic if its text is exact, else as a number.

use std::{collections::BTreeSet, sync::Arc};

use selkie_isa::{
    Field, Insn, Kind, NoNames, Op, Operand, Shape, Slot, Version,
    layout::{FRAME_POINTER, SLOT_BYTES},
};

use super::labels::{LabelMap, quoted};
use crate::{
    program::{Instruction, NamedProgram, key_of},
    symbols::demangle,
};

/// An instruction, or a slot that is not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The slot.
    pub pc: u32,
    /// The guest address of the slot.
    pub vaddr: u64,
    /// Its bytes: 16 for an `lddw`, else 8.
    pub bytes: Vec<u8>,
    /// The label of the slot.
    pub label: Option<String>,
    /// The demangled name of the function that contains the slot.
    pub function: Option<Arc<str>>,
    /// Whether a function starts here.
    pub is_function: bool,
    /// The mnemonic, or `.quad` for a slot that is written as a number.
    pub mnemonic: String,
    /// The operands.
    pub operands: Vec<String>,
    /// The slot of the target of a jump or call.
    pub target: Option<u32>,
    /// The compute units that it consumes, without those of a called syscall.
    pub cost: u64,
    /// The instruction of a slot that is written as a number, or the string at a loaded address.
    pub comment: Option<String>,
}

/// A writer of consecutive lines.
pub(super) struct Writer<'a> {
    program: &'a NamedProgram,
    labels: &'a LabelMap<'a>,
    function: Option<(u32, Arc<str>)>,
    /// Called syscalls whose names only the file contains.
    pub(super) syscalls: BTreeSet<String>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(program: &'a NamedProgram, labels: &'a LabelMap<'a>) -> Self {
        Self { program, labels, function: None, syscalls: BTreeSet::new() }
    }

    pub(super) fn line(&mut self, it: &Instruction) -> Line {
        let executable = self.program.executable();
        let start = it.pc as usize * SLOT_BYTES;
        let bytes = &executable.text()[start..start + it.slots as usize * SLOT_BYTES];
        let is_written =
            |insn: &Insn| self.is_relocated(insn) || is_plain(self.program.version(), insn, bytes);
        let written = it.insn.filter(is_written);
        let written = written.and_then(|insn| Some((insn, self.operands(it.pc, &insn)?)));
        let (mnemonic, operands, comment) = match written {
            Some((insn, operands)) => (self.mnemonic(&insn), operands, self.preview(&insn)),
            None => {
                let comment = it.insn.and_then(|insn| self.meaning(it.pc, &insn));
                (".quad".to_owned(), self.words(it, bytes), comment)
            }
        };
        let starts = self.program.function_at(it.pc);
        if let Some((pc, name)) = starts
            && self.function.as_ref().is_none_or(|(known, _)| *known != pc)
        {
            self.function = Some((pc, demangle(name).into()));
        }
        let jump = it.insn.and_then(|insn| insn.jump_target(it.pc as usize));
        let jump = jump.and_then(|target| u32::try_from(target).ok());
        let callee = || it.insn.and_then(|insn| self.program.callee(it.pc, &insn));
        Line {
            pc: it.pc,
            vaddr: executable.text_vaddr().wrapping_add(start as u64),
            bytes: bytes.to_vec(),
            label: self.labels.text(it.pc).map(str::to_owned),
            function: self.function.as_ref().map(|(_, name)| Arc::clone(name)),
            is_function: starts.is_some_and(|(pc, _)| pc == it.pc),
            mnemonic,
            operands,
            target: jump.or_else(callee),
            cost: 1,
            comment,
        }
    }

    /// Returns whether an instruction calls a syscall by name. In a file, a relocation represents
    /// such a call; the virtual machine ignores its other fields.
    fn is_relocated(&self, insn: &Insn) -> bool {
        let named = || self.program.syscall(key_of(insn)).is_some();
        insn.op.kind() == Kind::CallHash && self.program.callee(0, insn).is_none() && named()
    }

    /// Returns the words of raw slots. Until V2, a file contains the distance to a called function,
    /// not its key.
    fn words(&self, it: &Instruction, bytes: &[u8]) -> Vec<String> {
        let slots = bytes.as_chunks::<SLOT_BYTES>().0.iter().filter_map(|slot| Slot::read(slot, 0));
        let hashed = it.insn.filter(|insn| insn.op.kind() == Kind::CallHash);
        let callee = hashed.and_then(|insn| self.program.callee(it.pc, &insn));
        let distance = callee.map(|pc| pc.wrapping_sub(it.pc).wrapping_sub(1).cast_signed());
        let word = |slot: Slot| Slot { imm: distance.unwrap_or(slot.imm), ..slot }.to_word();
        slots.map(|slot| format!("{:#018x}", word(slot))).collect()
    }

    /// Returns the instruction of a slot that is written as a number.
    fn meaning(&mut self, pc: u32, insn: &Insn) -> Option<String> {
        match self.operands(pc, insn) {
            _ if insn.op == Op::Tail => None,
            Some(operands) => {
                let text = format!("{} {}", self.mnemonic(insn), operands.join(", "));
                Some(text.trim_end().to_owned())
            }
            None => Some(insn.display(pc as usize, &NoNames).to_string()),
        }
    }

    fn preview(&self, insn: &Insn) -> Option<String> {
        let is_address = matches!(insn.op.kind(), Kind::LoadImm64);
        is_address.then(|| self.program.image().preview(insn.imm.cast_unsigned())).flatten()
    }

    fn mnemonic(&self, insn: &Insn) -> String {
        match insn.op.kind() {
            Kind::Endian(_) => format!("{}{}", insn.op.mnemonic(), insn.imm),
            Kind::CallHash if self.program.callee(0, insn).is_none() => "syscall".to_owned(),
            Kind::CallStatic if insn.src == 0 => "syscall".to_owned(),
            _ => insn.op.mnemonic().to_owned(),
        }
    }

    /// Returns the operands; `None` if an operand cannot be expressed.
    fn operands(&mut self, pc: u32, insn: &Insn) -> Option<Vec<String>> {
        let Insn { dst, src, off, imm, .. } = *insn;
        let register = |number: u8| format!("r{number}");
        let (dst_, src_) = (register(dst), register(src));
        let labels = self.labels;
        let target = || labels.target(pc, insn).map(quoted);
        Some(match insn.op.kind().shape() {
            Shape::None => vec![],
            Shape::Dst => vec![dst_],
            Shape::DstImm => vec![dst_, imm.to_string()],
            Shape::DstSrc => vec![dst_, src_],
            Shape::DstImm64 => {
                let addr = imm.cast_unsigned();
                vec![dst_, labels.address(addr).map_or_else(|| format!("{addr:#x}"), quoted)]
            }
            Shape::DstMem => vec![dst_, memory(src, off)],
            Shape::MemImm => vec![memory(dst, off), imm.to_string()],
            Shape::MemSrc => vec![memory(dst, off), src_],
            Shape::Target => vec![target()?],
            Shape::DstImmTarget => vec![dst_, imm.to_string(), target()?],
            Shape::DstSrcTarget => vec![dst_, src_, target()?],
            Shape::CallReg => vec![register(u8::try_from(insn.call_register()?).ok()?)],
            Shape::Call => match self.program.callee(pc, insn) {
                Some(callee) => vec![quoted(labels.text(callee)?)],
                None => vec![self.syscall(insn)?],
            },
        })
    }

    /// Returns the name of a syscall, or from V3, where calls by key are possible, its key.
    fn syscall(&mut self, insn: &Insn) -> Option<String> {
        let key = key_of(insn);
        match self.program.syscall(key) {
            Some(name) => {
                if self.program.executable().syscalls().find(key).is_none() {
                    self.syscalls.insert(name.to_owned());
                }
                Some(quoted(name))
            }
            None => (insn.op.kind() == Kind::CallStatic).then(|| format!("{key:#x}")),
        }
    }
}

fn memory(base: u8, off: i16) -> String {
    match off {
        0 => format!("[r{base}]"),
        _ if off < 0 => format!("[r{base}-{:#x}]", off.unsigned_abs()),
        _ => format!("[r{base}+{off:#x}]"),
    }
}

/// Returns whether the text of an instruction determines all of its bits, and the assembler accepts
/// it.
fn is_plain(version: Version, insn: &Insn, bytes: &[u8]) -> bool {
    let (first, second) = canonical(insn).encode();
    let words = [first, second.unwrap_or_default()];
    let words = &words[..if second.is_some() { 2 } else { 1 }];
    let same = words.iter().flat_map(|word| word.to_le_bytes()).eq(bytes.iter().copied());
    same && is_sound(version, insn)
}

/// Returns the instruction without the fields that its text does not contain.
fn canonical(insn: &Insn) -> Insn {
    let Insn { op, dst, src, off, imm } = *insn;
    let bare = Insn { op, dst: 0, src: 0, off: 0, imm: 0 };
    match (op.kind(), op.kind().shape()) {
        (Kind::Endian(_), _) | (_, Shape::DstImm | Shape::DstImm64) => Insn { dst, imm, ..bare },
        (_, Shape::None) => bare,
        (_, Shape::Dst) => Insn { dst, ..bare },
        (_, Shape::DstSrc) => Insn { dst, src, ..bare },
        (_, Shape::DstMem | Shape::MemSrc | Shape::DstSrcTarget) => Insn { dst, src, off, ..bare },
        (_, Shape::MemImm | Shape::DstImmTarget) => Insn { dst, off, imm, ..bare },
        (_, Shape::Target) => Insn { off, ..bare },
        (Kind::CallStatic, _) => Insn { src: src & 1, imm, ..bare },
        (Kind::CallReg(Field::InImm), _) => Insn { imm, ..bare },
        (Kind::CallReg(Field::InSrc), _) => Insn { src, ..bare },
        (Kind::CallReg(Field::InDst), _) => Insn { dst, ..bare },
        (_, Shape::Call | Shape::CallReg) => Insn { src: 1, imm, ..bare },
    }
}

/// Returns whether the verifier accepts the operands.
fn is_sound(version: Version, insn: &Insn) -> bool {
    let Insn { op, dst, src, imm, .. } = *insn;
    let shape = op.kind().shape();
    let writes_frame_pointer = dst == FRAME_POINTER
        && !matches!(shape, Shape::MemImm | Shape::MemSrc)
        && !(op == Op::Add64Imm && version.dynamic_frames() && imm % 64 == 0);
    let operand = match op.kind() {
        Kind::Alu(alu, _, Operand::Imm | Operand::Uimm) if alu.divides() => imm != 0,
        Kind::Alu(alu, width, Operand::Imm) if alu.shifts() => {
            (0..i64::from(width.bits())).contains(&imm)
        }
        Kind::Endian(_) => matches!(imm, 16 | 32 | 64),
        Kind::CallReg(_) => insn.call_register().is_some_and(|it| (0..10).contains(&it)),
        Kind::Tail => false,
        _ => true,
    };
    operand && !writes_frame_pointer && dst <= FRAME_POINTER && src <= FRAME_POINTER
}
