//! The JIT: programs as machine code.
//!
//! ```text
//! Program ── plan ──> blocks, groups ── lower ──> operations ── x64 ──> MachineCode
//!                                                                        │ entry: in, out, back
//!                                                          the interpreter, for all but the usual
//! ```
//!
//! | module | what it owns |
//! |---|---|
//! | `plan` | what is straight code, and which accesses are checked together |
//! | `lower` | instructions as operations of whichever processor |
//! | `x64` | operations as instructions of x86-64, and the routines that all code shares |
//! | `site` | what is known about the places where machine code calls something |
//! | `entry` | the way in, the ways out to the interpreter and to syscalls |
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
mod harden;
mod lower;
mod plan;
mod site;
mod windows;
#[cfg(target_arch = "x86_64")]
mod x64;

use core::{fmt, ops::Range};
use std::{panic::resume_unwind, thread};

pub(crate) use self::windows::{Near, Windows};
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
    /// Threads that compile large programs; 1 compiles on the caller's alone.
    pub threads: usize,
    /// Keep what [`MachineCode::spans`] tells.
    pub spans: bool,
    /// Seeds all that is random; `None` asks the operating system.
    pub seed: Option<u64>,
}

impl Default for JitOptions {
    fn default() -> Self {
        Self {
            blind_constants: true,
            noop_rate: 256,
            pad_start: true,
            key_addresses: true,
            threads: 1,
            spans: false,
            seed: None,
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

/// A program's machine code. It can be run by many threads at once.
#[derive(Debug)]
pub struct MachineCode {
    #[cfg(target_arch = "x86_64")]
    memory: buffer::Executable,
    #[cfg(target_arch = "x86_64")]
    routines: x64::Routines,
    program_id: u64,
    config: Config,
    sites: site::Sites,
    calls: Vec<(u32, u32)>,
    entries: Vec<u32>,
    marks: Vec<(u32, u32, bool)>,
    context_key: i32,
    blinding_key: u64,
    frame_step: u64,
    fixed_frames: bool,
    aligned: bool,
    gaps: bool,
    pext: bool,
    metered: bool,
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

    /// Compiles a program for machines of a configuration.
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
            let survey = plan::Survey::new(program);
            let keys = x64::Keys::new(options);
            let write = |part: usize, range: Range<usize>| {
                let slots = range.len();
                let mut writer = x64::Writer::new(program, config, options, keys, part, slots);
                lower::lower(program, config, &survey, range, &mut writer);
                writer.flush_cold();
                writer
            };
            let mut parts = parts(program.cells.len(), options.threads).into_iter();
            let first = parts.next().unwrap_or_default();
            let mut writer = thread::scope(|scope| {
                let parts: Vec<_> = (1..)
                    .zip(parts)
                    .map(|(part, range)| scope.spawn(move || write(part, range)))
                    .collect();
                let mut writer = write(0, first);
                for part in parts {
                    match part.join() {
                        Ok(part) => writer.append(part),
                        Err(panic) => resume_unwind(panic),
                    }
                }
                writer
            });
            let memory = buffer::Executable::new(writer.finish()).map_err(JitError::Memory)?;
            Ok(writer.into_code(memory, program, config))
        }
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

    /// The code.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        #[cfg(target_arch = "x86_64")]
        return self.memory.bytes();
        #[cfg(not(target_arch = "x86_64"))]
        &[]
    }

    /// Where the code of each instruction is, in the order of the code.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let len = self.bytes().len();
        let ends = self.marks.iter().skip(1).map(|(start, ..)| *start as usize).chain([len]);
        let spans = self.marks.iter().zip(ends).map(|(&(start, slot, cold), end)| Span {
            start: start as usize,
            end,
            slot: (slot != SHARED).then_some(slot as usize),
            cold,
        });
        spans.filter(|span| span.start < span.end).collect()
    }
}

/// Slots that a thread writes at least.
#[cfg(target_arch = "x86_64")]
const PART_SLOTS_MIN: usize = 4096;

/// What each of some threads writes of a program.
#[cfg(target_arch = "x86_64")]
fn parts(slots: usize, threads: usize) -> Vec<Range<usize>> {
    let count = threads.min(slots / PART_SLOTS_MIN).max(1);
    (0..count).map(|part| slots * part / count..slots * (part + 1) / count).collect()
}

/// Stands for the slot of code that all instructions share.
const SHARED: u32 = u32::MAX;
