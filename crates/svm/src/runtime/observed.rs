//! Runs of programs that an inspector observes instruction by instruction.

use core::ops::ControlFlow;

use selkie_elf::SyscallId;
use selkie_vm::{
    Host, Machine, MachineCode, MemoryMap, Meter, Observer, Outcome, Region, SyscallError, Trap,
    Violation, observe_by_host,
};

use crate::{
    programs::program::Program,
    runtime::context::{
        InvokeContext,
        inspector::{Inspector, Next, SyscallCall},
    },
};

/// The host of an observed program: it reports instructions and syscalls to the context's inspector.
struct ObservedHost<'c, 'e> {
    context: &'c mut InvokeContext<'e>,
    /// Compute units that are withheld from the machine while it skips instructions, so that it stops
    /// when it has consumed the others.
    withheld: u64,
    /// How many compute units the inspector wants to skip.
    skip: Option<u64>,
}

/// Runs a program from the state of the machine to its end. `code` runs what the inspector skips.
#[cold]
pub(crate) fn run(
    context: &mut InvokeContext<'_>,
    program: &Program,
    code: Option<&MachineCode>,
    machine: &mut Machine<'_>,
) -> Outcome {
    let budget = machine.meter.remaining();
    let mut host = ObservedHost { context, withheld: 0, skip: None };
    let result = loop {
        let outcome = observe_by_host(program.verified(), machine, &mut host);
        let Some(units) = host.skip.take() else { break outcome.result };
        if let ControlFlow::Break(result) = host.skip(units, program, code, machine) {
            break result;
        }
    };
    let consumed = budget.saturating_sub(machine.meter.remaining());
    Outcome { result, consumed }
}

impl ObservedHost<'_, '_> {
    /// Runs the program until it has consumed `units`. Returns its result if it has ended before.
    fn skip(
        &mut self,
        units: u64,
        program: &Program,
        code: Option<&MachineCode>,
        machine: &mut Machine<'_>,
    ) -> ControlFlow<Result<u64, Trap>> {
        let remaining = machine.meter.remaining();
        self.withheld = remaining.saturating_sub(units);
        machine.meter.set_remaining(remaining.min(units));
        let logs_writes = machine.memory.stop_logging_writes();
        let outcome = match code {
            Some(code) => code.run(program.verified(), machine, self),
            None => selkie_vm::run(program.verified(), machine, self),
        };
        if logs_writes {
            machine.memory.log_writes();
        }
        let left = machine.meter.remaining().saturating_add(self.withheld);
        machine.meter.set_remaining(left);
        self.withheld = 0;
        match outcome.result {
            Err(Trap::ExceededMaxInstructions) if left > 0 => ControlFlow::Continue(()),
            result => ControlFlow::Break(result),
        }
    }

    /// Calls the inspector, which is not part of the context meanwhile.
    fn inspect<R>(
        &mut self,
        call: impl FnOnce(&mut dyn Inspector, &InvokeContext<'_>) -> R,
    ) -> Option<R> {
        let inspector = self.context.inspector.take()?;
        let result = call(inspector, self.context);
        self.context.inspector = Some(inspector);
        Some(result)
    }
}

impl Observer for ObservedHost<'_, '_> {
    fn instruction(&mut self, machine: &mut Machine<'_>) -> ControlFlow<()> {
        let next = self.inspect(|inspector, context| {
            let next = inspector.instruction(context, machine);
            if let Some(log) = machine.memory.writes_mut() {
                log.clear();
            }
            next
        });
        match next {
            None | Some(Next::Execute) => return ControlFlow::Continue(()),
            Some(Next::Skip(units)) => self.skip = Some(units),
            Some(Next::Stop) => {}
        }
        ControlFlow::Break(())
    }
}

impl Host for ObservedHost<'_, '_> {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        let program = self.context.frame().program.clone();
        let name = program.as_ref().and_then(|it| it.syscall(id)).map_or("", |it| it.name());
        let units_before = meter.remaining().saturating_add(self.withheld);
        let call = SyscallCall { name, arguments, units_before };
        self.inspect(|inspector, context| inspector.syscall(context, &call));
        meter.set_remaining(units_before);
        let result = self.context.syscall(id, arguments, memory, meter);
        let left = meter.remaining();
        // The next instruction after a syscall that took more than was to be skipped is observed.
        self.withheld = self.withheld.min(left);
        meter.set_remaining(left.saturating_sub(self.withheld));
        let value = result.as_ref().ok().copied();
        self.inspect(|inspector, context| {
            inspector.syscall_end(context, &call, memory, left, value);
        });
        result
    }

    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        self.context.access_violation(violation, region);
    }
}
