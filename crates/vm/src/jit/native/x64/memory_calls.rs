//! Routines for syscalls on memory, for the common case. In any other case they change nothing and
//! continue with the routine for all syscalls.
//!
//! They look up addresses as checks do, in the region at the start of each window.

use core::mem::offset_of;

use super::{
    encoder::{Arith, Bits, Flag, Mem, Reg, Shift, Unary},
    registers::{METER, REGISTERS, SCRATCH, WINDOW_SHIFT, WINDOWS_MASK},
    writer::Writer,
};
use crate::{
    dirty_pages::PAGE_SHIFT,
    jit::native::{
        code_buffer::{Encode as _, Patch},
        context::Context,
        memory_operation::{Len, MemoryOperation},
    },
};

const R0: Reg = REGISTERS[0];
const R1: Reg = REGISTERS[1];
const R2: Reg = REGISTERS[2];
const R3: Reg = REGISTERS[3];
const R4: Reg = REGISTERS[4];
const R5: Reg = REGISTERS[5];

/// The registers that the routines use besides the scratch register: for data, and for two host
/// addresses. The latter two are those of r0 and r5.
const DATA: Reg = Reg::Rax;
const LEFT: Reg = R0;
const RIGHT: Reg = R5;

impl Writer<'_> {
    pub(super) fn memory_routines(&mut self) {
        self.write_memory_routines(Self::write_memory_routine);
    }

    pub(super) fn ways_to_memory_routines(&mut self) {
        let ids = self.shape.memory_calls.ids();
        for (index, _) in ids.iter().enumerate().filter(|(_, id)| id.is_some()) {
            self.code.reserve();
            self.routines.memory[index] = self.code.here();
            let field = offset_of!(Context<()>, memory_routines) + 8 * index;
            self.code.jump_mem(self.context(field));
        }
    }

    /// Writes a routine, which is called like the routine for all syscalls.
    fn write_memory_routine(&mut self, operation: MemoryOperation) {
        let saved: &[Reg] = match operation {
            // The second time it reserves memory for an address.
            MemoryOperation::Compare => &[DATA, LEFT, RIGHT, R3, DATA],
            _ => &[DATA, LEFT, RIGHT],
        };
        for register in saved {
            self.code.push(*register);
        }
        let mut slow = Vec::new();
        self.check_length(&mut slow);
        self.translate_operands(operation, &mut slow);
        self.code.reserve();
        let cost = self.shape.memory_calls.compute_units.into();
        self.code.arith_imm(Bits::B64, Arith::Sub, METER, cost);
        let too_few = self.code.jump_if(Flag::Below);
        self.execute_operation(operation);
        self.code.reserve();
        self.restore_registers(operation, saved);
        self.code.arith(Bits::B32, Arith::Xor, R0, R0);
        self.code.ret();
        self.here(too_few);
        self.code.arith_imm(Bits::B64, Arith::Add, METER, cost);
        for jump in slow {
            self.here(jump);
        }
        self.restore_registers(operation, saved);
        self.code.jump_to(self.routines.syscall);
    }

    /// Emits the check that r3 is between 1 and the most bytes for the cost.
    fn check_length(&mut self, slow: &mut Vec<Patch>) {
        let bytes_max = self.shape.memory_calls.bytes_max;
        self.code.lea(SCRATCH, Mem::at(R3, -1));
        self.code.arith_imm(Bits::B64, Arith::Cmp, SCRATCH, bytes_max.into());
        slow.push(self.code.jump_if(Flag::AboveOrEqual));
    }

    /// Emits the checks of an operation's addresses and overlaps. `LEFT` and `RIGHT` then hold host
    /// addresses; for a comparison, the address of the result is on the stack.
    fn translate_operands(&mut self, operation: MemoryOperation, slow: &mut Vec<Patch>) {
        match operation {
            MemoryOperation::Copy | MemoryOperation::Move => {
                if operation == MemoryOperation::Copy {
                    self.check_overlap(slow);
                }
                self.translate(LEFT, R1, Len::R3, true, slow);
                self.translate(RIGHT, R2, Len::R3, false, slow);
                // Copying forwards must not overwrite bytes that are still to be copied. This
                // compares host addresses, since guest addresses may have gaps.
                self.code.mov(Bits::B64, DATA, LEFT);
                self.code.arith(Bits::B64, Arith::Sub, DATA, RIGHT);
                self.code.arith(Bits::B64, Arith::Cmp, DATA, R3);
                slow.push(self.code.jump_if(Flag::Below));
            }
            MemoryOperation::Set => self.translate(LEFT, R1, Len::R3, true, slow),
            MemoryOperation::Compare => {
                self.code.test_imm(Bits::B32, R4, 3);
                slow.push(self.code.jump_if(Flag::NotEqual));
                self.translate(LEFT, R4, Len::I32, true, slow);
                self.code.store(3, Mem::at(Reg::Rsp, 0), LEFT);
                self.translate(LEFT, R1, Len::R3, false, slow);
                self.translate(RIGHT, R2, Len::R3, false, slow);
            }
        }
    }

    /// Emits the check that the guest addresses r1 and r2 are at least r3 apart.
    fn check_overlap(&mut self, slow: &mut Vec<Patch>) {
        self.code.mov(Bits::B64, DATA, R1);
        self.code.arith(Bits::B64, Arith::Sub, DATA, R2);
        let ahead = self.code.jump_if(Flag::AboveOrEqual);
        self.code.unary(Bits::B64, Unary::Neg, DATA);
        self.here(ahead);
        self.code.arith(Bits::B64, Arith::Cmp, DATA, R3);
        slow.push(self.code.jump_if(Flag::Below));
    }

    /// Emits an operation on the host addresses in `LEFT` and `RIGHT`.
    fn execute_operation(&mut self, operation: MemoryOperation) {
        self.code.lea(LEFT, Mem::indexed(LEFT, R3, 0, 0));
        match operation {
            MemoryOperation::Copy | MemoryOperation::Move => {
                self.code.lea(RIGHT, Mem::indexed(RIGHT, R3, 0, 0));
                self.longest_first(true, |it, size, disp| {
                    let (to, from) =
                        [LEFT, RIGHT].map(|end| Mem::indexed(end, SCRATCH, 0, disp)).into();
                    if size == 4 {
                        it.code.load_xmm(from);
                        it.code.store_xmm(to);
                    } else {
                        it.code.load(size, DATA, from);
                        it.code.store(size, to, DATA);
                    }
                });
            }
            MemoryOperation::Set => {
                self.code.mov(Bits::B32, DATA, R2);
                self.code.arith_imm(Bits::B32, Arith::And, DATA, 0xff);
                self.code.mov_imm(RIGHT, 0x0101_0101_0101_0101);
                self.code.imul(Bits::B64, DATA, RIGHT);
                self.longest_first(false, |it, size, disp| {
                    it.code.store(size, Mem::indexed(LEFT, SCRATCH, 0, disp), DATA);
                });
            }
            MemoryOperation::Compare => {
                self.code.lea(RIGHT, Mem::indexed(RIGHT, R3, 0, 0));
                self.difference();
            }
        }
    }

    /// Emits the restoring of the saved registers.
    fn restore_registers(&mut self, operation: MemoryOperation, saved: &[Reg]) {
        let rest = if operation == MemoryOperation::Compare {
            self.code.lea(Reg::Rsp, Mem::at(Reg::Rsp, 8));
            &saved[..4]
        } else {
            saved
        };
        for register in rest.iter().rev() {
            self.code.pop(*register);
        }
    }

    fn here(&mut self, jump: Patch) {
        let here = self.code.here();
        self.code.patch(jump, here);
    }

    /// `dst = host address of guest`, if all of the access is in the known region of its window.
    fn translate(&mut self, dst: Reg, guest: Reg, len: Len, store: bool, slow: &mut Vec<Patch>) {
        self.code.reserve();
        let limits = offset_of!(Context<()>, windows.limits) + if store { 8 } else { 0 };
        let bases = offset_of!(Context<()>, windows.bases);
        let masks = offset_of!(Context<()>, windows.masks);
        self.code.mov(Bits::B64, SCRATCH, guest);
        self.code.shift_imm(Bits::B64, Shift::Shr, SCRATCH, WINDOW_SHIFT);
        self.code.arith_imm(Bits::B32, Arith::And, SCRATCH, WINDOWS_MASK);
        if self.shape.gaps {
            self.code.test_mem(guest, self.window(bases + 8));
            slow.push(self.code.jump_if(Flag::NotEqual));
        }
        if self.shape.gaps && self.shape.features.pext {
            self.code.pext(dst, guest, self.window(masks));
        } else {
            self.code.mov(Bits::B64, dst, guest);
        }
        let last = match len {
            Len::R3 => Mem::indexed(dst, R3, 0, -1),
            Len::I32 => Mem::at(dst, 3),
        };
        self.code.lea(DATA, last);
        self.code.arith_mem(Bits::B64, Arith::Cmp, DATA, self.window(limits));
        if store {
            let within = self.code.jump_if(Flag::Below);
            if let Len::R3 = len {
                self.code.arith_imm(Bits::B64, Arith::Cmp, R3, 1 << PAGE_SHIFT);
                slow.push(self.code.jump_if(Flag::Above));
            }
            self.code.reserve();
            slow.extend(self.check_dirty_page(DATA));
            self.here(within);
        } else {
            slow.push(self.code.jump_if(Flag::AboveOrEqual));
        }
        self.code.arith_mem(Bits::B64, Arith::Add, dst, self.window(bases));
    }

    /// Processes r3 bytes forwards: sixteen at a time if `by_sixteen`, then eight, then one. `work`
    /// gets the logarithm of the number of bytes, and the displacement that, with the scratch
    /// register, gives their distance from the ends of both spans.
    fn longest_first(&mut self, by_sixteen: bool, work: impl Fn(&mut Self, u8, i32)) {
        self.code.reserve();
        self.code.mov(Bits::B64, SCRATCH, R3);
        self.code.unary(Bits::B64, Unary::Neg, SCRATCH);
        for size in if by_sixteen { [4, 3].iter() } else { [3].iter() } {
            let bytes = 1 << size;
            self.code.arith_imm(Bits::B64, Arith::Add, SCRATCH, bytes);
            let short = self.code.jump_if(Flag::Greater);
            let top = self.code.here();
            work(self, *size, -bytes);
            self.code.arith_imm(Bits::B64, Arith::Add, SCRATCH, bytes);
            self.code.jump_if_to(Flag::LessOrEqual, top);
            self.here(short);
            self.code.arith_imm(Bits::B64, Arith::Sub, SCRATCH, bytes);
        }
        let done = self.code.jump_if(Flag::Equal);
        let top = self.code.here();
        work(self, 0, 0);
        self.code.arith_imm(Bits::B64, Arith::Add, SCRATCH, 1);
        self.code.jump_if_to(Flag::NotEqual, top);
        self.here(done);
    }

    /// Writes the difference of the first bytes that differ to the address on the stack. Overwrites
    /// r3.
    fn difference(&mut self) {
        self.code.reserve();
        self.code.mov(Bits::B64, SCRATCH, R3);
        self.code.unary(Bits::B64, Unary::Neg, SCRATCH);
        self.code.arith_imm(Bits::B64, Arith::Add, SCRATCH, 8);
        let short = self.code.jump_if(Flag::Greater);
        let top = self.code.here();
        self.code.load(3, DATA, Mem::indexed(LEFT, SCRATCH, 0, -8));
        self.code.arith_mem(Bits::B64, Arith::Cmp, DATA, Mem::indexed(RIGHT, SCRATCH, 0, -8));
        let differ = self.code.jump_if(Flag::NotEqual);
        self.code.arith_imm(Bits::B64, Arith::Add, SCRATCH, 8);
        self.code.jump_if_to(Flag::LessOrEqual, top);
        self.here(short);
        self.here(differ);
        self.code.arith(Bits::B32, Arith::Xor, DATA, DATA);
        self.code.arith_imm(Bits::B64, Arith::Sub, SCRATCH, 8);
        let equal = self.code.jump_if(Flag::Equal);
        self.code.reserve();
        let top = self.code.here();
        self.code.load(0, DATA, Mem::indexed(LEFT, SCRATCH, 0, 0));
        self.code.load(0, R3, Mem::indexed(RIGHT, SCRATCH, 0, 0));
        self.code.arith(Bits::B32, Arith::Sub, DATA, R3);
        let found = self.code.jump_if(Flag::NotEqual);
        self.code.arith_imm(Bits::B64, Arith::Add, SCRATCH, 1);
        self.code.jump_if_to(Flag::NotEqual, top);
        self.here(equal);
        self.here(found);
        self.code.load(3, SCRATCH, Mem::at(Reg::Rsp, 0));
        self.code.store(2, Mem::at(SCRATCH, 0), DATA);
    }
}
