//! Configurations, memory and results of runs, and the measurement of time.

use core::{hint::black_box, time::Duration};
use std::time::Instant;

use selkie_isa::Version;

/// A configuration in which programs run.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) version: Version,
    pub(crate) stack_frame_gaps: bool,
    pub(crate) aligned_memory: bool,
    /// Whether machine code is hardened against programs that choose its constants.
    pub(crate) hardened: bool,
}

/// Mainnet's configuration for V0 programs, in which real programs are measured.
pub(crate) const V0: Case = Case {
    name: "V0",
    version: Version::V0,
    stack_frame_gaps: true,
    aligned_memory: true,
    hardened: true,
};

/// Mainnet's configuration for V3 programs.
pub(crate) const V3: Case = Case {
    name: "V3",
    version: Version::V3,
    stack_frame_gaps: false,
    aligned_memory: false,
    hardened: true,
};

/// The compute unit limit of every run, more than any of them uses.
pub(crate) const COMPUTE_UNIT_LIMIT: u64 = 10_000_000;

/// A program that returns at once.
pub(crate) const RETURN_AT_ONCE: &str = ".globl entrypoint\nentrypoint:\nmov64 r0, 0\nexit\n";

/// Assembles a program that is part of the benchmark.
pub(crate) fn assemble(source: &str, version: Version) -> Vec<u8> {
    let options = selkie_asm::Options { version, ..Default::default() };
    let output = selkie_asm::assemble(source, &options);
    let Some(assembly) = &output.assembly else {
        panic!("{}", output.render(false));
    };
    assembly.to_elf()
}

/// Memory of a program, reused by every run.
pub(crate) struct Memory {
    pub(crate) stack: Vec<u8>,
    pub(crate) heap: Vec<u8>,
    pub(crate) input: Vec<u8>,
    /// Length of each input region.
    pub(crate) input_region_bytes: usize,
    initial_input: Vec<u8>,
}

impl Memory {
    /// Memory whose input is cut into `regions` regions of the same length.
    pub(crate) fn new(input: Vec<u8>, regions: usize) -> Self {
        Self {
            stack: vec![0; 64 * 4096],
            heap: vec![0; 32 * 1024],
            input_region_bytes: input.len() / regions,
            initial_input: input.clone(),
            input,
        }
    }

    /// Zeroes stack and heap, and restores the input.
    pub(crate) fn restored(&mut self) -> &mut Self {
        self.stack.fill(0);
        self.heap.fill(0);
        self.input.copy_from_slice(&self.initial_input);
        self
    }
}

/// The time and the result of one run of a program.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) time: Duration,
    pub(crate) outcome: Outcome,
}

/// The results on which both engines must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) compute_units: u64,
    pub(crate) result: u64,
}

/// Runs measured work of Selkie, and returns its result and the time that it took.
///
/// `cargo xtask instructions` counts between entering and leaving this function, which it knows by
/// its name: the function is never inlined, and calls of it must not nest. In emulators it counts between
/// calls of [`counting_begins`] and [`counting_ends`].
#[inline(never)]
pub(crate) fn time_selkie<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    counting_begins();
    let start = Instant::now();
    let result = work();
    let time = start.elapsed();
    counting_ends();
    (result, time)
}

/// Tells emulators that what follows is counted.
#[inline(never)]
fn counting_begins() {
    black_box(true);
}

/// Tells emulators that what follows is not counted.
#[inline(never)]
fn counting_ends() {
    black_box(false);
}
