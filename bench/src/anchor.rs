//! anza's engine: `solana-sbpf`, with the settings that validators use.

#![allow(unsafe_code, reason = "the anchor wants promises about the memory that it maps")]

use core::ptr::NonNull;
use std::{sync::Arc, time::Duration, time::Instant};

use solana_sbpf::{
    assembler, ebpf,
    elf::Executable,
    memory_region::{MemoryMapping, MemoryRegion},
    program::{BuiltinFunctionDefinition, BuiltinProgram, SBPFVersion},
    verifier::RequisiteVerifier,
    vm::{CallFrame, Config, ContextObject, EbpfVm, ExecutionMode},
};

use crate::{Case, Memory, Run};

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

struct Nothing;

impl BuiltinFunctionDefinition<Context> for Nothing {
    type Error = core::fmt::Error;

    fn rust(_: &mut Context, _: u64, _: u64, _: u64, _: u64, _: u64) -> Result<u64, Self::Error> {
        Ok(0)
    }
}

fn loader(case: &Case, version: SBPFVersion) -> Arc<BuiltinProgram<Context>> {
    let mut loader = BuiltinProgram::new_loader(Config {
        enable_stack_frame_gaps: case.stack_frame_gaps,
        aligned_memory_mapping: case.aligned_memory,
        instruction_meter_checkpoint_distance: 10_000,
        optimize_rodata: false,
        enabled_sbpf_versions: SBPFVersion::V0..=version,
        ..Config::default()
    });
    Nothing::register(&mut loader, "nothing").expect("the only syscall");
    Arc::new(loader)
}

/// A program, ready to run.
pub(crate) struct Program {
    executable: Executable<Context>,
    mode: ExecutionMode,
}

/// What the anchor's assembler made of a program.
pub(crate) struct Assembled {
    pub(crate) text: Vec<u8>,
    pub(crate) functions: Vec<(u32, u32)>,
}

impl Program {
    pub(crate) fn new(case: &Case, assembly: &str, jit: bool) -> Self {
        let version = match case.version {
            selkie_isa::Version::V0 => SBPFVersion::V0,
            _ => SBPFVersion::V3,
        };
        let executable = assembler::assemble(assembly, loader(case, version))
            .unwrap_or_else(|error| panic!("{assembly}: {error}"));
        executable.verify::<RequisiteVerifier>().expect("kernels are valid");
        if jit {
            executable.jit_compile().expect("kernels compile");
        }
        let mode = if jit { ExecutionMode::Jit } else { ExecutionMode::Interpreted };
        Self { executable, mode }
    }

    pub(crate) fn assembled(&self) -> Assembled {
        let functions = self.executable.get_function_registry();
        let slot = |pc: usize| u32::try_from(pc).expect("kernels are small");
        Assembled {
            text: self.executable.get_text_bytes().1.to_vec(),
            functions: functions.iter().map(|(key, (_, pc))| (key, slot(pc))).collect(),
        }
    }

    pub(crate) fn run(&mut self, memory: &mut Memory, budget: u64) -> Run {
        let (config, version) = (self.executable.get_config(), self.executable.get_sbpf_version());
        let Memory { stack, heap, input, input_bytes } = memory;
        let stack_bytes = stack.len();
        let gap = if version == SBPFVersion::V0 && config.enable_stack_frame_gaps {
            config.stack_frame_size as u64
        } else {
            0
        };
        let mut regions = vec![
            self.executable.get_ro_region(),
            MemoryRegion::new_gapped(&raw mut stack[..], ebpf::MM_STACK_START, gap),
            MemoryRegion::new(&raw mut heap[..], ebpf::MM_HEAP_START),
        ];
        let mut vaddr = ebpf::MM_INPUT_START;
        for piece in input.chunks_mut(*input_bytes) {
            regions.push(MemoryRegion::new(&raw mut piece[..], vaddr));
            vaddr += piece.len() as u64;
        }
        // SAFETY: the regions are disjoint and outlive the run; any bytes may be written to them.
        let memory = unsafe { MemoryMapping::new(regions, config, version) };
        let memory = memory.expect("the regions are disjoint");
        let mut context = Context { remaining: budget, memory };
        let loader = Arc::clone(self.executable.get_loader());
        let mut vm = EbpfVm::new(loader, version, &mut context, stack_bytes);
        vm.registers[1] = ebpf::MM_INPUT_START;
        let mut frames = vec![CallFrame::default(); config.max_call_depth];
        let start = Instant::now();
        let (consumed, result) = vm.execute_program(&self.executable, &mut self.mode, &mut frames);
        let time: Duration = start.elapsed();
        Run { time, consumed, result: result.unwrap() }
    }
}
