//! Selkie's engines.

use std::{sync::Arc, time::Instant};

use selkie_elf::{Environment, Executable, SyscallId, Syscalls, load};
use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{
    Config, Host, JitOptions, Machine, MachineCode, MemoryCalls, MemoryMap, Meter, Outcome, Region,
    SyscallError, Trap, Verified, run, verify,
};

use crate::{
    Case, Memory, Run,
    syscalls::{self, Guest, NAMES},
};

struct TestHost;

struct Call<'m, 'a> {
    memory: &'m mut MemoryMap<'a>,
    meter: &'m mut Meter,
}

impl Guest for Call<'_, '_> {
    type Error = Trap;

    fn load(&mut self, vaddr: u64, len: u64) -> Result<&[u8], Trap> {
        self.memory.slice(vaddr, len)
    }

    fn store(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], Trap> {
        self.memory.slice_mut(vaddr, len)
    }

    fn consume(&mut self, units: u64) {
        let _ = self.meter.consume(units);
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
    let result = syscalls::call(usize::from(id.0), arguments, &mut Call { memory, meter });
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

/// Verifies.
pub(crate) fn verify_only(executable: &Executable) {
    verify(executable).expect("measured programs are valid");
}

/// Verifies and decodes.
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

/// Compiles: the whole program, or bit by bit what is executed.
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
    /// How much of stack and heap the last run wrote to, as runtimes keep it.
    touched: [u64; 2],
}

impl Program {
    pub(crate) fn new(case: &Case, elf: &[u8], jit: bool) -> Self {
        let mut program = Self::load(case, &Loader::new(), elf);
        if jit {
            program.compile(case);
        }
        program
    }

    /// Without machine code.
    pub(crate) fn load(case: &Case, loader: &Loader, elf: &[u8]) -> Self {
        let program = prepare(loader.load(elf));
        Self { program, code: None, config: config(case), touched: [0; 2] }
    }

    /// Prepares machine code, which is made when it is called.
    pub(crate) fn compile(&mut self, case: &Case) {
        self.code = Some(compile(case, &self.program, false));
    }

    pub(crate) fn run(&mut self, memory: &mut Memory, budget: u64) -> Run {
        let memory = self.map(memory);
        let mut machine = Machine::new(self.program.executable(), &self.config, memory, budget);
        let start = Instant::now();
        let outcome = self.execute(&mut machine);
        let time = start.elapsed();
        let touched = touched(&machine);
        drop(machine);
        self.touched = touched;
        let result = outcome.result.expect("measured programs do not trap");
        Run { time, consumed: outcome.consumed, result }
    }

    /// An invocation with all that it takes: clean memory, its map, a machine, the run.
    pub(crate) fn invoke(&mut self, memory: &mut Memory, budget: u64) -> Run {
        let start = Instant::now();
        let map = self.map(memory);
        let mut machine = Machine::new(self.program.executable(), &self.config, map, budget);
        let outcome = self.execute(&mut machine);
        let touched = touched(&machine);
        drop(machine);
        self.touched = touched;
        memory.stack[..touched[0] as usize].fill(0);
        memory.heap[..touched[1] as usize].fill(0);
        let time = start.elapsed();
        let result = outcome.result.expect("measured programs do not trap");
        Run { time, consumed: outcome.consumed, result }
    }

    fn execute(&self, machine: &mut Machine<'_>) -> Outcome {
        match &self.code {
            Some(code) => code.run(&self.program, machine, &mut TestHost),
            None => run(&self.program, machine, &mut TestHost),
        }
    }

    fn map<'m>(&'m self, memory: &'m mut Memory) -> MemoryMap<'m> {
        let Self { program, config, touched, .. } = self;
        let executable = program.executable();
        let Memory { stack, heap, input, piece_bytes, .. } = memory;
        let mut stack = Region::writable(STACK_START, stack).with_dirty_prefix(touched[0]);
        if executable.version().stack_frame_gaps() && config.stack_frame_gaps {
            stack = stack.gapped(config.stack_frame_bytes);
        }
        let read_only = executable.read_only();
        let mut regions = vec![
            Region::readonly(read_only.vaddr, &read_only.bytes),
            stack,
            Region::writable(HEAP_START, heap).with_dirty_prefix(touched[1]),
        ];
        let mut vaddr = INPUT_START;
        for piece in input.chunks_mut(*piece_bytes) {
            let len = piece.len() as u64;
            regions.push(Region::writable(vaddr, piece));
            vaddr += len;
        }
        let memory = MemoryMap::new(regions, config, executable.version());
        memory.expect("the regions are disjoint")
    }
}

/// Of stack and heap.
fn touched(machine: &Machine<'_>) -> [u64; 2] {
    [1, 2].map(|index| machine.memory.regions()[index].dirty_prefix())
}
