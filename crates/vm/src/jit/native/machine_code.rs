//! The machine code of a program, compiled unit by unit when control first reaches them.

#![allow(unsafe_code, reason = "makes a table of zeros")]

use core::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::{
    io,
    sync::{Mutex, PoisonError},
};

use super::{
    back_end::Writer,
    buffer::{Pages, page_bytes},
    shape::Shape,
    units::{self, SHARED},
    writer::{Routines, Written},
};
use crate::{
    config::Config,
    error::JitError,
    jit::{
        lower,
        options::JitOptions,
        scope::{self, Selection},
        work::{JitWork, Span},
    },
    program::Program,
};

/// The machine code of a program. Many threads can run it at once, and compile units while others
/// run.
#[derive(Debug)]
pub struct MachineCode {
    pub(super) program_id: u64,
    pub(super) config: Config,
    pub(super) options: JitOptions,
    pub(super) shape: Shape,
    pub(super) routines: Routines,
    /// The address of the first unit, which contains the routines.
    pub(super) base: usize,
    pub(super) units: units::Units,
    /// By slot: the address of the code that starts there, or of the routine `missing` if other
    /// code refers to the slot, or 0.
    pub(super) entries: Box<[AtomicU64]>,
    pub(super) compiler: Mutex<Compiler>,
    /// Runs until units are joined; negative if there is nothing to join.
    pub(super) runs_left: AtomicI64,
    /// Bytes that the units take.
    pub(super) unit_bytes: AtomicUsize,
}

/// The state of the compiler, for one unit at a time.
#[derive(Debug)]
pub(super) struct Compiler {
    pub(super) scope: scope::Scope,
    pub(super) effects: scope::Effects,
    /// All 0 between units; empty before the first and after the last unit.
    pub(super) labels: Vec<u32>,
    pub(super) pages: Pages,
    pub(super) units: usize,
    /// Slots of all units.
    pub(super) slots: u64,
    pub(super) joins: u32,
    /// Whether all code that may be executed was compiled.
    pub(super) complete: bool,
}

impl Compiler {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            scope: scope::Scope::new(program),
            effects: scope::Effects::default(),
            labels: Vec::new(),
            pages: Pages::default(),
            units: 0,
            slots: 0,
            joins: 0,
            complete: false,
        }
    }
}

impl MachineCode {
    /// Whether the JIT has a back end for this host.
    pub const SUPPORTED: bool = true;

    /// Compiles the entry function of a program, or all of it if `options` say so, for machines
    /// with this configuration. Other functions are compiled when they are first called.
    ///
    /// # Errors
    /// If this host cannot run machine code.
    pub fn compile(
        program: &Program,
        config: &Config,
        options: &JitOptions,
    ) -> Result<Self, JitError> {
        let slots = program.slots();
        if slots > SLOTS_MAX {
            return Err(JitError::Memory(io::ErrorKind::FileTooLarge.into()));
        }
        let mut code = Self {
            program_id: program.id,
            config: config.clone(),
            options: options.clone(),
            shape: Shape::new(program, config, options),
            routines: Routines::default(),
            base: 0,
            units: units::Units::new(),
            entries: zeroed_entries(slots),
            compiler: Mutex::new(Compiler::new(program)),
            runs_left: AtomicI64::new(-1),
            unit_bytes: AtomicUsize::new(0),
        };
        let pc = program.executable().entry_pc() as usize;
        let selection = units::selection(0, pc, options, page_bytes());
        let mut compiler = code.compiler.lock().unwrap_or_else(PoisonError::into_inner);
        let first = code.add_unit(&mut compiler, program, selection)?;
        drop(compiler);
        (code.base, code.routines) = first;
        Ok(code)
    }

    /// Returns the address of the code that starts at a slot, if it is compiled.
    pub(super) fn entry(&self, pc: usize) -> Option<u64> {
        let entry = self.entries.get(pc)?.load(Ordering::Acquire);
        (entry != 0 && entry != self.missing()).then_some(entry)
    }

    pub(super) fn missing(&self) -> u64 {
        (self.base + self.routines.missing as usize) as u64
    }

    /// Returns the address of the code that starts at a slot, and compiles it if necessary. Returns
    /// `None` if there is no memory for it, or the limits are reached.
    pub(super) fn entry_made(&self, program: &Program, pc: usize) -> Option<u64> {
        self.entry(pc).or_else(|| self.compile_at(program, pc))
    }

    #[cold]
    fn compile_at(&self, program: &Program, pc: usize) -> Option<u64> {
        let mut compiler = self.compiler.lock().ok()?;
        // Another thread may have compiled it.
        if self.entry(pc).is_none() && compiler.units < units::UNITS_MAX && !self.is_full() {
            let selection = units::selection(compiler.units, pc, &self.options, page_bytes());
            // Compilation is not tried again after a failure.
            if self.add_unit(&mut compiler, program, selection).is_err() {
                compiler.units = units::UNITS_MAX;
            }
        }
        self.entry(pc)
    }

    /// Returns whether the machine code has reached its maximum size.
    fn is_full(&self) -> bool {
        self.unit_bytes.load(Ordering::Relaxed) >= self.options.code_bytes_max
    }

    /// Returns how many bytes of memory the machine code takes now, including its tables.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.unit_bytes.load(Ordering::Relaxed)
            + self.entries.len() * (size_of::<AtomicU64>() + size_of::<u32>() + size_of::<u8>())
    }

    /// Returns what compiling has taken so far.
    #[must_use]
    pub fn work(&self) -> JitWork {
        let compiler = self.compiler.lock().unwrap_or_else(PoisonError::into_inner);
        JitWork {
            units: self.units.iter().count(),
            slots: compiler.slots,
            scanned: compiler.effects.scanned,
            bytes: self.unit_bytes.load(Ordering::Relaxed),
        }
    }

    /// Compiles all code that may be executed, as far as that is known and
    /// [`JitOptions::unit_slots_max`] and [`JitOptions::code_bytes_max`] allow, and joins it into
    /// one unit. For callers that [`freeze`](MachineCode::freeze) the code. Code that is still
    /// missing then is compiled when it is first called.
    ///
    /// # Errors
    /// If there is no memory for it.
    ///
    /// # Panics
    /// If the code was compiled from another program.
    pub fn complete(&self, program: &Program) -> Result<(), JitError> {
        assert_eq!(program.id, self.program_id, "machine code is completed by its own program");
        let mut compiler = self.compiler.lock().unwrap_or_else(PoisonError::into_inner);
        if compiler.complete {
            return Ok(());
        }
        for selection in [Selection::Everything, Selection::Compiled] {
            if self.is_full() {
                return Ok(());
            }
            // One unit is left for threads that run the program.
            if compiler.units + 1 >= units::UNITS_MAX {
                return Err(JitError::Memory(io::ErrorKind::OutOfMemory.into()));
            }
            self.add_unit(&mut compiler, program, selection)?;
        }
        Ok(())
    }

    /// Counts a run, and joins the units after enough of them. The old units stay, since they may
    /// be running, but are not entered again.
    pub(super) fn count_run(&self, program: &Program) {
        if self.runs_left.load(Ordering::Relaxed) < 0
            || self.runs_left.fetch_sub(1, Ordering::Relaxed) != 0
        {
            return;
        }
        let Ok(mut compiler) = self.compiler.lock() else { return };
        // The last unit is for the rest of the program.
        if compiler.units + 1 < units::UNITS_MAX && !self.is_full() {
            compiler.joins += 1;
            // If this fails, the old units remain.
            let _ = self.add_unit(&mut compiler, program, Selection::Compiled);
        }
    }

    /// Compiles a unit.
    fn add_unit(
        &self,
        compiler: &mut Compiler,
        program: &Program,
        selection: Selection,
    ) -> Result<(usize, Routines), JitError> {
        let Compiler { scope, effects, labels, pages, units, slots, joins, complete } = compiler;
        scope.find(program, selection, self.options.unit_slots_max);
        *slots += scope.slots as u64;
        if labels.is_empty() {
            *labels = vec![0; program.slots()];
        }
        let used = self.unit_bytes.load(Ordering::Relaxed);
        let left = self.options.code_bytes_max.saturating_sub(used);
        let mut writer = Writer::new(*units, left, scope, &self.shape, &self.options, labels);
        writer.begin(*units);
        lower::lower(program, &self.config, scope, effects, &mut writer);
        let Written { unit, routines, blocks, far } =
            writer.finish(pages).map_err(JitError::Memory)?;
        self.unit_bytes.fetch_add(unit.memory_bytes(), Ordering::Relaxed);
        let base = self.units.set(*units, unit);
        let missing =
            if *units == 0 { base as u64 + u64::from(routines.missing) } else { self.missing() };
        // Joining gets rarer each time.
        let runs = i64::from(self.options.runs_until_joined) << (*joins).min(24);
        let is_bit = *units > 0 && matches!(selection, Selection::Slots(..));
        self.runs_left.store(if is_bit { runs } else { -1 }, Ordering::Relaxed);
        *units += 1;
        if selection == Selection::Everything {
            *complete = true;
            *labels = Vec::new();
            effects.forget();
        }
        // This comes first, since the unit may be executed as soon as one of its blocks is known.
        for slot in far {
            let (first, later) = (Ordering::Release, Ordering::Relaxed);
            let _ = self.entries[slot as usize].compare_exchange(0, missing, first, later);
        }
        for (slot, at) in blocks {
            scope.set_compiled(slot);
            self.entries[slot as usize].store(base as u64 + u64::from(at), Ordering::Release);
        }
        Ok((base, routines))
    }

    /// Returns the code of the first unit, the one that [`MachineCode::compile`] made.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.units.first().map_or(&[], |unit| unit.memory.bytes())
    }

    /// Returns the spans of that code by instruction, in the order of the code. Empty unless
    /// [`JitOptions::spans`] was set.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let len = self.bytes().len();
        let starts = self.units.first().map_or(&[][..], |unit| &unit.spans);
        let ends = starts.iter().skip(1).map(|(start, ..)| *start as usize).chain([len]);
        let spans = starts.iter().zip(ends).map(|(&(start, slot, cold), end)| Span {
            start: start as usize,
            end,
            slot: (slot != SHARED).then_some(slot as usize),
            cold,
        });
        spans.filter(|span| span.start < span.end).collect()
    }
}

/// Returns a table of zeros.
pub(super) fn zeroed_entries(len: usize) -> Box<[AtomicU64]> {
    // `vec![0; n]` uses `calloc`: pages stay untouched until they are written.
    let zeros = Box::into_raw(vec![0_u64; len].into_boxed_slice());
    // SAFETY: `AtomicU64` has the size and alignment of `u64` on this processor, and any bits are
    // valid.
    unsafe { Box::from_raw(zeros as *mut [AtomicU64]) }
}

/// The most slots: machine code of all processors reaches their entries.
pub(super) const SLOTS_MAX: usize = 1 << 27;
