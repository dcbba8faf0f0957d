//! How many bits the value of each register has at most before each instruction, so that extensions
//! of values that are extended already can be left out.

use selkie_isa::{Alu, Insn, Kind, Operand, Size, Width};

use super::liveness::LiveRegisters;
use crate::item::{AtomicAction, Item, Operation, Reference, Registers};

/// What is known of the values of all registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Widths {
    /// By register: its value as an unsigned number is below 2 to the power of this.
    bits: [u8; 16],
    /// Registers whose value is its own lower half, sign-extended, among those with more than 31 bits.
    signed: Registers,
}

/// What is known of one value: its bits, and whether it is sign-extended.
#[derive(Clone, Copy)]
struct Value {
    bits: u8,
    signed: bool,
}

impl Value {
    const UNKNOWN: Self = Self::unsigned(64);
    const SIGNED: Self = Self { bits: 64, signed: true };

    const fn unsigned(bits: u8) -> Self {
        Self { bits, signed: bits <= 31 }
    }

    /// A number that was sign-extended from 32 bits, or one of 64.
    fn number(number: i64) -> Self {
        let bits = 64 - number.leading_zeros();
        Self { bits: bits.try_into().unwrap_or(64), signed: i32::try_from(number).is_ok() }
    }

    fn of_size(size: Size) -> Self {
        Self::unsigned(match size {
            Size::B => 8,
            Size::H => 16,
            Size::W => 32,
            Size::Dw => 64,
        })
    }
}

impl Widths {
    const UNKNOWN: Self = Self { bits: [64; 16], signed: Registers::NONE };

    /// Returns whether the upper half is zero.
    pub(super) fn is_zero_extended(&self, register: u8) -> bool {
        self.get(register).bits <= 32
    }

    /// Returns whether the value is its lower half, sign-extended.
    pub(super) fn is_sign_extended(&self, register: u8) -> bool {
        self.get(register).signed
    }

    /// Returns whether the lowest bits of a register are its value, whichever way they are extended.
    pub(super) fn is_below(&self, register: u8, bits: i32) -> bool {
        i32::from(self.get(register).bits) < bits
    }

    /// Returns whether a 32-bit sum, difference or product is below 2^31, so that it is the same
    /// whichever way it is extended.
    pub(super) fn result_is_small(&self, insn: &Insn) -> bool {
        self.sum(insn).is_some()
    }

    fn get(&self, register: u8) -> Value {
        let bits = self.bits[usize::from(register & 15)];
        Value { bits, signed: bits <= 31 || self.signed.has(register) }
    }

    fn set(&mut self, register: u8, value: Value) {
        self.bits[usize::from(register & 15)] = value.bits;
        let it = Registers::of(&[register]);
        self.signed = if value.signed { self.signed.with(it) } else { self.signed.without(it) };
    }

    /// Takes in what is known on another path. Returns whether that is less than before.
    fn join(&mut self, other: &Self) -> bool {
        let before = *self;
        for register in 0..16 {
            let (ours, theirs) = (self.get(register), other.get(register));
            // In steps, so that a loop that counts ends soon.
            let bits = match theirs.bits {
                bits if bits <= ours.bits => ours.bits,
                bits => [8, 16, 31, 32].into_iter().find(|&it| it >= bits).unwrap_or(64),
            };
            self.set(register, Value { bits, signed: ours.signed && theirs.signed });
        }
        *self != before
    }

    /// Returns the widths after an item. `upper` says of which registers the upper halves are read
    /// after it: of the others, 32-bit sums stay sign-extended.
    fn after(&self, item: &Item, upper: Registers) -> Self {
        let mut widths = *self;
        for register in 0..16 {
            if item.operation.defines().has(register) {
                widths.set(register, Value::UNKNOWN);
            }
        }
        match item.operation {
            Operation::Insn(insn) => {
                if item.operation.defines() == Registers::of(&[insn.dst]) {
                    widths.set(insn.dst, self.result(&insn, item.reference, upper));
                }
            }
            Operation::SignedDivision { width, dst, .. } => {
                widths.set(
                    dst,
                    if width == Width::W64 { Value::UNKNOWN } else { Value::unsigned(32) },
                );
            }
            Operation::SignExtend { width, dst, .. } => {
                widths.set(
                    dst,
                    if width == Width::W64 { Value::SIGNED } else { Value::unsigned(32) },
                );
            }
            Operation::LoadSigned { dst, .. } => widths.set(dst, Value::SIGNED),
            Operation::Atomic { action, size, src, .. } => match action {
                AtomicAction::Combine { fetch: false, .. } => {}
                AtomicAction::Combine { fetch: true, .. } | AtomicAction::Exchange => {
                    widths.set(src, Value::of_size(size));
                }
                AtomicAction::CompareExchange => widths.set(0, Value::of_size(size)),
            },
        }
        widths
    }

    fn result(&self, insn: &Insn, reference: Reference, upper: Registers) -> Value {
        match insn.op.kind() {
            Kind::Load(size) => Value::of_size(size),
            // The number is not known before the layout.
            _ if matches!(reference, Reference::Target(_)) => Value::UNKNOWN,
            Kind::LoadImm64 => Value::number(insn.imm),
            Kind::Alu(alu, Width::W64, operand) => self.wide(alu, operand, insn),
            Kind::Alu(alu, Width::Z32, operand) => Value::unsigned(self.narrow(alu, operand, insn)),
            Kind::Alu(_, Width::S32, _) => match self.sum(insn) {
                Some(bits) => Value::unsigned(bits),
                None if upper.has(insn.dst) => Value::unsigned(32),
                None => Value::SIGNED,
            },
            Kind::Neg(Width::Z32) => Value::unsigned(32),
            Kind::Endian(_) => Value::unsigned(up_to(insn.imm, 64)),
            _ => Value::UNKNOWN,
        }
    }

    fn operands(&self, operand: Operand, insn: &Insn) -> (Value, Value) {
        let right = match operand {
            Operand::Reg => self.get(insn.src),
            Operand::Imm | Operand::Uimm => Value::number(insn.imm),
        };
        (self.get(insn.dst), right)
    }

    fn wide(&self, alu: Alu, operand: Operand, insn: &Insn) -> Value {
        let (left, right) = self.operands(operand, insn);
        let by = match operand {
            Operand::Imm => up_to(insn.imm, 63),
            Operand::Reg | Operand::Uimm => 0,
        };
        let both = left.signed && right.signed;
        let bits = match alu {
            Alu::Mov => return right,
            Alu::And => left.bits.min(right.bits),
            Alu::Or | Alu::Xor => left.bits.max(right.bits),
            Alu::Add => (left.bits.max(right.bits) + 1).min(64),
            Alu::Mul => (left.bits + right.bits).min(64),
            Alu::Lsh if operand == Operand::Imm => (left.bits + by).min(64),
            Alu::Rsh => left.bits.saturating_sub(by),
            Alu::Arsh if left.bits < 64 => left.bits.saturating_sub(by),
            Alu::Arsh => return Value { bits: 64, signed: by >= 32 },
            Alu::Div => left.bits,
            Alu::Mod if is_by_zero(operand, insn) => left.bits,
            Alu::Mod => left.bits.min(right.bits),
            _ => 64,
        };
        let keeps_sign = matches!(alu, Alu::And | Alu::Or | Alu::Xor) && both;
        Value { bits, signed: keeps_sign || bits <= 31 }
    }

    fn narrow(&self, alu: Alu, operand: Operand, insn: &Insn) -> u8 {
        let (left, right) = self.operands(operand, insn);
        let (left, right) = (left.bits.min(32), right.bits.min(32));
        let by = match operand {
            Operand::Imm => up_to(insn.imm, 31),
            Operand::Reg | Operand::Uimm => 0,
        };
        match alu {
            Alu::Mov => right,
            Alu::And => left.min(right),
            Alu::Or | Alu::Xor => left.max(right),
            Alu::Lsh if operand == Operand::Imm => (left + by).min(32),
            Alu::Rsh => left.saturating_sub(by),
            Alu::Arsh if left < 32 => left.saturating_sub(by),
            Alu::Div => left,
            Alu::Mod if is_by_zero(operand, insn) => left,
            Alu::Mod => left.min(right),
            _ => 32,
        }
    }

    /// Returns the bits of a 32-bit sum or product if it is below 2^31.
    fn sum(&self, insn: &Insn) -> Option<u8> {
        let Kind::Alu(alu, Width::S32, operand) = insn.op.kind() else { return None };
        let (left, right) = self.operands(operand, insn);
        let (left, right) = (left.bits.min(32), right.bits.min(32));
        let bits = match alu {
            Alu::Add => left.max(right) + 1,
            Alu::Mul => left + right,
            _ => 64,
        };
        (bits <= 31).then_some(bits)
    }
}

fn up_to(number: i64, max: u8) -> u8 {
    u8::try_from(number.max(0)).unwrap_or(max).min(max)
}

fn is_by_zero(operand: Operand, insn: &Insn) -> bool {
    operand == Operand::Imm && insn.imm == 0
}

/// Returns what is known before each item. Nothing is known of an item that is never reached.
///
/// This is a worklist algorithm, as for liveness, in the direction of control. What is known before
/// an item gets less at most a few times for each register.
pub(super) fn widths(items: &[Item], live: &[LiveRegisters]) -> Vec<Widths> {
    let mut before: Vec<Option<Widths>> = vec![None; items.len()];
    let mut pending = Vec::new();
    if let Some(first) = before.first_mut() {
        *first = Some(Widths::UNKNOWN);
        pending.push(0);
    }
    let mut is_pending = vec![false; items.len()];
    while let Some(index) = pending.pop() {
        is_pending[index] = false;
        let item = &items[index];
        let Some(widths) = before[index] else { continue };
        let after = widths.after(item, live[index].upper);
        let next = item.operation.falls_through().then_some(index + 1);
        let target = match item.reference {
            Reference::Jump(target) => Some(target),
            _ => None,
        };
        for to in next.into_iter().chain(target).filter(|&it| it < items.len()) {
            let is_less = match &mut before[to] {
                Some(known) => known.join(&after),
                unknown => {
                    *unknown = Some(after);
                    true
                }
            };
            if is_less && !core::mem::replace(&mut is_pending[to], true) {
                pending.push(to);
            }
        }
    }
    before.into_iter().map(|it| it.unwrap_or(Widths::UNKNOWN)).collect()
}
