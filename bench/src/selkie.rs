//! Runs programs on Selkie's engines.

use std::sync::Arc;

use selkie_elf::{Environment, Executable, SyscallId, Syscalls, load};
use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{
    Config, Host, JitOptions, Machine, MachineCode, MemoryCalls, MemoryMap, Meter, Region,
    SyscallError, Trap, Verified, verify,
};

use crate::{
    run::{COMPUTE_UNIT_LIMIT, Case, Memory, Outcome, Run, time_selkie},
    syscalls::{self, Guest, NAMES},
};

struct TestHost;

struct Syscall<'m, 'a> {
    memory: &'m mut MemoryMap<'a>,
    meter: &'m mut Meter,
}

impl Guest for Syscall<'_, '_> {
    type Error = Trap;

    fn load(&mut self, vaddr: u64, len: u64) -> Result<&[u8], Trap> {
        self.memory.slice(vaddr, len)
    }

    fn store(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], Trap> {
        self.memory.slice_mut(vaddr, len)
    }

    fn consume(&mut self, compute_units: u64) {
        let _ = self.meter.consume(compute_units);
    }
}

impl Host for TestHost {
    #[inline]
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        if usize::from(id.0) == syscalls::NO_OP {
            return Ok(1);
        }
        call(id, arguments, memory, meter)
    }
}

#[inline(never)]
fn call(
    id: SyscallId,
    arguments: [u64; 5],
    memory: &mut MemoryMap<'_>,
    meter: &mut Meter,
) -> Result<u64, SyscallError> {
    let result = syscalls::call(usize::from(id.0), arguments, &mut Syscall { memory, meter });
    Ok(result.ok_or("no measured program calls this")??)
}

/// Loads files.
pub(crate) struct Loader(Environment);

impl Loader {
    pub(crate) fn new() -> Self {
        let syscalls = Arc::new(Syscalls::new(NAMES));
        Self(Environment { syscalls, ..Environment::default() })
    }

    pub(crate) fn load(&self, elf: &[u8]) -> Executable {
        load(elf, &self.0).expect("measured files load")
    }
}

/// Verifies a program, and drops the result.
pub(crate) fn verify_only(executable: &Executable) {
    verify(executable).expect("measured programs are valid");
}

/// Verifies and decodes a program.
pub(crate) fn prepare(executable: Executable) -> Verified {
    Verified::new(executable).expect("measured programs are valid")
}

fn config(case: &Case) -> Config {
    Config {
        stack_frame_gaps: case.stack_frame_gaps,
        aligned_memory: case.aligned_memory,
        ..Config::default()
    }
}

/// Compiles the whole program, or each unit of it when it is first reached.
pub(crate) fn compile(case: &Case, program: &Verified, whole: bool) -> MachineCode {
    let options = if case.hardened { JitOptions::default() } else { JitOptions::plain() };
    let slots_at_once = if whole { usize::MAX } else { options.slots_at_once };
    let id = |number: u16| Some(SyscallId(syscalls::COPY + number));
    let memory_calls = MemoryCalls {
        copy: id(0),
        r#move: id(1),
        set: id(2),
        compare: id(3),
        compute_units: 10,
        bytes_max: 2749,
    };
    let options = JitOptions { slots_at_once, memory_calls, ..options };
    MachineCode::compile(program, &config(case), &options).expect("this host runs machine code")
}

/// A program, ready to run.
pub(crate) struct Program {
    program: Verified,
    code: Option<MachineCode>,
    config: Config,
    /// Bytes of stack and heap, from their starts, that the last run may have written to. Runtimes
    /// keep them too: only those are zeroed before the next run.
    dirty_bytes: [u64; 2],
}

impl Program {
    pub(crate) fn new(case: &Case, elf: &[u8], jit: bool) -> Self {
        let mut program = Self::load(case, &Loader::new(), elf);
        if jit {
            program.compile(case);
        }
        program
    }

    /// Loads, verifies and decodes, without machine code.
    pub(crate) fn load(case: &Case, loader: &Loader, elf: &[u8]) -> Self {
        let program = prepare(loader.load(elf));
        Self { program, code: None, config: config(case), dirty_bytes: [0; 2] }
    }

    /// Prepares machine code, each unit of which is compiled when it is first reached.
    fn compile(&mut self, case: &Case) {
        self.code = Some(compile(case, &self.program, false));
    }

    /// Runs the program in mapped memory; only executing is timed.
    pub(crate) fn run(&mut self, memory: &mut Memory, compute_unit_limit: u64) -> Run {
        let memory = self.map(memory);
        let mut machine =
            Machine::new(self.program.executable(), &self.config, memory, compute_unit_limit);
        let (outcome, time) = time_selkie(|| self.execute(&mut machine));
        let dirty_bytes = dirty_bytes(&machine);
        drop(machine);
        self.dirty_bytes = dirty_bytes;
        Run { time, outcome }
    }

    /// Runs the program with all that an invocation needs: mapping, a machine, zeroing memory.
    pub(crate) fn invoke(&mut self, memory: &mut Memory, compute_unit_limit: u64) -> Run {
        let (outcome, time) = time_selkie(|| {
            let outcome = self.map_and_execute(memory, compute_unit_limit);
            let [stack, heap] = self.dirty_bytes;
            memory.stack[..stack as usize].fill(0);
            memory.heap[..heap as usize].fill(0);
            outcome
        });
        Run { time, outcome }
    }

    /// Compiles and runs a program that was just loaded.
    pub(crate) fn first_result(&mut self, case: &Case, memory: &mut Memory) -> Outcome {
        self.compile(case);
        self.map_and_execute(memory, COMPUTE_UNIT_LIMIT)
    }

    fn map_and_execute(&mut self, memory: &mut Memory, compute_unit_limit: u64) -> Outcome {
        let memory = self.map(memory);
        let mut machine =
            Machine::new(self.program.executable(), &self.config, memory, compute_unit_limit);
        let outcome = self.execute(&mut machine);
        let dirty_bytes = dirty_bytes(&machine);
        drop(machine);
        self.dirty_bytes = dirty_bytes;
        outcome
    }

    fn execute(&self, machine: &mut Machine<'_>) -> Outcome {
        let outcome = match &self.code {
            Some(code) => code.run(&self.program, machine, &mut TestHost),
            None => selkie_vm::run(&self.program, machine, &mut TestHost),
        };
        let result = outcome.result.expect("measured programs do not trap");
        Outcome { compute_units: outcome.consumed, result }
    }

    fn map<'m>(&'m self, memory: &'m mut Memory) -> MemoryMap<'m> {
        let Self { program, config, dirty_bytes, .. } = self;
        let executable = program.executable();
        let Memory { stack, heap, input, input_region_bytes, .. } = memory;
        let mut stack = Region::writable(STACK_START, stack).with_dirty_prefix(dirty_bytes[0]);
        if executable.version().stack_frame_gaps() && config.stack_frame_gaps {
            stack = stack.gapped(config.stack_frame_bytes);
        }
        let read_only = executable.read_only();
        let mut regions = vec![
            Region::readonly(read_only.vaddr, &read_only.bytes),
            stack,
            Region::writable(HEAP_START, heap).with_dirty_prefix(dirty_bytes[1]),
        ];
        let mut vaddr = INPUT_START;
        for region in input.chunks_mut(*input_region_bytes) {
            let len = region.len() as u64;
            regions.push(Region::writable(vaddr, region));
            vaddr += len;
        }
        let memory = MemoryMap::new(regions, config, executable.version());
        memory.expect("the regions are disjoint")
    }
}

/// The prefixes of stack and heap that a run may have written to.
fn dirty_bytes(machine: &Machine<'_>) -> [u64; 2] {
    [1, 2].map(|index| machine.memory.regions()[index].dirty_prefix())
}
