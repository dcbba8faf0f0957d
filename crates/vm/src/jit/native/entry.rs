//! The entry into machine code, and the functions that machine code calls.
//!
//! While machine code runs, it keeps the registers of the program, the meter and the call frames to
//! itself. To leave its common path, it saves the registers in the [`Context`] and calls `leave`,
//! which finds the site by its return address and decides: resume there with a pointer from the
//! memory map, let the interpreter execute the rest of the block and resume behind it, or stop.
//! Compute units that machine code has charged for instructions that the interpreter executes are
//! refunded first.
//!
//! Invariants: the context outlives the run, and Rust does not access it while machine code runs;
//! the code was compiled for the program, configuration and stack that [`MachineCode::run`]
//! compares; a panic never unwinds through machine code.

#![allow(unsafe_code, reason = "machine code is called, and calls back with a pointer")]

use core::{
    any::Any,
    mem::{self, MaybeUninit},
    ptr,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use selkie_elf::SyscallId;
use selkie_isa::{
    Kind,
    layout::{FRAME_POINTER, STACK_START},
};

use super::{
    back_end,
    context::{Context, REGION_HINTS, RegionHint, STACK_STEP_FRAMES},
    exits::{Answer, Exits},
    machine_code::MachineCode,
};
use crate::{
    decoded::{Action, DecodedInsn},
    host::Host,
    interp::{self, Outcome},
    jit::site::{Check, Site, SiteKind},
    machine::{CallFrame, Machine, Meter},
    memory::{MemoryMap, WindowTable},
    program::Program,
    trap::{Access, Trap},
};

/// The part of the context that only Rust uses.
struct Run<'r, 'a, H> {
    code: &'r MachineCode,
    program: &'r Program,
    machine: &'r mut Machine<'a>,
    host: &'r mut H,
    /// The host address of the stack.
    stack: u64,
    /// The frame limit that the memory map knows of.
    frame_limit: u64,
    /// The unit of the last site.
    unit: usize,
    end: Option<End>,
}

/// Why a run stopped.
enum End {
    Result(Result<u64, Trap>),
    Panic(Box<dyn Any + Send>),
}

/// Runs a program with its machine code. Returns `None` if the code does not fit the machine.
fn run_code<H: Host>(
    code: &MachineCode,
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut H,
) -> Option<Result<u64, Trap>> {
    let stack = stack_of(code, machine)?;
    let dirty_prefix = match code.shape.fixed_frames {
        true => machine.memory.raise_stack_dirty_prefix(code.config.stack_frame_bytes),
        false => 0,
    };
    code.count_run(program);
    let target = usize::try_from(code.entry_made(program, machine.pc)?).ok()?;
    let text_vaddr = machine.text_vaddr;
    if code.shape.aligned {
        machine.memory.begin_page_tracking();
    }
    let mut context = Context {
        windows: WindowTable::EMPTY,
        spilled: MaybeUninit::uninit(),
        hints: MaybeUninit::uninit(),
        registers: [0; 11],
        meter: machine.meter,
        frame_limit: 0,
        stack_steps: 0,
        frame_key: 0,
        blinding_key: code.shape.blinding_key,
        text_vaddr,
        slots: code.entries.len() as u64,
        entries: code.entries.as_ptr(),
        missing: code.routine(code.routines.missing),
        leave_routine: code.routine(code.routines.leave),
        syscall_routine: code.routine(code.routines.syscall),
        more_stack_routine: code.routine(code.routines.more_stack),
        dirty_page_store_routine: code.routine(code.routines.dirty_page_store),
        dirty_page_stores_left: DIRTY_PAGE_STORES_MAX,
        memory_routines: code.routines.memory.map(|offset| code.routine(offset)),
        pc: 0,
        entry_stack: 0,
        resume: 0,
        pointer: 0,
        leave: back_end::leave_address::<Context<Run<'_, '_, H>>>(),
        syscall: back_end::syscall_address::<Context<Run<'_, '_, H>>>(),
        counts: code.shape.counts(),
        run: Run { code, program, machine, host, stack, frame_limit: 0, unit: 0, end: None },
    };
    context.fill(dirty_prefix);
    let context_register =
        (&raw mut context as usize).wrapping_add_signed(back_end::context_offset(code.shape.key));
    let stopped = {
        let enter = code.base + code.routines.enter as usize;
        // SAFETY: the routine `enter` has this signature, and the code was compiled for this
        // program and a machine like this one, which `stack_of` has compared.
        unsafe {
            let enter: back_end::Enter = mem::transmute(enter);
            enter(context_register, target)
        }
    };
    Some(context.end(stopped != 0))
}

/// Returns the host address of the stack (0 with dynamic frames), or `None` if the code does not
/// fit the machine.
fn stack_of(code: &MachineCode, machine: &Machine<'_>) -> Option<u64> {
    let config = &code.config;
    let fits = machine.depth == 0
        && machine.pc < code.entries.len()
        && machine.frames.len() == config.call_depth_max
        && config.call_depth_max <= DEPTH_MAX
        && config.stack_frame_bytes.is_power_of_two()
        && machine.frame_step == code.shape.frame_step
        && machine.metered == code.shape.metered;
    if !fits {
        return None;
    }
    if !code.shape.fixed_frames {
        return Some(0);
    }
    let first = STACK_START + config.stack_frame_bytes;
    (machine.registers[usize::from(FRAME_POINTER)] == first && config.call_depth_max > 0)
        .then(|| code.stack_in(&machine.memory))
        .flatten()
}

impl MachineCode {
    /// Runs a program from the state of the machine to its end, with the same outcome as [`run`](interp::run).
    ///
    /// A machine that the code does not fit (another configuration, open call frames, a stack with
    /// another layout) is run by the interpreter.
    ///
    /// # Panics
    /// If the code was compiled from another program.
    pub fn run<H: Host>(
        &self,
        program: &Program,
        machine: &mut Machine<'_>,
        host: &mut H,
    ) -> Outcome {
        assert_eq!(program.id, self.program_id, "machine code runs its own program");
        let budget = machine.meter.remaining();
        match run_code(self, program, machine, host) {
            Some(result) => Outcome { result, consumed: interp::consumed(machine, budget) },
            None => self.shape.interpret(program, machine, host),
        }
    }

    /// Returns whether the code fits the machine. Other machines are run by the interpreter.
    #[must_use]
    pub fn fits(&self, machine: &Machine<'_>) -> bool {
        stack_of(self, machine).is_some()
    }

    /// Returns the address of a routine.
    fn routine(&self, offset: u32) -> u64 {
        (self.base + offset as usize) as u64
    }

    /// Returns the host address of the stack, if it has the layout that the code was compiled for:
    /// less what the frame register is below the end of its frame, so that both agree.
    fn stack_in(&self, memory: &MemoryMap<'_>) -> Option<u64> {
        let gap = self.shape.gaps.then_some(self.config.stack_frame_bytes);
        let start = memory.stack_address(self.config.stack_bytes() as u64, gap)?;
        Some(start.wrapping_sub(back_end::frame_bias(self.config.stack_frame_bytes)))
    }
}

/// The most stores to dirty pages in a run: they take eighteen instructions more than stores within
/// the limit. Beyond that, clearing whole regions is cheaper.
const DIRTY_PAGE_STORES_MAX: u64 = 1024;
/// How many of them a store counts as that leaves machine code.
const STORES_WORTH_LEAVING: u64 = 16;

/// The maximum call depth: calls nest on the host's stack, with 48 bytes each.
const DEPTH_MAX: usize = 4096;

impl<H: Host> Exits for Context<Run<'_, '_, H>> {
    fn leave(&mut self, address: usize, stack: *const usize) {
        let went_on = catch_unwind(AssertUnwindSafe(|| {
            let site = self.run.site(address);
            self.run.take_state(&self.registers);
            self.run.machine.meter = self.meter;
            let resume = resume_at(self, &site, address as u64, stack);
            if let Some(resume) = resume {
                self.refresh_windows();
                self.give_state();
                self.resume = resume;
            } else {
                self.resume = 0;
            }
        }));
        self.meter = self.run.machine.meter;
        if let Err(payload) = went_on {
            self.run.end = Some(End::Panic(payload));
            self.resume = 0;
        }
    }

    fn syscall(&mut self, arguments: [u64; 5]) -> Answer {
        // The decoder made it from a `SyscallId`.
        #[allow(clippy::cast_possible_truncation, reason = "syscall numbers fit")]
        let id = SyscallId(self.pc as u16);
        let run = &mut self.run;
        let (memory, meter) = (&mut run.machine.memory, &mut self.meter);
        let result =
            catch_unwind(AssertUnwindSafe(|| run.host.syscall(id, arguments, memory, meter)));
        match result {
            Ok(Ok(value)) => {
                // The host may have changed regions, or replaced the whole map.
                let is_known = self.run.machine.memory.is_known_to_code();
                Answer { value, stop: u64::from(!is_known) }
            }
            Ok(Err(error)) => failed(self, End::Result(Err(Trap::Syscall(error)))),
            Err(payload) => failed(self, End::Panic(payload)),
        }
    }
}

#[cold]
#[inline(never)]
fn failed<H>(context: &mut Context<Run<'_, '_, H>>, end: End) -> Answer {
    context.run.end = Some(end);
    Answer { value: context.registers[0], stop: 1 }
}

/// Returns where to resume after a site with return address `address`, or `None` to stop.
fn resume_at<H: Host>(
    context: &mut Context<Run<'_, '_, H>>,
    site: &Site,
    address: u64,
    stack: *const usize,
) -> Option<u64> {
    let pc = match site.kind {
        SiteKind::Syscall => return context.run.resume_after_syscall(site, address, stack),
        SiteKind::Check => {
            if let Some(resume) = resolve_check(context, site, address) {
                return Some(resume);
            }
            site.pc as usize
        }
        SiteKind::Missing => {
            let pc = usize::try_from(context.pc).expect("slots fit `usize`");
            if let Some(entry) = context.run.code.entry_made(context.run.program, pc) {
                return Some(entry);
            }
            pc
        }
        SiteKind::GiveUp | SiteKind::Call | SiteKind::Enter => site.pc as usize,
    };
    let Context { run, pointer, .. } = context;
    let meter = run.machine.meter.remaining().wrapping_add(site.refund.into());
    if run.code.shape.metered {
        run.machine.meter = Meter::new(meter);
    }
    run.machine.pc = pc;
    run.interpret(matches!(site.kind, SiteKind::GiveUp), stack, pointer)
}

/// Asks the memory map for the pointer of a check that failed. Returns where to resume with it, or
/// `None` if the map refuses the accesses too.
#[inline(always)]
fn resolve_check<H: Host>(
    context: &mut Context<Run<'_, '_, H>>,
    site: &Site,
    address: u64,
) -> Option<u64> {
    let Context { run, hints, pointer, dirty_page_stores_left, .. } = context;
    let Check { base, store, span, stride, disp, hint } = site.check;
    let access = if store { Access::Store } else { Access::Load };
    if store {
        // Stores that are too long or meet a page without a record do not profit from dirty pages.
        *dirty_page_stores_left = dirty_page_stores_left.saturating_sub(STORES_WORTH_LEAVING);
        if *dirty_page_stores_left == 0 {
            run.machine.memory.end_page_tracking();
        }
    }
    let vaddr = run.machine.registers[base as usize].wrapping_add_signed(disp.into());
    let memory = &mut run.machine.memory;
    let (last, region) = memory.translate_span(access, vaddr, span.into(), stride.into())?;
    *pointer = back_end::group_pointer(last, span);
    if let Some(region) = region
        && !run.code.shape.aligned
    {
        // SAFETY: `run` initializes them for code for maps that are not aligned.
        let hints = unsafe { hints.assume_init_mut() };
        hints[usize::from(hint)] = region.into();
    }
    Some(address - u64::from(site.back))
}

impl<H: Host> Context<Run<'_, '_, H>> {
    /// Fills the context from the machine.
    #[inline(always)]
    fn fill(&mut self, dirty_prefix: u64) {
        let code = self.run.code;
        self.run.machine.memory.fill_window_table(&mut self.windows, code.shape.window_gaps());
        self.registers.copy_from_slice(&self.run.machine.registers[..11]);
        if code.shape.fixed_frames {
            let scale = 1 + u64::from(code.shape.gaps);
            let frame = self.run.stack + code.config.stack_frame_bytes;
            let guest = self.registers[usize::from(FRAME_POINTER)];
            self.registers[usize::from(FRAME_POINTER)] = frame;
            self.frame_key = guest.wrapping_sub(frame.wrapping_mul(scale));
            self.set_stack_limits(dirty_prefix);
        }
        if !code.shape.aligned {
            self.hints.write([RegionHint::EMPTY; REGION_HINTS as usize]);
        }
    }

    /// Updates the machine after a run, and returns the result.
    #[inline(always)]
    fn end(&mut self, is_stopped: bool) -> Result<u64, Trap> {
        self.record_stack();
        self.run.machine.memory.end_code();
        self.run.machine.meter = self.meter;
        if !is_stopped {
            self.run.take_state(&self.registers);
            let machine = &mut *self.run.machine;
            machine.pc = usize::try_from(self.pc).expect("slots fit `usize`");
            return Ok(machine.registers[0]);
        }
        match self.run.end.take().expect("whatever stops a run sets `end`") {
            End::Result(result) => result,
            End::Panic(payload) => resume_unwind(payload),
        }
    }

    /// Fills the window table again if regions have changed.
    fn refresh_windows(&mut self) {
        if !self.run.machine.memory.is_known_to_code() {
            self.record_stack();
            let Self { run, windows, hints, .. } = self;
            hints.write([RegionHint::EMPTY; REGION_HINTS as usize]);
            *windows = WindowTable::EMPTY;
            run.machine.memory.fill_window_table(windows, run.code.shape.window_gaps());
            if run.code.shape.fixed_frames {
                let dirty_prefix = self.run.machine.memory.raise_stack_dirty_prefix(0);
                self.set_stack_limits(dirty_prefix);
            }
        }
    }

    /// Sets how much of the stack may be used: `dirty_prefix` bytes at first, and step by step all
    /// of it.
    fn set_stack_limits(&mut self, dirty_prefix: u64) {
        let config = &self.run.code.config;
        let frame_bytes = config.stack_frame_bytes;
        let all = frame_bytes * config.call_depth_max as u64;
        // A call is allowed if the frame after the current one ends within the prefix.
        let used = all.min((dirty_prefix + 1).saturating_sub(frame_bytes));
        self.frame_limit = self.run.stack + used;
        self.run.frame_limit = self.frame_limit;
        // Frames are powers of two, and so are steps.
        let step = frame_bytes * u64::from(STACK_STEP_FRAMES.cast_unsigned());
        self.stack_steps = all.saturating_sub(dirty_prefix) >> step.trailing_zeros();
    }

    /// Tells the memory map how far machine code has raised the limits.
    fn record_stack(&mut self) {
        if self.run.code.shape.fixed_frames && self.frame_limit != self.run.frame_limit {
            let frame_bytes = self.run.code.config.stack_frame_bytes;
            let dirty_prefix = self.frame_limit - self.run.stack + frame_bytes - 1;
            self.run.machine.memory.raise_stack_dirty_prefix(dirty_prefix);
            self.run.frame_limit = self.frame_limit;
        }
    }

    /// Copies the registers that the interpreter may have changed. It does not change r10 if that
    /// is not in a register.
    fn give_state(&mut self) {
        let machine = &self.run.machine;
        let count = if self.run.code.shape.fixed_frames { 10 } else { 11 };
        self.registers[..count].copy_from_slice(&machine.registers[..count]);
    }
}

impl<H: Host> Run<'_, '_, H> {
    /// Returns where to resume after a syscall that failed or changed regions.
    #[inline(always)]
    fn resume_after_syscall(
        &mut self,
        site: &Site,
        address: u64,
        stack: *const usize,
    ) -> Option<u64> {
        self.machine.pc = site.pc as usize;
        if self.end.is_some() {
            self.take_frames(stack);
            return None;
        }
        if self.still_fits() {
            return Some(address);
        }
        self.machine.pc += 1;
        self.finish(stack)
    }

    /// Returns the site with a return address.
    fn site(&mut self, address: usize) -> Site {
        let site = self.code.units.site(address, &mut self.unit);
        site.expect("every call of machine code has a site")
    }

    /// Copies the registers of machine code to the machine.
    fn take_state(&mut self, registers: &[u64; 11]) {
        for (to, from) in self.machine.registers.iter_mut().zip(registers) {
            // One by one: machine code has just stored them one by one, and wider loads would
            // stall.
            // SAFETY: the pointer comes from a reference.
            *to = unsafe { ptr::read_volatile(from) };
        }
        if self.code.shape.fixed_frames {
            let frame_shift = self.code.config.stack_frame_bytes.trailing_zeros();
            let depth = (registers[10] - self.stack) >> frame_shift;
            self.machine.registers[10] = self.frame_pointer(depth - 1);
        }
    }

    /// Returns r10 at a call depth.
    fn frame_pointer(&self, depth: u64) -> u64 {
        STACK_START + self.code.config.stack_frame_bytes + depth * self.code.shape.frame_step
    }

    /// Lets the interpreter execute the rest of a block, and any code that is not compiled.
    /// `refused` says that machine code refused to execute the first instruction. Returns where to
    /// resume.
    fn interpret(&mut self, refused: bool, stack: *const usize, pointer: &mut u64) -> Option<u64> {
        let frame_pointer = self.machine.registers[10];
        let mut refused = refused;
        loop {
            let pc = self.machine.pc;
            let action = self.program.decoded().insn(pc).map(DecodedInsn::action);
            match action {
                Some(Action::CallLocal | Action::CallRegister) => {
                    let refused = refused && !self.has_more_stack();
                    let Some(start) = self.code.units.call(pc).filter(|_| !refused) else {
                        return self.finish(stack);
                    };
                    return if self.charge() { Some(start as u64) } else { self.exceeded(stack) };
                }
                Some(Action::Row(Kind::Exit)) => {
                    *pointer = pc as u64;
                    let ret = self.code.routine(self.code.routines.ret);
                    return if self.charge() { Some(ret) } else { self.exceeded(stack) };
                }
                _ => {}
            }
            refused = false;
            if let Err(trap) = interp::step(self.program, self.machine, self.host, &mut ()) {
                return self.stop(Err(trap), stack);
            }
            self.code.shape.count(pc, self.machine.pc);
            let moved = self.code.shape.fixed_frames && self.machine.registers[10] != frame_pointer;
            if moved || !self.still_fits() {
                return self.finish(stack);
            }
            if let Some(entry) = self.code.entry(self.machine.pc) {
                return Some(entry);
            }
        }
    }

    /// Returns whether a call was refused only because the next frame is beyond the dirty prefix,
    /// and raises that.
    fn has_more_stack(&mut self) -> bool {
        if !self.code.shape.fixed_frames {
            return false;
        }
        let frame_bytes = self.code.config.stack_frame_bytes;
        let used = self.machine.registers[10] - self.frame_pointer(0);
        let depth = used / self.code.shape.frame_step;
        let memory = &mut self.machine.memory;
        depth + 1 < self.code.config.call_depth_max as u64
            && memory.raise_stack_dirty_prefix(0)
                < memory.raise_stack_dirty_prefix(frame_bytes * (depth + 2))
    }

    fn charge(&mut self) -> bool {
        !self.code.shape.metered || self.machine.meter.consume(1).is_ok()
    }

    fn exceeded(&mut self, stack: *const usize) -> Option<u64> {
        self.stop(Err(Trap::ExceededMaxInstructions), stack)
    }

    fn stop(&mut self, result: Result<u64, Trap>, stack: *const usize) -> Option<u64> {
        self.take_frames(stack);
        self.end = Some(End::Result(result));
        None
    }

    /// Lets the interpreter run the program to its end.
    fn finish(&mut self, stack: *const usize) -> Option<u64> {
        self.take_frames(stack);
        self.machine.memory.end_page_tracking();
        let result = interp::finish(self.program.decoded(), self.machine, self.host);
        self.end = Some(End::Result(result));
        None
    }

    /// Returns whether the stack is still where machine code expects it.
    fn still_fits(&self) -> bool {
        if !self.code.shape.fixed_frames || self.machine.memory.is_known_to_code() {
            return true;
        }
        self.code.stack_in(&self.machine.memory) == Some(self.stack)
    }

    /// Copies the call frames from the host's stack to the machine. `stack` points to the return
    /// address of the site.
    fn take_frames(&mut self, stack: *const usize) {
        let mut saved: [u64; 5] = core::array::from_fn(|number| self.machine.registers[6 + number]);
        let mut frames = Vec::new();
        let mut word = stack.wrapping_add(1);
        loop {
            // SAFETY: the stack holds what machine code pushed, down to the return address into the
            // routine `enter`, at which this ends.
            let address = unsafe { ptr::read(word) };
            let site = self.site(address);
            if site.kind != SiteKind::Call {
                break;
            }
            let mask = site.saved;
            for number in (0..5).rev().filter(|number| mask >> number & 1 == 1) {
                word = word.wrapping_add(1);
                // SAFETY: as above.
                saved[number] = unsafe { ptr::read(word) } as u64;
            }
            word = word.wrapping_add(1);
            frames.push((site.pc + 1, saved));
        }
        self.machine.depth = frames.len();
        for (depth, (return_pc, mut saved)) in frames.into_iter().rev().enumerate() {
            if self.code.shape.fixed_frames {
                saved[4] = self.frame_pointer(depth as u64);
            }
            self.machine.frames[depth] = CallFrame::new(saved, return_pc.into());
        }
    }
}
