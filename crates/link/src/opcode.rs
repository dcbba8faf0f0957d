//! Decoding of single instructions.
//!
//! eBPF is decoded strictly: unused fields of an instruction must be zero, since newer compilers use
//! them to give old opcodes new meanings. sBPF is checked against the verifier's rules.

use selkie_isa::{
    Alu, Field, Insn, Kind, Op, Operand, Size, Slot, Version, Width, layout::FRAME_POINTER,
};

use crate::{
    error::LinkError,
    item::{AtomicAction, Operation, Rhs},
};

/// Describes an unknown instruction.
pub(crate) fn unknown_instruction(raw: Slot) -> String {
    let Slot { code, dst, src, off, imm } = raw;
    format!(
        "unknown instruction: opcode {code:#04x}, r{dst}, r{src}, offset {off}, immediate {imm}"
    )
}

/// Decodes an eBPF instruction other than a call or a 64-bit constant, and returns the distance of a
/// jump.
pub(crate) fn decode_ebpf(raw: Slot) -> Result<(Operation, Option<i64>), LinkError> {
    let refused = |help: &str| Err(LinkError::new(unknown_instruction(raw)).help(help));
    let Slot { code, dst, src, off, imm } = raw;
    let row = |op| Insn { op, dst, src, off, imm: i64::from(imm) };
    let operation = match code {
        // The distance of `gotol` is its immediate.
        0x06 if dst == 0 && src == 0 && off == 0 => {
            let insn = Insn { imm: 0, ..row(Op::Ja) };
            return Ok((Operation::Insn(insn), Some(i64::from(imm))));
        }
        0x0d => {
            return refused(
                "a jump by a table, which sBPF does not have: write `switch` instead of a computed `goto`; \
                 where the compiler makes tables, pass -fno-jump-tables for C, -Cjump-tables=no for Rust",
            );
        }
        0xe5 => return refused("`may_goto` exists only in the Linux kernel: write a plain loop"),
        0x81 | 0x89 | 0x91 if imm == 0 => {
            let size = match code {
                0x81 => Size::W,
                0x89 => Size::H,
                _ => Size::B,
            };
            check_registers(&row(Op::Ldxw))?;
            Operation::LoadSigned { size, dst, src, off }
        }
        0xd7 if src == 0 && off == 0 && matches!(imm, 16 | 32 | 64) => Operation::Insn(row(Op::Be)),
        0xc3 | 0xcb | 0xd3 | 0xdb => atomic(raw)?,
        0x8d if off == 0 && src == 0 => {
            // Up to LLVM 16 the register is in the immediate.
            let register = match (dst, imm) {
                (_, 0) => dst,
                (0, 1..=9) => u8::try_from(imm).unwrap_or_default(),
                _ => return refused("`callx` takes one register from r0 to r9"),
            };
            Operation::Insn(Insn { dst: register, imm: 0, ..row(Op::CallxDst) })
        }
        _ => match Op::decode(Version::V3, code) {
            Some(op) => decode_common(row(op))?,
            None => return refused(MCPU_V2),
        },
    };
    if let Operation::Insn(insn) = &operation {
        check_registers(insn)?;
        if matches!(insn.op.kind(), Kind::Jump | Kind::Branch(..)) {
            return Ok((Operation::Insn(Insn { off: 0, ..*insn }), Some(i64::from(off))));
        }
    }
    Ok((operation, None))
}

/// Decodes an sBPF instruction other than a call or a 64-bit constant, and returns the distance of a
/// jump.
pub(crate) fn decode_sbpf(
    raw: Slot,
    version: Version,
) -> Result<(Operation, Option<i64>), LinkError> {
    let Slot { code, dst, src, off, imm } = raw;
    let refused = |why: String| Err(LinkError::new(why));
    let Some(op) = Op::decode(version, code).filter(|op| op.kind() != Kind::Tail) else {
        return refused(format!("opcode {code:#04x} does not exist in sBPF {version}"));
    };
    let insn = Insn { op, dst, src, off, imm: i64::from(imm) };
    let dst_max = match op.kind() {
        Kind::StoreReg(_) | Kind::StoreImm(_) => FRAME_POINTER,
        _ => FRAME_POINTER - 1,
    };
    if dst > dst_max || src > FRAME_POINTER {
        return Err(invalid_registers(op, dst, src));
    }
    match op.kind() {
        Kind::Alu(alu, _, Operand::Imm | Operand::Uimm) if alu.divides() && imm == 0 => {
            return refused("a division by the constant 0".to_owned());
        }
        Kind::Alu(alu, width, Operand::Imm | Operand::Uimm)
            if alu.shifts() && !(0..i64::from(width.bits())).contains(&insn.imm) =>
        {
            return refused(format!("a shift of a {}-bit number by {imm}", width.bits()));
        }
        Kind::Endian(_) if !matches!(imm, 16 | 32 | 64) => {
            return refused(format!("`{}` of {imm} bits, not 16, 32 or 64", op.mnemonic()));
        }
        Kind::CallReg(field) => {
            let register = match field {
                Field::InImm => insn.imm,
                Field::InSrc => src.into(),
                Field::InDst => dst.into(),
            };
            if !(0..i64::from(FRAME_POINTER)).contains(&register) {
                return refused(format!("a call through register {register}, not r0 to r9"));
            }
        }
        Kind::Jump | Kind::Branch(..) => {
            return Ok((Operation::Insn(Insn { off: 0, ..insn }), Some(off.into())));
        }
        _ => {}
    }
    Ok((Operation::Insn(insn), None))
}

/// Decodes an eBPF instruction whose opcode exists in sBPF too. Some nonzero offsets change its
/// meaning.
fn decode_common(insn: Insn) -> Result<Operation, LinkError> {
    use selkie_isa::Operand::Reg;
    let Insn { op, dst, src, off, imm } = insn;
    let unknown_field = || {
        let raw = Slot { code: op.code(), dst, src, off, imm: i32::try_from(imm).unwrap_or(0) };
        LinkError::new(unknown_instruction(raw)).help(MCPU_V2)
    };
    let right = |operand| if operand == Reg { Rhs::Reg(src) } else { Rhs::Imm(imm) };
    let unused = |by_register: bool| if by_register { imm == 0 } else { src == 0 };
    match op.kind() {
        Kind::Alu(alu, width, operand) => {
            if !unused(operand == Reg) {
                return Err(unknown_field());
            }
            let width = if width == Width::S32 { Width::Z32 } else { width };
            match (alu, off) {
                (_, 0) => Ok(Operation::Insn(insn)),
                (Alu::Div | Alu::Mod, 1) => {
                    check_registers(&insn)?;
                    let (modulo, operand) = (alu == Alu::Mod, right(operand));
                    Ok(Operation::SignedDivision { modulo, width, dst, operand })
                }
                (Alu::Mov, 8 | 16 | 32) if operand == Reg && i32::from(off) < bits(width) => {
                    check_registers(&insn)?;
                    Ok(Operation::SignExtend { bits: off.into(), width, dst, src })
                }
                _ => Err(unknown_field()),
            }
        }
        Kind::Neg(_) if src == 0 && off == 0 && imm == 0 => Ok(Operation::Insn(insn)),
        Kind::Endian(_) if src == 0 && off == 0 && matches!(imm, 16 | 32 | 64) => {
            Ok(Operation::Insn(insn))
        }
        Kind::Load(_) if imm == 0 => Ok(Operation::Insn(insn)),
        Kind::StoreReg(_) if imm == 0 => Ok(Operation::Insn(insn)),
        Kind::StoreImm(_) if src == 0 => Ok(Operation::Insn(insn)),
        Kind::Branch(_, _, operand) if unused(operand == Reg) => Ok(Operation::Insn(insn)),
        Kind::Jump if dst == 0 && src == 0 && imm == 0 => Ok(Operation::Insn(insn)),
        Kind::Exit if dst == 0 && src == 0 && off == 0 && imm == 0 => Ok(Operation::Insn(insn)),
        _ => Err(unknown_field()),
    }
}

fn bits(width: Width) -> i32 {
    if width == Width::W64 { 64 } else { 32 }
}

fn atomic(raw: Slot) -> Result<Operation, LinkError> {
    let Slot { code, dst, src, off, imm } = raw;
    let size = match code {
        0xc3 => Size::W,
        0xcb => Size::H,
        0xd3 => Size::B,
        _ => Size::Dw,
    };
    let insn = |op| Insn { op, dst, src, off, imm: 0 };
    check_registers(&insn(Op::Stxdw))?;
    let wide = matches!(size, Size::W | Size::Dw);
    let combine = |op| AtomicAction::Combine { op, fetch: imm & 1 != 0 };
    let action = match imm {
        0x00 | 0x01 if wide => combine(Op::Add64Reg),
        0x40 | 0x41 if wide => combine(Op::Or64Reg),
        0x50 | 0x51 if wide => combine(Op::And64Reg),
        0xa0 | 0xa1 if wide => combine(Op::Xor64Reg),
        0xe1 if wide => AtomicAction::Exchange,
        0xf1 if wide => AtomicAction::CompareExchange,
        // Load-acquire and store-release: a program has one thread.
        0x100 => return Ok(Operation::Insn(insn(load(size)))),
        0x110 => return Ok(Operation::Insn(insn(store(size)))),
        _ => return Err(LinkError::new(unknown_instruction(raw)).help(MCPU_V2)),
    };
    // The old value is written to `src`.
    let writes_src =
        matches!(action, AtomicAction::Exchange | AtomicAction::Combine { fetch: true, .. });
    if writes_src && src > 9 {
        let message = format!("an atomic instruction that writes to r{src}");
        return Err(LinkError::new(message).help("only r0 to r9 are writable"));
    }
    Ok(Operation::Atomic { action, size, dst, src, off })
}

pub(crate) fn load(size: Size) -> Op {
    match size {
        Size::B => Op::Ldxb,
        Size::H => Op::Ldxh,
        Size::W => Op::Ldxw,
        Size::Dw => Op::Ldxdw,
    }
}

pub(crate) fn store(size: Size) -> Op {
    match size {
        Size::B => Op::Stxb,
        Size::H => Op::Stxh,
        Size::W => Op::Stxw,
        Size::Dw => Op::Stxdw,
    }
}

/// The register relative to which LLVM stores arguments that do not fit into r1 to r5.
pub(crate) const ARGUMENT_POINTER: u8 = 11;

/// The help for instructions that do not exist in sBPF.
pub(crate) const MCPU_V2: &str = "sBPF has no such instruction: compile with -mcpu=v2";

/// Checks the registers of an instruction: r10 is read-only, and not allowed on the left of a
/// comparison, since the verifier treats that register as written. r11 is only allowed as the base
/// of a load or store.
pub(crate) fn check_registers(insn: &Insn) -> Result<(), LinkError> {
    let (dst_max, src_max) = match insn.op.kind() {
        Kind::Load(_) => (9, ARGUMENT_POINTER),
        Kind::StoreReg(_) | Kind::StoreImm(_) => (ARGUMENT_POINTER, 10),
        _ => (9, 10),
    };
    if insn.dst <= dst_max && insn.src <= src_max {
        return Ok(());
    }
    Err(invalid_registers(insn.op, insn.dst, insn.src))
}

fn invalid_registers(op: Op, dst: u8, src: u8) -> LinkError {
    let message = format!("invalid registers of `{}`: dst is r{dst}, src is r{src}", op.mnemonic());
    let help = "r10 is read-only, and r11 only the base of stack arguments: check inline assembly";
    LinkError::new(message).help(help)
}
