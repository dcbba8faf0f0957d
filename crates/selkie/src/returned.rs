//! Where the error that a program returned was decided.
//!
//! An error travels far before it is in r0: through results, boxes and conversions, which optimised code
//! spreads over libraries. So the transaction runs once more, and each value carries along the
//! instruction that made it. The value in r0 at the end was made where the error was written down; if
//! that is in a library, as a conversion that picks a number by the kind of the error, the branch before
//! it tells, and then the value that the branch was taken by.

use std::collections::{HashMap, HashSet};

use selkie_inspect::{Backtrace, SourceMap};
use selkie_isa::{Alu, Insn, Kind, Operand, Size};
use selkie_svm::{Detail, Inspector, InvokeContext, Machine, MemoryMap, Next, SyscallCall};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

/// The values that are followed. The longest transactions execute 1.4 million instructions.
const VALUES_MAX: usize = 3_000_000;

/// How many values back the condition is looked for that let one be made.
const BRANCHES_BACK_MAX: usize = 4096;

/// The steps back from a value to what decided it.
const STEPS_BACK_MAX: usize = 64;

/// The bytes that one copy may have.
const COPY_BYTES_MAX: u64 = 1 << 20;

/// A value, by its index among those that were made; 0 is none.
type Value = u32;

/// An instruction that made a value, or a branch.
#[derive(Clone, Copy, Default, Debug)]
struct Made {
    /// The number of the instruction in the transaction.
    step: u64,
    pc: u32,
    /// The call of the function that it is in.
    call: u32,
    /// Of a value that was not computed from others the branch before it; otherwise the newest of the
    /// values that it was computed from, or by which the branch was taken.
    cause: Value,
    how: How,
}

/// What an instruction made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum How {
    /// A value out of nothing: a constant, an input, a result.
    #[default]
    New,
    /// A value of others.
    Computed,
    /// No value, but the way that the program went.
    Branch,
}

/// A call that had not returned.
#[derive(Clone, Copy, Default, Debug)]
struct Call {
    pc: u32,
    caller: u32,
}

/// The values of one invocation.
#[derive(Default, Debug)]
struct Flow {
    registers: [Value; 11],
    /// What r6 to r9 were at each call that has not returned, and the call.
    saved: Vec<([Value; 4], u32)>,
    /// The value in each four bytes of memory.
    memory: HashMap<u64, Value>,
    /// All values and branches. The first one stands for none.
    made: Vec<Made>,
    /// All calls. The first one stands for none.
    calls: Vec<Call>,
    call: u32,
    branch: Value,
    /// The instructions that were executed: their slots and calls.
    steps: Vec<(u64, u32, u32)>,
    /// The last instruction, and r0 before it if it was one that ends the program.
    last: Option<(u32, Kind)>,
    returned: Option<u64>,
    is_full: bool,
}

/// Follows the values of programs, to tell where the first error was decided that one of them returned.
#[derive(Default, Debug)]
pub struct ErrorTracer {
    flows: Vec<Flow>,
    step: u64,
    found: Option<ReturnedError>,
    /// Whether a program has failed: what fails after it fails with it.
    is_over: bool,
}

/// An error that a program returned.
#[derive(Debug)]
pub struct ReturnedError {
    /// The program.
    pub program_id: Pubkey,
    /// The value of r0.
    pub value: u64,
    flow: Flow,
}

/// The place at which an error was decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ErrorPlace {
    /// The program that returned the error.
    pub program_id: Pubkey,
    /// The number of the instruction in the transaction, in the order of execution.
    pub step: u64,
    /// The functions around it.
    pub backtrace: Backtrace,
    /// Whether the error was decided there. Otherwise it is the last own line that was executed.
    pub is_exact: bool,
    /// Whether the error was computed there from other values, rather than chosen.
    pub is_computed: bool,
}

impl ErrorTracer {
    /// Returns the error, once the transaction has run. `None` if no program returned one.
    #[must_use]
    pub fn finish(self) -> Option<ReturnedError> {
        self.found
    }
}

impl Inspector for ErrorTracer {
    fn detail(&self) -> Detail {
        Detail::Instructions
    }

    fn before(&mut self, _: &InvokeContext<'_>) {
        self.flows.push(Flow {
            made: vec![Made::default()],
            calls: vec![Call::default()],
            ..Flow::default()
        });
    }

    fn after(&mut self, context: &InvokeContext<'_>, result: &Result<(), InstructionError>) {
        let Some(flow) = self.flows.pop() else { return };
        if result.is_ok() || self.is_over {
            return;
        }
        self.is_over = true;
        let program_id = context.instruction().program_id;
        if let Some(value) = flow.returned.filter(|&it| it != 0 && !flow.is_full) {
            self.found = Some(ReturnedError { program_id, value, flow });
        }
    }

    fn instruction(&mut self, context: &InvokeContext<'_>, machine: &mut Machine<'_>) -> Next {
        let running = context.running().map(|(_, program)| program.executable());
        if let (Some(flow), Some(executable)) = (self.flows.last_mut(), running) {
            let insn = Insn::decode(executable.version(), executable.text(), machine.pc());
            flow.step(self.step, insn, machine);
        }
        self.step = self.step.saturating_add(1);
        Next::Execute
    }

    fn syscall(&mut self, _: &InvokeContext<'_>, call: &SyscallCall<'_>) {
        let [to, from, len, ..] = call.arguments;
        if let (Some(flow), "sol_memcpy_" | "sol_memmove_") = (self.flows.last_mut(), call.name) {
            flow.copy(to, from, len);
        }
    }

    fn syscall_end(
        &mut self,
        _: &InvokeContext<'_>,
        _: &SyscallCall<'_>,
        _: &mut MemoryMap<'_>,
        _: u64,
        _: Option<u64>,
    ) {
        if let Some(flow) = self.flows.last_mut()
            && let Some((pc, _)) = flow.last
        {
            flow.registers[0] = flow.make(self.step, pc);
        }
    }
}

impl Flow {
    /// Follows the values through the instruction that is about to be executed.
    fn step(&mut self, step: u64, insn: Option<Insn>, machine: &Machine<'_>) {
        if self.is_full {
            return;
        }
        self.follow_calls(machine.call_depth());
        let pc = u32::try_from(machine.pc()).unwrap_or(u32::MAX);
        self.steps.push((step, pc, self.call));
        self.is_full = self.steps.len() >= VALUES_MAX || self.made.len() >= VALUES_MAX;
        let Some(insn) = insn else { return };
        self.last = Some((pc, insn.op.kind()));
        let registers = machine.registers();
        let (dst, src) = (usize::from(insn.dst).min(10), usize::from(insn.src).min(10));
        let address = |register: usize| registers[register].wrapping_add_signed(insn.off.into());
        match insn.op.kind() {
            Kind::LoadImm64 | Kind::Alu(Alu::Mov, _, Operand::Imm | Operand::Uimm) => {
                self.registers[dst] = self.make(step, pc);
            }
            Kind::Alu(Alu::Mov, _, Operand::Reg) => self.registers[dst] = self.registers[src],
            Kind::Alu(_, _, Operand::Reg) => {
                let cause = self.registers[dst].max(self.registers[src]);
                let made = Made { step, pc, call: self.call, cause, how: How::Computed };
                self.registers[dst] = self.add(made);
            }
            // What is computed with constants is the same value in another form.
            Kind::Alu(_, _, Operand::Imm | Operand::Uimm) => {}
            Kind::Load(size) => {
                let cells = cells(address(src), size.bytes());
                let known = cells.filter_map(|it| self.memory.get(&it).copied()).max();
                self.registers[dst] = known.unwrap_or_else(|| self.make(step, pc));
            }
            Kind::StoreImm(size) => {
                let value = self.make(step, pc);
                self.store(address(dst), size, value);
            }
            Kind::StoreReg(size) => {
                let known = self.registers[src];
                let value = if known == 0 { self.make(step, pc) } else { known };
                self.store(address(dst), size, value);
            }
            Kind::Branch(_, _, operand) => {
                let right = if operand == Operand::Reg { self.registers[src] } else { 0 };
                let cause = self.registers[dst].max(right);
                self.branch = self.add(Made { step, pc, call: self.call, cause, how: How::Branch });
            }
            Kind::Exit if machine.call_depth() == 0 => self.returned = Some(registers[0]),
            Kind::Exit
            | Kind::Neg(_)
            | Kind::Endian(_)
            | Kind::Jump
            | Kind::Tail
            | Kind::CallHash
            | Kind::CallStatic
            | Kind::CallReg(_) => {}
        }
    }

    /// Enters the function that the last instruction called, or returns to callers.
    fn follow_calls(&mut self, depth: usize) {
        while self.saved.len() > depth {
            if let Some((registers, call)) = self.saved.pop() {
                self.registers[6..10].copy_from_slice(&registers);
                self.call = call;
            }
        }
        while self.saved.len() < depth {
            let saved = self.registers[6..10].first_chunk().copied().unwrap_or_default();
            self.saved.push((saved, self.call));
            let pc = self.last.map_or(0, |(pc, _)| pc);
            self.calls.push(Call { pc, caller: self.call });
            self.call = u32::try_from(self.calls.len().saturating_sub(1)).unwrap_or_default();
        }
    }

    /// Makes a value by an instruction.
    fn make(&mut self, step: u64, pc: u32) -> Value {
        self.add(Made { step, pc, call: self.call, cause: self.branch, how: How::New })
    }

    fn add(&mut self, made: Made) -> Value {
        self.made.push(made);
        u32::try_from(self.made.len().saturating_sub(1)).unwrap_or_default()
    }

    fn store(&mut self, address: u64, size: Size, value: Value) {
        for cell in cells(address, size.bytes()) {
            self.memory.insert(cell, value);
        }
    }

    fn copy(&mut self, to: u64, from: u64, len: u64) {
        let offsets = (0..len.min(COPY_BYTES_MAX)).step_by(4);
        let values: Vec<Value> = offsets
            .clone()
            .map(|it| self.memory.get(&(from.wrapping_add(it) / 4)).copied().unwrap_or_default())
            .collect();
        for (offset, value) in offsets.zip(values) {
            self.memory.insert(to.wrapping_add(offset) / 4, value);
        }
    }

    /// Returns the call sites around an instruction, the innermost one first.
    fn sites(&self, pc: u32, mut call: u32) -> Vec<usize> {
        let mut sites = vec![pc as usize];
        while let Some(it) = self.calls.get(call as usize).filter(|_| call != 0) {
            sites.push(it.pc as usize);
            call = it.caller;
        }
        sites
    }
}

impl ReturnedError {
    /// Returns the place in the user's own code at which the error was decided, or else the last own
    /// line that was executed. `None` if the program has no own lines, as without debug information.
    #[must_use]
    pub fn locate(&self, map: &SourceMap) -> Option<ErrorPlace> {
        let mut seen: HashMap<(u32, u32), Backtrace> = HashMap::new();
        let mut place = |pc: u32, call: u32| {
            let made = || Backtrace::new(map, self.flow.sites(pc, call));
            seen.entry((pc, call)).or_insert_with(made).clone()
        };
        let mut value = self.flow.registers[0];
        for _ in 0..STEPS_BACK_MAX {
            let Some(made) = self.made(value) else { break };
            let backtrace = place(made.pc, made.call);
            if backtrace.is_decided_here() {
                if backtrace.is_generated(map)
                    && let Some((step, backtrace)) =
                        self.condition_of(value, &backtrace, map, &mut place)
                {
                    return Some(self.at(step, backtrace, true));
                }
                let is_computed = made.how == How::Computed;
                return Some(ErrorPlace { is_computed, ..self.at(made.step, backtrace, true) });
            }
            if made.how == How::New
                && let Some((step, backtrace)) = self.kept_by(value, &mut place)
            {
                return Some(self.at(step, backtrace, true));
            }
            // Causes are made before what they cause.
            value = if made.cause < value { made.cause } else { 0 };
        }
        let mut asked = HashSet::new();
        let last = self.flow.steps.iter().rev().find_map(|&(step, pc, call)| {
            let backtrace = asked.insert((pc, call)).then(|| place(pc, call))?;
            backtrace.place().is_some().then_some((step, backtrace))
        });
        last.map(|(step, backtrace)| self.at(step, backtrace, false))
    }

    /// Returns the place of the condition that let a value be made, if that is in code that a macro has
    /// written and the condition is not: Anchor's `constraint = …` in what `#[derive(Accounts)]` makes.
    fn condition_of(
        &self,
        value: Value,
        generated: &Backtrace,
        map: &SourceMap,
        place: &mut impl FnMut(u32, u32) -> Backtrace,
    ) -> Option<(u64, Backtrace)> {
        let function = &generated.place()?.function;
        // The value may be made in a function that this one has called.
        let mut call = self.made(value)?.call;
        for _ in 0..generated.place_site()? {
            call = self.flow.calls.get(call as usize)?.caller;
        }
        let before = self.flow.made.iter().take(value as usize).rev();
        let branch =
            before.take(BRANCHES_BACK_MAX).find(|it| it.how == How::Branch && it.call == call)?;
        let compared = self.made(branch.cause);
        [Some(branch), compared].into_iter().flatten().find_map(|it| {
            let backtrace = place(it.pc, it.call);
            let is_in_it = backtrace.place().is_some_and(|it| it.function == *function);
            let is_own = is_in_it && backtrace.is_decided_here() && !backtrace.is_generated(map);
            is_own.then_some((it.step, backtrace))
        })
    }

    fn made(&self, value: Value) -> Option<&Made> {
        self.flow.made.get(value as usize).filter(|_| value != 0)
    }

    /// Returns the last own branch after a value was made, in the same function. Compilers write the
    /// error first, and branch to the end unless it is to be replaced.
    fn kept_by(
        &self,
        value: Value,
        place: &mut impl FnMut(u32, u32) -> Backtrace,
    ) -> Option<(u64, Backtrace)> {
        let call = self.made(value)?.call;
        let after = self.flow.made.iter().skip(value as usize).rev();
        let mut asked = HashSet::new();
        after.filter(|it| it.how == How::Branch && it.call == call).find_map(|it| {
            let backtrace = asked.insert(it.pc).then(|| place(it.pc, it.call))?;
            let decides = backtrace.is_decided_here() && !backtrace.is_cleaning_up();
            decides.then_some((it.step, backtrace))
        })
    }

    fn at(&self, step: u64, backtrace: Backtrace, is_exact: bool) -> ErrorPlace {
        let program_id = self.program_id;
        ErrorPlace { program_id, step, backtrace, is_exact, is_computed: false }
    }
}

impl ErrorPlace {
    /// Renders the place: `src/lib.rs:80:19 in amm::swap`.
    #[must_use]
    pub fn place_line(&self) -> String {
        let line = self.backtrace.place_line().unwrap_or_default();
        if self.is_exact { line } else { format!("{line}, the last own line before the error") }
    }

    /// Renders the other frames, as [`TrapReport::other_lines`](crate::TrapReport::other_lines).
    #[must_use]
    pub fn other_lines(&self) -> Vec<String> {
        self.backtrace.other_lines()
    }
}

/// Returns the cells of memory that bytes are in.
fn cells(address: u64, len: u64) -> impl Iterator<Item = u64> {
    address / 4..=address.saturating_add(len.saturating_sub(1)) / 4
}
