//! The rule for each opcode and version.

use selkie_isa::{Field, Kind, Op, Operand, Version, Width};

/// The rule of an opcode, besides those on registers.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// There is no such instruction: refused.
    Unknown,
    /// No rule.
    Nothing,
    /// The divisor must not be zero.
    Divisor,
    /// The shift must be less than this many bits.
    Shift(u8),
    /// The immediate must be a multiple of 64 if the destination is the frame pointer.
    FrameSize,
    /// The width must be 16, 32 or 64.
    Endian,
    /// A second slot must follow.
    Lddw,
    /// The target must be an instruction.
    Jump,
    /// The register must be one of r0 to r9.
    CallReg(Field),
}

/// The rule of an opcode, and whether its destination may be the frame pointer.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) rule: Rule,
    /// Whether it is a store, whose destination register is only read and may be the frame pointer.
    pub(super) stores: bool,
}

impl Demand {
    const fn of(op: Op, version: Version) -> Self {
        let rule = match op.kind() {
            Kind::Alu(alu, width, Operand::Imm | Operand::Uimm) => {
                if alu.divides() {
                    Rule::Divisor
                } else if alu.shifts() {
                    match width {
                        Width::W64 => Rule::Shift(64),
                        Width::Z32 | Width::S32 => Rule::Shift(32),
                    }
                } else if version.dynamic_frames() && matches!(op, Op::Add64Imm) {
                    Rule::FrameSize
                } else {
                    Rule::Nothing
                }
            }
            Kind::Endian(_) => Rule::Endian,
            Kind::LoadImm64 => Rule::Lddw,
            Kind::Jump | Kind::Branch(..) => Rule::Jump,
            Kind::CallReg(field) => Rule::CallReg(field),
            Kind::Tail => Rule::Unknown,
            Kind::Alu(..)
            | Kind::Neg(_)
            | Kind::Load(_)
            | Kind::StoreImm(_)
            | Kind::StoreReg(_)
            | Kind::CallHash
            | Kind::CallStatic
            | Kind::Exit => Rule::Nothing,
        };
        Self { rule, stores: matches!(op.kind(), Kind::StoreImm(_) | Kind::StoreReg(_)) }
    }
}

/// The demands, by version and opcode.
pub(super) static DEMANDS: [[Demand; 256]; Version::ALL.len()] = {
    let mut tables = [[Demand { rule: Rule::Unknown, stores: false }; 256]; Version::ALL.len()];
    let mut version = 0;
    while version < tables.len() {
        let mut index = 0;
        while index < Op::ALL.len() {
            let op = Op::ALL[index];
            if op.versions().contains(Version::ALL[version]) {
                tables[version][op.code() as usize] = Demand::of(op, Version::ALL[version]);
            }
            index += 1;
        }
        version += 1;
    }
    tables
};
