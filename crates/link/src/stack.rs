//! How deep a function goes into its frame, before anything is changed about it.
//!
//! The frame pointer is followed through the instructions. Two answers: what is surely used, which
//! decides whether the frame is too large, and what might be, below which is free for others. The
//! first forgets everything where control comes together, the second takes the deepest that any
//! way there could have left. What a function computes at run time is not seen.

use selkie_inspect::frame::{Effect, Value};
use selkie_isa::{
    Insn,
    layout::{FRAME_POINTER, REGISTER_COUNT},
};

use crate::item::{Action, Item, Link, What};

/// The frame of a function.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Frame {
    /// The bytes below the frame pointer, down to the lowest that is used.
    pub(crate) bytes: u64,
    /// The bytes down to the lowest that might be used.
    pub(crate) bytes_max: u64,
    /// The slot, as compiled, of the first instruction that reaches down to what is used.
    pub(crate) deepest: Option<u32>,
}

/// What is deeper, of what two ways have left.
fn deeper(one: Value, other: Value) -> Value {
    match (one, other) {
        (Value::Frame(a), Value::Frame(b)) => Value::Frame(a.min(b)),
        (Value::Frame(a), _) | (_, Value::Frame(a)) => Value::Frame(a),
        (a, b) if a == b => a,
        _ => Value::Unknown,
    }
}

type Registers = [Value; REGISTER_COUNT];

struct Tracker {
    registers: Registers,
    frame: Frame,
}

/// Measures a function.
pub(crate) fn frame(items: &[Item]) -> Frame {
    let mut is_target = vec![false; items.len()];
    for item in items {
        if let Link::Jump(target) = item.link {
            is_target[target] = true;
        }
    }
    let sure = follow(items, &is_target, None);
    let mut left = vec![None; items.len()];
    let possible = follow(items, &is_target, Some(&mut left));
    Frame { bytes_max: possible.bytes.max(sure.bytes), ..sure }
}

/// Follows the frame pointer from item to item. What jumps forward leave behind is kept in `left`
/// for where they go; jumps back are left out, since a pointer that runs down in a loop would have
/// no end.
fn follow(
    items: &[Item],
    is_target: &[bool],
    mut left: Option<&mut Vec<Option<Registers>>>,
) -> Frame {
    let unknown = [Value::Unknown; REGISTER_COUNT];
    let mut tracker = Tracker { registers: unknown, frame: Frame::default() };
    let mut falls_through = true;
    for (index, item) in items.iter().enumerate() {
        match left.as_deref().and_then(|left| left[index]) {
            Some(other) if falls_through => {
                let now = tracker.registers;
                tracker.registers = core::array::from_fn(|it| deeper(now[it], other[it]));
            }
            Some(other) => tracker.registers = other,
            None if is_target[index] && left.is_none() => tracker.registers = unknown,
            None => {}
        }
        tracker.registers[usize::from(FRAME_POINTER)] = Value::Frame(0);
        tracker.step(item);
        falls_through = item.what.falls_through();
        if let (Some(left), Link::Jump(target)) = (left.as_deref_mut(), item.link)
            && target > index
        {
            let now = tracker.registers;
            let others = left[target].unwrap_or(now);
            left[target] = Some(core::array::from_fn(|it| deeper(now[it], others[it])));
        }
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
            self.frame.bytes = offset.unsigned_abs();
            self.frame.deepest = Some(slot);
        }
    }

    fn step(&mut self, item: &Item) {
        let slot = item.slot;
        let at = |this: &Self, base, off: i16| this.get(base).plus(Value::Number(off.into()));
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
        let result = match Effect::of(insn, |register| self.get(register)) {
            Effect::None => return,
            Effect::Call => return self.registers[..6].fill(Value::Unknown),
            Effect::Store(address) => return self.touch(slot, address),
            Effect::Load(address) => {
                self.touch(slot, address);
                Value::Unknown
            }
            Effect::Set(value) => value,
        };
        self.touch(slot, result);
        self.set(insn.dst, result);
    }
}

#[cfg(test)]
mod tests {
    use selkie_isa::Op;

    use super::*;

    fn item(op: Op, dst: u8, src: u8, imm: i64) -> Item {
        let what = What::Row(Insn { op, dst, src, off: 0, imm });
        Item { slot: 0, what, link: Link::None }
    }

    /// Two ways to one addition: `r6 = r10` or `r6 = r1`, then `r6 -= 72`.
    #[test]
    fn what_comes_together_might_be_used() {
        let mut items = [
            item(Op::Mov64Reg, 6, 10, 0),
            item(Op::Jeq64Imm, 1, 0, 0),
            item(Op::Mov64Reg, 6, 1, 0),
            item(Op::Add64Imm, 6, 0, -72),
            item(Op::Exit, 0, 0, 0),
        ];
        items[1].link = Link::Jump(3);
        let found = frame(&items);
        assert_eq!((found.bytes, found.bytes_max), (0, 72));
    }

    #[test]
    fn pointers_that_run_down_have_an_end() {
        let mut items = [
            item(Op::Mov64Reg, 6, 10, 0),
            item(Op::Add64Imm, 6, 0, -8),
            item(Op::Jne64Imm, 6, 0, 0),
            item(Op::Exit, 0, 0, 0),
        ];
        items[2].link = Link::Jump(1);
        assert_eq!(frame(&items).bytes_max, 8);
    }
}
