//! Decodes the text of a program, in one pass.
//!
//! The pass goes backwards, so that the length of a block follows from that of the next
//! instruction.

use selkie_elf::{Executable, SyscallId};
use selkie_isa::{Field, Kind, Op, Operand, Slot, Version, layout::SLOT_BYTES};

use crate::{
    chain,
    decoded::{DecodedInsn, DecodedProgram, DecodedTextBuilder, Handler, Register, code},
    fast_path::handlers,
};

/// The longest block; longer ones are cut.
const BLOCK_LEN_MAX: u8 = 255;

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

impl Callee {
    fn of(op: Op) -> Option<Self> {
        match op.kind() {
            Kind::CallHash => Some(Self::Hash),
            Kind::CallStatic => Some(Self::Static),
            Kind::CallReg(field) => Some(Self::Register(field)),
            _ => None,
        }
    }
}

/// What an opcode determines. Masks instead of branches, which depend on the program and are
/// mispredicted too often.
#[derive(Clone, Copy)]
struct Template {
    handler: Handler,
    /// Mask of the sign-extended immediate.
    imm: u64,
    /// Mask of the next slot's word: its part of the immediate.
    tail: u64,
    /// All ones if the offset is relative to the next slot.
    jump: u32,
    code: u8,
    /// All ones if the block continues with the next instruction.
    goes_on: u8,
    /// Bits from the length of the block of the next slot to that of the next instruction, in
    /// [`Behind`]: 8 if the instruction takes two slots.
    skipped_bits: u8,
    /// Bits of `BREAKS` and `CALLS`.
    marks: u8,
}

/// A mark: the instruction takes two slots, or control may continue other than behind it.
const BREAKS: u8 = 1;
/// A mark: the instruction is a call, whose callee is resolved later.
const CALLS: u8 = 2;

impl Template {
    const fn new(version: Version, code: u8) -> Self {
        Self {
            handler: handlers(version)[code as usize],
            imm: u64::MAX,
            tail: 0,
            jump: 0,
            code,
            goes_on: u8::MAX,
            skipped_bits: 0,
            marks: 0,
        }
    }

    const fn unsupported(version: Version) -> Self {
        Self { goes_on: 0, marks: BREAKS, ..Self::new(version, code::UNSUPPORTED) }
    }

    const fn of(version: Version, op: Op) -> Self {
        const LOW: u64 = 0xffff_ffff;
        let plain = Self::new(version, op as u8);
        let ends = Self { goes_on: 0, marks: BREAKS, ..plain };
        match op.kind() {
            Kind::Alu(_, _, Operand::Uimm) => Self { imm: LOW, ..plain },
            Kind::LoadImm64 => {
                Self { imm: LOW, tail: !LOW, skipped_bits: 8, marks: BREAKS, ..plain }
            }
            Kind::Jump => Self { jump: u32::MAX, ..ends },
            Kind::Branch(..) => Self { jump: u32::MAX, marks: BREAKS, ..plain },
            Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => {
                Self { marks: BREAKS | CALLS, ..ends }
            }
            Kind::Exit => ends,
            Kind::Tail => Self::unsupported(version),
            Kind::Alu(..)
            | Kind::Neg(_)
            | Kind::Endian(_)
            | Kind::Load(_)
            | Kind::StoreImm(_)
            | Kind::StoreReg(_) => plain,
        }
    }

    /// Decodes an instruction other than a call.
    #[inline(always)]
    fn decode(&self, pc: usize, slot: Slot, word_behind: u64, block_len: u8) -> DecodedInsn {
        DecodedInsn {
            handler: self.handler,
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
    let mut tables = [[Template::unsupported(Version::V0); 256]; Version::ALL.len()];
    let mut index = 0;
    while index < tables.len() {
        let version = Version::ALL[index];
        let mut opcode = 0_u8;
        loop {
            tables[index][opcode as usize] = match Op::decode(version, opcode) {
                Some(op) => Template::of(version, op),
                None => Template::unsupported(version),
            };
            if opcode == u8::MAX {
                break;
            }
            opcode += 1;
        }
        index += 1;
    }
    tables
};

/// Slots that are decoded at a time: those of a word of [`DecodedProgram::breaks`].
const BATCH: usize = 64;

/// The lengths of the blocks that start at the two slots behind the current one, the next one in
/// the lower byte. In one register, since each length depends on those behind it.
#[derive(Clone, Copy)]
struct Behind(u32);

impl Behind {
    /// Running past the end of the program is charged as one more instruction, except after an
    /// `lddw` in the last slot.
    const END: Self = Self(1);

    /// Returns the length of the block that starts with an instruction, before any cut.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "one of the lengths is extracted")]
    fn block_len(self, template: &Template) -> u8 {
        let skipped = self.0 >> template.skipped_bits;
        1 + (skipped as u8 & template.goes_on)
    }

    #[inline(always)]
    fn moved(self, block_len: u8) -> Self {
        Self(self.0 << 8 | u32::from(block_len))
    }
}

/// What is found out about the slots of a batch before they are decoded.
struct Batch {
    /// 0 for a cut.
    block_lens: [u8; BATCH],
    /// One bit per slot.
    breaks: u64,
    calls: u64,
}

impl Batch {
    /// Scans the slots of a batch from the last to the first. Adds those where blocks are cut to
    /// `cuts`.
    // Not inlined, so that the loop has all registers.
    #[inline(never)]
    fn scan(
        slots: &[[u8; SLOT_BYTES]],
        templates: &[Template; 256],
        behind: &mut Behind,
        cuts: &mut Vec<usize>,
    ) -> Self {
        let (mut block_lens, mut breaks, mut calls) = ([0; BATCH], 0, 0);
        let mut lens = *behind;
        let places = block_lens[..slots.len()].iter_mut();
        for (index, (block_len, [code, ..])) in places.zip(slots).enumerate().rev() {
            let template = &templates[usize::from(*code)];
            let mut len = lens.block_len(template);
            breaks = breaks << 1 | u64::from(template.marks & BREAKS);
            calls = calls << 1 | u64::from(template.marks / CALLS);
            if len == BLOCK_LEN_MAX {
                cuts.push(index);
                (len, breaks) = (0, breaks | 1);
            }
            *block_len = len;
            lens = lens.moved(len);
        }
        *behind = lens;
        Self { block_lens, breaks, calls }
    }
}

/// Decodes a program.
pub(crate) fn decode(executable: &Executable) -> DecodedProgram {
    let version = executable.version();
    let text = executable.text();
    let templates = &TEMPLATES[version as usize];
    let handlers = handlers(version);
    let slots = text.as_chunks::<SLOT_BYTES>().0;
    let mut insns = DecodedTextBuilder::new(slots.len(), handlers);
    let (mut cut, mut cuts) = (Vec::new(), Vec::new());
    let mut breaks = vec![0; slots.len() / BATCH + 1];
    let (mut behind, mut word_behind) = (Behind::END, 0);
    for (number, batch_slots) in slots.chunks(BATCH).enumerate().rev() {
        let batch_start = number * BATCH;
        let batch = Batch::scan(batch_slots, templates, &mut behind, &mut cuts);
        insns.extend_front(batch_slots.len(), |index| {
            let block_len = batch.block_lens[index % BATCH];
            let word = u64::from_le_bytes(batch_slots[index]);
            let slot = Slot::from_word(word);
            let template = &templates[usize::from(slot.code)];
            let tail = core::mem::replace(&mut word_behind, word);
            template.decode(batch_start + index, slot, tail, block_len)
        });
        for pc in cuts.drain(..).map(|index| batch_start + index) {
            let insn = insns.slot(pc);
            let aux = u32::try_from(cut.len()).expect("fewer cuts than slots");
            cut.push(DecodedInsn { block_len: BLOCK_LEN_MAX, ..*insn });
            *insn = DecodedInsn { aux, block_len: 0, ..DecodedInsn::new(code::CUT, handlers) };
        }
        breaks[number] = batch.breaks;
        let mut calls = batch.calls;
        while calls != 0 {
            let index = calls.trailing_zeros() as usize;
            calls &= calls - 1;
            let slot = Slot::from_word(u64::from_le_bytes(batch_slots[index]));
            if let Some(callee) = Op::decode(version, slot.code).and_then(Callee::of) {
                let pc = batch_start + index;
                *insns.slot(pc) = call(executable, handlers, pc, slot, callee);
            }
        }
    }
    // An `lddw` in the last slot lacks its second half.
    if let Some([code, ..]) = slots.last()
        && templates[usize::from(*code)].skipped_bits != 0
    {
        *insns.slot(slots.len() - 1) = DecodedInsn::new(code::UNSUPPORTED, handlers);
    }
    let chain_compute_units = chain::compute_units_max(version);
    DecodedProgram { text: insns.finish(), cut, breaks, chain_compute_units }
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
