//! The interpreter: the reference for every other engine.
//!
//! It has a slow path and a fast path. [`step`] executes one instruction exactly: it charges the
//! meter, calls the host and raises every trap. `run_blocks` (in `fast_path.rs`) executes whole
//! blocks of instructions that need none of that, and stops *before* the first one that does. Both
//! call `Machine::execute` for what an instruction computes, so each has a single definition, and
//! all exceptional cases are in `step`.

use core::array;

use selkie_elf::SyscallId;
use selkie_isa::{Kind, Operand};

use crate::{
    counters::BranchCounters,
    decoded::{Action, DecodedInsn, DecodedProgram},
    execute::Flow,
    fast_path::run_blocks,
    host::{Host, Interrupted, Observer},
    machine::Machine,
    program::Program,
    trap::{Access, Trap},
};

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// r0, or why the program was stopped; [`Machine::pc`] is the instruction.
    pub result: Result<u64, Trap>,
    /// Compute units consumed by instructions and syscalls; 0 if the machine is not metered.
    pub consumed: u64,
}

/// Interprets a program from the state of the machine to its end.
///
/// ```
/// use selkie_elf::{Executable, Functions};
/// use selkie_isa::Version;
/// use selkie_vm::{Config, Machine, MemoryMap, NoHost, Program, run};
///
/// // mov64 r0, 7; exit
/// let text = [0xb7, 0, 0, 0, 7, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0];
/// let executable =
///     Executable::from_text(Version::V0, text, 0, Functions::default(), Default::default())?;
/// let program = Program::new(executable);
/// let config = Config::default();
/// let memory = MemoryMap::new(vec![], &config, Version::V0)?;
/// let mut machine = Machine::new(program.executable(), &config, memory, 100);
/// let outcome = run(&program, &mut machine, &mut NoHost);
/// assert_eq!((outcome.result?, outcome.consumed), (7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(program: &Program, machine: &mut Machine<'_>, host: &mut dyn Host) -> Outcome {
    let budget = machine.meter.remaining();
    let result = finish(program.decoded(), machine, host);
    Outcome { result, consumed: consumed(machine, budget) }
}

/// Interprets a program like [`run`], and counts the branches that it takes.
pub fn run_counted(
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
    counters: &BranchCounters,
) -> Outcome {
    let budget = machine.meter.remaining();
    let result = loop {
        let pc = machine.pc;
        match step_decoded(program.decoded(), machine, host) {
            Ok(None) => counters.count(pc, machine.pc),
            Ok(Some(r0)) => break Ok(r0),
            Err(trap) => break Err(trap),
        }
    };
    Outcome { result, consumed: consumed(machine, budget) }
}

/// Interprets a program from the state of the machine to its end, without counting its use.
pub(crate) fn finish(
    program: &DecodedProgram,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
) -> Result<u64, Trap> {
    loop {
        run_blocks(program, machine);
        if let Some(r0) = step_decoded(program, machine, host)? {
            return Ok(r0);
        }
    }
}

/// Interprets a program like [`run`], with an observer of every instruction.
pub fn observe(
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
    observer: &mut dyn Observer,
) -> Outcome {
    let budget = machine.meter.remaining();
    let result = loop {
        match step(program, machine, host, observer) {
            Ok(None) => {}
            Ok(Some(r0)) => break Ok(r0),
            Err(trap) => break Err(trap),
        }
    };
    Outcome { result, consumed: consumed(machine, budget) }
}

/// Interprets a program like [`observe`], where the host is the observer: so it can observe programs
/// that it runs during a syscall.
pub fn observe_by_host<H: Host + Observer>(
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut H,
) -> Outcome {
    let budget = machine.meter.remaining();
    let result = loop {
        if is_broken_off(program.decoded(), machine, host) {
            break Err(Interrupted.into());
        }
        match step_decoded(program.decoded(), machine, host) {
            Ok(None) => {}
            Ok(Some(r0)) => break Ok(r0),
            Err(trap) => break Err(trap),
        }
    };
    Outcome { result, consumed: consumed(machine, budget) }
}

/// Shows the next instruction to an observer, if it can be executed. Returns whether the observer
/// ends the run.
#[inline(always)]
fn is_broken_off<O: Observer + ?Sized>(
    program: &DecodedProgram,
    machine: &mut Machine<'_>,
    observer: &mut O,
) -> bool {
    let is_paid = !machine.metered || machine.meter.remaining() > 0;
    is_paid && program.insn(machine.pc).is_some() && observer.instruction(machine).is_break()
}

/// Returns the compute units consumed since the meter had `budget`.
pub(crate) fn consumed(machine: &Machine<'_>, budget: u64) -> u64 {
    if machine.metered { budget.saturating_sub(machine.meter.remaining()) } else { 0 }
}

/// Executes one instruction, after the observer has seen it. Returns r0 if it ended the program.
///
/// # Errors
/// [`Interrupted`], or the trap that ended the program; [`Machine::pc`] is the instruction that raised it, or for
/// [`Trap::ExceededMaxInstructions`] the one that could not be paid for.
pub fn step<O: Observer + ?Sized>(
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
    observer: &mut O,
) -> Result<Option<u64>, Trap> {
    if is_broken_off(program.decoded(), machine, observer) {
        return Err(Interrupted.into());
    }
    step_decoded(program.decoded(), machine, host)
}

#[inline(always)]
fn step_decoded(
    program: &DecodedProgram,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
) -> Result<Option<u64>, Trap> {
    let pc = machine.pc;
    if machine.metered && machine.meter.consume(1).is_err() {
        return Err(Trap::ExceededMaxInstructions);
    }
    let insn = program.insn(pc).ok_or(Trap::ExecutionOverrun)?;
    if let Action::CallSyscall = insn.action() {
        machine.syscall(insn, host)?;
        machine.pc = pc + 1;
        return Ok(None);
    }
    let flow = match machine.execute::<true>(insn.action(), insn, program.text.len()) {
        Flow::Bail => machine.execute_slow(insn, host)?,
        flow => flow,
    };
    machine.pc = match flow {
        Flow::Next => pc + 1,
        Flow::Skip => pc + 2,
        Flow::Goto(target) | Flow::Branch(target) => target,
        Flow::Bail => return Ok(Some(machine.registers[0])),
    };
    Ok(None)
}

impl Machine<'_> {
    /// Executes what [`Machine::execute`] does not: accesses that need the host, traps, and the end
    /// of the program.
    #[cold]
    fn execute_slow(&mut self, insn: &DecodedInsn, host: &mut dyn Host) -> Result<Flow, Trap> {
        let kind = match insn.action() {
            Action::Row(kind) => kind,
            // The frame is pushed before the target is checked.
            Action::CallRegister if self.push_frame(insn.imm) => {
                return Err(Trap::CallOutsideTextSegment);
            }
            Action::CallLocal | Action::CallRegister => {
                self.push_last_frame(insn.imm);
                return Err(Trap::CallDepthExceeded);
            }
            Action::CallSyscall | Action::Cut | Action::Unsupported | Action::End => {
                return Err(Trap::UnsupportedInstruction);
            }
        };
        match kind {
            Kind::Exit => Ok(Flow::Bail),
            Kind::Alu(alu, width, right) => {
                let right = if right == Operand::Reg { self.get(insn.src) } else { insn.imm };
                let value = alu.eval(width, self.get(insn.dst), right)?;
                self.set(insn.dst, value);
                Ok(Flow::Next)
            }
            Kind::Load(_) | Kind::StoreImm(_) | Kind::StoreReg(_) => {
                if self.access_any_region(insn.action(), insn).is_none() {
                    self.reconsider_access(insn, host)?;
                }
                Ok(Flow::Next)
            }
            Kind::Endian(_) => Err(Trap::InvalidInstruction),
            _ => Err(Trap::UnsupportedInstruction),
        }
    }

    /// Lets the host change the region that refused an access, and tries the access once more.
    fn reconsider_access(&mut self, insn: &DecodedInsn, host: &mut dyn Host) -> Result<(), Trap> {
        let (access, base, size) = match insn.action() {
            Action::Row(Kind::Load(size)) => (Access::Load, insn.src, size),
            Action::Row(Kind::StoreImm(size) | Kind::StoreReg(size)) => {
                (Access::Store, insn.dst, size)
            }
            _ => return Err(Trap::UnsupportedInstruction),
        };
        let (vaddr, len) = (self.get(base).wrapping_add(insn.offset()), size.bytes());
        self.memory.reconsider(access, vaddr, len, |violation, region| {
            host.access_violation(violation, region);
        })?;
        self.access_any_region(insn.action(), insn)
            .ok_or_else(|| self.memory.violation(access, vaddr, len))
    }

    #[inline]
    fn syscall(&mut self, insn: &DecodedInsn, host: &mut dyn Host) -> Result<(), Trap> {
        let id = SyscallId(u16::try_from(insn.aux).map_err(|_| Trap::UnsupportedInstruction)?);
        let arguments = array::from_fn(|index| self.registers[index + 1]);
        self.registers[0] = host
            .syscall(id, arguments, &mut self.memory, &mut self.meter)
            .map_err(Trap::Syscall)?;
        Ok(())
    }
}
