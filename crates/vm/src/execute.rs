//! What instructions compute that neither need the host nor raise a trap: the common case of every
//! row of the instruction table.

use core::array;

use selkie_isa::{Kind, Operand, Size, layout::SLOT_BYTES};

use crate::{
    decoded::{Action, Cursor, DecodedInsn, DecodedProgram, Register},
    machine::Machine,
};

/// Where control goes after an instruction.
pub(crate) enum Flow {
    /// To the next slot, within the block.
    Next,
    /// Over the second slot of an `lddw`, within the block.
    Skip,
    /// To a slot at which another block starts.
    Goto(usize),
    /// The same, from within a block: a branch that is taken.
    Branch(usize),
    /// Nowhere: the instruction was not executed, because it needs the host, raises a trap or ends
    /// the program. From `Machine::execute_slow`: the program has ended.
    Bail,
}

impl Machine<'_> {
    #[inline(always)]
    pub(crate) fn get(&self, register: Register) -> u64 {
        self.registers[register as usize]
    }

    #[inline(always)]
    pub(crate) fn set(&mut self, register: Register, value: u64) {
        self.registers[register as usize] = value;
    }

    /// Executes an instruction in the common case, or returns [`Flow::Bail`] with nothing changed.
    ///
    /// `action` is `insn.action()`. Callers pass a constant so that only its arm is compiled.
    #[inline(always)]
    pub(crate) fn execute<const GAPS: bool>(
        &mut self,
        action: Action,
        insn: &DecodedInsn,
        slots: usize,
    ) -> Flow {
        let Action::Row(kind) = action else {
            return match action {
                Action::CallLocal => self.call(insn, insn.aux as usize),
                Action::CallRegister => {
                    let offset = self.get(insn.src).wrapping_sub(self.text_vaddr);
                    match usize::try_from(offset / SLOT_BYTES as u64) {
                        Ok(target) if target < slots => self.call(insn, target),
                        _ => Flow::Bail,
                    }
                }
                _ => Flow::Bail,
            };
        };
        let operand = |machine: &Self, operand| match operand {
            Operand::Reg => machine.get(insn.src),
            Operand::Imm | Operand::Uimm => insn.imm,
        };
        match kind {
            Kind::Alu(alu, width, right) => {
                let right = operand(self, right);
                match alu.eval(width, self.get(insn.dst), right) {
                    Ok(value) => self.set(insn.dst, value),
                    Err(_) => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::Neg(width) => {
                let value = selkie_isa::Alu::Sub.eval(width, 0, self.get(insn.dst));
                self.set(insn.dst, value.unwrap_or_default());
                Flow::Next
            }
            Kind::Endian(order) => {
                match order.eval(insn.imm.cast_signed(), self.get(insn.dst)) {
                    Some(value) => self.set(insn.dst, value),
                    None => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::LoadImm64 => {
                self.set(insn.dst, insn.imm);
                Flow::Skip
            }
            Kind::Load(size) => {
                let vaddr = self.get(insn.src).wrapping_add(insn.offset());
                match self.load::<GAPS>(size, vaddr) {
                    Some(value) => self.set(insn.dst, value),
                    None => return Flow::Bail,
                }
                Flow::Next
            }
            Kind::StoreImm(size) => self.store_flow::<GAPS>(size, insn, insn.imm),
            Kind::StoreReg(size) => self.store_flow::<GAPS>(size, insn, self.get(insn.src)),
            Kind::Jump => Flow::Goto(insn.aux as usize),
            Kind::Branch(cond, width, right) => {
                let right = operand(self, right);
                if cond.eval(width, self.get(insn.dst), right) {
                    Flow::Branch(insn.aux as usize)
                } else {
                    Flow::Next
                }
            }
            Kind::Exit => match self.pop_frame() {
                Some(return_pc) => Flow::Goto(return_pc),
                None => Flow::Bail,
            },
            Kind::Tail | Kind::CallHash | Kind::CallStatic | Kind::CallReg(_) => Flow::Bail,
        }
    }

    #[inline(always)]
    fn call(&mut self, insn: &DecodedInsn, target: usize) -> Flow {
        if self.push_frame(insn.imm) { Flow::Goto(target) } else { Flow::Bail }
    }

    #[inline(always)]
    fn store_flow<const GAPS: bool>(&mut self, size: Size, insn: &DecodedInsn, value: u64) -> Flow {
        let vaddr = self.get(insn.dst).wrapping_add(insn.offset());
        match self.store::<GAPS>(size, vaddr, value) {
            Some(()) => Flow::Next,
            None => Flow::Bail,
        }
    }

    #[inline(always)]
    fn load<const GAPS: bool>(&mut self, size: Size, vaddr: u64) -> Option<u64> {
        let memory = &mut self.memory;
        Some(match size {
            Size::B => u64::from(u8::from_le_bytes(memory.load::<_, GAPS>(vaddr)?)),
            Size::H => u64::from(u16::from_le_bytes(memory.load::<_, GAPS>(vaddr)?)),
            Size::W => u64::from(u32::from_le_bytes(memory.load::<_, GAPS>(vaddr)?)),
            Size::Dw => u64::from_le_bytes(memory.load::<_, GAPS>(vaddr)?),
        })
    }

    #[inline(always)]
    fn store<const GAPS: bool>(&mut self, size: Size, vaddr: u64, value: u64) -> Option<()> {
        let memory = &mut self.memory;
        let bytes = value.to_le_bytes();
        match size {
            Size::B => memory.store::<1, GAPS>(vaddr, cut(bytes)),
            Size::H => memory.store::<2, GAPS>(vaddr, cut(bytes)),
            Size::W => memory.store::<4, GAPS>(vaddr, cut(bytes)),
            Size::Dw => memory.store::<8, GAPS>(vaddr, bytes),
        }
    }

    /// Executes a load or store through whichever region its address belongs to. Returns `None` if
    /// the access is refused.
    #[inline(always)]
    pub(crate) fn access_any_region(&mut self, action: Action, insn: &DecodedInsn) -> Option<()> {
        let memory = &mut self.memory;
        if let Action::Row(Kind::Load(size)) = action {
            let vaddr = self.registers[insn.src as usize].wrapping_add(insn.offset());
            self.registers[insn.dst as usize] = match size {
                Size::B => u64::from(u8::from_le_bytes(memory.load_any_region(vaddr)?)),
                Size::H => u64::from(u16::from_le_bytes(memory.load_any_region(vaddr)?)),
                Size::W => u64::from(u32::from_le_bytes(memory.load_any_region(vaddr)?)),
                Size::Dw => u64::from_le_bytes(memory.load_any_region(vaddr)?),
            };
            return Some(());
        }
        let (size, value) = match action {
            Action::Row(Kind::StoreImm(size)) => (size, insn.imm),
            Action::Row(Kind::StoreReg(size)) => (size, self.registers[insn.src as usize]),
            _ => return None,
        };
        let vaddr = self.registers[insn.dst as usize].wrapping_add(insn.offset());
        let bytes = value.to_le_bytes();
        match size {
            Size::B => memory.store_any_region::<1>(vaddr, cut(bytes)),
            Size::H => memory.store_any_region::<2>(vaddr, cut(bytes)),
            Size::W => memory.store_any_region::<4>(vaddr, cut(bytes)),
            Size::Dw => memory.store_any_region::<8>(vaddr, bytes),
        }
    }
}

#[inline(always)]
fn cut<const N: usize>(bytes: [u8; 8]) -> [u8; N] {
    array::from_fn(|index| bytes[index])
}

#[inline(always)]
pub(crate) fn stop(machine: &mut Machine<'_>, pc: usize, compute_units: u64) -> u64 {
    machine.pc = pc;
    compute_units
}

/// Stops before the instruction at the cursor, and refunds it and the rest of its block.
#[inline(always)]
pub(crate) fn stop_before(
    machine: &mut Machine<'_>,
    program: &DecodedProgram,
    cursor: Cursor<'_>,
    compute_units: u64,
) -> u64 {
    stop(machine, program.text.pc(cursor), compute_units + u64::from(cursor.insn().block_len))
}
