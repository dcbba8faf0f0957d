//! The routines that all machine code shares: entry and exits.
//!
//! The link register of a routine's caller is in x17. The routine moves it back when it returns.

use core::mem::offset_of;

use super::{
    operands::{Arith, Bits, Flag, Index, Reg, STACK, When},
    registers::{
        CONTEXT, FOURTH, FRAME, LAST, LINK, METER, OUTER_LINK, POINTER, REGISTERS, SCRATCH, SECOND,
        displacement,
    },
    writer::Writer,
};
use crate::jit::{
    native::{
        code_buffer::Encode as _,
        context::{Context, STACK_STEP_FRAMES, STACK_WINDOW},
    },
    site::{Site, SiteKind},
};

/// Registers that C functions preserve and machine code uses, and one more.
const PRESERVED: [[Reg; 2]; 4] =
    [[LINK, Reg::X19], [Reg::X20, Reg::X21], [Reg::X22, FRAME], [CONTEXT, Reg::X29]];
/// Bytes of the stack that they take.
const PRESERVED_BYTES: i32 = 64;

/// The bytes of the stack that a call takes with dynamic frames.
const CALL_BYTES: i64 = 48;

impl Writer<'_> {
    /// Writes the routines of a unit, which precede its blocks.
    pub(in crate::jit) fn begin(&mut self, unit: usize) {
        if unit == 0 {
            self.write_routines();
        } else {
            self.write_ways_to_routines();
        }
    }

    fn write_routines(&mut self) {
        self.code.reserve();
        self.enter();
        let leave = self.leave_routine();
        self.syscall_routine(leave);
        self.code.reserve();
        self.missing_routine();
        self.more_stack_routine();
        self.dirty_page_store_routine();
        self.memory_routines();
    }

    /// Writes the routines of units other than the first: jumps to those of the first.
    fn write_ways_to_routines(&mut self) {
        self.code.reserve();
        self.routines.leave = self.way_to(offset_of!(Context<()>, leave_routine));
        self.routines.syscall = self.way_to(offset_of!(Context<()>, syscall_routine));
        self.routines.more_stack = self.way_to(offset_of!(Context<()>, more_stack_routine));
        self.routines.dirty_page_store =
            self.way_to(offset_of!(Context<()>, dirty_page_store_routine));
        self.ways_to_memory_routines();
    }

    /// Writes a jump to a routine whose address is in the context.
    pub(super) fn way_to(&mut self, field: usize) -> u32 {
        let here = self.code.here();
        self.load_field(SCRATCH, field);
        self.code.jump_reg(SCRATCH);
        here
    }

    fn save(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            let field = offset_of!(Context<()>, registers) + 8 * number;
            self.store_field(REGISTERS[number], field);
        }
    }

    fn restore(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            let field = offset_of!(Context<()>, registers) + 8 * number;
            self.load_field(REGISTERS[number], field);
        }
    }

    fn save_meter(&mut self) {
        self.store_field(METER, offset_of!(Context<()>, meter));
    }

    fn restore_meter(&mut self) {
        self.load_field(METER, offset_of!(Context<()>, meter));
    }

    /// Calls a function of the context. Its arguments other than the context are in their
    /// registers.
    fn call_rust(&mut self, function: usize) {
        let displacement = displacement(self.shape.key).into();
        self.code.add_imm(Bits::B64, Arith::Add, Reg::X0, CONTEXT, displacement);
        self.load_field(SCRATCH, function);
        self.code.call_reg(SCRATCH);
    }

    /// Returns to the caller of a routine, with its link register.
    pub(super) fn return_from_routine(&mut self) {
        self.code.mov(Bits::B64, SCRATCH, LINK);
        self.code.mov(Bits::B64, LINK, OUTER_LINK);
        self.code.ret(SCRATCH);
    }

    /// `extern "C" fn(context register, address) -> u32`: 1 if the run was stopped.
    fn enter(&mut self) {
        self.routines.enter = self.code.here();
        self.code.pair(false, Index::Before, PRESERVED[0], STACK, -PRESERVED_BYTES);
        for (pair, at) in PRESERVED.into_iter().zip((0..).step_by(16)).skip(1) {
            self.code.pair(false, Index::Offset, pair, STACK, at);
        }
        self.code.mov(Bits::B64, CONTEXT, Reg::X0);
        self.code.mov(Bits::B64, POINTER, Reg::X1);
        self.code.mov_stack(SCRATCH, STACK);
        self.store_field(SCRATCH, offset_of!(Context<()>, entry_stack));
        if !self.shape.fixed_frames {
            let calls = i64::try_from(self.shape.call_depth_max).unwrap_or(0) - 2;
            self.code.add_imm(Bits::B64, Arith::Sub, SECOND, SCRATCH, CALL_BYTES * calls);
            self.store_field(SECOND, offset_of!(Context<()>, frame_limit));
        }
        self.restore(0..11);
        self.restore_meter();
        // Another thread may have published the code.
        self.code.isb();
        self.code.call_reg(POINTER);
        self.sites.push(self.code.here(), Site::new(0, 0, SiteKind::Enter));
        self.store_field(POINTER, offset_of!(Context<()>, pc));
        self.save(0..11);
        self.save_meter();
        self.code.mov_imm(Reg::X0, 0);
        let out = self.code.here();
        for (pair, at) in PRESERVED.into_iter().zip((0..).step_by(16)).skip(1) {
            self.code.pair(true, Index::Offset, pair, STACK, at);
        }
        self.code.pair(true, Index::After, PRESERVED[0], STACK, PRESERVED_BYTES);
        self.routines.ret = self.code.here();
        self.code.ret(LINK);
        // `leave` ends a run here.
        self.routines.stopped = self.code.here();
        self.load_field(SCRATCH, offset_of!(Context<()>, entry_stack));
        self.code.mov_stack(STACK, SCRATCH);
        self.code.mov_imm(Reg::X0, 1);
        self.code.jump_to(out);
    }

    /// Called at a site: asks Rust where to resume, and jumps there. Returns where routines continue
    /// that have already pushed the links.
    fn leave_routine(&mut self) -> u32 {
        self.routines.leave = self.code.here();
        self.push_links();
        let pushed = self.code.here();
        self.save(0..11);
        self.save_meter();
        // The return address of the site, and where it is.
        self.code.load(3, Reg::X1, STACK, 0);
        self.code.mov_stack(Reg::X2, STACK);
        self.call_rust(offset_of!(Context<()>, leave));
        self.load_field(SCRATCH, offset_of!(Context<()>, resume));
        let stop = self.code.jump_when(When::Zero(Bits::B64, SCRATCH));
        self.code.patch(stop, self.routines.stopped);
        self.restore_meter();
        self.restore(0..11);
        self.load_field(POINTER, offset_of!(Context<()>, pointer));
        self.code.pair(true, Index::After, [SECOND, LINK], STACK, 16);
        self.code.jump_reg(SCRATCH);
        pushed
    }

    /// Pushes the return address of a routine, and beneath it that of the function that called it.
    fn push_links(&mut self) {
        self.code.pair(false, Index::Before, [LINK, OUTER_LINK], STACK, -16);
    }

    /// Called with the number of a syscall in the pointer register.
    fn syscall_routine(&mut self, leave: u32) {
        self.routines.syscall = self.code.here();
        self.push_links();
        self.save(0..6);
        self.save_meter();
        self.store_field(POINTER, offset_of!(Context<()>, pc));
        // r1 to r5 are where arguments after the context belong.
        self.call_rust(offset_of!(Context<()>, syscall));
        self.code.mov(Bits::B64, SCRATCH, Reg::X1);
        self.restore(1..6);
        self.restore_meter();
        // `leave` finds the site of the syscall on the stack.
        let failed = self.code.jump_when(When::NotZero(Bits::B64, SCRATCH));
        self.code.patch(failed, leave);
        self.code.pair(true, Index::After, [SCRATCH, LINK], STACK, 16);
        self.code.ret(SCRATCH);
    }

    /// Called or jumped to with a slot in the pointer register, in place of code that is not
    /// compiled.
    fn missing_routine(&mut self) {
        self.routines.missing = self.code.here();
        self.store_field(POINTER, offset_of!(Context<()>, pc));
        self.leave(Site::new(0, 0, SiteKind::Missing));
        self.code.udf();
    }

    /// Called where a call reaches the limit of the stack: raises the limit by a step. If no step
    /// is left, this is a side exit.
    fn more_stack_routine(&mut self) {
        self.routines.more_stack = self.code.here();
        if !self.shape.fixed_frames {
            return self.code.jump_to(self.routines.leave);
        }
        self.count_down(offset_of!(Context<()>, stack_steps));
        let stores = offset_of!(Context<()>, windows.limits) + STACK_WINDOW * 16 + 8;
        let step = i64::from(STACK_STEP_FRAMES) * i64::from(self.shape.frame_bytes);
        for field in [offset_of!(Context<()>, frame_limit), stores] {
            self.load_field(SCRATCH, field);
            self.code.add_imm(Bits::B64, Arith::Add, SCRATCH, SCRATCH, step);
            self.store_field(SCRATCH, field);
        }
        self.return_from_routine();
    }

    /// Subtracts 1 from a field, or leaves if it is 0.
    fn count_down(&mut self, field: usize) {
        self.load_field(SCRATCH, field);
        self.code.add_imm(Bits::B64, Arith::Subs, SCRATCH, SCRATCH, 1);
        let none = self.code.jump_if(Flag::Lower);
        self.code.patch(none, self.routines.leave);
        self.store_field(SCRATCH, field);
    }

    /// Called where the check of a store fails, with the dense address of the last byte and the
    /// window: finds the pointer to that byte if the page is dirty. Otherwise, or if it was called
    /// too often, this is a side exit.
    fn dirty_page_store_routine(&mut self) {
        self.routines.dirty_page_store = self.code.here();
        self.code.mov(Bits::B64, FOURTH, LAST);
        for clean in self.check_dirty_page(FOURTH) {
            self.code.patch(clean, self.routines.leave);
        }
        self.load_of_window(SCRATCH, offset_of!(Context<()>, windows.bases));
        self.code.arith(Bits::B64, Arith::Add, POINTER, LAST, SCRATCH);
        self.count_down(offset_of!(Context<()>, dirty_page_stores_left));
        self.return_from_routine();
    }
}
