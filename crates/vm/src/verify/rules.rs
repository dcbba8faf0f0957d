//! What is asked of each opcode.

use selkie_isa::{Field, Kind, Op, Operand, Version, Width};

/// What is asked of an instruction besides sound registers.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// That there is such an instruction.
    Unknown,
    Nothing,
    /// A divisor that is not zero.
    Divisor,
    /// A shift by less than so many bits.
    Shift(u8),
    /// A multiple of 64 if it moves the frame pointer.
    FrameSize,
    /// A width that can be converted.
    Endian,
    /// A second slot.
    Lddw,
    /// A target that is an instruction.
    Jump,
    /// A register that can hold an address.
    CallReg(Field),
}

/// What is asked of an opcode, and what its destination may be.
#[derive(Clone, Copy)]
pub(super) struct Demand {
    pub(super) rule: Rule,
    /// Whether the destination is only read, so that it may be the frame pointer.
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
