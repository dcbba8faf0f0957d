//! Frozen machine code.
//!
//! The code of a unit is position-independent: it reaches routines, entries and everything else
//! outside of itself through the context. Its random keys (of the context register and of blinded
//! constants) are stored with it. Joined units that are no longer entered, and the spans of
//! instructions for listings, are not stored.

#![allow(unsafe_code, reason = "thawed code will be executed")]

use core::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{
    buffer::Executable,
    machine_code::{Compiler, MachineCode, SLOTS_MAX, zeroed_entries},
    shape::Shape,
    units::{UNITS_MAX, Unit, Units},
    writer::Routines,
};
use crate::{
    bytes::{Reader, put_bytes, put_u32, put_u64, put_words},
    config::Config,
    error::{JitError, ThawError},
    jit::{options::JitOptions, site::Sites},
    program::Program,
};

const MAGIC: u64 = u64::from_le_bytes(*b"selkie-c");

/// Returns what the code was compiled for besides the program. It must be equal when the code is
/// thawed.
fn purpose(slots: usize, config: &Config, options: &JitOptions, shape: &Shape) -> [u64; 7] {
    let Config { stack_frame_gaps, aligned_memory, metered, .. } = *config;
    let JitOptions { blind_constants, pad_start, key_addresses, noop_rate, .. } = *options;
    let bits =
        [stack_frame_gaps, aligned_memory, metered, blind_constants, pad_start, key_addresses];
    let bits = bits.into_iter().chain(shape.features.bits());
    let bits = bits.fold(0, |bits, bit| bits << 1 | u64::from(bit));
    let depth = config.call_depth_max as u64;
    let calls = options.memory_calls;
    let [a, b, c, d] = calls.ids().map(|id| id.map_or(u64::from(u32::MAX), |id| id.0.into()));
    [
        // Code with counters needs some when it is thawed.
        slots as u64 | u64::from(options.counters.is_some()) << 40,
        depth,
        config.stack_frame_bytes,
        u64::from(noop_rate) << 8 | bits,
        a << 32 | b,
        c << 32 | d,
        u64::from(calls.compute_units) << 16 | u64::from(calls.bytes_max),
    ]
}

impl MachineCode {
    /// Returns the code as bytes: all that is compiled so far. See [`frozen`](crate::frozen).
    #[must_use]
    pub fn freeze(&self) -> Vec<u8> {
        // While this is locked, no unit is added.
        let compiler = self.compiler.lock().unwrap_or_else(PoisonError::into_inner);
        let units: Vec<&Unit> = self.units.iter().collect();
        let mut bases: Vec<(u64, usize)> =
            units.iter().enumerate().map(|(number, unit)| (unit.base() as u64, number)).collect();
        bases.sort_unstable();
        let mut blocks = vec![Vec::new(); units.len()];
        let mut missing = Vec::new();
        for (slot, entry) in (0_u32..).zip(&self.entries) {
            let entry = entry.load(Ordering::Acquire);
            if entry == self.missing() {
                missing.push([slot]);
            } else if entry != 0
                && let Some(found) =
                    bases.partition_point(|(base, _)| *base <= entry).checked_sub(1)
            {
                let (base, number) = bases[found];
                let at = u32::try_from(entry - base).expect("units are short");
                blocks[number].push([slot, at]);
            }
        }
        let mut out = Vec::new();
        put_u64(&mut out, MAGIC);
        for number in purpose(self.entries.len(), &self.config, &self.options, &self.shape) {
            put_u64(&mut out, number);
        }
        put_u32(&mut out, self.shape.key.cast_unsigned());
        put_u64(&mut out, self.shape.blinding_key);
        put_words(&mut out, &[self.routines.words()]);
        put_u32(&mut out, compiler.joins);
        put_u32(&mut out, u32::from(compiler.complete));
        put_u32(&mut out, u32::from(self.runs_left.load(Ordering::Relaxed) >= 0));
        put_words(&mut out, &missing);
        // The first unit contains the routines.
        let is_kept = |number: &usize| *number == 0 || !blocks[*number].is_empty();
        for number in (0..units.len()).filter(is_kept) {
            let unit = units[number];
            put_words(&mut out, &blocks[number]);
            put_words(&mut out, unit.sites.packed());
            put_words(&mut out, &unit.calls);
            put_bytes(&mut out, unit.memory.bytes());
        }
        out
    }

    /// Restores frozen machine code for the program that was frozen with it.
    ///
    /// # Errors
    /// [`ThawError::Malformed`] if the bytes are not frozen machine code, [`ThawError::Other`] if
    /// it was compiled for something else, [`ThawError::Jit`] if this host cannot run machine code.
    ///
    /// # Safety
    /// The code will be executed as it is. `frozen` must be the unchanged result of
    /// [`MachineCode::freeze`], in a process of the same [`BUILD`](crate::frozen::BUILD) on the
    /// same [`processor`](crate::frozen::processor), and the code must have been compiled from this
    /// very program, loaded from the same file against the same environment. The checks of lengths
    /// and numbers only detect accidents: authenticate the bytes with a keyed hash.
    pub unsafe fn thaw(
        frozen: &[u8],
        program: &Program,
        config: &Config,
        options: &JitOptions,
    ) -> Result<Self, ThawError> {
        let mut input = Reader(frozen);
        let malformed = || ThawError::Malformed;
        if input.u64().ok_or_else(malformed)? != MAGIC {
            return Err(ThawError::Malformed);
        }
        let slots = program.slots();
        let mut shape = Shape::new(program, config, options);
        for number in purpose(slots, config, options, &shape) {
            if input.u64().ok_or_else(malformed)? != number || slots > SLOTS_MAX {
                return Err(ThawError::Other);
            }
        }
        shape.key = input.u32().ok_or_else(malformed)?.cast_signed();
        shape.blinding_key = input.u64().ok_or_else(malformed)?;
        let mut code = Self {
            program_id: program.id,
            config: config.clone(),
            options: options.clone(),
            shape,
            routines: Routines::default(),
            base: 0,
            units: Units::new(),
            entries: zeroed_entries(slots),
            compiler: Mutex::new(Compiler::new(program)),
            runs_left: AtomicI64::new(-1),
            unit_bytes: AtomicUsize::new(0),
        };
        code.fill(input)?;
        Ok(code)
    }

    /// Restores the units.
    fn fill(&mut self, mut input: Reader<'_>) -> Result<(), ThawError> {
        let malformed = || ThawError::Malformed;
        let compiler = self.compiler.get_mut().unwrap_or_else(PoisonError::into_inner);
        let [routines] = *input.words().ok_or_else(malformed)? else {
            return Err(ThawError::Malformed);
        };
        self.routines = Routines::of_words(routines);
        compiler.joins = input.u32().ok_or_else(malformed)?;
        compiler.complete = input.u32().ok_or_else(malformed)? != 0;
        if input.u32().ok_or_else(malformed)? != 0 {
            let runs = i64::from(self.options.runs_until_joined) << compiler.joins.min(24);
            self.runs_left = AtomicI64::new(runs);
        }
        let missing: Vec<[u32; 1]> = input.words().ok_or_else(malformed)?;
        while !input.is_empty() && compiler.units < UNITS_MAX {
            thaw_unit(&self.units, &mut self.entries, compiler, &mut input)?;
        }
        *self.unit_bytes.get_mut() = self.units.iter().map(Unit::memory_bytes).sum();
        let first = self.units.first().ok_or_else(malformed)?;
        let code_bytes = first.memory.bytes().len();
        if !input.is_empty() || routines.iter().any(|at| *at as usize >= code_bytes) {
            return Err(ThawError::Malformed);
        }
        self.base = first.base();
        let missing_at = self.missing();
        for [slot] in missing {
            let entry = self.entries.get_mut(slot as usize).ok_or_else(malformed)?;
            *entry.get_mut() = missing_at;
        }
        Ok(())
    }
}

/// Restores the next unit.
fn thaw_unit(
    units: &Units,
    entries: &mut [AtomicU64],
    compiler: &mut Compiler,
    input: &mut Reader<'_>,
) -> Result<(), ThawError> {
    let malformed = || ThawError::Malformed;
    let blocks: Vec<[u32; 2]> = input.words().ok_or_else(malformed)?;
    let sites = input.words().ok_or_else(malformed)?;
    let calls = input.words().ok_or_else(malformed)?;
    let bytes = input.bytes().ok_or_else(malformed)?;
    let unit = Unit {
        sites: Sites::of_packed(sites, bytes.len()).ok_or_else(malformed)?,
        calls,
        spans: Vec::new(),
        memory: Executable::new(bytes, &mut compiler.pages)
            .map_err(|error| ThawError::Jit(JitError::Memory(error)))?,
    };
    let base = units.set(compiler.units, unit) as u64;
    for [slot, at] in blocks {
        let entry = entries.get_mut(slot as usize).ok_or_else(malformed)?;
        if at as usize >= bytes.len() {
            return Err(ThawError::Malformed);
        }
        *entry.get_mut() = base + u64::from(at);
        compiler.scope.set_compiled(slot);
    }
    compiler.units += 1;
    Ok(())
}
