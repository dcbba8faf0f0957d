//! The options of the JIT.

use std::sync::Arc;

use selkie_elf::SyscallId;

use crate::counters::BranchCounters;

/// How programs are compiled. The default has the hardening of validators.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JitOptions {
    /// Whether immediates of the program are blinded, except small ones: no immediate then appears
    /// in the code as it is.
    pub blind_constants: bool,
    /// Mean number of machine instructions between random no-ops; 0 for none.
    pub noop_rate: u32,
    /// Whether the code starts at a random offset in its page.
    pub pad_start: bool,
    /// Whether the context is addressed relative to a register that is off by a random key.
    pub key_addresses: bool,
    /// About how many slots are compiled at a time, when they are first executed. `usize::MAX`
    /// compiles the whole program at once.
    pub slots_at_once: usize,
    /// After how many runs without a compilation the compilation units are joined into one.
    pub runs_until_joined: u32,
    /// The most slots of a compilation unit, roughly, whatever `slots_at_once` says.
    pub unit_slots_max: usize,
    /// The most bytes of machine code and tables of a program, roughly. Code beyond that is
    /// interpreted.
    pub code_bytes_max: usize,
    /// Whether to record the spans that [`MachineCode::spans`](super::MachineCode::spans) returns.
    pub spans: bool,
    /// The seed of all randomness; `None` takes one from the operating system.
    pub seed: Option<u64>,
    /// The syscalls that machine code executes without the host.
    pub memory_calls: MemoryCalls,
    /// The counters of the program's branches, if they are counted. They must have been made for the
    /// program that is compiled.
    pub counters: Option<Arc<BranchCounters>>,
}

/// Syscalls that do to guest memory what the C functions of these names do, and nothing else, so
/// that machine code can execute them without the host.
///
/// Machine code consumes `compute_units` and sets r0 to 0. In any other case (too few compute
/// units, a length that is 0 or more than `bytes_max`, memory that is unmapped or not dirty yet,
/// overlaps that matter) it changes nothing and calls [`Host::syscall`](crate::Host::syscall).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MemoryCalls {
    /// Copies r3 bytes from r2 to r1. If they overlap, the host is called.
    pub copy: Option<SyscallId>,
    /// Copies r3 bytes from r2 to r1.
    pub r#move: Option<SyscallId>,
    /// Fills r3 bytes at r1 with the lowest eight bits of r2.
    pub set: Option<SyscallId>,
    /// Compares r3 bytes at r1 and r2, and writes the difference of the first two that differ, or
    /// 0, as an `i32` to r4. If r4 is not a multiple of 4, the host is called.
    pub compare: Option<SyscallId>,
    /// The cost of each for up to `bytes_max` bytes.
    pub compute_units: u8,
    /// The most bytes for that cost.
    pub bytes_max: u16,
}

impl MemoryCalls {
    /// Returns the syscalls, always in this order.
    pub(super) fn ids(&self) -> [Option<SyscallId>; 4] {
        [self.copy, self.r#move, self.set, self.compare]
    }
}

impl Default for JitOptions {
    fn default() -> Self {
        Self {
            blind_constants: true,
            noop_rate: 256,
            pad_start: true,
            key_addresses: true,
            slots_at_once: 384,
            runs_until_joined: 16,
            unit_slots_max: 1 << 17,
            code_bytes_max: 16 << 20,
            spans: false,
            seed: None,
            memory_calls: MemoryCalls::default(),
            counters: None,
        }
    }
}

impl JitOptions {
    /// Returns options without any hardening, for measurements and reproducible listings.
    #[must_use]
    pub fn plain() -> Self {
        Self {
            blind_constants: false,
            noop_rate: 0,
            pad_start: false,
            key_addresses: false,
            seed: Some(0),
            ..Self::default()
        }
    }
}
