//! Selkie's engine.

use core::{any::Any, cell::Cell, ops::ControlFlow};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use selkie_elf::{Executable, Functions, SyscallId, Syscalls};
use selkie_vm::{
    Access, Config, Host, JitOptions, Machine, MachineCode, MemoryCalls, MemoryMap, Meter,
    Observer, Outcome, Program, Region, SyscallError, Trap, Violation, interp::step, observe, run,
    verify,
};

use crate::{
    case::{Case, Decision, Hook, Refused, RegionSpec, SYSCALLS},
    observed::{End, Observed, Run, Trace},
    rng::Rng,
    syscalls::{self, Failure, Memory},
};

/// The engine that runs the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Gear {
    /// The interpreter.
    Run,
    /// The interpreter with an observer of every instruction.
    Observe,
    /// The JIT.
    Jit(Plan),
}

/// Compiler settings, and how the machine code is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Plan {
    pub(crate) options: JitOptions,
    /// Compile for another call depth than the machine has.
    pub(crate) foreign: bool,
    /// Run the code once before the run that is compared.
    pub(crate) warm: bool,
    /// Instructions that the interpreter executes before the code takes over.
    pub(crate) steps: u64,
}

impl Plan {
    /// The default settings.
    pub(crate) fn plain() -> Self {
        Self { options: JitOptions::plain(), foreign: false, warm: false, steps: 0 }
    }

    /// Derives settings from a number. All occur; common ones are frequent.
    pub(crate) fn from_rng(rng: &mut Rng) -> Self {
        let hardened = rng.chance(50);
        let options = JitOptions {
            blind_constants: if hardened { rng.chance(90) } else { rng.chance(10) },
            noop_rate: if hardened { rng.pick(&[256, 256, 16, 3, 1]) } else { 0 },
            pad_start: hardened && rng.chance(90),
            key_addresses: if hardened { rng.chance(90) } else { rng.chance(10) },
            slots_at_once: rng.pick(&[1, 4, 16, 96, 96, usize::MAX]),
            runs_until_joined: 0,
            unit_slots_max: rng.pick(&[3, 96, 1 << 17]),
            code_bytes_max: rng.pick(&[5_000, 16 << 20, 16 << 20]),
            spans: false,
            seed: Some(rng.word()),
            memory_calls: MemoryCalls::default(),
            counters: None,
        };
        Self {
            options,
            foreign: rng.chance(1),
            warm: rng.chance(10),
            steps: if rng.chance(3) { rng.below(30) as u64 } else { 0 },
        }
    }
}

struct TestHost<'c> {
    case: &'c Case,
    calls: Calls,
    asked: Trace,
}

/// The behaviour of syscalls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Calls {
    /// Each does what [`syscalls::call`] does for its number.
    Own,
    /// All behave as the first.
    Same,
}

struct Syscall<'m, 'a> {
    memory: &'m mut MemoryMap<'a>,
    meter: &'m mut Meter,
    asked: &'m mut Trace,
}

impl Memory for Syscall<'_, '_> {
    type Error = Trap;

    fn load(&mut self, vaddr: u64, len: u64) -> Result<&[u8], Trap> {
        self.memory.slice(vaddr, len)
    }

    fn store(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], Trap> {
        self.memory.slice_mut(vaddr, len)
    }

    fn consume(&mut self, units: u64) -> bool {
        self.meter.consume(units).is_ok()
    }

    fn remaining(&self) -> u64 {
        self.meter.remaining()
    }

    fn note(&mut self, numbers: &[u64]) {
        self.asked.note(numbers);
    }
}

impl Host for TestHost<'_> {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        let mut memory = Syscall { memory, meter, asked: &mut self.asked };
        let index = if self.calls == Calls::Own { usize::from(id.0) } else { 0 };
        syscalls::call(index, arguments, &mut memory).map_err(|failure| {
            SyscallError::from(match failure {
                Failure::Memory(trap) => trap,
                Failure::DivideByZero => Trap::DivideByZero,
                Failure::Exceeded => Trap::ExceededMaxInstructions,
            })
        })
    }

    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        let Some(index) = region.payload() else { return };
        let spec = &self.case.regions[usize::from(index)];
        let Some(hook) = spec.hook else { return };
        let refused = Refused {
            store: violation.access == Access::Store,
            vaddr: violation.vaddr,
            len: violation.len,
            len_max: violation.len_max,
            region_vaddr: region.vaddr(),
            region_len: region.len(),
            capacity: spec.bytes.len() as u64,
        };
        self.asked.note(&refused.numbers());
        match hook.decide(refused) {
            None => {}
            Some(Decision::Change { len, unshared }) => {
                region.grow(len);
                if unshared {
                    region.make_writable();
                }
            }
            // The map needs a lifetime that cannot be named here. Such regions are small and few.
            Some(Decision::Replace) => region.replace(Box::leak(spec.other_bytes())),
        }
    }
}

impl Observer for Trace {
    fn instruction(&mut self, machine: &mut Machine<'_>) -> ControlFlow<()> {
        self.push(machine.registers(), machine.pc() as u64);
        ControlFlow::Continue(())
    }
}

thread_local! {
    /// The registered syscalls.
    static SYSCALL_TABLE: Arc<Syscalls> = Arc::new(Syscalls::new(SYSCALLS));
}

/// The syscalls that both sides know, as Selkie's loader takes them.
pub(crate) fn syscall_table() -> Arc<Syscalls> {
    SYSCALL_TABLE.with(Arc::clone)
}

/// Runs a case on Selkie. A panic is reported as an outcome, which always differs.
pub(crate) fn observe_case(case: &Case, gear: &Gear) -> Observed {
    catch(|| observe_calmly(case, gear))
        .unwrap_or_else(|panic| Observed { verdict: Err(panic), run: None })
}

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    static PANIC_PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Makes panics within [`catch`] be recorded instead of printed.
pub(crate) fn quieten_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if CATCHING.get() {
            PANIC_PLACE.set(info.location().map(ToString::to_string));
        } else {
            print(info);
        }
    }));
}

/// Calls Selkie, and returns a panic as text.
pub(crate) fn catch<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    CATCHING.set(true);
    let result = catch_unwind(AssertUnwindSafe(call)).map_err(|panic| panic_text(&*panic));
    CATCHING.set(false);
    result
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or_default();
    format!("panicked at {}: {text}", PANIC_PLACE.take().unwrap_or_default())
}

fn observe_calmly(case: &Case, gear: &Gear) -> Observed {
    let executable = match executable(case) {
        Ok(executable) => executable,
        Err(error) => return Observed { verdict: Err(error), run: None },
    };
    let verdict = verify(&executable).map_err(|error| error.to_string());
    let runs = verdict.is_ok() || case.runs_unverified();
    let run = runs.then(|| run_program(case, &Program::new(executable), gear, Calls::Own));
    Observed { verdict, run }
}

fn executable(case: &Case) -> Result<Executable, String> {
    let mut functions = Functions::default();
    for &(key, pc) in &case.functions {
        functions.register(key, pc, "").map_err(|error| error.to_string())?;
    }
    let text = case.text.as_slice();
    Executable::from_text(case.version, text, case.entry_pc, functions, syscall_table())
        .map_err(|error| error.to_string())
}

/// Runs a program with the memory, registers and settings of a case.
pub(crate) fn run_program(
    case: &Case,
    program: &Program,
    gear: &Gear,
    calls: Calls,
) -> Result<Run, String> {
    let mut trace = Trace::default();
    let run = match gear {
        Gear::Run => run_by(case, program, calls, run),
        Gear::Observe => run_by(case, program, calls, |program, machine, host| {
            observe(program, machine, host, &mut trace)
        }),
        Gear::Jit(plan) => {
            let code = compile(case, program, plan)?;
            if plan.warm {
                run_by(case, program, calls, |program, machine, host| {
                    code.run(program, machine, &mut { host })
                })?;
            }
            run_by(case, program, calls, |program, machine, host| {
                run_from_within(&code, plan.steps, program, machine, host)
            })
        }
    };
    Ok(Run { trace, ..run? })
}

fn compile(case: &Case, program: &Program, plan: &Plan) -> Result<MachineCode, String> {
    let depth = case.config.call_depth_max + usize::from(plan.foreign);
    let config = Config { call_depth_max: depth, ..case.config.clone() };
    MachineCode::compile(program, &config, &plan.options).map_err(|error| error.to_string())
}

/// Interprets some instructions, then continues in machine code.
fn run_from_within(
    code: &MachineCode,
    steps: u64,
    program: &Program,
    machine: &mut Machine<'_>,
    host: &mut dyn Host,
) -> Outcome {
    let budget = machine.meter.remaining();
    let ended = (0..steps).find_map(|_| step(program, machine, host, &mut ()).transpose());
    let stepped = budget.saturating_sub(machine.meter.remaining());
    match ended {
        Some(result) => Outcome { result, consumed: stepped },
        None => {
            let Outcome { result, consumed } = code.run(program, machine, &mut { host });
            Outcome { result, consumed: consumed + stepped }
        }
    }
}

fn run_by(
    case: &Case,
    program: &Program,
    calls: Calls,
    engine: impl FnOnce(&Program, &mut Machine<'_>, &mut dyn Host) -> Outcome,
) -> Result<Run, String> {
    let mut buffers: Vec<Vec<u8>> =
        case.regions.iter().map(|region| region.bytes.clone()).collect();
    let regions = case.regions.iter().zip(&mut buffers).enumerate();
    let regions = regions.map(|(index, (spec, bytes))| region(case, spec, index, bytes)).collect();
    let memory =
        MemoryMap::new(regions, &case.config, case.version).map_err(|trap| debug_text(&trap))?;
    let mut machine = Machine::new(program.executable(), &case.config, memory, case.budget);
    machine.registers_mut()[..10].copy_from_slice(&case.registers);
    let mut host = TestHost { case, calls, asked: Trace::default() };
    let Outcome { result, consumed } = engine(program, &mut machine, &mut host);
    let end = match result {
        Ok(r0) => End::Ok(r0),
        Err(trap) => End::Err { debug: debug_text(&trap), display: trap.to_string() },
    };
    let replaced = case.regions.iter().enumerate().filter(|(_, it)| it.may_be_replaced());
    let replaced: Vec<Vec<u8>> = replaced
        .filter_map(|(index, _)| {
            let mut regions = machine.memory.regions().iter();
            let region = regions.find(|it| it.payload().map(usize::from) == Some(index))?;
            Some(region.bytes().to_vec())
        })
        .collect();
    let mut run = Run {
        end,
        consumed: if case.config.metered { consumed } else { 0 },
        pc: machine.pc() as u64,
        registers: *machine.registers(),
        depth: machine.call_depth() as u64,
        return_pcs: machine.return_pcs().map(|pc| pc as u64).collect(),
        remaining: machine.meter.remaining(),
        memory: Vec::new(),
        trace: Trace::default(),
        asked: host.asked,
    };
    drop(machine);
    run.memory = buffers;
    run.memory.extend(replaced);
    Ok(run)
}

fn region<'a>(case: &Case, spec: &RegionSpec, index: usize, bytes: &'a mut [u8]) -> Region<'a> {
    let mut region = if spec.writable || spec.hook.is_some_and(Hook::unshares) {
        Region::writable(spec.vaddr, bytes)
    } else {
        Region::readonly(spec.vaddr, bytes)
    };
    if !spec.writable {
        region = region.protected();
    }
    // Dirty-page tracking must not affect the outcome.
    if case.budget.is_multiple_of(2) {
        region = region.with_dirty_prefix(if case.budget.is_multiple_of(4) { 0 } else { 5000 });
    }
    if spec.gapped {
        region = region.gapped(case.config.stack_frame_bytes);
    }
    region = region.reserve(spec.len as u64);
    match (spec.hook, u16::try_from(index)) {
        (Some(_), Ok(index)) => region.with_payload(index),
        _ => region,
    }
}

/// Returns the `Debug` text of anza's engine for the same error.
fn debug_text(trap: &Trap) -> String {
    match trap {
        Trap::AccessViolation { access, vaddr, len, region } => {
            format!("AccessViolation({access:?}, {vaddr}, {len}, {region:?})")
        }
        Trap::StackAccessViolation { access, vaddr, len, frame } => {
            format!("StackAccessViolation({access:?}, {vaddr}, {len}, {frame})")
        }
        Trap::Syscall(error) => match error.downcast_ref::<Trap>() {
            Some(trap) => format!("SyscallError({})", debug_text(trap)),
            None => format!("SyscallError({error:?})"),
        },
        trap => format!("{trap:?}"),
    }
}
