//! How deep a function goes into its frame, before anything is changed about it.
//!
//! The frame pointer is followed from label to label: compilers form the address of a variable
//! where they use it. What a function computes at run time is not seen.

use selkie_isa::{
    Alu, Insn, Kind, Operand, Width,
    layout::{FRAME_POINTER, REGISTER_COUNT},
};

use crate::item::{Action, Item, Link, What};

/// The frame of a function.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Frame {
    /// The bytes below the frame pointer, down to the lowest that is used.
    pub(crate) bytes: u64,
    /// The slot, as compiled, of the first instruction that reaches down to there.
    pub(crate) deepest: Option<u32>,
}

/// What a register is known to hold.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Value {
    #[default]
    Unknown,
    Number(i64),
    /// The frame pointer and so many bytes.
    Frame(i64),
}

impl Value {
    fn add(self, other: Self) -> Self {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Self::Number(a.wrapping_add(b)),
            (Self::Frame(a), Self::Number(b)) | (Self::Number(a), Self::Frame(b)) => {
                Self::Frame(a.wrapping_add(b))
            }
            _ => Self::Unknown,
        }
    }

    fn negate(self) -> Self {
        match self {
            Self::Number(number) => Self::Number(number.wrapping_neg()),
            _ => Self::Unknown,
        }
    }
}

struct Tracker {
    registers: [Value; REGISTER_COUNT],
    frame: Frame,
}

/// Measures a function.
pub(crate) fn frame(items: &[Item]) -> Frame {
    let mut targets = vec![false; items.len()];
    for item in items {
        if let Link::Jump(target) = item.link {
            targets[target] = true;
        }
    }
    let mut tracker = Tracker { registers: [Value::Unknown; _], frame: Frame::default() };
    for (item, is_target) in items.iter().zip(targets) {
        if is_target {
            tracker.registers = [Value::Unknown; _];
        }
        tracker.registers[usize::from(FRAME_POINTER)] = Value::Frame(0);
        tracker.step(item);
    }
    tracker.frame
}

impl Tracker {
    fn get(&self, register: u8) -> Value {
        self.registers.get(usize::from(register)).copied().unwrap_or_default()
    }

    fn set(&mut self, register: u8, value: Value) {
        if let Some(place) = self.registers.get_mut(usize::from(register)) {
            *place = value;
        }
    }

    fn touch(&mut self, slot: u32, value: Value) {
        if let Value::Frame(offset) = value
            && offset < 0
            && offset.unsigned_abs() > self.frame.bytes
        {
            self.frame = Frame { bytes: offset.unsigned_abs(), deepest: Some(slot) };
        }
    }

    fn step(&mut self, item: &Item) {
        let slot = item.slot;
        let at = |this: &Self, base, off: i16| this.get(base).add(Value::Number(off.into()));
        match item.what {
            What::Row(insn) => self.row(slot, &insn),
            What::SignedDivision { dst, .. } | What::SignExtend { dst, .. } => {
                self.set(dst, Value::Unknown);
            }
            What::LoadSigned { dst, src, off, .. } => {
                self.touch(slot, at(self, src, off));
                self.set(dst, Value::Unknown);
            }
            What::Atomic { action, dst, src, off, .. } => {
                self.touch(slot, at(self, dst, off));
                let changed = if action == Action::CompareExchange { 0 } else { src };
                self.set(changed, Value::Unknown);
            }
        }
    }

    fn row(&mut self, slot: u32, insn: &Insn) {
        let Insn { dst, src, imm, .. } = *insn;
        let off = Value::Number(insn.off.into());
        let result = match insn.op.kind() {
            Kind::Load(_) => {
                self.touch(slot, self.get(src).add(off));
                Value::Unknown
            }
            Kind::StoreImm(_) | Kind::StoreReg(_) => {
                return self.touch(slot, self.get(dst).add(off));
            }
            Kind::Alu(alu, Width::W64, operand) => {
                let right = match operand {
                    Operand::Imm => Value::Number(imm),
                    Operand::Uimm => Value::Unknown,
                    Operand::Reg => self.get(src),
                };
                match alu {
                    Alu::Mov => right,
                    Alu::Add => self.get(dst).add(right),
                    Alu::Sub => self.get(dst).add(right.negate()),
                    _ => Value::Unknown,
                }
            }
            Kind::LoadImm64 => Value::Number(imm),
            Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => {
                return self.registers[..6].fill(Value::Unknown);
            }
            Kind::Jump | Kind::Branch(..) | Kind::Exit | Kind::Tail => return,
            Kind::Alu(..) | Kind::Neg(_) | Kind::Endian(_) => Value::Unknown,
        };
        self.touch(slot, result);
        self.set(dst, result);
    }
}
