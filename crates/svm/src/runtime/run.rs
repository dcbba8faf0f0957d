//! Runs a program of a loader: input written, memory mapped, engine started, changes taken back.

use std::sync::Arc;

use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{Access, Machine, MemoryMap, Observer, Region, Trap};
use solana_instruction_error::InstructionError;

use crate::{
    chain::{cost, error, features::Feature},
    programs::{
        engine::{Engine, Plan, config},
        program::{Program, Running},
    },
    runtime::{
        buffers::Buffers,
        context::InvokeContext,
        input::{self, AccountLayout, DataMode, Input, RefusedChange, explain::abi_mismatch},
        stop::{Run, Stopped},
        syscalls::explain_unknown,
    },
};

/// Why an instruction failed, and what the log says about it.
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
    observer: Option<&mut dyn Observer>,
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
    let end = run_machine(context, &program, mode, &mut buffers, observer)?;
    log_end(context, end.units, units_before);
    let result = judge(context, &program, mode, &end)
        .and_then(|()| copy_out(context, mode, buffers.input.get()));
    if let Err(trap) = &end.result {
        let mismatch = abi_mismatch(trap, buffers.input.get(), abi, program.executable());
        context.notes.extend(mismatch.map(|it| it.to_string()));
    }
    let heap_bytes = u64::from(context.heap_bytes);
    if context.keeps_runs {
        let input = Input {
            bytes: buffers.input.get().to_vec(),
            layout: core::mem::take(&mut context.frame_mut().layout),
        };
        let End { result, pc, registers, return_pcs, units, engine, .. } = end;
        context.last_run = Some(Run {
            result,
            pc,
            registers,
            return_pcs,
            compute_units: units,
            engine,
            input,
            heap_bytes,
        });
    } else if let (Err(trap), None) = (end.result, &context.stopped) {
        context.stopped = Some(Box::new(Stopped {
            program_id: context.instruction().program_id,
            trap: Arc::new(trap),
            pc: end.pc,
            registers: end.registers,
            return_pcs: end.return_pcs,
            input_bytes: buffers.input.get().len(),
            heap_bytes,
        }));
    }
    buffers.records = core::mem::take(&mut context.frame_mut().layout.records);
    context.buffers.put_back(buffers, end.stack_touched, end.heap_touched);
    result
}

/// How a machine stopped.
struct End {
    result: Result<u64, Trap>,
    pc: usize,
    registers: [u64; 11],
    return_pcs: Vec<usize>,
    units: u64,
    engine: Engine,
    stack_touched: u64,
    heap_touched: u64,
}

fn run_machine(
    context: &mut InvokeContext<'_>,
    program: &Program,
    mode: DataMode,
    buffers: &mut Buffers,
    observer: Option<&mut dyn Observer>,
) -> Result<End, Failure> {
    // A program that was made ready for another mode has no machine code for this one.
    let is_ready = program.has_account_regions() == mode.has_regions();
    let plan = if is_ready { plan(context, program, observer.is_some())? } else { Plan::Interpret };
    let config = config(mode.has_regions());
    let executable = program.executable();
    let heap_bytes = usize::try_from(context.heap_bytes).unwrap_or(usize::MAX);
    buffers.fit(config.stack_bytes(), heap_bytes);
    // Machine code finds frame by frame what it needs.
    let by_frames = matches!(plan, Plan::Run(_)) && !executable.version().dynamic_frames();
    let stack_expected = if by_frames { 0 } else { program.stack_touched.get() };
    let stack = Region::writable(STACK_START, &mut buffers.stack).with_dirty_prefix(stack_expected);
    let has_gaps = executable.version().stack_frame_gaps() && config.stack_frame_gaps;
    // With room for one that the map may put before them.
    let mut regions = Vec::with_capacity(5);
    regions.push(Region::readonly(executable.read_only().vaddr, &executable.read_only().bytes));
    regions.push(if has_gaps { stack.gapped(config.stack_frame_bytes) } else { stack });
    let heap = Region::writable(HEAP_START, &mut buffers.heap)
        .with_dirty_prefix(program.heap_touched.start.get());
    // Machine code alone gains by marks, where every window has one region.
    let marks = matches!(plan, Plan::Run(_)) && !mode.has_regions();
    regions.push(if marks {
        program.heap_touched.mark_end(&mut buffers.heap_marks, heap_bytes);
        heap.with_dirty_pages(&mut buffers.heap_marks)
    } else {
        heap
    });
    let frame = context.stack.last().expect("an instruction is being processed");
    let instruction = context.trace.get(frame.instruction).expect("frames point into the trace");
    let accounts = &mut context.accounts;
    let can_change = |place: usize| {
        let account = *instruction.accounts.get(place)?;
        let borrowed = accounts.borrow(account, &instruction.program_id).ok()?;
        borrowed.can_change_data().is_ok().then_some(account.index)
    };
    // What the interpreter writes to is recorded otherwise, and says nothing of machine code.
    let input_guess =
        if marks { &program.input_touched } else { &program.input_touched_interpreted };
    let mut input_expected = input_guess.get();
    let mut marks_input = marks;
    if marks_input {
        input_expected = input_expected.max(buffers.input.first_zero() as u64);
        marks_input = input_expected < buffers.input.get().len() as u64;
    }
    if marks_input {
        buffers.input.mark_written(&mut buffers.input_marks);
    }
    input::regions(mode, &frame.layout, buffers.input.get_mut(), can_change, &mut regions);
    // Where accounts have regions of their own, calls between programs write to them unrecorded.
    if !mode.has_regions()
        && let Some(input) = regions.pop()
    {
        let input = input.with_dirty_prefix(input_expected);
        regions.push(if marks_input {
            input.with_dirty_pages(&mut buffers.input_marks)
        } else {
            input
        });
    }
    let instruction_data = frame.layout.instruction_data;
    let memory = MemoryMap::new(regions, &config, executable.version()).map_err(|trap| {
        context.logs.line(format!("Failed to create SBF VM: {trap}"));
        Failure::from(InstructionError::ProgramEnvironmentSetupFailure)
    })?;
    let units = context.meter.remaining();
    let verified = program.verified();
    let frames = core::mem::take(&mut buffers.frames);
    let mut machine = Machine::with_buffers(verified.executable(), &config, memory, units, frames);
    if context.has(Feature::InstructionDataPointer) {
        machine.registers_mut()[2] = input::vaddr(instruction_data);
    }
    let (outcome, engine) = match (plan, observer) {
        (Plan::Run(code), None) => (code.run(verified, &mut machine, context), Engine::Jit),
        (_, None) => (selkie_vm::run(verified, &mut machine, context), Engine::Interpreter),
        (_, Some(observer)) => {
            (selkie_vm::observe(verified, &mut machine, context, observer), Engine::Interpreter)
        }
    };
    if engine == Engine::Interpreter {
        program.compiled().count(outcome.consumed);
    }
    program.note_size();
    context.meter = machine.meter;
    let touched = |vaddr| {
        let region = machine.memory.regions().iter().find(|region| region.vaddr() == vaddr);
        region.map_or(0, Region::dirty_prefix)
    };
    let (stack_touched, heap_touched) = (touched(STACK_START), touched(HEAP_START));
    let input_touched = if mode.has_regions() { u64::MAX } else { touched(INPUT_START) };
    if !by_frames {
        program.stack_touched.see(stack_touched);
    }
    if !mode.has_regions() && input_touched > input_expected {
        input_guess.see(input_touched);
    }
    let is_asked_for = context.keeps_runs || outcome.result.is_err();
    let end = End {
        result: outcome.result,
        pc: machine.pc(),
        registers: *machine.registers(),
        // Only those who explain failures ask where a program was.
        return_pcs: if is_asked_for { machine.return_pcs().collect() } else { Vec::new() },
        units: outcome.consumed,
        engine,
        stack_touched,
        heap_touched,
    };
    buffers.frames = machine.into_buffers();
    if marks {
        program.heap_touched.see(end.heap_touched, &buffers.heap_marks, heap_bytes);
    }
    buffers.touch_input(input_touched);
    Ok(end)
}

/// What the program is run with. If that cannot be had, it is no failure of the instruction: the
/// context keeps why, and no more comes of it.
fn plan<'p>(
    context: &mut InvokeContext<'_>,
    program: &'p Program,
    is_observed: bool,
) -> Result<Plan<'p>, Failure> {
    if is_observed {
        if context.engine == Engine::Jit {
            context.notes.push("what is observed step by step is run by the interpreter".into());
        }
        return Ok(Plan::Interpret);
    }
    let units = context.meter.remaining();
    let plan = program.compiled().plan(context.engine, program.verified(), units);
    match plan {
        Ok(Plan::FallBack(why)) => {
            context.notes.push(format!("the program was run by the interpreter: {why}"));
            Ok(Plan::Interpret)
        }
        Ok(plan) => Ok(plan),
        Err(error) if !context.keeps_runs => {
            context.notes.push(format!("the program was run by the interpreter: {error}"));
            Ok(Plan::Interpret)
        }
        Err(error) => {
            context.engine_error = Some(error);
            Err(InstructionError::ProgramEnvironmentSetupFailure.into())
        }
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

/// What the program's end means. A program that the machine stopped, not a syscall, has used all
/// compute units.
fn judge(
    context: &mut InvokeContext<'_>,
    program: &Program,
    mode: DataMode,
    end: &End,
) -> Result<(), Failure> {
    let trap = match &end.result {
        Ok(r0) => return error::from_return_value(*r0).map_or(Ok(()), |error| Err(error.into())),
        Err(trap) => trap,
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
        context.notes.extend(explain_call(program, end.pc));
    }
    Err(Failure { error: error::from_trap(trap), text: error::trap_text(trap) })
}

/// Which rule an access broke that was refused within the span of an account's data: programs and
/// syscalls alike (agave: `vm.rs`, `execute`).
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
    let (place, at) = frame.layout.accounts().find(|(_, at)| within(at).contains(&vaddr))?;
    if vaddr.saturating_add(len) > within(at).end {
        return None;
    }
    let refused = context.borrow(place).ok()?.can_change_data();
    Some(match (access, refused) {
        (Access::Store, Err(error)) => error,
        (Access::Load, Err(_)) => InstructionError::AccountDataTooSmall,
        (_, Ok(())) => InstructionError::InvalidRealloc,
    })
}

/// What is known of the call at `pc` that reached nothing.
fn explain_call(program: &Program, pc: usize) -> Option<String> {
    let executable = program.executable();
    let insn = selkie_isa::Insn::decode(executable.version(), executable.text(), pc)?;
    let is_call = matches!(insn.op.kind(), selkie_isa::Kind::CallHash)
        || matches!(insn.op.kind(), selkie_isa::Kind::CallStatic) && insn.src == 0;
    let key = u32::from_le_bytes(*insn.imm.to_le_bytes().first_chunk()?);
    if is_call { explain_unknown(key) } else { None }
}

/// Takes over what the program changed. The log has the rule that was broken, a note the account.
fn copy_out(context: &mut InvokeContext<'_>, mode: DataMode, bytes: &[u8]) -> Result<(), Failure> {
    let frame = context.stack.last().expect("an instruction is being processed");
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
