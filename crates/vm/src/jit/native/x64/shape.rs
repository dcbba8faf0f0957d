//! What is the same for all units of a program.

use crate::{
    config::Config,
    jit::{
        harden::HardeningRng,
        options::{JitOptions, MemoryCalls},
        plan::span_max,
    },
    machine::frame_step,
    processor::features,
    program::Program,
};

/// The parts of program, configuration and options that the emitted code depends on, and its keys.
#[derive(Clone, Debug)]
pub(in crate::jit) struct Shape {
    pub(in crate::jit) metered: bool,
    pub(in crate::jit) gaps: bool,
    /// The shortest gaps that checks detect, wherever the accesses lie that they cover.
    pub(super) gap_min: u64,
    pub(super) pext: bool,
    pub(super) bmi2: bool,
    /// Whether each window has at most one region.
    pub(in crate::jit) aligned: bool,
    pub(in crate::jit) fixed_frames: bool,
    pub(super) frame_bytes: i32,
    pub(in crate::jit) frame_step: u64,
    pub(super) call_depth_max: usize,
    /// Added to displacements from the context register.
    pub(in crate::jit) key: i32,
    pub(in crate::jit) blinding_key: u64,
    pub(super) memory_calls: MemoryCalls,
}

impl Shape {
    pub(in crate::jit) fn new(program: &Program, config: &Config, options: &JitOptions) -> Self {
        let version = program.executable().version();
        let (bmi2, pext) = features();
        let mut rng = HardeningRng::new(options, usize::MAX);
        Self {
            metered: config.metered,
            gaps: version.stack_frame_gaps() && config.stack_frame_gaps,
            gap_min: u64::from(span_max(config).unsigned_abs()),
            pext,
            bmi2,
            aligned: config.aligned_memory || version.aligned_memory(),
            fixed_frames: !version.dynamic_frames(),
            frame_bytes: i32::try_from(config.stack_frame_bytes).unwrap_or(i32::MAX),
            frame_step: frame_step(version, config),
            call_depth_max: config.call_depth_max,
            key: rng.address_key(),
            blinding_key: rng.number(),
            memory_calls: options.memory_calls,
        }
    }

    /// Returns which features of the processor the code uses.
    pub(in crate::jit) fn features(&self) -> [bool; 2] {
        [self.bmi2, self.pext]
    }

    /// Returns the shortest gaps of regions that the code can access; `None` if it can access none
    /// with gaps.
    pub(in crate::jit) fn window_gaps(&self) -> Option<u64> {
        (self.gaps && self.pext).then_some(self.gap_min)
    }
}
