//! Stack use: how many bytes of its frame a function uses, as compiled.
//!
//! Addresses derived from the frame pointer are tracked through the instructions, in two passes. The
//! first one finds the bytes that are certainly used, which decide whether the frame is too large;
//! it forgets all registers where control flow joins. The second one finds the bytes that may be
//! used, below which the linker can save registers; where control flow joins it keeps the lowest
//! address of each register. Addresses that depend on run-time values are not tracked.

use selkie_inspect::frame::{Effect, Value};
use selkie_isa::{
    Insn,
    layout::{FRAME_POINTER, REGISTER_COUNT},
};

use crate::item::{AtomicAction, Item, Operation, Reference};

/// The frame of a function.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Frame {
    /// Bytes below the frame pointer that are certainly used.
    pub(crate) bytes: u64,
    /// Bytes below the frame pointer that may be used.
    pub(crate) bytes_max: u64,
    /// The slot, as compiled, of the first instruction that uses the lowest of `bytes`.
    pub(crate) deepest: Option<u32>,
}

/// Joins the values of a register on two paths: the lower frame address, if there is one.
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

/// Returns the stack use of a function.
pub(crate) fn frame(items: &[Item]) -> Frame {
    let mut is_target = vec![false; items.len()];
    for item in items {
        if let Reference::Jump(target) = item.reference {
            is_target[target] = true;
        }
    }
    let sure = track(items, &is_target, None);
    let mut incoming = vec![None; items.len()];
    let possible = track(items, &is_target, Some(&mut incoming));
    Frame { bytes_max: possible.bytes.max(sure.bytes), ..sure }
}

/// Follows the frame pointer from item to item. What jumps forward leave behind is kept in `left`
/// for where they go; jumps back are left out, since a pointer that runs down in a loop would have
/// no end.
fn track(
    items: &[Item],
    is_target: &[bool],
    mut incoming: Option<&mut Vec<Option<Registers>>>,
) -> Frame {
    let unknown = [Value::Unknown; REGISTER_COUNT];
    let mut tracker = Tracker { registers: unknown, frame: Frame::default() };
    let mut falls_through = true;
    for (index, item) in items.iter().enumerate() {
        match incoming.as_deref().and_then(|incoming| incoming[index]) {
            Some(other) if falls_through => {
                let now = tracker.registers;
                tracker.registers = core::array::from_fn(|it| deeper(now[it], other[it]));
            }
            Some(other) => tracker.registers = other,
            None if is_target[index] && incoming.is_none() => tracker.registers = unknown,
            None => {}
        }
        tracker.registers[usize::from(FRAME_POINTER)] = Value::Frame(0);
        tracker.step(item);
        falls_through = item.operation.falls_through();
        if let (Some(incoming), Reference::Jump(target)) = (incoming.as_deref_mut(), item.reference)
            && target > index
        {
            let now = tracker.registers;
            let others = incoming[target].unwrap_or(now);
            incoming[target] = Some(core::array::from_fn(|it| deeper(now[it], others[it])));
        }
    }
    tracker.frame
}

impl Tracker {
    fn get(&self, register: u8) -> Value {
        self.registers.get(usize::from(register)).copied().unwrap_or_default()
    }

    fn set(&mut self, register: u8, value: Value) {
        if let Some(location) = self.registers.get_mut(usize::from(register)) {
            *location = value;
        }
    }

    fn record_use(&mut self, slot: u32, value: Value) {
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
        match item.operation {
            Operation::Insn(insn) => self.row(slot, &insn),
            Operation::SignedDivision { dst, .. } | Operation::SignExtend { dst, .. } => {
                self.set(dst, Value::Unknown);
            }
            Operation::LoadSigned { dst, src, off, .. } => {
                self.record_use(slot, at(self, src, off));
                self.set(dst, Value::Unknown);
            }
            Operation::Atomic { action, dst, src, off, .. } => {
                self.record_use(slot, at(self, dst, off));
                let changed = if action == AtomicAction::CompareExchange { 0 } else { src };
                self.set(changed, Value::Unknown);
            }
        }
    }

    fn row(&mut self, slot: u32, insn: &Insn) {
        let result = match Effect::of(insn, |register| self.get(register)) {
            Effect::None => return,
            Effect::Call => return self.registers[..6].fill(Value::Unknown),
            Effect::Store(address) => return self.record_use(slot, address),
            Effect::Load(address) => {
                self.record_use(slot, address);
                Value::Unknown
            }
            Effect::Set(value) => value,
        };
        self.record_use(slot, result);
        self.set(insn.dst, result);
    }
}

#[cfg(test)]
mod tests {
    use selkie_isa::Op;

    use super::*;

    fn item(op: Op, dst: u8, src: u8, imm: i64) -> Item {
        let operation = Operation::Insn(Insn { op, dst, src, off: 0, imm });
        Item { slot: 0, operation, reference: Reference::None }
    }

    /// Two paths to one addition: `r6 = r10` or `r6 = r1`, then `r6 -= 72`.
    #[test]
    fn frame_address_of_one_path_may_be_used_after_a_join() {
        let mut items = [
            item(Op::Mov64Reg, 6, 10, 0),
            item(Op::Jeq64Imm, 1, 0, 0),
            item(Op::Mov64Reg, 6, 1, 0),
            item(Op::Add64Imm, 6, 0, -72),
            item(Op::Exit, 0, 0, 0),
        ];
        items[1].reference = Reference::Jump(3);
        let frame = frame(&items);
        assert_eq!((frame.bytes, frame.bytes_max), (0, 72));
    }

    #[test]
    fn pointer_that_descends_in_a_loop_is_bounded() {
        let mut items = [
            item(Op::Mov64Reg, 6, 10, 0),
            item(Op::Add64Imm, 6, 0, -8),
            item(Op::Jne64Imm, 6, 0, 0),
            item(Op::Exit, 0, 0, 0),
        ];
        items[2].reference = Reference::Jump(1);
        assert_eq!(frame(&items).bytes_max, 8);
    }
}
