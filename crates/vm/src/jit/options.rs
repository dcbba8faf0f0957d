//! How programs are compiled.

use selkie_elf::SyscallId;

/// How programs are compiled. The default is hardened as validators have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JitOptions {
    /// Let no immediate of the program stand in the code as it is, but for small ones.
    pub blind_constants: bool,
    /// Mean number of machine instructions between no-ops strewn in at random; 0 for none.
    pub noop_rate: u32,
    /// Start the code at a random distance from the start of its page.
    pub pad_start: bool,
    /// Address the engine's own data relative to a register that is off by a random key.
    pub key_addresses: bool,
    /// About how many slots are compiled at a time, when they are executed for the first time;
    /// `usize::MAX` compiles the whole program at once.
    pub slots_at_once: usize,
    /// Join what was compiled bit by bit after so many runs that had all they needed.
    pub runs_until_joined: u32,
    /// About how many slots are compiled at a time at most, however many are asked for.
    pub unit_slots_max: usize,
    /// About how many bytes the machine code of a program may take, with its tables. What has none
    /// then is interpreted.
    pub code_bytes_max: usize,
    /// Keep what [`MachineCode::spans`](super::MachineCode::spans) tells.
    pub spans: bool,
    /// Seeds all that is random; `None` asks the operating system.
    pub seed: Option<u64>,
    /// Syscalls that machine code does without the host.
    pub memory_calls: MemoryCalls,
}

/// Syscalls that do to the guest's memory what C's functions of these names do, and nothing else:
/// machine code may do them without the host.
///
/// It takes `units` from the meter, and r0 becomes 0. Where anything is out of the ordinary (too
/// few units, other lengths than 1 to `bytes_max`, memory that is not there or was not written to
/// before, an overlap that matters) nothing has happened, and [`Host::syscall`](crate::Host::syscall) is called as ever.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MemoryCalls {
    /// Copies r3 bytes from r2 to r1. If they overlap, the host decides.
    pub copy: Option<SyscallId>,
    /// Copies r3 bytes from r2 to r1.
    pub r#move: Option<SyscallId>,
    /// Fills r3 bytes at r1 with the lowest eight bits of r2.
    pub set: Option<SyscallId>,
    /// Compares r3 bytes at r1 and at r2, and writes the difference of the first two that differ,
    /// or 0, to the four bytes at r4. If r4 is no multiple of 4, the host decides.
    pub compare: Option<SyscallId>,
    /// What each costs if it is not longer than `bytes_max`.
    pub units: u8,
    /// The most bytes for this price.
    pub bytes_max: u16,
}

impl MemoryCalls {
    /// Their numbers, always in this order.
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
            slots_at_once: 192,
            runs_until_joined: 16,
            unit_slots_max: 1 << 17,
            code_bytes_max: 16 << 20,
            spans: false,
            seed: None,
            memory_calls: MemoryCalls::default(),
        }
    }
}

impl JitOptions {
    /// Without any hardening: what the code costs without it, and listings that can be repeated.
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
