//! Register traces as files, as agave's `SBF_TRACE_DIR` writes them: tools that read those read ours.
//!
//! ```text
//! DIR/0123456789abcdef.regs         for each step r0 to r10 and the slot: 12 words of 64 bits
//! DIR/0123456789abcdef.insns        for each step the slot's 8 bytes
//! DIR/0123456789abcdef.program_id   the address, without a newline
//! DIR/0123456789abcdef.exec.sha256  the hash of the ELF file
//! DIR/program_ids.map               a line `address=hash` for each program
//! ```
//!
//! Names are the first 16 digits of the SHA-256 of the registers, so equal runs share their files.

use core::{fmt, ops::ControlFlow};
use std::collections::BTreeMap;

use selkie::{InstructionError, InvokeContext, Pubkey};
use selkie_isa::layout::SLOT_BYTES;
use selkie_replay::{Moment, Timeline, Visitor};

use crate::{symbolize::Programs, text::hash};

/// The words of a step: r0 to r10 and the slot.
pub const STEP_WORDS: usize = 12;
const STEP_BYTES: usize = STEP_WORDS * 8;

/// The registers of an invocation.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RegisterTrace {
    /// The program.
    pub program: Pubkey,
    /// r0 to r10 and the slot, before each step.
    pub steps: Vec<[u64; STEP_WORDS]>,
}

/// Register files that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// The file has not a whole number of steps; its length in bytes.
    Length(usize),
    /// The text is not an address.
    Address(String),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => {
                write!(f, "not a register trace: {bytes} bytes are not a multiple of {STEP_BYTES}")
            }
            Self::Address(text) => write!(f, "`{text}` is not the address of a program"),
        }
    }
}

impl core::error::Error for TraceError {}

/// Returns the registers of each invocation that executed instructions, innermost first, in the order
/// in which they ended.
#[must_use]
pub fn register_traces(timeline: &Timeline) -> Vec<RegisterTrace> {
    let mut collector = Collector::default();
    timeline.visit(&mut collector);
    collector.ended
}

/// Returns names and contents of the files of a transaction.
#[must_use]
pub fn files(timeline: &Timeline, programs: &mut Programs) -> BTreeMap<String, Vec<u8>> {
    programs.add(timeline);
    let mut files = BTreeMap::new();
    let mut hashes: BTreeMap<Pubkey, String> = BTreeMap::new();
    for trace in register_traces(timeline) {
        let registers = trace.to_bytes();
        let name = format!("{:.16}", hash(&registers));
        let symbols = programs.get(&trace.program);
        let text = symbols.map_or(&[][..], |it| it.view.program.executable().text());
        files.insert(format!("{name}.insns"), trace.instructions(text));
        files.insert(format!("{name}.regs"), registers);
        files.insert(format!("{name}.program_id"), trace.program.to_string().into_bytes());
        let elf = hashes.entry(trace.program);
        let elf = elf.or_insert_with(|| symbols.map_or_else(String::new, |it| hash(&it.view.elf)));
        files.insert(format!("{name}.exec.sha256"), elf.clone().into_bytes());
    }
    let map: String = hashes.iter().map(|(id, hash)| format!("{id}={hash}\n")).collect();
    files.insert("program_ids.map".to_owned(), map.into_bytes());
    files
}

impl RegisterTrace {
    /// Reads a pair of files: `.regs` and `.program_id`.
    ///
    /// # Errors
    /// If one of them is malformed.
    pub fn read(registers: &[u8], program: &str) -> Result<Self, TraceError> {
        let (steps, rest) = registers.as_chunks::<STEP_BYTES>();
        if !rest.is_empty() {
            return Err(TraceError::Length(registers.len()));
        }
        let program = program.trim();
        let word = |step: &[u8; STEP_BYTES], index: usize| {
            let (words, _) = step.as_chunks::<8>();
            u64::from_le_bytes(words[index])
        };
        Ok(Self {
            program: program.parse().map_err(|_| TraceError::Address(program.to_owned()))?,
            steps: steps.iter().map(|it| core::array::from_fn(|at| word(it, at))).collect(),
        })
    }

    /// Returns the contents of the `.regs` file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Returns the contents of the `.insns` file.
    fn instructions(&self, text: &[u8]) -> Vec<u8> {
        let slot = |pc: u64| {
            let start = usize::try_from(pc).ok()?.checked_mul(SLOT_BYTES)?;
            text.get(start..)?.first_chunk::<SLOT_BYTES>().copied()
        };
        let pcs = self.steps.iter().map(|step| step[STEP_WORDS - 1]);
        pcs.flat_map(|pc| slot(pc).unwrap_or_default()).collect()
    }
}

#[derive(Default)]
struct Collector {
    active: Vec<RegisterTrace>,
    ended: Vec<RegisterTrace>,
}

impl Visitor for Collector {
    fn enter(&mut self, _: usize, context: &InvokeContext<'_>) {
        let program = context.instruction().program_id;
        self.active.push(RegisterTrace { program, steps: Vec::new() });
    }

    fn leave(&mut self, _: usize, _: &InvokeContext<'_>, _: &Result<(), InstructionError>) {
        self.ended.extend(self.active.pop().filter(|trace| !trace.steps.is_empty()));
    }

    fn step(&mut self, moment: &mut Moment<'_, '_, '_>) -> ControlFlow<()> {
        if let Some(trace) = self.active.last_mut() {
            let mut step = [0; STEP_WORDS];
            step[..STEP_WORDS - 1].copy_from_slice(moment.registers());
            step[STEP_WORDS - 1] = moment.pc() as u64;
            trace.steps.push(step);
        }
        ControlFlow::Continue(())
    }
}
