//! Selkie's engines.

use std::{sync::Arc, time::Instant};

use selkie_elf::{Executable, Functions, SyscallId, Syscalls};
use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{Config, Host, Machine, MemoryMap, Meter, Region, SyscallError, Verified, run};

use crate::{Case, Memory, Run, anchor::Assembled};

struct Nothing;

impl Host for Nothing {
    fn syscall(
        &mut self,
        _: SyscallId,
        _: [u64; 5],
        _: &mut MemoryMap<'_>,
        _: &mut Meter,
    ) -> Result<u64, SyscallError> {
        Ok(0)
    }
}

/// A program, ready to run.
pub(crate) struct Program {
    code: Verified,
    config: Config,
}

impl Program {
    pub(crate) fn new(case: &Case, assembled: &Assembled) -> Self {
        let mut functions = Functions::default();
        for &(key, pc) in &assembled.functions {
            functions.register(key, pc, "").expect("keys are unique");
        }
        let syscalls = Arc::new(Syscalls::new(["nothing"]));
        let text = assembled.text.as_slice();
        let executable = Executable::from_text(case.version, text, 0, functions, syscalls);
        let code = Verified::new(executable.expect("no key is a syscall's"));
        let config = Config {
            stack_frame_gaps: case.stack_frame_gaps,
            aligned_memory: case.aligned_memory,
            ..Config::default()
        };
        Self { code: code.expect("kernels are valid"), config }
    }

    pub(crate) fn run(&mut self, memory: &mut Memory, budget: u64) -> Run {
        let Self { code, config } = self;
        let executable = code.executable();
        let Memory { stack, heap, input, input_bytes } = memory;
        let mut stack = Region::writable(STACK_START, stack);
        if executable.version().stack_frame_gaps() && config.stack_frame_gaps {
            stack = stack.gapped(config.stack_frame_bytes);
        }
        let read_only = executable.read_only();
        let mut regions = vec![
            Region::readonly(read_only.vaddr, &read_only.bytes),
            stack,
            Region::writable(HEAP_START, heap),
        ];
        let mut vaddr = INPUT_START;
        for piece in input.chunks_mut(*input_bytes) {
            let len = piece.len() as u64;
            regions.push(Region::writable(vaddr, piece));
            vaddr += len;
        }
        let memory = MemoryMap::new(regions, config, executable.version());
        let memory = memory.expect("the regions are disjoint");
        let mut machine = Machine::new(code, config, memory, budget);
        let start = Instant::now();
        let outcome = run(code, &mut machine, &mut Nothing);
        let time = start.elapsed();
        let result = outcome.result.expect("kernels do not trap");
        Run { time, consumed: outcome.consumed, result }
    }
}
