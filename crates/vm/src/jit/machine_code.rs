//! A program's machine code: compiled unit by unit, when control first comes to them.

#![allow(unsafe_code, reason = "a table of zeroes; a stub that is unsafe to call")]

#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
#[cfg(target_arch = "x86_64")]
use std::{
    io,
    sync::{Mutex, PoisonError},
};

use super::options::JitOptions;
#[cfg(target_arch = "x86_64")]
use super::{
    lower,
    scope::{self, Selection},
    units::{self, SHARED},
    x64,
};
use crate::{config::Config, error::JitError, program::Program};
#[cfg(not(target_arch = "x86_64"))]
use crate::{
    error::ThawError,
    host::Host,
    interp::{Outcome, run},
    machine::Machine,
};

/// A program's machine code. It can be run by many threads at once; what they call for the first
/// time is compiled meanwhile.
#[derive(Debug)]
pub struct MachineCode {
    pub(super) program_id: u64,
    pub(super) config: Config,
    pub(super) options: JitOptions,
    #[cfg(target_arch = "x86_64")]
    pub(super) shape: x64::Shape,
    #[cfg(target_arch = "x86_64")]
    pub(super) routines: x64::Routines,
    /// The address of the first unit, which has the routines.
    pub(super) base: usize,
    #[cfg(target_arch = "x86_64")]
    pub(super) units: units::Units,
    /// By slot, the address of the code that starts there; of the routine `missing` if it is only
    /// known that something calls it, and 0 if nothing is known.
    #[cfg(target_arch = "x86_64")]
    pub(super) entries: Box<[AtomicU64]>,
    #[cfg(target_arch = "x86_64")]
    pub(super) compiler: Mutex<Compiler>,
    /// Runs until units are joined; negative if there is nothing to join.
    #[cfg(target_arch = "x86_64")]
    pub(super) runs_left: AtomicI64,
    /// Bytes that the units take.
    #[cfg(target_arch = "x86_64")]
    pub(super) unit_bytes: AtomicUsize,
}

/// What compiling a program has taken so far. None of it depends on how long that took.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct JitWork {
    /// Stretches of code that were compiled.
    pub units: usize,
    /// Slots in all of them; those that were compiled again count again.
    pub slots: u64,
    /// Slots that were looked at to find out what functions change.
    pub scanned: u64,
    /// Bytes of machine code and its tables.
    pub bytes: usize,
}

/// What compiling needs besides, one unit at a time.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub(super) struct Compiler {
    pub(super) scope: scope::Scope,
    pub(super) effects: scope::Effects,
    /// All 0 between units; none until there is a unit to compile, and once there is no more.
    pub(super) labels: Vec<u32>,
    pub(super) units: usize,
    /// Slots of all units.
    pub(super) slots: u64,
    pub(super) joins: u32,
    /// Whether all that may be executed was compiled.
    pub(super) complete: bool,
}

#[cfg(target_arch = "x86_64")]
impl Compiler {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            scope: scope::Scope::new(program),
            effects: scope::Effects::default(),
            labels: Vec::new(),
            units: 0,
            slots: 0,
            joins: 0,
            complete: false,
        }
    }
}

/// A stretch of machine code, and what it was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Offset in [`MachineCode::bytes`].
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// The slot of the instruction; `None` for code that all instructions share.
    pub slot: Option<usize>,
    /// Whether this is the part that is out of the way of the usual flow.
    pub cold: bool,
}

impl MachineCode {
    /// Whether this host has a back end.
    pub const SUPPORTED: bool = cfg!(target_arch = "x86_64");

    /// Compiles a program for machines of a configuration: the function that it starts with, or all
    /// of it if that is asked for. Other functions are compiled when they are called.
    ///
    /// # Errors
    /// If this host cannot run machine code.
    pub fn compile(
        program: &Program,
        config: &Config,
        options: &JitOptions,
    ) -> Result<Self, JitError> {
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (program, config, options);
            Err(JitError::NoBackEnd)
        }
        #[cfg(target_arch = "x86_64")]
        {
            let slots = program.slots();
            if slots > SLOTS_MAX {
                return Err(JitError::Memory(io::ErrorKind::FileTooLarge.into()));
            }
            let mut code = Self {
                program_id: program.id,
                config: config.clone(),
                options: options.clone(),
                shape: x64::Shape::new(program, config, options),
                routines: x64::Routines::default(),
                base: 0,
                units: units::Units::new(),
                entries: zeroed_entries(slots),
                compiler: Mutex::new(Compiler::new(program)),
                runs_left: AtomicI64::new(-1),
                unit_bytes: AtomicUsize::new(0),
            };
            let pc = program.executable().entry_pc() as usize;
            let selection = units::selection(0, pc, options);
            let mut compiler = code.compiler.lock().unwrap_or_else(PoisonError::into_inner);
            let first = code.add_unit(&mut compiler, program, selection)?;
            drop(compiler);
            (code.base, code.routines) = first;
            Ok(code)
        }
    }

    /// The address of the code that starts at a slot, if there is any.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn entry(&self, pc: usize) -> Option<u64> {
        let entry = self.entries.get(pc)?.load(Ordering::Acquire);
        (entry != 0 && entry != self.missing()).then_some(entry)
    }

    #[cfg(target_arch = "x86_64")]
    pub(super) fn missing(&self) -> u64 {
        (self.base + self.routines.missing as usize) as u64
    }

    /// The same; it is compiled now if it is not yet. Without memory for it, or with too many
    /// units, there is none.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn entry_made(&self, program: &Program, pc: usize) -> Option<u64> {
        self.entry(pc).or_else(|| self.compile_at(program, pc))
    }

    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn compile_at(&self, program: &Program, pc: usize) -> Option<u64> {
        let mut compiler = self.compiler.lock().ok()?;
        // Another thread may have been faster.
        if self.entry(pc).is_none() && compiler.units < units::UNITS_MAX && !self.is_full() {
            let selection = units::selection(compiler.units, pc, &self.options);
            // What fails once is tried no more.
            if self.add_unit(&mut compiler, program, selection).is_err() {
                compiler.units = units::UNITS_MAX;
            }
        }
        self.entry(pc)
    }

    /// Whether the machine code is as large as it may be.
    #[cfg(target_arch = "x86_64")]
    fn is_full(&self) -> bool {
        self.unit_bytes.load(Ordering::Relaxed) >= self.options.code_bytes_max
    }

    /// Bytes of memory that the machine code takes by now, with its tables.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        #[cfg(target_arch = "x86_64")]
        return self.unit_bytes.load(Ordering::Relaxed)
            + self.entries.len() * (size_of::<AtomicU64>() + size_of::<u32>() + size_of::<u8>());
        #[cfg(not(target_arch = "x86_64"))]
        0
    }

    /// What compiling has taken so far.
    #[must_use]
    pub fn work(&self) -> JitWork {
        #[cfg(target_arch = "x86_64")]
        {
            let compiler = self.compiler.lock().unwrap_or_else(PoisonError::into_inner);
            JitWork {
                units: self.units.iter().count(),
                slots: compiler.slots,
                scanned: compiler.effects.scanned,
                bytes: self.unit_bytes.load(Ordering::Relaxed),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        JitWork::default()
    }

    /// Compiles what is not compiled yet, as far as it can be told what may be executed and as it
    /// may be ([`JitOptions::unit_slots_max`], [`JitOptions::code_bytes_max`]), and
    /// makes one unit of all: for who wants to [`freeze`](MachineCode::freeze) it, so that
    /// nothing is left to be compiled later. The rest is compiled when it is called, as ever.
    ///
    /// # Errors
    /// If there is no memory for it.
    ///
    /// # Panics
    /// If the code was compiled from another program.
    pub fn complete(&self, program: &Program) -> Result<(), JitError> {
        assert_eq!(program.id, self.program_id, "machine code is completed by its own program");
        #[cfg(target_arch = "x86_64")]
        {
            let mut compiler = self.compiler.lock().unwrap_or_else(PoisonError::into_inner);
            if compiler.complete {
                return Ok(());
            }
            for selection in [Selection::Everything, Selection::Compiled] {
                if self.is_full() {
                    return Ok(());
                }
                // A thread that runs the program must find its unit for what is left.
                if compiler.units + 1 >= units::UNITS_MAX {
                    return Err(JitError::Memory(io::ErrorKind::OutOfMemory.into()));
                }
                self.add_unit(&mut compiler, program, selection)?;
            }
        }
        Ok(())
    }

    /// Counts runs; joins units when there were enough. The code of the units stays, as it may be
    /// executed meanwhile, but is entered no more.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn count_run(&self, program: &Program) {
        if self.runs_left.load(Ordering::Relaxed) < 0
            || self.runs_left.fetch_sub(1, Ordering::Relaxed) != 0
        {
            return;
        }
        let Ok(mut compiler) = self.compiler.lock() else { return };
        // The last one is for what is left of the program.
        if compiler.units + 1 < units::UNITS_MAX && !self.is_full() {
            compiler.joins += 1;
            // If this fails, the units are as good as they were.
            let _ = self.add_unit(&mut compiler, program, Selection::Compiled);
        }
    }

    /// Compiles a unit.
    #[cfg(target_arch = "x86_64")]
    fn add_unit(
        &self,
        compiler: &mut Compiler,
        program: &Program,
        selection: Selection,
    ) -> Result<(usize, x64::Routines), JitError> {
        let Compiler { scope, effects, labels, units, slots, joins, complete } = compiler;
        scope.find(program, selection, self.options.unit_slots_max);
        *slots += scope.slots as u64;
        if labels.is_empty() {
            *labels = vec![0; program.slots()];
        }
        let used = self.unit_bytes.load(Ordering::Relaxed);
        let left = self.options.code_bytes_max.saturating_sub(used);
        let mut writer = x64::Writer::new(*units, left, scope, &self.shape, &self.options, labels);
        writer.begin(*units);
        lower::lower(program, &self.config, scope, effects, &mut writer);
        let x64::Written { unit, routines, blocks, far } =
            writer.finish().map_err(JitError::Memory)?;
        self.unit_bytes.fetch_add(unit.memory_bytes(), Ordering::Relaxed);
        let base = self.units.set(*units, unit);
        let missing =
            if *units == 0 { base as u64 + u64::from(routines.missing) } else { self.missing() };
        // Every time it has to be worth more.
        let runs = i64::from(self.options.runs_until_joined) << (*joins).min(24);
        let is_bit = *units > 0 && matches!(selection, Selection::Slots(..));
        self.runs_left.store(if is_bit { runs } else { -1 }, Ordering::Relaxed);
        *units += 1;
        if selection == Selection::Everything {
            *complete = true;
            *labels = Vec::new();
            effects.forget();
        }
        // First of all, since the unit may be executed as soon as one of its blocks is known.
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

    /// The code that [`MachineCode::compile`] made. What was called for the first time since is
    /// elsewhere.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        #[cfg(target_arch = "x86_64")]
        return self.units.first().map_or(&[], |unit| unit.memory.bytes());
        #[cfg(not(target_arch = "x86_64"))]
        &[]
    }

    /// Where in that the code of each instruction is, in the order of the code.
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

#[cfg(not(target_arch = "x86_64"))]
#[allow(missing_docs, reason = "as with a back end, where it is said what they do")]
impl MachineCode {
    pub fn run<H: Host>(
        &self,
        program: &Program,
        machine: &mut Machine<'_>,
        host: &mut H,
    ) -> Outcome {
        run(program, machine, host)
    }

    #[must_use]
    pub fn fits(&self, _: &Machine<'_>) -> bool {
        false
    }

    #[must_use]
    pub fn freeze(&self) -> Vec<u8> {
        Vec::new()
    }

    /// # Safety
    /// There is nothing to keep to.
    pub unsafe fn thaw(
        _: &[u8],
        _: &Program,
        _: &Config,
        _: &JitOptions,
    ) -> Result<Self, ThawError> {
        Err(ThawError::Jit(JitError::NoBackEnd))
    }
}

#[cfg(target_arch = "x86_64")]
/// As many zeros.
pub(super) fn zeroed_entries(len: usize) -> Box<[AtomicU64]> {
    // Zeroed memory is had without touching it.
    let zeros = Box::into_raw(vec![0_u64; len].into_boxed_slice());
    // SAFETY: these are as large and aligned as those on this processor, and any bits are one.
    unsafe { Box::from_raw(zeros as *mut [AtomicU64]) }
}

#[cfg(target_arch = "x86_64")]
/// Displacements of 32 bits reach all entries.
pub(super) const SLOTS_MAX: usize = 1 << 27;
