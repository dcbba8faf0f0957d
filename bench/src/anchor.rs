//! anza's engine: `solana-sbpf`, with the settings that validators use.

#![allow(unsafe_code, reason = "the anchor wants promises about the memory that it maps")]

use core::{error::Error, ptr::NonNull};
use std::{sync::Arc, time::Instant};

use selkie_isa::Version;
use solana_sbpf::{
    ebpf,
    elf::Executable,
    error::{EbpfError, StableResult},
    memory_region::{AccessType, MemoryMapping, MemoryRegion},
    program::{BuiltinFunctionDefinition, BuiltinProgram, SBPFVersion},
    verifier::RequisiteVerifier,
    vm::{CallFrame, Config, ContextObject, EbpfVm, ExecutionMode},
};

use crate::{
    Case, Memory, Run,
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

    fn consume(&mut self, units: u64) {
        ContextObject::consume(self, units);
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
        let slots = self.0.get_text_bytes().1.chunks_exact(ebpf::INSN_SIZE);
        // The second half of an `lddw` has the code 0, which is no instruction's.
        slots.filter(|slot| slot[0] != 0).count()
    }

    pub(crate) fn compile(&self) {
        self.0.jit_compile().expect("measured programs compile");
    }

    /// Drops the machine code, lest the next compilation has to.
    pub(crate) fn forget_code(&self) {
        drop(self.0.take_compiled_program());
    }

    /// Bytes of machine code.
    pub(crate) fn code_bytes(&self) -> usize {
        self.0.get_compiled_program().map_or(0, |program| program.machine_code_length())
    }
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

    /// Without machine code.
    pub(crate) fn load(loader: &Loader, elf: &[u8]) -> Self {
        let loaded = loader.load(elf);
        loaded.verify();
        Self { executable: loaded.0, mode: ExecutionMode::Interpreted }
    }

    pub(crate) fn compile(&mut self) {
        self.executable.jit_compile().expect("measured programs compile");
        self.mode = ExecutionMode::Jit;
    }

    pub(crate) fn version(&self) -> Version {
        match self.executable.get_sbpf_version() {
            SBPFVersion::V0 => Version::V0,
            _ => Version::V3,
        }
    }

    pub(crate) fn run(&mut self, memory: &mut Memory, budget: u64) -> Run {
        let mut context = self.context(memory, budget);
        let (mut vm, mut frames) = self.machine(&mut context, memory.stack.len());
        let start = Instant::now();
        let (consumed, result) = vm.execute_program(&self.executable, &mut self.mode, &mut frames);
        let time = start.elapsed();
        Run { time, consumed, result: result.unwrap() }
    }

    /// An invocation with all that it takes: clean memory, its map, a machine, the run.
    pub(crate) fn invoke(&mut self, memory: &mut Memory, budget: u64) -> Run {
        let start = Instant::now();
        memory.stack.fill(0);
        memory.heap.fill(0);
        let mut context = self.context(memory, budget);
        let (mut vm, mut frames) = self.machine(&mut context, memory.stack.len());
        let (consumed, result) = vm.execute_program(&self.executable, &mut self.mode, &mut frames);
        let time = start.elapsed();
        Run { time, consumed, result: result.unwrap() }
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
        // Compiled code has its own.
        let frames = match self.mode {
            ExecutionMode::Interpreted => self.executable.get_config().max_call_depth,
            _ => 0,
        };
        (vm, vec![CallFrame::default(); frames])
    }

    fn context(&self, memory: &mut Memory, budget: u64) -> Context {
        let config = self.executable.get_config();
        let version = self.executable.get_sbpf_version();
        let Memory { stack, heap, input, piece_bytes, .. } = memory;
        let gaps = version == SBPFVersion::V0 && config.enable_stack_frame_gaps;
        let gap = if gaps { config.stack_frame_size as u64 } else { 0 };
        let mut regions = vec![
            self.executable.get_ro_region(),
            MemoryRegion::new_gapped(&raw mut stack[..], ebpf::MM_STACK_START, gap),
            MemoryRegion::new(&raw mut heap[..], ebpf::MM_HEAP_START),
        ];
        let mut vaddr = ebpf::MM_INPUT_START;
        for piece in input.chunks_mut(*piece_bytes) {
            regions.push(MemoryRegion::new(&raw mut piece[..], vaddr));
            vaddr += piece.len() as u64;
        }
        // SAFETY: the regions are disjoint and outlive the run; any bytes may be written to them.
        let memory = unsafe { MemoryMapping::new(regions, config, version) };
        Context { remaining: budget, memory: memory.expect("the regions are disjoint") }
    }
}
