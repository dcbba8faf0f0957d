//! Runs programs on anza's engine, `solana-sbpf`, with the settings of validators.

#![allow(unsafe_code, reason = "anza's mapping takes raw pointers")]

use core::{error::Error, ptr::NonNull, time::Duration};
use std::{sync::Arc, time::Instant};

use selkie_isa::Version;
use solana_sbpf::{
    ebpf,
    elf::Executable,
    error::{EbpfError, ProgramResult, StableResult},
    memory_region::{AccessType, MemoryMapping, MemoryRegion},
    program::{BuiltinFunctionDefinition, BuiltinProgram, SBPFVersion},
    verifier::RequisiteVerifier,
    vm::{CallFrame, Config, ContextObject, EbpfVm, ExecutionMode},
};

use crate::{
    run::{COMPUTE_UNIT_LIMIT, Case, Memory, Outcome, Run},
    syscalls::{self, Guest, NAMES},
};

pub(crate) struct Context {
    remaining: u64,
    memory: MemoryMapping,
}

impl ContextObject for Context {
    fn consume(&mut self, amount: u64) {
        self.remaining = self.remaining.saturating_sub(amount);
    }

    fn get_remaining(&self) -> u64 {
        self.remaining
    }

    fn active_mapping_ptr(&mut self) -> NonNull<MemoryMapping> {
        NonNull::from_mut(&mut self.memory)
    }
}

impl Guest for Context {
    type Error = EbpfError;

    fn load(&mut self, vaddr: u64, len: u64) -> Result<&[u8], EbpfError> {
        match self.memory.map(AccessType::Load, vaddr, len) {
            // SAFETY: the mapping bounded the slice, and nothing else uses it meanwhile.
            StableResult::Ok(buffer) => Ok(unsafe { &*buffer.ptr() }),
            StableResult::Err(error) => Err(error),
        }
    }

    fn store(&mut self, vaddr: u64, len: u64) -> Result<&mut [u8], EbpfError> {
        match self.memory.map(AccessType::Store, vaddr, len) {
            // SAFETY: the mapping bounded the slice, and nothing else uses it meanwhile.
            StableResult::Ok(buffer) => Ok(unsafe { &mut *buffer.ptr_mut() }),
            StableResult::Err(error) => Err(error),
        }
    }

    fn consume(&mut self, compute_units: u64) {
        ContextObject::consume(self, compute_units);
    }
}

struct Syscall<const INDEX: usize>;

impl<const INDEX: usize> BuiltinFunctionDefinition<Context> for Syscall<INDEX> {
    type Error = Box<dyn Error>;

    fn rust(
        context: &mut Context,
        a: u64,
        b: u64,
        c: u64,
        d: u64,
        e: u64,
    ) -> Result<u64, Self::Error> {
        if INDEX == syscalls::NO_OP {
            return Ok(1);
        }
        let result = syscalls::call(INDEX, [a, b, c, d, e], context);
        Ok(result.ok_or("no measured program calls this")??)
    }
}

fn loader(case: &Case) -> Arc<BuiltinProgram<Context>> {
    let mainnet = Config::default();
    let mut loader = BuiltinProgram::new_loader(Config {
        noop_instruction_rate: if case.hardened { mainnet.noop_instruction_rate } else { 0 },
        sanitize_user_provided_values: case.hardened,
        enable_stack_frame_gaps: case.stack_frame_gaps,
        aligned_memory_mapping: case.aligned_memory,
        instruction_meter_checkpoint_distance: 10_000,
        optimize_rodata: false,
        ..mainnet
    });
    macro_rules! register {
        ($($index:literal)*) => {
            $(Syscall::<$index>::register(&mut loader, NAMES[$index]).expect("unique names");)*
        };
    }
    register!(0 1 2 3 4 5 6 7 8 9 10 11);
    Arc::new(loader)
}

/// A program, loaded.
pub(crate) struct Loaded(Executable<Context>);

/// Loads files.
pub(crate) struct Loader(Arc<BuiltinProgram<Context>>);

impl Loader {
    pub(crate) fn new(case: &Case) -> Self {
        Self(loader(case))
    }

    pub(crate) fn load(&self, elf: &[u8]) -> Loaded {
        Loaded(Executable::from_elf(elf, Arc::clone(&self.0)).expect("measured files load"))
    }
}

impl Loaded {
    pub(crate) fn slots(&self) -> usize {
        self.0.get_text_bytes().1.len() / ebpf::INSN_SIZE
    }

    pub(crate) fn verify(&self) {
        self.0.verify::<RequisiteVerifier>().expect("measured programs are valid");
    }

    /// Instructions, which may take two slots.
    pub(crate) fn instructions(&self) -> usize {
        let slots = self.0.get_text_bytes().1.as_chunks::<{ ebpf::INSN_SIZE }>().0.iter();
        // The second half of an `lddw` has the code 0, which is no instruction's.
        slots.filter(|slot| slot[0] != 0).count()
    }

    pub(crate) fn compile(&self) {
        compile(&self.0);
    }

    /// Drops the machine code, so that the next compilation does not have to.
    pub(crate) fn forget_code(&self) {
        drop(self.0.take_compiled_program());
    }

    /// Bytes of machine code.
    pub(crate) fn code_bytes(&self) -> usize {
        self.0.get_compiled_program().map_or(0, |program| program.machine_code_length())
    }
}

#[cfg(target_arch = "x86_64")]
fn compile(executable: &Executable<Context>) {
    executable.jit_compile().expect("measured programs compile");
}

/// The peer compiles for x86-64 alone. Elsewhere, only Selkie's side of rows runs, which is counted.
#[cfg(not(target_arch = "x86_64"))]
fn compile(_: &Executable<Context>) {
    panic!("solana-sbpf has no machine code for this processor");
}

/// A program, ready to run.
pub(crate) struct Program {
    executable: Executable<Context>,
    mode: ExecutionMode,
}

impl Program {
    pub(crate) fn new(case: &Case, elf: &[u8], jit: bool) -> Self {
        let mut program = Self::load(&Loader::new(case), elf);
        if jit {
            program.compile();
        }
        program
    }

    /// Loads and verifies, without machine code.
    fn load(loader: &Loader, elf: &[u8]) -> Self {
        let loaded = loader.load(elf);
        loaded.verify();
        Self { executable: loaded.0, mode: ExecutionMode::Interpreted }
    }

    fn compile(&mut self) {
        compile(&self.executable);
        self.mode = ExecutionMode::Jit;
    }

    pub(crate) fn version(&self) -> Version {
        match self.executable.get_sbpf_version() {
            SBPFVersion::V0 => Version::V0,
            _ => Version::V3,
        }
    }

    /// Runs the program in mapped memory; only executing is timed.
    pub(crate) fn run(&mut self, memory: &mut Memory, compute_unit_limit: u64) -> Run {
        let mut context = self.context(memory, compute_unit_limit);
        let (mut vm, mut frames) = self.machine(&mut context, memory.stack.len());
        let start = Instant::now();
        let outcome = vm.execute_program(&self.executable, &mut self.mode, &mut frames);
        Run { time: start.elapsed(), outcome: to_outcome(outcome) }
    }

    /// Runs the program with all that an invocation needs: zeroing memory, mapping it, a machine.
    pub(crate) fn invoke(&mut self, memory: &mut Memory, compute_unit_limit: u64) -> Run {
        let start = Instant::now();
        memory.stack.fill(0);
        memory.heap.fill(0);
        let mut context = self.context(memory, compute_unit_limit);
        let (mut vm, mut frames) = self.machine(&mut context, memory.stack.len());
        let outcome = vm.execute_program(&self.executable, &mut self.mode, &mut frames);
        Run { time: start.elapsed(), outcome: to_outcome(outcome) }
    }

    fn machine<'c>(
        &self,
        context: &'c mut Context,
        stack_bytes: usize,
    ) -> (EbpfVm<'c, Context>, Vec<CallFrame>) {
        let loader = Arc::clone(self.executable.get_loader());
        let version = self.executable.get_sbpf_version();
        let mut vm = EbpfVm::new(loader, version, context, stack_bytes);
        vm.registers[1] = ebpf::MM_INPUT_START;
        // Machine code keeps its call frames on the host's stack.
        let frames = match self.mode {
            ExecutionMode::Interpreted => self.executable.get_config().max_call_depth,
            _ => 0,
        };
        (vm, vec![CallFrame::default(); frames])
    }

    fn context(&self, memory: &mut Memory, compute_unit_limit: u64) -> Context {
        let config = self.executable.get_config();
        let version = self.executable.get_sbpf_version();
        let Memory { stack, heap, input, input_region_bytes, .. } = memory;
        let gaps = version == SBPFVersion::V0 && config.enable_stack_frame_gaps;
        let gap = if gaps { config.stack_frame_size as u64 } else { 0 };
        let mut regions = vec![
            self.executable.get_ro_region(),
            MemoryRegion::new_gapped(&raw mut stack[..], ebpf::MM_STACK_START, gap),
            MemoryRegion::new(&raw mut heap[..], ebpf::MM_HEAP_START),
        ];
        let mut vaddr = ebpf::MM_INPUT_START;
        for region in input.chunks_mut(*input_region_bytes) {
            regions.push(MemoryRegion::new(&raw mut region[..], vaddr));
            vaddr += region.len() as u64;
        }
        // SAFETY: the regions are disjoint and outlive the run; any bytes may be written to them.
        let memory = unsafe { MemoryMapping::new(regions, config, version) };
        Context { remaining: compute_unit_limit, memory: memory.expect("the regions are disjoint") }
    }
}

/// Loads, compiles and runs a program. Returns the outcome, and the time without loading and with it.
pub(crate) fn first_result(
    loader: &Loader,
    elf: &[u8],
    memory: &mut Memory,
) -> (Outcome, [Duration; 2]) {
    let start = Instant::now();
    let mut program = Program::load(loader, elf);
    let loading = start.elapsed();
    program.compile();
    let run = program.run(memory, COMPUTE_UNIT_LIMIT);
    let whole = start.elapsed();
    (run.outcome, [whole - loading, whole])
}

fn to_outcome((compute_units, result): (u64, ProgramResult)) -> Outcome {
    Outcome { compute_units, result: result.unwrap() }
}
