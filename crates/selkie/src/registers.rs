//! Register traces as files, as agave's `SBF_TRACE_DIR` writes them: tools that read those read ours.
//!
//! ```text
//! DIR/0123456789abcdef.regs         for each step r0 to r10 and the slot: 12 words of 64 bits
//! DIR/0123456789abcdef.insns        for each step the slot's 8 bytes
//! DIR/0123456789abcdef.program_id   the address, without a newline
//! DIR/0123456789abcdef.exec.sha256  the hash of the ELF file
//! ```
//!
//! Names are the first 16 digits of the SHA-256 of the registers, so equal runs share their files.
//! (`litesvm` 0.18.1, `src/register_tracing.rs`; `mollusk-svm` 0.16.4, the same file.)
//!
//! With the environment variable `SBF_TRACE_DIR` a chain writes the files of each transaction, and of what
//! is processed outside of one, when it has ended, also if it failed. `SBF_TRACE_FILTER` chooses among
//! the invocations, in LiteSVM's language: `txsig == A && (program_id == B || program_id != C)`. With
//! `SBF_TRACE_DISASSEMBLE` there is a text besides, `DIR/0123456789abcdef.trace`: number, registers, slot and
//! instruction of each step.
//!
//! [`Svm::number_registers`](crate::Svm::number_registers) asks for other names: `0003__tx2.regs` and so on, which
//! Anchor's command reads (`anchor-cli` 1.2.2, `debugger` and `flamegraph/trace.rs`).
//!
//! With `SBF_DEBUG_PORT`, or `VM_DEBUG_PORT`, every program of a transaction that passes the filter waits on that
//! port for a debugger. `DIR/program_ids.map` then has a line `address=hash` for each of its programs.

use core::fmt;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use selkie_inspect::{Graph, Labels, NamedProgram, Style, instruction_text};
use selkie_isa::layout::SLOT_BYTES;
use selkie_svm::{AccountStore, InvokeContext, Machine, program_cache::ProgramFile};
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::{
    debug_port::{Debugger, Image},
    recording::{hash, replace},
    register_filter::RegisterFilter,
    register_numbers::Numbers,
    trap,
};

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

impl RegisterTrace {
    /// Creates the trace of an invocation that begins.
    #[must_use]
    pub fn new(program: Pubkey) -> Self {
        Self { program, steps: Vec::new() }
    }

    /// Adds a step: the registers before it, and its slot.
    pub fn add(&mut self, registers: &[u64; STEP_WORDS - 1], pc: usize) {
        let mut step = [0; STEP_WORDS];
        step[..STEP_WORDS - 1].copy_from_slice(registers);
        step[STEP_WORDS - 1] = pc as u64;
        self.steps.push(step);
    }

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

    /// Returns names and contents of the files. `text` are the program's instructions, and `elf_hash` is the
    /// SHA-256 of its ELF file in hexadecimal.
    #[must_use]
    pub fn files(&self, text: &[u8], elf_hash: &str) -> [(String, Vec<u8>); 4] {
        let registers = self.registers();
        let name = format!("{:.16}", hash(&registers));
        self.named_files(&name, registers, text, elf_hash)
    }

    fn named_files(
        &self,
        name: &str,
        registers: Vec<u8>,
        text: &[u8],
        elf_hash: &str,
    ) -> [(String, Vec<u8>); 4] {
        [
            (format!("{name}.regs"), registers),
            (format!("{name}.insns"), self.instructions(text)),
            (format!("{name}.program_id"), self.program.to_string().into_bytes()),
            (format!("{name}.exec.sha256"), elf_hash.as_bytes().to_vec()),
        ]
    }

    fn registers(&self) -> Vec<u8> {
        self.steps.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn instructions(&self, text: &[u8]) -> Vec<u8> {
        let slot = |pc: u64| {
            let start = usize::try_from(pc).ok()?.checked_mul(SLOT_BYTES)?;
            text.get(start..)?.first_chunk::<SLOT_BYTES>().copied()
        };
        let pcs = self.steps.iter().map(|step| step[STEP_WORDS - 1]);
        pcs.flat_map(|pc| slot(pc).unwrap_or_default()).collect()
    }
}

/// The registers of a transaction that is being processed.
#[derive(Default, Debug)]
pub(crate) struct Traces {
    active: Vec<RegisterTrace>,
    ended: Vec<RegisterTrace>,
}

impl Traces {
    pub(crate) fn enter(&mut self, context: &InvokeContext<'_>) {
        self.active.push(RegisterTrace::new(context.instruction().program_id));
    }

    pub(crate) fn step(&mut self, machine: &Machine<'_>) {
        if let Some(trace) = self.active.last_mut() {
            trace.add(machine.registers(), machine.pc());
        }
    }

    pub(crate) fn leave(&mut self) {
        self.ended.extend(self.active.pop().filter(|trace| !trace.steps.is_empty()));
    }
}

/// Where the files of a chain go, and which; and the port on which its programs wait for a debugger.
#[derive(Debug)]
pub(crate) struct RegisterFiles {
    folder: Option<PathBuf>,
    filter: RegisterFilter,
    disassembles: bool,
    port: Option<u16>,
    /// `None` if names follow from contents.
    numbers: Option<Numbers>,
}

/// Where agave's tools write without `SBF_TRACE_DIR`.
const FOLDER: &str = "target/sbf/trace";

impl RegisterFiles {
    /// Returns what the environment asks for. The variables are read once.
    #[allow(clippy::disallowed_methods, reason = "the variables are documented")]
    pub(crate) fn of_environment() -> Option<Arc<Self>> {
        static FILES: OnceLock<Option<Arc<RegisterFiles>>> = OnceLock::new();
        let files = FILES.get_or_init(|| {
            let folder = std::env::var_os("SBF_TRACE_DIR").filter(|folder| !folder.is_empty());
            let port = |name: &str| {
                let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
                match text.parse() {
                    Ok(port) => Some(port),
                    Err(error) => panic!("{name}: `{text}` is not a port: {error}"),
                }
            };
            let port = port("SBF_DEBUG_PORT").or_else(|| port("VM_DEBUG_PORT"));
            if folder.is_none() && port.is_none() {
                return None;
            }
            Some(Arc::new(Self { port, ..Self::of_folder(folder.map(PathBuf::from)) }))
        });
        files.clone()
    }

    /// Returns what is written where the environment need not ask: to its folder, or to agave's.
    pub(crate) fn always() -> Arc<Self> {
        let asked = Self::of_environment();
        match asked {
            Some(files) if files.has_folder() => files,
            other => Arc::new(Self {
                port: other.and_then(|files| files.port),
                ..Self::of_folder(Some(PathBuf::from(FOLDER)))
            }),
        }
    }

    /// Returns what is written to a folder.
    #[allow(clippy::disallowed_methods, reason = "as above")]
    fn of_folder(folder: Option<PathBuf>) -> Self {
        let filter = std::env::var("SBF_TRACE_FILTER").unwrap_or_default();
        let filter = RegisterFilter::parse(&filter);
        let disassembles = std::env::var_os("SBF_TRACE_DISASSEMBLE").is_some();
        Self { folder, filter, disassembles, port: None, numbers: None }
    }

    /// Returns what is written to a folder whose files are numbered. Without a port, it is the environment's.
    pub(crate) fn numbered(folder: PathBuf, port: Option<u16>) -> Arc<Self> {
        let port = port.or_else(|| Self::of_environment()?.port);
        let numbers = Some(Numbers::default());
        Arc::new(Self { port, numbers, ..Self::of_folder(Some(folder)) })
    }

    /// Returns whether registers are written.
    pub(crate) fn has_folder(&self) -> bool {
        self.folder.is_some()
    }

    /// Returns the debuggers of a transaction for whose programs there is to be one: those at its addresses.
    ///
    /// # Panics
    /// If the folder cannot be written.
    pub(crate) fn debugger(
        &self,
        signatures: impl FnOnce() -> Vec<Signature>,
        keys: impl Iterator<Item = Pubkey>,
        accounts: &impl AccountStore,
    ) -> Option<Box<Debugger>> {
        let port = self.port?;
        let (mut images, mut map) = (BTreeMap::new(), String::new());
        for key in keys {
            let account = accounts.account(&key);
            let file = account.and_then(|account| ProgramFile::find(&account, accounts));
            let Some(file) = file else { continue };
            if let Some(image) = Image::of(file.bytes()) {
                map.push_str(&format!("{key}={}\n", hash(file.bytes())));
                images.insert(key, image);
            }
        }
        let signatures: Vec<String> = signatures().iter().map(ToString::to_string).collect();
        let programs: Vec<String> = images.keys().map(ToString::to_string).collect();
        if !self.filter.passes(&signatures, &programs) {
            return None;
        }
        if let Some(folder) = &self.folder {
            let written = fs::create_dir_all(folder)
                .and_then(|()| replace(&folder.join("program_ids.map"), map.as_bytes()));
            written.unwrap_or_else(|error| cannot_write(folder, &error));
        }
        Some(Box::new(Debugger::new(port, images)))
    }

    /// Writes the files of a transaction.
    ///
    /// # Panics
    /// If the folder cannot be written: a test suite that was asked to record does not pass without.
    pub(crate) fn write(
        &self,
        traces: &Traces,
        signatures: &[Signature],
        accounts: &impl AccountStore,
    ) {
        let signatures: Vec<String> = signatures.iter().map(ToString::to_string).collect();
        let passes = |trace: &&RegisterTrace| {
            self.filter.passes(&signatures, core::slice::from_ref(&trace.program.to_string()))
        };
        if let Some(folder) = &self.folder {
            let traces: Vec<_> = traces.ended.iter().filter(passes).collect();
            let written = self.write_all(folder, &traces, accounts);
            written.unwrap_or_else(|error| cannot_write(folder, &error));
        }
    }

    fn write_all(
        &self,
        folder: &Path,
        traces: &[&RegisterTrace],
        accounts: &impl AccountStore,
    ) -> io::Result<()> {
        let mut programs = BTreeMap::new();
        fs::create_dir_all(folder)?;
        let names = match &self.numbers {
            Some(numbers) if !traces.is_empty() => numbers.next(folder, traces.len())?,
            _ => Vec::new(),
        };
        let write = if self.numbers.is_some() { replace } else { write_once };
        for (index, trace) in traces.iter().enumerate() {
            let program = programs.entry(trace.program);
            let (program, hash) = program.or_insert_with(|| program_of(&trace.program, accounts));
            let text = program.as_ref().map_or(&[][..], |it| it.executable().text());
            let files = match names.get(index) {
                Some(name) => trace.named_files(name, trace.registers(), text, hash),
                None => trace.files(text, hash),
            };
            if self.disassembles
                && let (Some(program), [(name, _), ..]) = (program, &files)
            {
                let path = folder.join(name).with_extension("trace");
                write(&path, listing(trace, program).as_bytes())?;
            }
            for (name, bytes) in files {
                write(&folder.join(name), &bytes)?;
            }
        }
        Ok(())
    }
}

fn cannot_write(folder: &Path, error: &io::Error) -> ! {
    panic!("cannot write registers to {}: {error}", folder.display())
}

/// Returns a program and the hash of its ELF file; `None` if it cannot be executed.
fn program_of(id: &Pubkey, accounts: &impl AccountStore) -> (Option<NamedProgram>, String) {
    let account = accounts.account(id);
    let file = account.and_then(|account| ProgramFile::find(&account, accounts));
    let elf = file.as_ref().map_or(&[][..], ProgramFile::bytes);
    (trap::open(elf), hash(elf))
}

/// Returns the steps as text: agave's columns, our assembly (`solana-sbpf` 0.26, `static_analysis.rs`).
fn listing(trace: &RegisterTrace, program: &NamedProgram) -> String {
    let graph = Graph::new(program, Style::Selkie);
    let labels = Labels::new(program, &graph);
    let line = |(number, step): (usize, &[u64; STEP_WORDS])| {
        let (registers, pc) = (&step[..STEP_WORDS - 1], step[STEP_WORDS - 1]);
        let slot = usize::try_from(pc).unwrap_or(usize::MAX);
        let instruction = instruction_text(program.executable(), &labels, slot);
        format!("{number:5} {registers:016X?} {pc:5}: {instruction}\n")
    };
    trace.steps.iter().enumerate().map(line).collect()
}

/// Writes a file whose name follows from its content, unless it is there.
fn write_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|it| it.len() == bytes.len() as u64) {
        return Ok(());
    }
    replace(path, bytes)
}
