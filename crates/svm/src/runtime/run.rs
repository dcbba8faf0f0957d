//! One run of an sBPF program: the input region is serialized, memory is mapped, an engine runs, and
//! changes to accounts are copied back.

use std::sync::Arc;

use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{Access, Config, Machine, MemoryMap, Outcome, Region, Trap};
use solana_instruction_error::InstructionError;

use crate::{
    chain::{account::Loader, cost, error, features::Feature},
    programs::{
        dirty_hints::DirtyPrefixHint,
        engine::{Engine, Plan, config},
        program::{Program, Running},
    },
    runtime::{
        buffers::Buffers,
        context::{InvokeContext, inspector::Detail},
        input::{self, AccountLayout, DataMode, RefusedChange, explain::abi_mismatch},
        observed,
        stop::{Run, Stopped},
        syscalls::explain_unknown,
    },
};

/// An instruction error with the text that the log shows for it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: InstructionError,
    pub(crate) text: String,
}

impl From<InstructionError> for Failure {
    fn from(error: InstructionError) -> Self {
        Self { text: error.to_string(), error }
    }
}

/// Runs an sBPF program for the current instruction.
pub(crate) fn run_program<'e>(
    context: &mut InvokeContext<'e>,
    program: Running<'e>,
) -> Result<(), Failure> {
    let features = context.environment.features;
    let mode = DataMode::of(features);
    let mut buffers = context.buffers.take();
    let instruction = context.instruction();
    let abi = program.loader().abi();
    let (bytes, records) = (&mut buffers.input, core::mem::take(&mut buffers.records));
    let layout = input::serialize(abi, instruction, &context.accounts, features, bytes, records)?;
    context.frame_mut().layout = layout;
    context.frame_mut().program = Some(program.clone());
    let units_before = context.meter.remaining();
    if context.meter.consume(cost::heap(context.heap_bytes)).is_err() {
        let why = InstructionError::ComputationalBudgetExceeded;
        context.logs.line(format!("Failed to create SBF VM: {why}"));
        return Err(InstructionError::ProgramEnvironmentSetupFailure.into());
    }
    let (run, dirty) = run_machine(context, &program, mode, &mut buffers)?;
    log_end(context, run.compute_units, units_before);
    let result = check_end(context, &program, mode, &run)
        .and_then(|()| copy_back(context, mode, buffers.input.get()));
    if let Err(trap) = &run.result {
        let mismatch = abi_mismatch(trap, buffers.input.get(), abi, program.executable());
        context.notes.extend(mismatch.map(|it| it.to_string()));
    }
    record_end(context, run, buffers.input.get());
    buffers.records = core::mem::take(&mut context.frame_mut().layout.records);
    context.buffers.put_back(buffers, dirty.stack, dirty.heap);
    result
}

/// Tells the inspector how a run ended, and keeps the first trap.
fn record_end(context: &mut InvokeContext<'_>, run: Run, input: &[u8]) {
    if let Some(inspector) = context.inspector.take() {
        inspector.run_end(context, &run, input);
        context.inspector = Some(inspector);
    }
    if run.result.is_err() && context.stopped.is_none() {
        context.stopped = Stopped::new(context.instruction().program_id, run).map(Box::new);
    }
}

/// How many bytes at the start of each region a run has written to, dirty pages aside.
#[derive(Clone, Copy)]
struct DirtyPrefixes {
    stack: u64,
    heap: u64,
    input: u64,
}

impl DirtyPrefixes {
    const ALL: Self = Self { stack: u64::MAX, heap: u64::MAX, input: u64::MAX };

    fn of(machine: &Machine<'_>, mode: DataMode) -> Self {
        let prefix = |vaddr| {
            let region = machine.memory.regions().iter().find(|region| region.vaddr() == vaddr);
            region.map_or(0, Region::dirty_prefix)
        };
        Self {
            stack: prefix(STACK_START),
            heap: prefix(HEAP_START),
            // Where accounts have regions of their own, CPI writes to them unrecorded.
            input: if mode.has_regions() { u64::MAX } else { prefix(INPUT_START) },
        }
    }
}

/// Maps the memory of a program, runs it, and records what it has written to.
fn run_machine(
    context: &mut InvokeContext<'_>,
    program: &Program,
    mode: DataMode,
    buffers: &mut Buffers,
) -> Result<(Run, DirtyPrefixes), Failure> {
    // A program that was loaded for another mode has no machine code for this one.
    let is_ready = program.has_account_regions() == mode.has_regions();
    let is_observed = context.detail > Detail::Calls;
    let plan = match (is_observed, is_ready) {
        (true, _) => plan_observed(context, program, is_ready),
        (false, true) => plan(context, program),
        (false, false) => Plan::Interpret,
    };
    let config = config(mode.has_regions());
    let executable = program.executable();
    let heap_bytes = usize::try_from(context.heap_bytes).unwrap_or(usize::MAX);
    buffers.fit(config.stack_bytes(), heap_bytes);
    let machine_buffers = core::mem::take(&mut buffers.machine);
    let input_bytes = buffers.input.get().len();
    let expected = ExpectedWrites::prepare(&plan, program, mode, buffers, heap_bytes);
    let regions = map_regions(context, program, mode, &config, &expected, buffers);
    let memory = MemoryMap::new(regions, &config, executable.version()).map_err(|trap| {
        context.logs.line(format!("Failed to create SBF VM: {trap}"));
        Failure::from(InstructionError::ProgramEnvironmentSetupFailure)
    })?;
    let budget = context.meter.remaining();
    let mut machine = Machine::with_buffers(executable, &config, memory, budget, machine_buffers);
    if context.detail == Detail::Writes {
        machine.memory.log_writes();
    }
    if context.has(Feature::InstructionDataPointer) {
        let instruction_data = context.frame().layout.instruction_data;
        machine.registers_mut()[2] = input::vaddr(instruction_data);
    }
    if context.has(Feature::InputMetadataRegisters) && program.loader() != Loader::V1 {
        let Some(pointers) = context.frame().layout.pointers else {
            let why = "cannot determine account pointers offset";
            context.logs.line(format!("Failed to create SBF VM: {why}"));
            return Err(InstructionError::ProgramEnvironmentSetupFailure.into());
        };
        let instruction = context.instruction();
        let (bytes, accounts) = (instruction.data.len(), instruction.accounts.len());
        machine.registers_mut()[3..6].copy_from_slice(&[
            bytes as u64,
            input::vaddr(pointers),
            accounts as u64,
        ]);
    }
    let (outcome, engine) = run_engine(context, program, plan, &mut machine);
    context.meter = machine.meter;
    let dirty = if is_observed { DirtyPrefixes::ALL } else { DirtyPrefixes::of(&machine, mode) };
    let has_trapped = outcome.result.is_err();
    let run = Run {
        pc: machine.pc(),
        registers: *machine.registers(),
        // A program that has exited has no call left.
        return_pcs: if has_trapped { machine.return_pcs().collect() } else { Vec::new() },
        result: outcome.result.map_err(Arc::new),
        compute_units: outcome.consumed,
        engine,
        input_bytes,
        heap_bytes: u64::from(context.heap_bytes),
    };
    buffers.machine = machine.into_buffers();
    if !is_observed {
        expected.record(dirty, mode, program, buffers, heap_bytes);
    }
    buffers.record_input_writes(dirty.input);
    Ok((run, dirty))
}

fn run_engine(
    context: &mut InvokeContext<'_>,
    program: &Program,
    plan: Plan<'_>,
    machine: &mut Machine<'_>,
) -> (Outcome, Engine) {
    let verified = program.verified();
    let (outcome, engine) = match plan {
        Plan::Run(code) => (code.run(verified, machine, context), Engine::Jit),
        Plan::Observe(code) => {
            (observed::run(context, program, code, machine), Engine::Interpreter)
        }
        Plan::Interpret | Plan::FallBack(_) => {
            let outcome = match &program.compiled().counters {
                Some(counters) => selkie_vm::run_counted(verified, machine, context, counters),
                None => selkie_vm::run(verified, machine, context),
            };
            (outcome, Engine::Interpreter)
        }
    };
    if engine == Engine::Interpreter {
        program.compiled().count(outcome.consumed);
    }
    program.note_size();
    (outcome, engine)
}

/// The memory that a run is expected to write to, which is treated as dirty in advance: writes to it
/// need not be recorded one by one.
struct ExpectedWrites<'p> {
    /// The dirty prefix of the stack; `None` if machine code tracks the stack frame by frame.
    stack: Option<u64>,
    heap: u64,
    input: u64,
    /// Whether dirty pages of the heap are tracked. Only machine code gains by it, and only where
    /// every window of the address space has one region.
    tracks_heap_pages: bool,
    /// Whether dirty pages of the input are tracked. They are not if all of it is expected dirty.
    tracks_input_pages: bool,
    input_hint: &'p DirtyPrefixHint,
}

impl<'p> ExpectedWrites<'p> {
    /// Decides by the program's hints, and marks the pages that are expected dirty.
    fn prepare(
        plan: &Plan<'_>,
        program: &'p Program,
        mode: DataMode,
        buffers: &mut Buffers,
        heap_bytes: usize,
    ) -> Self {
        let hints = &program.dirty_hints;
        let is_compiled = matches!(plan, Plan::Run(_));
        let by_frames = is_compiled && !program.executable().version().dynamic_frames();
        let tracks_pages = is_compiled && !mode.has_regions();
        if tracks_pages {
            hints.heap.mark_end(&mut buffers.heap_dirty_pages, heap_bytes);
        }
        let input_hint =
            if tracks_pages { &hints.input_compiled } else { &hints.input_interpreted };
        let mut input = input_hint.get();
        let mut tracks_input_pages = tracks_pages;
        if tracks_input_pages {
            input = input.max(buffers.input.first_zero() as u64);
            tracks_input_pages = input < buffers.input.get().len() as u64;
        }
        if tracks_input_pages {
            buffers.input.mark_written(&mut buffers.input_dirty_pages);
        }
        Self {
            stack: (!by_frames).then(|| hints.stack.get()),
            heap: hints.heap.start.get(),
            input,
            tracks_heap_pages: tracks_pages,
            tracks_input_pages,
            input_hint,
        }
    }

    /// Updates the program's hints with what the run has written to.
    fn record(
        &self,
        dirty: DirtyPrefixes,
        mode: DataMode,
        program: &Program,
        buffers: &Buffers,
        heap_bytes: usize,
    ) {
        let hints = &program.dirty_hints;
        if self.stack.is_some() {
            hints.stack.record(dirty.stack);
        }
        if !mode.has_regions() && dirty.input > self.input {
            self.input_hint.record(dirty.input);
        }
        if self.tracks_heap_pages {
            hints.heap.record(dirty.heap, &buffers.heap_dirty_pages, heap_bytes);
        }
    }
}

/// Returns the regions of a program: read-only data, stack, heap, input.
fn map_regions<'b>(
    context: &mut InvokeContext<'_>,
    program: &'b Program,
    mode: DataMode,
    config: &Config,
    expected: &ExpectedWrites<'_>,
    buffers: &'b mut Buffers,
) -> Vec<Region<'b>> {
    let executable = program.executable();
    // The map may put one more region before them.
    let mut regions = Vec::with_capacity(5);
    regions.push(Region::readonly(executable.read_only().vaddr, &executable.read_only().bytes));
    let stack = Region::writable(STACK_START, &mut buffers.stack)
        .with_dirty_prefix(expected.stack.unwrap_or_default());
    let has_gaps = executable.version().stack_frame_gaps() && config.stack_frame_gaps;
    regions.push(if has_gaps { stack.gapped(config.stack_frame_bytes) } else { stack });
    let heap = Region::writable(HEAP_START, &mut buffers.heap).with_dirty_prefix(expected.heap);
    regions.push(if expected.tracks_heap_pages {
        heap.with_dirty_pages(&mut buffers.heap_dirty_pages)
    } else {
        heap
    });
    let frame = context.stack.last().expect("an instruction is in progress");
    let instruction = context.trace.get(frame.instruction).expect("frames point into the trace");
    let accounts = &mut context.accounts;
    let can_change = |index: usize| {
        let account = *instruction.accounts.get(index)?;
        let borrowed = accounts.borrow(account, &instruction.program_id).ok()?;
        borrowed.can_change_data().is_ok().then_some(account.index)
    };
    input::regions(mode, &frame.layout, buffers.input.get_mut(), can_change, &mut regions);
    if !mode.has_regions()
        && let Some(input) = regions.pop()
    {
        let input = input.with_dirty_prefix(expected.input);
        regions.push(if expected.tracks_input_pages {
            input.with_dirty_pages(&mut buffers.input_dirty_pages)
        } else {
            input
        });
    }
    regions
}

/// Decides which engine runs the program. If the requested one cannot run it, the context keeps the
/// reason, and the result of the instruction is meaningless.
fn plan<'p>(context: &mut InvokeContext<'_>, program: &'p Program) -> Plan<'p> {
    let units = context.meter.remaining();
    let plan = program.compiled().plan(context.engine, program.verified(), units);
    match plan {
        Ok(Plan::FallBack(why)) => {
            context.notes.push(format!("the program was run by the interpreter: {why}"));
            Plan::Interpret
        }
        Ok(plan) => plan,
        Err(error) => {
            context.notes.push(format!("the program was run by the interpreter: {error}"));
            Plan::Interpret
        }
    }
}

/// Plans a run that is observed: by the interpreter, but machine code may run what is skipped.
#[cold]
fn plan_observed<'p>(
    context: &mut InvokeContext<'_>,
    program: &'p Program,
    is_ready: bool,
) -> Plan<'p> {
    if context.engine == Engine::Jit {
        context.notes.push("what is observed step by step is run by the interpreter".into());
    }
    let units = context.meter.remaining();
    let plan = program.compiled().plan(Engine::Auto, program.verified(), units);
    match plan {
        Ok(Plan::Run(code)) if is_ready => Plan::Observe(Some(code)),
        _ => Plan::Observe(None),
    }
}

fn log_end(context: &mut InvokeContext<'_>, units: u64, units_before: u64) {
    let program_id = context.instruction().program_id;
    context.logs.consumed(&program_id, units, units_before);
    let returned = &context.return_data.data;
    if !returned.is_empty() {
        context.logs.return_data(&program_id, returned);
    }
}

/// Returns the instruction's result. A program that trapped has used all compute units, unless the
/// trap is a syscall's error (SIMD-0182).
fn check_end(
    context: &mut InvokeContext<'_>,
    program: &Program,
    mode: DataMode,
    run: &Run,
) -> Result<(), Failure> {
    let trap = match &run.result {
        Ok(r0) => return error::from_return_value(*r0).map_or(Ok(()), |error| Err(error.into())),
        Err(trap) => &**trap,
    };
    if !matches!(trap, Trap::Syscall(_)) && context.has(Feature::DepleteMeterOnFailure) {
        context.meter.set_remaining(0);
    }
    if mode.has_regions()
        && let Some(error) = account_violation(context, trap)
    {
        return Err(error.into());
    }
    if matches!(trap, Trap::UnsupportedInstruction) {
        context.notes.extend(explain_call(program, run.pc));
    }
    Err(Failure { error: error::from_trap(trap), text: error::trap_text(trap) })
}

/// Returns the error of an access violation within the span of an account's data, by a program or
/// by a syscall (agave: `vm.rs`, `execute`).
fn account_violation(context: &mut InvokeContext<'_>, trap: &Trap) -> Option<InstructionError> {
    let trap = match trap {
        Trap::Syscall(error) => error.downcast_ref::<Trap>()?,
        trap => trap,
    };
    let &Trap::AccessViolation { access, vaddr, len, .. } = trap else { return None };
    let frame = context.stack.last()?;
    let within = |at: &AccountLayout| {
        let start = input::vaddr(at.data);
        start..start.saturating_add(at.data_capacity as u64)
    };
    let (index, at) = frame.layout.accounts().find(|(_, at)| within(at).contains(&vaddr))?;
    if vaddr.saturating_add(len) > within(at).end {
        return None;
    }
    let refused = context.borrow(index).ok()?.can_change_data();
    Some(match (access, refused) {
        (Access::Store, Err(error)) => error,
        (Access::Load, Err(_)) => InstructionError::AccountDataTooSmall,
        (_, Ok(())) => InstructionError::InvalidRealloc,
    })
}

/// Explains the call at `pc` of an unknown function.
fn explain_call(program: &Program, pc: usize) -> Option<String> {
    let executable = program.executable();
    let insn = selkie_isa::Insn::decode(executable.version(), executable.text(), pc)?;
    let is_call = matches!(insn.op.kind(), selkie_isa::Kind::CallHash)
        || matches!(insn.op.kind(), selkie_isa::Kind::CallStatic) && insn.src == 0;
    let key = u32::from_le_bytes(*insn.imm.to_le_bytes().first_chunk()?);
    if is_call { explain_unknown(key) } else { None }
}

/// Copies the program's changes to the accounts. If a change breaks a rule, the log has the error, and
/// a note names the account.
fn copy_back(context: &mut InvokeContext<'_>, mode: DataMode, bytes: &[u8]) -> Result<(), Failure> {
    let frame = context.stack.last().expect("an instruction is in progress");
    let instruction = context.trace.get(frame.instruction).expect("frames point into the trace");
    let Err(RefusedChange { account, error }) =
        input::deserialize(mode, &frame.layout, bytes, instruction, &mut context.accounts)
    else {
        return Ok(());
    };
    let index = instruction.accounts.get(account).map(|account| usize::from(account.index));
    let key = index.and_then(|index| context.accounts.get(index).ok()).map(|found| found.key);
    let key = key.unwrap_or_default();
    context.notes.push(format!(
        "the program changed accounts[{account}], {key}, against the rules: {error}"
    ));
    Err(error.into())
}
