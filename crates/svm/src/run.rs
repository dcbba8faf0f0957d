//! Runs a program of a loader: input written, memory mapped, engine started, changes taken back.

use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{Machine, MemoryMap, Observer, Region, Trap};
use solana_instruction_error::InstructionError;

use crate::{
    buffers,
    context::InvokeContext,
    cost,
    engine::{Engine, Plan, config},
    error,
    input::{self, Input, RefusedChange},
    programs::Program,
    syscalls::explain_unknown,
};

/// How a program's run ended, for tools.
#[derive(Debug)]
pub struct Run {
    /// r0, or why the program was stopped.
    pub result: Result<u64, Trap>,
    /// The slot of the instruction that ended the run.
    pub pc: usize,
    /// r0 to r10.
    pub registers: [u64; 11],
    /// The slots that the calls that had not returned would have returned to, outermost first.
    pub return_pcs: Vec<usize>,
    /// Compute units used by the program, syscalls included.
    pub units: u64,
    /// What ran the program: the interpreter, or the JIT.
    pub engine: Engine,
    /// The input region as the program left it.
    pub input: Input,
}

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

/// Runs the program of the current instruction.
pub(crate) fn run_program(
    context: &mut InvokeContext<'_>,
    observer: Option<&mut dyn Observer>,
) -> Result<(), Failure> {
    let program = context.frame().program.clone();
    let abi = program.loader().abi();
    let input = input::serialize_instruction(abi, context.instruction(), &context.transaction)?;
    let units_before = context.meter.remaining();
    if context.meter.consume(cost::heap(context.heap_bytes)).is_err() {
        let why = InstructionError::ComputationalBudgetExceeded;
        context.logs.line(format!("Failed to create SBF VM: {why}"));
        return Err(InstructionError::ProgramEnvironmentSetupFailure.into());
    }
    let run = run_machine(context, &program, input, observer)?;
    log_end(context, &run, units_before);
    let result = judge(context, &program, &run).and_then(|()| copy_out(context, &run));
    context.last_run = Some(run);
    result
}

fn run_machine(
    context: &mut InvokeContext<'_>,
    program: &Program,
    mut input: Input,
    observer: Option<&mut dyn Observer>,
) -> Result<Run, Failure> {
    let plan = plan(context, program, observer.is_some())?;
    let config = config();
    let executable = program.executable();
    let heap_bytes = usize::try_from(context.heap_bytes).unwrap_or(usize::MAX);
    let mut buffers = buffers::take(config.stack_bytes(), heap_bytes);
    let stack =
        Region::writable(STACK_START, &mut buffers.stack).tracked(program.stack_touched.get());
    let has_gaps = executable.version().stack_frame_gaps() && config.stack_frame_gaps;
    let regions = vec![
        Region::readonly(executable.read_only().vaddr, &executable.read_only().bytes),
        if has_gaps { stack.gapped(config.stack_frame_bytes) } else { stack },
        Region::writable(HEAP_START, &mut buffers.heap).tracked(program.heap_touched.get()),
        Region::writable(INPUT_START, &mut input.bytes),
    ];
    let memory = MemoryMap::new(regions, &config, executable.version()).map_err(|trap| {
        context.logs.line(format!("Failed to create SBF VM: {trap}"));
        Failure::from(InstructionError::ProgramEnvironmentSetupFailure)
    })?;
    let units = context.meter.remaining();
    let mut machine = Machine::new(program.verified(), &config, memory, units);
    let instruction_data = input.layout.instruction_data as u64;
    machine.registers_mut()[2] = INPUT_START.saturating_add(instruction_data);
    let verified = program.verified();
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
    context.meter = machine.meter;
    let touched = |vaddr| {
        let region = machine.memory.regions().iter().find(|region| region.vaddr() == vaddr);
        region.map_or(0, Region::touched)
    };
    let (stack_touched, heap_touched) = (touched(STACK_START), touched(HEAP_START));
    program.stack_touched.see(stack_touched);
    program.heap_touched.see(heap_touched);
    let run = Run {
        result: outcome.result,
        pc: machine.pc(),
        registers: *machine.registers(),
        return_pcs: machine.return_pcs().collect(),
        units: outcome.consumed,
        engine,
        input,
    };
    buffers.put_back(stack_touched, heap_touched);
    Ok(run)
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
        Err(error) => {
            context.engine_error = Some(error);
            Err(InstructionError::ProgramEnvironmentSetupFailure.into())
        }
    }
}

fn log_end(context: &mut InvokeContext<'_>, run: &Run, units_before: u64) {
    let program_id = context.instruction().program_id;
    context.logs.consumed(&program_id, run.units, units_before);
    let returned = &context.transaction.return_data.data;
    if !returned.is_empty() {
        context.logs.return_data(&program_id, returned);
    }
}

/// What the program's end means. A program that the machine stopped, not a syscall, has used all
/// compute units.
fn judge(context: &mut InvokeContext<'_>, program: &Program, run: &Run) -> Result<(), Failure> {
    let trap = match &run.result {
        Ok(r0) => return error::from_return_value(*r0).map_or(Ok(()), |error| Err(error.into())),
        Err(trap) => trap,
    };
    if !matches!(trap, Trap::Syscall(_)) {
        context.meter.set_remaining(0);
    }
    if matches!(trap, Trap::UnsupportedInstruction) {
        context.notes.extend(explain_call(program, run.pc));
    }
    Err(Failure { error: error::from_trap(trap), text: error::trap_text(trap) })
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
fn copy_out(context: &mut InvokeContext<'_>, run: &Run) -> Result<(), Failure> {
    let instruction = context.trace.get(context.frame().instruction);
    let instruction = instruction.expect("frames point into the trace");
    let Err(RefusedChange { account, error }) =
        input::deserialize_instruction(&run.input, instruction, &mut context.transaction)
    else {
        return Ok(());
    };
    let index = instruction.accounts.get(account).map(|account| account.index);
    let key = index.map(|index| context.transaction.account(index).0).unwrap_or_default();
    context.notes.push(format!(
        "the program changed accounts[{account}], {key}, against the rules: {error}"
    ));
    Err(error.into())
}
