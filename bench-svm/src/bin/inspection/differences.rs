//! A register trace in as few bytes as it needs.

use std::ops::ControlFlow;

use selkie_replay::{Moment, Timeline, Visitor};

/// Returns what changes from step to step: which registers, and whether the slot is another one than the
/// next; then how much each of these differs.
pub(crate) fn of(timeline: &Timeline) -> Vec<u8> {
    let mut differences = Differences::default();
    timeline.visit(&mut differences);
    differences.bytes
}

#[derive(Default)]
struct Differences {
    bytes: Vec<u8>,
    last: [u64; 11],
    pc: usize,
}

impl Differences {
    /// Writes seven bits to a byte, the lowest first.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Writes a difference so that small ones take few bytes, whatever their signs.
    fn difference(&mut self, new: u64, old: u64) {
        let difference = new.wrapping_sub(old) as i64;
        self.number((difference << 1 ^ difference >> 63) as u64);
    }
}

impl Visitor for Differences {
    fn step(&mut self, moment: &mut Moment<'_, '_, '_>) -> ControlFlow<()> {
        let (pc, registers) = (moment.pc(), *moment.registers());
        let mut changed = 0_u64;
        for (index, (new, old)) in registers.iter().zip(&self.last).enumerate() {
            changed |= u64::from(new != old) << index;
        }
        let jumps = pc != self.pc + 1;
        self.number(changed << 1 | u64::from(jumps));
        if jumps {
            self.difference(pc as u64, self.pc as u64);
        }
        while changed > 0 {
            let index = changed.trailing_zeros() as usize;
            self.difference(registers[index], self.last[index]);
            changed &= changed - 1;
        }
        self.last = registers;
        self.pc = pc;
        ControlFlow::Continue(())
    }
}
