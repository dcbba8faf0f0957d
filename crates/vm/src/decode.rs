//! From a program's text to its cells, in one pass.
//!
//! The pass goes backwards, so that each cell can count its run from that of the cell behind it.

use selkie_elf::{Executable, SyscallId};
use selkie_isa::{Field, Kind, Op, Operand, Slot, Version, layout::SLOT_BYTES};

use crate::{
    cells::Cells,
    interp::handlers,
    program::{Cell, Register, code},
};

/// The longest run; longer ones are cut.
const RUN_MAX: u8 = 255;

/// How a cell is made of a slot.
#[derive(Clone, Copy)]
enum Form {
    /// The immediate sign-extended, the offset as it is.
    Plain,
    /// The immediate zero-extended.
    ZeroExtended,
    /// The immediate completed by the slot behind.
    LoadImm64,
    /// The offset turned into the target's slot.
    Jump,
    /// The callee looked up by the immediate.
    CallHash,
    /// The callee looked up as the source nibble says.
    CallStatic,
    /// The register taken from its field.
    CallReg(Field),
}

/// What is known of an opcode before its operands are.
#[derive(Clone, Copy)]
struct Template {
    code: u8,
    form: Form,
    /// Whether control never goes on behind it as a matter of course.
    ends_run: bool,
}

impl Template {
    const UNSUPPORTED: Self = Self { code: code::UNSUPPORTED, form: Form::Plain, ends_run: true };

    const fn of(op: Op) -> Self {
        let (form, ends_run) = match op.kind() {
            Kind::Alu(_, _, Operand::Uimm) => (Form::ZeroExtended, false),
            Kind::LoadImm64 => (Form::LoadImm64, false),
            Kind::Jump => (Form::Jump, true),
            Kind::Branch(..) => (Form::Jump, false),
            Kind::CallHash => (Form::CallHash, true),
            Kind::CallStatic => (Form::CallStatic, true),
            Kind::CallReg(field) => (Form::CallReg(field), true),
            Kind::Exit => (Form::Plain, true),
            Kind::Tail => return Self::UNSUPPORTED,
            Kind::Alu(..)
            | Kind::Neg(_)
            | Kind::Endian(_)
            | Kind::Load(_)
            | Kind::StoreImm(_)
            | Kind::StoreReg(_) => (Form::Plain, false),
        };
        Self { code: op as u8, form, ends_run }
    }
}

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

/// The cells of a program, and those that stand where its runs were cut.
pub(crate) fn decode(executable: &Executable) -> (Cells, Vec<Cell>) {
    let version = executable.version();
    let text = executable.text();
    let templates = &TEMPLATES[version as usize];
    let handlers = handlers(version);
    let mut cells = Cells::new(text.len() / SLOT_BYTES, version);
    let mut cut = Vec::new();
    // Passing the end of the program counts as one more instruction.
    let (mut behind, mut two_behind) = (1, 1);
    for (pc, bytes) in text.chunks_exact(SLOT_BYTES).enumerate().rev() {
        let word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes"));
        let slot = Slot::from_word(word);
        let Template { code, form, ends_run } = templates[usize::from(slot.code)];
        // Field by field, in place: a cell that is put together elsewhere and then copied makes
        // wide loads wait for narrow stores.
        let cell = cells.slot(pc);
        cell.handler = handlers[usize::from(code)];
        cell.imm = i64::from(slot.imm).cast_unsigned();
        cell.aux = i32::from(slot.off).cast_unsigned();
        cell.code = code;
        cell.dst = Register::new(slot.dst);
        cell.src = Register::new(slot.src);
        let mut run = if ends_run { 1 } else { 1 + behind };
        match form {
            Form::Plain => {}
            Form::ZeroExtended => cell.imm = key(slot).into(),
            Form::LoadImm64 => match Slot::read(text, pc + 1) {
                Some(tail) => {
                    cell.imm = u64::from(key(slot)) | u64::from(key(tail)) << 32;
                    run = 1 + two_behind;
                }
                // Without a slot behind it, an `lddw` is no instruction.
                None => {
                    *cell = Cell::new(code::UNSUPPORTED, version);
                    run = 1;
                }
            },
            Form::Jump => cell.aux = jump_target(pc, slot),
            Form::CallHash | Form::CallStatic | Form::CallReg(_) => {
                *cell = call(executable, pc, slot, form);
            }
        }
        cell.run = run;
        if run == RUN_MAX {
            let aux = u32::try_from(cut.len()).expect("fewer cuts than slots");
            cut.push(*cell);
            run = 0;
            *cell = Cell { aux, run, ..Cell::new(code::CUT, version) };
        }
        (behind, two_behind) = (run, behind);
    }
    (cells, cut)
}

/// The immediate as the hash of a name.
fn key(slot: Slot) -> u32 {
    slot.imm.cast_unsigned()
}

/// The slot that a jump leads to. Only unverified programs have one that is out of the program:
/// any such number will do.
fn jump_target(pc: usize, slot: Slot) -> u32 {
    u32::try_from((pc + 1).wrapping_add_signed(slot.off.into())).unwrap_or(u32::MAX)
}

#[inline(never)]
fn call(executable: &Executable, pc: usize, slot: Slot, form: Form) -> Cell {
    let version = executable.version();
    let unsupported = Cell::new(code::UNSUPPORTED, version);
    let call = |code| Cell { imm: pc as u64 + 1, ..Cell::new(code, version) };
    let local = |target| Cell { aux: target, ..call(code::CALL_LOCAL) };
    let syscall = |id: SyscallId| Cell { aux: id.0.into(), ..call(code::CALL_SYSCALL) };
    let by_register = |register: i64| match u8::try_from(register) {
        Ok(register @ 0..=15) => Cell { src: Register::new(register), ..call(code::CALL_REGISTER) },
        _ => unsupported,
    };
    match (form, slot.src) {
        // A syscall's key is looked for first: both can only be known if the loader let a
        // collision pass, which it does not.
        (Form::CallHash, _) => match executable.syscalls().find(key(slot)) {
            Some(id) => syscall(id),
            None => executable
                .functions()
                .get(key(slot))
                .map_or(unsupported, |function| local(function.pc)),
        },
        (Form::CallStatic, 0) => executable.syscalls().find(key(slot)).map_or(unsupported, syscall),
        (Form::CallStatic, 1) => {
            let slots = executable.text().len() / SLOT_BYTES;
            let target =
                isize::try_from(slot.imm).ok().and_then(|it| (pc + 1).checked_add_signed(it));
            match target.filter(|target| *target < slots).map(u32::try_from) {
                Some(Ok(target)) => local(target),
                _ => unsupported,
            }
        }
        (Form::CallReg(Field::InImm), _) => by_register(slot.imm.into()),
        (Form::CallReg(Field::InSrc), _) => by_register(slot.src.into()),
        (Form::CallReg(Field::InDst), _) => by_register(slot.dst.into()),
        _ => unsupported,
    }
}
