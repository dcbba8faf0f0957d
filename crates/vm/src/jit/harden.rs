//! Hardening: randomness that makes machine code unpredictable for the author of a program.
//!
//! The author of a program chooses its immediates. If they appeared in executable memory as they
//! are, an exploit could jump into them. So they are split in two at random (*blinded*), and the
//! code is shifted by random no-ops and padding (anza sbpf: `jit.rs`, `should_sanitize_constant`
//! and the noise around it).

use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

use super::options::JitOptions;

/// The random number generator of a program's machine code, and how it is used.
#[derive(Debug)]
pub(super) struct HardeningRng<'o> {
    options: &'o JitOptions,
    state: u64,
    until_noop: u32,
}

impl<'o> HardeningRng<'o> {
    /// Creates the generator for a part of a program's code; the parts differ.
    #[allow(clippy::disallowed_methods, reason = "owns the seed of hardening")]
    pub(super) fn new(options: &'o JitOptions, part: usize) -> Self {
        // The standard library seeds its hashers from the operating system.
        let seed = options.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        let state = seed.wrapping_add((part as u64).wrapping_mul(0xa076_1d64_78bd_642f));
        let mut rng = Self { options, state, until_noop: 0 };
        rng.until_noop = rng.distance();
        rng
    }

    /// Returns the next number (splitmix64).
    pub(super) fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns whether a constant must be blinded. Numbers of one byte need not be.
    #[inline(always)]
    pub(super) fn blinds(&self, number: u64) -> bool {
        self.options.blind_constants && number.wrapping_add(0x100) >= 0x200
    }

    /// Returns what the context register is off by.
    pub(super) fn address_key(&mut self) -> i32 {
        if self.options.key_addresses {
            // Small enough for 32-bit displacements.
            (self.number() >> 34) as i32 - (1 << 29)
        } else {
            0
        }
    }

    /// Returns the number of bytes before the code.
    pub(super) fn padding(&mut self) -> u64 {
        if self.options.pad_start { self.number() % 256 } else { 0 }
    }

    /// Returns whether a no-op goes before the next instruction.
    #[inline(always)]
    pub(super) fn wants_noop(&mut self) -> bool {
        self.until_noop -= 1;
        self.until_noop == 0 && self.distance_ends()
    }

    #[cold]
    #[inline(never)]
    fn distance_ends(&mut self) -> bool {
        self.until_noop = self.distance();
        self.options.noop_rate != 0
    }

    /// Returns how many instructions of the program there are until the next no-op, each counted as
    /// two machine instructions.
    #[cold]
    fn distance(&mut self) -> u32 {
        match self.options.noop_rate.div_ceil(2) {
            0 => u32::MAX,
            mean => 1 + (self.number() >> 32) as u32 % (2 * mean),
        }
    }
}
