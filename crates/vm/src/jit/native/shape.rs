//! What is the same for all units of a program.

use core::{ptr, sync::atomic::AtomicU64};
use std::sync::Arc;

use crate::{
    config::Config,
    counters::BranchCounters,
    host::Host,
    interp::{Outcome, run, run_counted},
    jit::{
        harden::HardeningRng,
        options::{JitOptions, MemoryCalls},
        plan::span_max,
    },
    machine::{Machine, frame_step},
    processor::Features,
    program::Program,
};

/// The parts of program, configuration and options that the emitted code depends on, and its keys.
#[derive(Clone, Debug)]
pub(in crate::jit) struct Shape {
    pub(in crate::jit) metered: bool,
    pub(in crate::jit) gaps: bool,
    /// The shortest gaps that checks detect, wherever the accesses lie that they cover.
    pub(in crate::jit) gap_min: u64,
    pub(in crate::jit) features: Features,
    /// Whether each window has at most one region.
    pub(in crate::jit) aligned: bool,
    pub(in crate::jit) fixed_frames: bool,
    pub(in crate::jit) frame_bytes: i32,
    pub(in crate::jit) frame_step: u64,
    pub(in crate::jit) call_depth_max: usize,
    /// What the context register is off by, from which the back end computes displacements.
    pub(in crate::jit) key: i32,
    pub(in crate::jit) blinding_key: u64,
    pub(in crate::jit) memory_calls: MemoryCalls,
    pub(in crate::jit) counters: Option<Arc<BranchCounters>>,
}

impl Shape {
    pub(in crate::jit) fn new(program: &Program, config: &Config, options: &JitOptions) -> Self {
        let version = program.executable().version();
        let mut rng = HardeningRng::new(options, usize::MAX);
        Self {
            metered: config.metered,
            gaps: version.stack_frame_gaps() && config.stack_frame_gaps,
            gap_min: u64::from(span_max(config).unsigned_abs()),
            features: Features::of_host(),
            aligned: config.aligned_memory || version.aligned_memory(),
            fixed_frames: !version.dynamic_frames(),
            frame_bytes: i32::try_from(config.stack_frame_bytes).unwrap_or(i32::MAX),
            frame_step: frame_step(version, config),
            call_depth_max: config.call_depth_max,
            key: rng.address_key(),
            blinding_key: rng.number(),
            memory_calls: options.memory_calls,
            counters: options.counters.clone(),
        }
    }

    /// Returns the shortest gaps of regions that the code can access; `None` if it can access none
    /// with gaps.
    pub(in crate::jit) fn window_gaps(&self) -> Option<u64> {
        (self.gaps && self.features.removes_gaps()).then_some(self.gap_min)
    }

    /// Returns the counts of branches, or null.
    pub(in crate::jit) fn counts(&self) -> *const AtomicU64 {
        self.counters.as_ref().map_or(ptr::null(), |it| it.words().as_ptr())
    }

    /// Counts a branch that the interpreter has executed.
    pub(in crate::jit) fn count(&self, pc: usize, next: usize) {
        if let Some(counters) = &self.counters {
            counters.count(pc, next);
        }
    }

    /// Runs a program on the interpreter, because the code does not fit the machine.
    pub(in crate::jit) fn interpret(
        &self,
        program: &Program,
        machine: &mut Machine<'_>,
        host: &mut dyn Host,
    ) -> Outcome {
        match &self.counters {
            Some(counters) => run_counted(program, machine, host, counters),
            None => run(program, machine, host),
        }
    }
}
