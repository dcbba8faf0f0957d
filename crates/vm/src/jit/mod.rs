//! The JIT: programs as machine code.
//!
//! ```text
//! Program ── scope ──> a unit ── plan ──> blocks, groups ── lower ──> operations ── x64 ──> Unit
//!              ╰──── where control comes for the first time <──── entry: in, out, back ─────╯
//!                                                                   │
//!                                                      the interpreter, for all but the usual
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | `scope` | what is compiled at a time, and what functions overwrite |
//! | `plan` | what is straight code, and which accesses are checked together |
//! | `lower` | instructions as operations of whichever processor |
//! | `x64` | operations as instructions of x86-64, and the routines that all code shares |
//! | `site` | what is known about the places where machine code calls something |
//! | `units` | what is compiled so far |
//! | `entry` | the way in, the ways out to the interpreter and to syscalls |
//! | `frozen` | code as bytes that can be kept |
//! | `harden` | what is random about the code |
//! | `buffer` | pages that are written or executed, never both |
//!
//! What a change must keep: machine code does nothing that the interpreter would not have done. It
//! charges a block before it starts it, and leaves *before* anything out of the ordinary, so that
//! the interpreter can do it instead.

#[cfg(target_arch = "x86_64")]
mod buffer;
#[cfg(target_arch = "x86_64")]
mod entry;
#[cfg(target_arch = "x86_64")]
mod frozen;
mod harden;
mod lower;
mod plan;
mod scope;
mod site;
#[cfg(target_arch = "x86_64")]
mod units;
mod windows;
#[cfg(target_arch = "x86_64")]
mod x64;

use core::fmt;
#[cfg(target_arch = "x86_64")]
use core::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::io;
#[cfg(target_arch = "x86_64")]
use std::sync::{Mutex, PoisonError};

#[cfg(target_arch = "x86_64")]
use self::scope::Want;
pub(crate) use self::windows::Reach;
use selkie_elf::SyscallId;

use crate::{
    config::Config,
    host::Host,
    interp::{self, Outcome, run},
    machine::Machine,
    program::Program,
};

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
    /// Keep what [`MachineCode::spans`] tells.
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
/// before, an overlap that matters) nothing has happened, and [`Host::syscall`] is called as ever.
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
    fn ids(&self) -> [Option<SyscallId>; 4] {
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

/// Why there is no machine code.
#[derive(Debug)]
pub enum JitError {
    /// There is no back end for this kind of processor or operating system.
    NoBackEnd,
    /// The operating system gives no memory that can be executed.
    Memory(std::io::Error),
}

impl fmt::Display for JitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBackEnd => f.write_str("the JIT has no back end for this host"),
            Self::Memory(error) => write!(f, "no executable memory: {error}"),
        }
    }
}

impl core::error::Error for JitError {}

/// A program's machine code. It can be run by many threads at once; what they call for the first
/// time is compiled meanwhile.
#[derive(Debug)]
pub struct MachineCode {
    program_id: u64,
    config: Config,
    options: JitOptions,
    #[cfg(target_arch = "x86_64")]
    shape: x64::Shape,
    #[cfg(target_arch = "x86_64")]
    routines: x64::Routines,
    /// The address of the first unit, which has the routines.
    base: usize,
    #[cfg(target_arch = "x86_64")]
    units: units::Units,
    /// By slot, the address of the code that starts there; of the routine `missing` if it is only
    /// known that something calls it, and 0 if nothing is known.
    #[cfg(target_arch = "x86_64")]
    entries: Box<[AtomicU64]>,
    #[cfg(target_arch = "x86_64")]
    compiler: Mutex<Compiler>,
    /// Runs until units are joined; negative if there is nothing to join.
    #[cfg(target_arch = "x86_64")]
    runs_left: AtomicI64,
    /// Bytes that the units take.
    #[cfg(target_arch = "x86_64")]
    unit_bytes: AtomicUsize,
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
struct Compiler {
    scope: scope::Scope,
    effects: scope::Effects,
    /// All 0 between units; none until there is a unit to compile, and once there is no more.
    labels: Vec<u32>,
    units: usize,
    /// Slots of all units.
    slots: u64,
    joins: u32,
    /// Whether all that may be executed was compiled.
    complete: bool,
}

#[cfg(target_arch = "x86_64")]
impl Compiler {
    fn new(program: &Program) -> Self {
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
                entries: entry::table(slots),
                compiler: Mutex::new(Compiler::new(program)),
                runs_left: AtomicI64::new(-1),
                unit_bytes: AtomicUsize::new(0),
            };
            let pc = program.executable().entry_pc() as usize;
            let want = units::want(0, pc, options);
            let mut compiler = code.compiler.lock().unwrap_or_else(PoisonError::into_inner);
            let first = code.add_unit(&mut compiler, program, want)?;
            drop(compiler);
            (code.base, code.routines) = first;
            Ok(code)
        }
    }

    /// The address of the code that starts at a slot, if there is any.
    #[cfg(target_arch = "x86_64")]
    fn entry(&self, pc: usize) -> Option<u64> {
        let entry = self.entries.get(pc)?.load(Ordering::Acquire);
        (entry != 0 && entry != self.missing()).then_some(entry)
    }

    #[cfg(target_arch = "x86_64")]
    fn missing(&self) -> u64 {
        (self.base + self.routines.missing as usize) as u64
    }

    /// The same; it is compiled now if it is not yet. Without memory for it, or with too many
    /// units, there is none.
    #[cfg(target_arch = "x86_64")]
    fn entry_made(&self, program: &Program, pc: usize) -> Option<u64> {
        self.entry(pc).or_else(|| self.compile_at(program, pc))
    }

    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn compile_at(&self, program: &Program, pc: usize) -> Option<u64> {
        let mut compiler = self.compiler.lock().ok()?;
        // Another thread may have been faster.
        if self.entry(pc).is_none() && compiler.units < units::UNITS_MAX && !self.is_full() {
            let want = units::want(compiler.units, pc, &self.options);
            // What fails once is tried no more.
            if self.add_unit(&mut compiler, program, want).is_err() {
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
            for want in [Want::Everything, Want::Compiled] {
                if self.is_full() {
                    return Ok(());
                }
                // A thread that runs the program must find its unit for what is left.
                if compiler.units + 1 >= units::UNITS_MAX {
                    return Err(JitError::Memory(io::ErrorKind::OutOfMemory.into()));
                }
                self.add_unit(&mut compiler, program, want)?;
            }
        }
        Ok(())
    }

    /// Counts runs; joins units when there were enough. The code of the units stays, as it may be
    /// executed meanwhile, but is entered no more.
    #[cfg(target_arch = "x86_64")]
    fn count_run(&self, program: &Program) {
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
            let _ = self.add_unit(&mut compiler, program, Want::Compiled);
        }
    }

    /// Compiles a unit.
    #[cfg(target_arch = "x86_64")]
    fn add_unit(
        &self,
        compiler: &mut Compiler,
        program: &Program,
        want: Want,
    ) -> Result<(usize, x64::Routines), JitError> {
        let Compiler { scope, effects, labels, units, slots, joins, complete } = compiler;
        scope.find(program, want, self.options.unit_slots_max);
        *slots += scope.slots as u64;
        if labels.is_empty() {
            *labels = vec![0; program.slots()];
        }
        let used = self.unit_bytes.load(Ordering::Relaxed);
        let left = self.options.code_bytes_max.saturating_sub(used);
        let mut writer = x64::Writer::new(*units, left, scope, &self.shape, &self.options, labels);
        lower::lower(program, &self.config, scope, effects, &mut writer);
        let x64::Written { unit, routines, blocks, far } =
            writer.finish().map_err(JitError::Memory)?;
        self.unit_bytes.fetch_add(unit.memory_bytes(), Ordering::Relaxed);
        let base = self.units.set(*units, unit);
        let missing =
            if *units == 0 { base as u64 + u64::from(routines.missing) } else { self.missing() };
        // Every time it has to be worth more.
        let runs = i64::from(self.options.runs_until_joined) << (*joins).min(24);
        let is_bit = *units > 0 && matches!(want, Want::Slots(..));
        self.runs_left.store(if is_bit { runs } else { -1 }, Ordering::Relaxed);
        *units += 1;
        if want == Want::Everything {
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

    /// Runs a program from the machine's state to its end, exactly as [`run`] does.
    ///
    /// A machine that the code does not fit (another configuration, call frames that are open
    /// already, a stack of another shape) is run by the interpreter.
    ///
    /// # Panics
    /// If the code was compiled from another program.
    pub fn run<H: Host>(
        &self,
        program: &Program,
        machine: &mut Machine<'_>,
        host: &mut H,
    ) -> Outcome {
        assert_eq!(program.id, self.program_id, "machine code runs its own program");
        #[cfg(target_arch = "x86_64")]
        {
            let budget = machine.meter.remaining();
            if let Some(result) = entry::run(self, program, machine, host) {
                return Outcome { result, consumed: interp::consumed(machine, budget) };
            }
        }
        run(program, machine, host)
    }

    /// Whether the machine is one that the code fits. The interpreter runs others.
    #[must_use]
    pub fn fits(&self, machine: &Machine<'_>) -> bool {
        #[cfg(target_arch = "x86_64")]
        return entry::fits(self, machine);
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = machine;
            false
        }
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
        let marks = self.units.first().map_or(&[][..], |unit| &unit.marks);
        let ends = marks.iter().skip(1).map(|(start, ..)| *start as usize).chain([len]);
        let spans = marks.iter().zip(ends).map(|(&(start, slot, cold), end)| Span {
            start: start as usize,
            end,
            slot: (slot != SHARED).then_some(slot as usize),
            cold,
        });
        spans.filter(|span| span.start < span.end).collect()
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[allow(unsafe_code, missing_docs, reason = "as with a back end, where it is said what they do")]
impl MachineCode {
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
    ) -> Result<Self, crate::ThawError> {
        Err(crate::ThawError::Jit(JitError::NoBackEnd))
    }
}

/// Names what machine code depends on of the processor.
pub(crate) fn processor() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    return match x64::features() {
        (false, _) => "x86-64",
        (true, false) => "x86-64+bmi2",
        (true, true) => "x86-64+bmi2+pext",
    };
    #[cfg(not(target_arch = "x86_64"))]
    "none"
}

/// Displacements of 32 bits reach all entries.
#[cfg(target_arch = "x86_64")]
const SLOTS_MAX: usize = 1 << 27;

/// Stands for the slot of code that all instructions share.
const SHARED: u32 = u32::MAX;
