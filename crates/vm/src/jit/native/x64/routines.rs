//! The routines that all machine code shares: entry and exits.

use core::mem::offset_of;

use super::{
    encoder::{Arith, Bits, Flag, Mem, Reg, Shift},
    registers::{CONTEXT, CONTEXT_BIAS, METER, POINTER, REGISTERS, SCRATCH},
    writer::Writer,
};
use crate::{
    dirty_pages::PAGE_SHIFT,
    jit::{
        native::{
            code_buffer::{Encode as _, Patch},
            context::{Context, STACK_STEP_FRAMES, STACK_WINDOW},
        },
        site::{Site, SiteKind},
    },
};

/// Registers that functions of the System V calling convention preserve.
const PRESERVED: [Reg; 6] = [Reg::Rbp, Reg::Rbx, Reg::R12, Reg::R13, Reg::R14, Reg::R15];

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
        self.code.reserve();
        self.leave_routine();
        self.code.reserve();
        self.syscall_routine();
        self.code.reserve();
        self.missing_routine();
        self.code.reserve();
        self.more_stack_routine();
        self.code.reserve();
        self.dirty_page_store_routine();
        self.memory_routines();
    }

    /// Writes the routines of units other than the first: jumps to those of the first, with the
    /// same stack.
    fn write_ways_to_routines(&mut self) {
        self.code.reserve();
        self.routines.leave = self.code.here();
        self.code.jump_mem(self.context(offset_of!(Context<()>, leave_routine)));
        self.routines.syscall = self.code.here();
        self.code.jump_mem(self.context(offset_of!(Context<()>, syscall_routine)));
        self.routines.more_stack = self.code.here();
        self.code.jump_mem(self.context(offset_of!(Context<()>, more_stack_routine)));
        self.routines.dirty_page_store = self.code.here();
        self.code.jump_mem(self.context(offset_of!(Context<()>, dirty_page_store_routine)));
        self.ways_to_memory_routines();
    }

    fn guest_register(&self, number: usize) -> Mem {
        self.context(offset_of!(Context<()>, registers) + 8 * number)
    }

    fn save(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            self.code.store(3, self.guest_register(number), REGISTERS[number]);
        }
    }

    fn restore(&mut self, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            self.code.load(3, REGISTERS[number], self.guest_register(number));
        }
    }

    fn save_meter(&mut self) {
        self.code.store(3, self.context(offset_of!(Context<()>, meter)), METER);
    }

    fn restore_meter(&mut self) {
        self.code.load(3, METER, self.context(offset_of!(Context<()>, meter)));
    }

    /// Calls a function of the context. Its arguments other than the context are in their
    /// registers, except `rax`. The stack is aligned for the call and restored after it.
    fn call_rust(&mut self, function: usize) {
        self.code.lea(Reg::Rdi, Mem::at(CONTEXT, (-CONTEXT_BIAS).wrapping_add(self.shape.key)));
        self.code.mov(Bits::B64, Reg::Rax, Reg::Rsp);
        self.code.arith_imm(Bits::B64, Arith::And, Reg::Rsp, -16);
        self.code.push(Reg::Rax);
        self.code.push(Reg::Rax);
        self.code.call_mem(self.context(function));
        self.code.load(3, Reg::Rsp, Mem::at(Reg::Rsp, 0));
    }

    /// `extern "sysv64" fn(context register, address) -> u32`: 1 if the run was stopped.
    fn enter(&mut self) {
        self.routines.enter = self.code.here();
        for register in PRESERVED {
            self.code.push(register);
        }
        self.code.mov(Bits::B64, CONTEXT, Reg::Rdi);
        self.code.mov(Bits::B64, POINTER, Reg::Rsi);
        self.code.store(3, self.context(offset_of!(Context<()>, entry_stack)), Reg::Rsp);
        if !self.shape.fixed_frames {
            let calls = i32::try_from(self.shape.call_depth_max).unwrap_or(0) - 2;
            self.code.lea(SCRATCH, Mem::at(Reg::Rsp, -8 - 48 * calls));
            self.code.store(3, self.context(offset_of!(Context<()>, frame_limit)), SCRATCH);
        }
        self.restore(0..11);
        self.restore_meter();
        self.code.call_reg(POINTER);
        self.sites.push(self.code.here(), Site::new(0, 0, SiteKind::Enter));
        self.code.store(3, self.context(offset_of!(Context<()>, pc)), Reg::Rax);
        self.save(0..11);
        self.save_meter();
        self.code.arith(Bits::B32, Arith::Xor, Reg::Rax, Reg::Rax);
        let out = self.code.here();
        for register in PRESERVED.into_iter().rev() {
            self.code.pop(register);
        }
        self.routines.ret = self.code.here();
        self.code.ret();
        // `leave` ends a run here.
        self.routines.stopped = self.code.here();
        self.code.load(3, Reg::Rsp, self.context(offset_of!(Context<()>, entry_stack)));
        self.code.mov_imm(Reg::Rax, 1);
        self.code.jump_to(out);
    }

    /// Called at a site: asks Rust where to resume, and jumps there.
    fn leave_routine(&mut self) {
        self.routines.leave = self.code.here();
        self.save(0..11);
        self.save_meter();
        self.code.load(3, Reg::Rsi, Mem::at(Reg::Rsp, 0));
        self.code.mov(Bits::B64, Reg::Rdx, Reg::Rsp);
        self.call_rust(offset_of!(Context<()>, leave));
        self.code.load(3, SCRATCH, self.context(offset_of!(Context<()>, resume)));
        self.code.test(Bits::B64, SCRATCH, SCRATCH);
        let stop = self.code.jump_if(Flag::Equal);
        self.code.patch(stop, self.routines.stopped);
        self.restore_meter();
        self.code.load(3, SCRATCH, self.context(offset_of!(Context<()>, resume)));
        self.restore(0..11);
        self.code.load(3, POINTER, self.context(offset_of!(Context<()>, pointer)));
        // Drops the return address.
        self.code.lea(Reg::Rsp, Mem::at(Reg::Rsp, 8));
        self.code.jump_reg(SCRATCH);
    }

    /// Called with the number of a syscall in `eax`.
    fn syscall_routine(&mut self) {
        self.routines.syscall = self.code.here();
        self.save(0..6);
        self.save_meter();
        self.code.store(3, self.context(offset_of!(Context<()>, pc)), Reg::Rax);
        // r1 to r5, in an order that overwrites none of them; the context is the first argument.
        let arguments = [Reg::Rsi, Reg::Rdx, Reg::Rcx, Reg::R8, Reg::R9];
        for number in [3, 2, 1, 4, 5] {
            self.code.mov(Bits::B64, arguments[number - 1], REGISTERS[number]);
        }
        self.call_rust(offset_of!(Context<()>, syscall));
        self.code.mov(Bits::B64, REGISTERS[0], Reg::Rax);
        self.code.test(Bits::B64, Reg::Rdx, Reg::Rdx);
        // Does not change the flags.
        self.restore(1..6);
        self.restore_meter();
        // `leave` finds the site of the syscall on the stack.
        let leave = self.code.jump_if(Flag::NotEqual);
        self.code.patch(leave, self.routines.leave);
        self.code.ret();
    }

    /// Called or jumped to with a slot in `rax`, in place of code that is not compiled.
    fn missing_routine(&mut self) {
        self.routines.missing = self.code.here();
        self.code.store(3, self.context(offset_of!(Context<()>, pc)), Reg::Rax);
        self.leave(Site::new(0, 0, SiteKind::Missing));
        self.code.ud2();
    }

    /// Called where a call reaches the limit of the stack: raises the limit by a step. If no step
    /// is left, this is a side exit.
    fn more_stack_routine(&mut self) {
        self.routines.more_stack = self.code.here();
        if self.shape.fixed_frames {
            let steps = self.context(offset_of!(Context<()>, stack_steps));
            self.code.load(3, SCRATCH, steps);
            self.code.arith_imm(Bits::B64, Arith::Sub, SCRATCH, 1);
            let none = self.code.jump_if(Flag::Below);
            self.code.patch(none, self.routines.leave);
            self.code.store(3, steps, SCRATCH);
            let limits = offset_of!(Context<()>, windows.limits);
            let stores = limits + STACK_WINDOW * 16 + 8;
            for field in [offset_of!(Context<()>, frame_limit), stores] {
                let limit = self.context(field);
                self.code.load(3, SCRATCH, limit);
                self.code
                    .lea(SCRATCH, Mem::at(SCRATCH, STACK_STEP_FRAMES * self.shape.frame_bytes));
                self.code.store(3, limit, SCRATCH);
            }
            self.code.ret();
        } else {
            self.code.jump_to(self.routines.leave);
        }
    }

    /// Called where the check of a store fails, with the address of the last byte and the offset of
    /// the window: finds the pointer if the page is dirty. Otherwise, or if it was called too
    /// often, this is a side exit.
    fn dirty_page_store_routine(&mut self) {
        self.routines.dirty_page_store = self.code.here();
        self.code.push(POINTER);
        let clean = self.check_dirty_page(POINTER);
        self.code.pop(POINTER);
        let bases = offset_of!(Context<()>, windows.bases);
        self.code.arith_mem(Bits::B64, Arith::Add, POINTER, self.window(bases));
        let left = self.context(offset_of!(Context<()>, dirty_page_stores_left));
        self.code.load(3, SCRATCH, left);
        self.code.arith_imm(Bits::B64, Arith::Sub, SCRATCH, 1);
        let none = self.code.jump_if(Flag::Below);
        self.code.patch(none, self.routines.leave);
        self.code.store(3, left, SCRATCH);
        self.code.ret();
        self.code.reserve();
        let here = self.code.here();
        for jump in clean {
            self.code.patch(jump, here);
        }
        self.code.pop(POINTER);
        self.code.jump_to(self.routines.leave);
    }

    /// Emits a check of the page of the address in a register, with the offset of the window in the
    /// scratch register. Returns the jumps that are taken if the page is clean or not recorded.
    pub(super) fn check_dirty_page(&mut self, address: Reg) -> [Patch; 2] {
        let spans = offset_of!(Context<()>, windows.tracked_ranges);
        self.code.arith_mem(Bits::B64, Arith::Sub, address, self.window(spans));
        self.code.arith_mem(Bits::B64, Arith::Cmp, address, self.window(spans + 8));
        let beyond = self.code.jump_if(Flag::AboveOrEqual);
        self.code.shift_imm(Bits::B64, Shift::Shr, address, PAGE_SHIFT);
        let dirty_pages = offset_of!(Context<()>, windows.dirty_pages);
        self.code.arith_mem(Bits::B64, Arith::Add, address, self.window(dirty_pages));
        self.code.load(0, address, Mem::at(address, 0));
        self.code.test(Bits::B32, address, address);
        [beyond, self.code.jump_if(Flag::Equal)]
    }
}
