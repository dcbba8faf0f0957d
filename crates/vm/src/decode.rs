//! Decodes the text of a program, in one pass.
//!
//! The pass goes backwards, so that the length of a block follows from that of the next
//! instruction.

use selkie_elf::{Executable, SyscallId};
use selkie_isa::{Field, Kind, Op, Operand, Slot, Version, layout::SLOT_BYTES};

use crate::{
    chain,
    decoded::{DecodedInsn, DecodedProgram, DecodedText, Handler, Register, code},
    fast_path::handlers,
};

/// The longest block; longer ones are cut.
const BLOCK_LEN_MAX: u8 = 255;

/// Slots that are decoded before the calls among them are resolved.
const BATCH: usize = 1024;

/// Where a call names its callee.
#[derive(Clone, Copy)]
enum Callee {
    /// The immediate is the hash of a name.
    Hash,
    /// The source register tells whether the immediate is a key of a syscall or a distance.
    Static,
    /// A field names the register that holds the address.
    Register(Field),
}

/// What an opcode determines. Masks instead of branches, which depend on the program and are
/// mispredicted too often.
#[derive(Clone, Copy)]
struct Template {
    /// Mask of the sign-extended immediate.
    imm: u64,
    /// Mask of the next slot's word: its part of the immediate.
    tail: u64,
    /// All ones if the offset is relative to the next slot.
    jump: u32,
    code: u8,
    /// All ones if the block continues with the next instruction.
    goes_on: u8,
    /// 1 if the instruction takes two slots, or control may continue other than behind it.
    breaks: u8,
    /// Whether the instruction takes two slots.
    is_lddw: bool,
    callee: Option<Callee>,
}

impl Template {
    const PLAIN: Self = Self {
        imm: u64::MAX,
        tail: 0,
        jump: 0,
        code: code::UNSUPPORTED,
        goes_on: u8::MAX,
        breaks: 0,
        is_lddw: false,
        callee: None,
    };
    const UNSUPPORTED: Self = Self { goes_on: 0, breaks: 1, ..Self::PLAIN };

    const fn of(op: Op) -> Self {
        const LOW: u64 = 0xffff_ffff;
        let plain = Self { code: op as u8, ..Self::PLAIN };
        let ends = Self { goes_on: 0, breaks: 1, ..plain };
        match op.kind() {
            Kind::Alu(_, _, Operand::Uimm) => Self { imm: LOW, ..plain },
            Kind::LoadImm64 => Self { imm: LOW, tail: !LOW, breaks: 1, is_lddw: true, ..plain },
            Kind::Jump => Self { jump: u32::MAX, ..ends },
            Kind::Branch(..) => Self { jump: u32::MAX, breaks: 1, ..plain },
            Kind::CallHash => Self { callee: Some(Callee::Hash), ..ends },
            Kind::CallStatic => Self { callee: Some(Callee::Static), ..ends },
            Kind::CallReg(field) => Self { callee: Some(Callee::Register(field)), ..ends },
            Kind::Exit => ends,
            Kind::Tail => Self::UNSUPPORTED,
            Kind::Alu(..)
            | Kind::Neg(_)
            | Kind::Endian(_)
            | Kind::Load(_)
            | Kind::StoreImm(_)
            | Kind::StoreReg(_) => plain,
        }
    }
}

impl Template {
    /// Decodes an instruction other than a call.
    #[inline(always)]
    fn decode(
        &self,
        pc: usize,
        slot: Slot,
        word_behind: u64,
        block_len: u8,
        handlers: &[Handler; 256],
    ) -> DecodedInsn {
        DecodedInsn {
            handler: handlers[usize::from(self.code)],
            imm: i64::from(slot.imm).cast_unsigned() & self.imm | word_behind & self.tail,
            aux: (pc_behind(pc) & self.jump).wrapping_add_signed(i32::from(slot.off)),
            code: self.code,
            dst: Register::new(slot.dst),
            src: Register::new(slot.src),
            block_len,
        }
    }
}

/// The templates of all opcodes, by version.
static TEMPLATES: [[Template; 256]; Version::ALL.len()] = {
    let mut tables = [[Template::UNSUPPORTED; 256]; Version::ALL.len()];
    let mut version = 0;
    while version < tables.len() {
        let mut opcode = 0_u8;
        loop {
            if let Some(op) = Op::decode(Version::ALL[version], opcode) {
                tables[version][opcode as usize] = Template::of(op);
            }
            if opcode == u8::MAX {
                break;
            }
            opcode += 1;
        }
        version += 1;
    }
    tables
};

/// Decodes a program.
pub(crate) fn decode(executable: &Executable) -> DecodedProgram {
    let version = executable.version();
    let text = executable.text();
    let templates = &TEMPLATES[version as usize];
    let handlers = handlers(version);
    let slots = text.as_chunks::<SLOT_BYTES>().0;
    let mut insns = DecodedText::new(slots.len(), handlers);
    let mut cut = Vec::new();
    let mut calls = [0; BATCH];
    let (mut breaks, mut word_breaks) = (vec![0; slots.len() / 64 + 1], 0);
    // Running past the end of the program is charged as one more instruction, except after an
    // `lddw` in the last slot.
    let (mut behind, mut two_behind) = (1, 0);
    let mut word_behind = 0;
    for (number, batch) in slots.chunks(BATCH).enumerate().rev() {
        let batch_start = number * BATCH;
        let mut call_count = 0;
        for (index, bytes) in batch.iter().enumerate().rev() {
            let pc = batch_start + index;
            let word = u64::from_le_bytes(*bytes);
            let slot = Slot::from_word(word);
            let template = &templates[usize::from(slot.code)];
            let skipped = if template.is_lddw { two_behind } else { behind };
            let mut block_len = 1 + (skipped & template.goes_on);
            let insn = insns.slot(pc);
            *insn = template.decode(pc, slot, word_behind, block_len, handlers);
            calls[call_count % BATCH] = pc;
            call_count += usize::from(template.callee.is_some());
            word_breaks = word_breaks << 1 | u64::from(template.breaks);
            if block_len == BLOCK_LEN_MAX {
                word_breaks |= 1;
                let aux = u32::try_from(cut.len()).expect("fewer cuts than slots");
                cut.push(*insn);
                block_len = 0;
                *insn = DecodedInsn { aux, block_len, ..DecodedInsn::new(code::CUT, handlers) };
            }
            if pc.is_multiple_of(64) {
                breaks[pc / 64] = core::mem::take(&mut word_breaks);
            }
            (behind, two_behind) = (block_len, behind);
            word_behind = word;
        }
        for &pc in calls.iter().take(call_count) {
            let slot = Slot::from_word(u64::from_le_bytes(slots[pc]));
            if let Some(callee) = templates[usize::from(slot.code)].callee {
                *insns.slot(pc) = call(executable, handlers, pc, slot, callee);
            }
        }
    }
    // An `lddw` in the last slot lacks its second half.
    if let Some([code, ..]) = slots.last()
        && templates[usize::from(*code)].is_lddw
    {
        *insns.slot(slots.len() - 1) = DecodedInsn::new(code::UNSUPPORTED, handlers);
    }
    let chain_compute_units = chain::compute_units_max(version);
    DecodedProgram { text: insns, cut, breaks, chain_compute_units }
}

/// Returns the slot after `pc`, to which jumps are relative. A target before the first slot
/// becomes a number beyond the last slot: only unverified programs have such jumps, and they trap
/// there.
#[allow(clippy::cast_possible_truncation, reason = "fewer slots fit in memory than in 32 bits")]
fn pc_behind(pc: usize) -> u32 {
    (pc as u32).wrapping_add(1)
}

/// Returns the immediate as the hash of a name.
fn key(slot: Slot) -> u32 {
    slot.imm.cast_unsigned()
}

/// Decodes a call, with its callee resolved.
#[inline(never)]
fn call(
    executable: &Executable,
    handlers: &[Handler; 256],
    pc: usize,
    slot: Slot,
    callee: Callee,
) -> DecodedInsn {
    let unsupported = DecodedInsn::new(code::UNSUPPORTED, handlers);
    let call = |code| DecodedInsn { imm: pc as u64 + 1, ..DecodedInsn::new(code, handlers) };
    let local = |target| DecodedInsn { aux: target, ..call(code::CALL_LOCAL) };
    let syscall = |id: SyscallId| DecodedInsn { aux: id.0.into(), ..call(code::CALL_SYSCALL) };
    let by_register = |register: i64| match u8::try_from(register) {
        Ok(register @ 0..=15) => {
            DecodedInsn { src: Register::new(register), ..call(code::CALL_REGISTER) }
        }
        _ => unsupported,
    };
    match (callee, slot.src) {
        // Syscalls come first. The loader refuses programs with a function of the same key.
        (Callee::Hash, _) => match executable.syscalls().find(key(slot)) {
            Some(id) => syscall(id),
            None => executable
                .functions()
                .get(key(slot))
                .map_or(unsupported, |function| local(function.pc)),
        },
        (Callee::Static, 0) => executable.syscalls().find(key(slot)).map_or(unsupported, syscall),
        (Callee::Static, 1) => {
            let slots = executable.text().len() / SLOT_BYTES;
            let target =
                isize::try_from(slot.imm).ok().and_then(|it| (pc + 1).checked_add_signed(it));
            match target.filter(|target| *target < slots).map(u32::try_from) {
                Some(Ok(target)) => local(target),
                _ => unsupported,
            }
        }
        (Callee::Register(Field::InImm), _) => by_register(slot.imm.into()),
        (Callee::Register(Field::InSrc), _) => by_register(slot.src.into()),
        (Callee::Register(Field::InDst), _) => by_register(slot.dst.into()),
        _ => unsupported,
    }
}
