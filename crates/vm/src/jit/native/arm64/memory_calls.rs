//! Routines for syscalls on memory, for the common case. In any other case they change nothing and
//! continue with the routine for all syscalls.
//!
//! They look up addresses as checks do, in the region at the start of each window.

use core::mem::offset_of;

use super::{
    operands::{Arith, Bits, Flag, Index, Reg, When},
    registers::{FIRST, FOURTH, LAST, METER, REGISTERS, SCRATCH, SECOND, THIRD},
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

/// Host addresses.
const LEFT: Reg = FOURTH;
const RIGHT: Reg = Reg::X7;
/// The host address of the result of a comparison.
const RESULT: Reg = FIRST;
/// Bytes that are left.
const LEFT_BYTES: Reg = THIRD;

impl Writer<'_> {
    pub(super) fn memory_routines(&mut self) {
        self.write_memory_routines(Self::write_memory_routine);
    }

    pub(super) fn ways_to_memory_routines(&mut self) {
        let ids = self.shape.memory_calls.ids();
        for (index, _) in ids.iter().enumerate().filter(|(_, id)| id.is_some()) {
            self.code.reserve();
            let field = offset_of!(Context<()>, memory_routines) + 8 * index;
            self.routines.memory[index] = self.way_to(field);
        }
    }

    /// Writes a routine, which is called like the routine for all syscalls.
    fn write_memory_routine(&mut self, operation: MemoryOperation) {
        let mut slow = Vec::new();
        self.check_length(&mut slow);
        self.translate_operands(operation, &mut slow);
        let cost = self.shape.memory_calls.compute_units.into();
        self.code.add_imm(Bits::B64, Arith::Subs, METER, METER, cost);
        let too_few = self.code.jump_if(Flag::Lower);
        self.execute_operation(operation);
        self.code.mov_imm(R0, 0);
        self.return_from_routine();
        self.land(too_few);
        self.code.add_imm(Bits::B64, Arith::Add, METER, METER, cost);
        for jump in slow {
            self.land(jump);
        }
        self.code.jump_to(self.routines.syscall);
    }

    /// Emits the check that r3 is between 1 and the most bytes for the cost.
    fn check_length(&mut self, slow: &mut Vec<Patch>) {
        let bytes_max = self.shape.memory_calls.bytes_max;
        self.code.add_imm(Bits::B64, Arith::Sub, SCRATCH, R3, 1);
        self.code.add_imm(Bits::B64, Arith::Subs, Reg::Zero, SCRATCH, bytes_max.into());
        slow.push(self.code.jump_if(Flag::HigherOrSame));
    }

    /// Emits the checks of an operation's addresses and overlaps. `LEFT` and `RIGHT` then hold host
    /// addresses, `RESULT` that of the result of a comparison.
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
                self.code.arith(Bits::B64, Arith::Sub, SCRATCH, LEFT, RIGHT);
                self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, SCRATCH, R3);
                slow.push(self.code.jump_if(Flag::Lower));
            }
            MemoryOperation::Set => self.translate(LEFT, R1, Len::R3, true, slow),
            MemoryOperation::Compare => {
                self.code.bits_of(Bits::B64, SCRATCH, R4, 0, 1);
                slow.push(self.code.jump_when(When::NotZero(Bits::B64, SCRATCH)));
                self.translate(RESULT, R4, Len::I32, true, slow);
                self.translate(LEFT, R1, Len::R3, false, slow);
                self.translate(RIGHT, R2, Len::R3, false, slow);
            }
        }
    }

    /// Emits the check that the guest addresses r1 and r2 are at least r3 apart.
    fn check_overlap(&mut self, slow: &mut Vec<Patch>) {
        self.code.arith(Bits::B64, Arith::Subs, SCRATCH, R1, R2);
        let ahead = self.code.jump_if(Flag::HigherOrSame);
        self.code.arith(Bits::B64, Arith::Sub, SCRATCH, Reg::Zero, SCRATCH);
        self.land(ahead);
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, SCRATCH, R3);
        slow.push(self.code.jump_if(Flag::Lower));
    }

    /// `dst = host address of guest`, if all of the access is in the known region of its window.
    fn translate(&mut self, dst: Reg, guest: Reg, len: Len, store: bool, slow: &mut Vec<Patch>) {
        let limits = offset_of!(Context<()>, windows.limits) + if store { 8 } else { 0 };
        let bases = offset_of!(Context<()>, windows.bases);
        self.window_of(guest);
        let dense = if self.shape.gaps {
            self.load_of_window(SECOND, bases + 8);
            self.code.arith(Bits::B64, Arith::Ands, Reg::Zero, guest, SECOND);
            slow.push(self.code.jump_if(Flag::NotEqual));
            self.remove_gaps(dst, guest);
            dst
        } else {
            guest
        };
        match len {
            Len::R3 => {
                self.code.arith(Bits::B64, Arith::Add, LAST, dense, R3);
                self.code.add_imm(Bits::B64, Arith::Sub, LAST, LAST, 1);
            }
            Len::I32 => self.code.add_imm(Bits::B64, Arith::Add, LAST, dense, 3),
        }
        self.load_of_window(SCRATCH, limits);
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, LAST, SCRATCH);
        if store {
            let within = self.code.jump_if(Flag::Lower);
            if let Len::R3 = len {
                self.code.add_imm(Bits::B64, Arith::Subs, Reg::Zero, R3, 1 << PAGE_SHIFT);
                slow.push(self.code.jump_if(Flag::Higher));
            }
            slow.extend(self.check_dirty_page(LAST));
            self.land(within);
        } else {
            slow.push(self.code.jump_if(Flag::HigherOrSame));
        }
        self.load_of_window(SCRATCH, bases);
        self.code.arith(Bits::B64, Arith::Add, dst, dense, SCRATCH);
    }

    /// Emits an operation on the host addresses in `LEFT` and `RIGHT`.
    fn execute_operation(&mut self, operation: MemoryOperation) {
        match operation {
            MemoryOperation::Copy | MemoryOperation::Move => {
                self.longest_first(|it, size| {
                    if size == 4 {
                        it.code.pair(true, Index::After, [SCRATCH, SECOND], RIGHT, 16);
                        it.code.pair(false, Index::After, [SCRATCH, SECOND], LEFT, 16);
                    } else {
                        it.code.access_next(true, size, SCRATCH, RIGHT);
                        it.code.access_next(false, size, SCRATCH, LEFT);
                    }
                });
            }
            MemoryOperation::Set => {
                self.code.bits_of(Bits::B64, SCRATCH, R2, 0, 7);
                self.code.mov_imm(SECOND, 0x0101_0101_0101_0101);
                self.code.multiply(Bits::B64, SCRATCH, SCRATCH, SECOND);
                self.longest_first(|it, size| {
                    if size == 4 {
                        it.code.pair(false, Index::After, [SCRATCH, SCRATCH], LEFT, 16);
                    } else {
                        it.code.access_next(false, size, SCRATCH, LEFT);
                    }
                });
            }
            MemoryOperation::Compare => self.difference(),
        }
    }

    /// Processes r3 bytes forwards: sixteen at a time, then eight, then one. `work` gets the
    /// logarithm of the number of bytes, and advances the addresses.
    fn longest_first(&mut self, work: impl Fn(&mut Self, u8)) {
        self.code.mov(Bits::B64, LEFT_BYTES, R3);
        for size in [4, 3] {
            let bytes = 1 << size;
            self.code.add_imm(Bits::B64, Arith::Subs, LEFT_BYTES, LEFT_BYTES, bytes);
            let short = self.code.jump_if(Flag::Lower);
            let top = self.code.here();
            work(self, size);
            self.code.add_imm(Bits::B64, Arith::Subs, LEFT_BYTES, LEFT_BYTES, bytes);
            let again = self.code.jump_if(Flag::HigherOrSame);
            self.code.patch(again, top);
            self.land(short);
            self.code.add_imm(Bits::B64, Arith::Add, LEFT_BYTES, LEFT_BYTES, bytes);
        }
        let done = self.code.jump_when(When::Zero(Bits::B64, LEFT_BYTES));
        let top = self.code.here();
        work(self, 0);
        self.code.add_imm(Bits::B64, Arith::Sub, LEFT_BYTES, LEFT_BYTES, 1);
        let again = self.code.jump_when(When::NotZero(Bits::B64, LEFT_BYTES));
        self.code.patch(again, top);
        self.land(done);
    }

    /// Writes the difference of the first bytes that differ to `RESULT`.
    fn difference(&mut self) {
        self.code.add_imm(Bits::B64, Arith::Subs, LEFT_BYTES, R3, 8);
        let short = self.code.jump_if(Flag::Lower);
        let top = self.code.here();
        self.code.load(3, SCRATCH, LEFT, 0);
        self.code.load(3, SECOND, RIGHT, 0);
        self.code.arith(Bits::B64, Arith::Subs, Reg::Zero, SCRATCH, SECOND);
        let differ = self.code.jump_if(Flag::NotEqual);
        for address in [LEFT, RIGHT] {
            self.code.add_imm(Bits::B64, Arith::Add, address, address, 8);
        }
        self.code.add_imm(Bits::B64, Arith::Subs, LEFT_BYTES, LEFT_BYTES, 8);
        let again = self.code.jump_if(Flag::HigherOrSame);
        self.code.patch(again, top);
        self.land(short);
        self.land(differ);
        self.code.mov_imm(SCRATCH, 0);
        self.code.add_imm(Bits::B64, Arith::Add, LEFT_BYTES, LEFT_BYTES, 8);
        let equal = self.code.jump_when(When::Zero(Bits::B64, LEFT_BYTES));
        let top = self.code.here();
        self.code.access_next(true, 0, SCRATCH, LEFT);
        self.code.access_next(true, 0, SECOND, RIGHT);
        self.code.arith(Bits::B32, Arith::Subs, SCRATCH, SCRATCH, SECOND);
        let found = self.code.jump_if(Flag::NotEqual);
        self.code.add_imm(Bits::B64, Arith::Sub, LEFT_BYTES, LEFT_BYTES, 1);
        let again = self.code.jump_when(When::NotZero(Bits::B64, LEFT_BYTES));
        self.code.patch(again, top);
        self.land(equal);
        self.land(found);
        self.code.store(2, SCRATCH, RESULT, 0);
    }
}
