//! A register trace in as few bytes as it needs.

use std::ops::ControlFlow;

use selkie_replay::{ReachedStep, Timeline, Visitor};

/// Returns what changes from step to step: which registers, and whether the slot is another one than the
/// next; then how much each of these differs.
pub(crate) fn of(timeline: &Timeline) -> Vec<u8> {
    let mut differences = Differences::default();
    timeline.visit(&mut differences);
    differences.bytes
}

/// The most bytes of a step: a number of the registers that change, and twelve differences.
const STEP_BYTES_MAX: usize = 2 + 12 * 10;

#[derive(Default)]
struct Differences {
    bytes: Vec<u8>,
    last: [u64; 11],
    pc: usize,
}

/// The bytes of a step.
struct Step {
    bytes: [u8; STEP_BYTES_MAX],
    len: usize,
}

impl Step {
    /// Writes seven bits to a byte, the lowest first.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Writes a difference so that small ones take few bytes, whatever their signs.
    fn difference(&mut self, new: u64, old: u64) {
        let difference = new.wrapping_sub(old) as i64;
        self.number((difference << 1 ^ difference >> 63) as u64);
    }
}

impl Visitor for Differences {
    fn step(&mut self, moment: &mut ReachedStep<'_, '_, '_>) -> ControlFlow<()> {
        let (pc, registers) = (moment.pc(), moment.registers());
        let mut changed = 0_u64;
        for (index, (new, old)) in registers.iter().zip(&self.last).enumerate() {
            changed |= u64::from(new != old) << index;
        }
        let jumps = pc != self.pc + 1;
        let mut step = Step { bytes: [0; STEP_BYTES_MAX], len: 0 };
        step.number(changed << 1 | u64::from(jumps));
        if jumps {
            step.difference(pc as u64, self.pc as u64);
        }
        while changed > 0 {
            let index = changed.trailing_zeros() as usize;
            step.difference(registers[index], self.last[index]);
            self.last[index] = registers[index];
            changed &= changed - 1;
        }
        self.pc = pc;
        self.bytes.extend_from_slice(&step.bytes[..step.len]);
        ControlFlow::Continue(())
    }
}
