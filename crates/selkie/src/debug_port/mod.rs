//! A debugger over the remote protocol of gdb while a program runs, as `SBF_DEBUG_PORT` asks for: what lldb of
//! the platform tools, and Gimlet with it, connect to. (`solana-sbpf` 0.26, `src/debugger.rs`;
//! `litesvm` 0.18.1, `src/register_tracing.rs`.)
//!
//! Every invocation of a program waits for its own connection, also one by another program, whose
//! connection stays open meanwhile. A debugger that is gone leaves the program running to its end.
//!
//! | module | what it owns |
//! |---|---|
//! | `packets` | the frames of the protocol on a connection |
//! | `session` | the requests of a debugger about one invocation |

mod packets;
mod session;

use core::time::Duration;
use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
};

use selkie_isa::{Version, layout::BYTECODE_START};
use selkie_svm::{InvokeContext, Machine};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;

use self::{packets::Packets, session::Session};
use crate::trap;

/// How long to wait before the next look whether the port is free: a program of another thread may wait there.
const PORT_IS_TAKEN: Duration = Duration::from_millis(50);

/// What a debugger is told of a program.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    text: Vec<u8>,
    text_vaddr: u64,
    /// What a slot's address begins with, as the ELF file has it: since V3 the guest address, before that the
    /// offset in the file.
    pc_base: u64,
    version: Version,
}

impl Image {
    /// Returns what is known of an ELF file; `None` if it cannot be executed.
    pub(crate) fn of(elf: &[u8]) -> Option<Self> {
        let program = trap::open(elf)?;
        let executable = program.executable();
        let (version, text_vaddr) = (executable.version(), executable.text_vaddr());
        let pc_base = if version < Version::V3 { executable.text_offset() } else { text_vaddr };
        Some(Self { text: executable.text().to_vec(), text_vaddr, pc_base, version })
    }

    /// Returns the name of the architecture, as lldb of the platform tools knows it.
    fn architecture(&self) -> &'static str {
        match self.version {
            Version::V0 => "sbpf",
            Version::V1 => "sbpfv1",
            Version::V2 => "sbpfv2",
            Version::V3 => "sbpfv3",
            Version::V4 => "sbpfv4",
        }
    }

    /// Returns the guest address that a debugger means: before V3 it takes the file's.
    fn guest_address(&self, address: u64) -> u64 {
        match self.version < Version::V3 && address < BYTECODE_START {
            true => address.saturating_add(BYTECODE_START),
            false => address,
        }
    }
}

/// The debuggers of a transaction.
#[derive(Debug)]
pub(crate) struct Debugger {
    port: u16,
    images: BTreeMap<Pubkey, Image>,
    /// One for each invocation in progress; builtin programs have none.
    sessions: Vec<Option<Session>>,
}

impl Debugger {
    /// Creates debuggers of programs that wait on a port of this machine.
    pub(crate) fn new(port: u16, images: BTreeMap<Pubkey, Image>) -> Self {
        Self { port, images, sessions: Vec::new() }
    }

    pub(crate) fn enter(&mut self) {
        self.sessions.push(None);
    }

    /// Waits for a debugger before the first instruction of an invocation, and serves it where it stops.
    ///
    /// # Panics
    /// If the port cannot be listened on: a program that was asked to wait does not run without.
    pub(crate) fn step(&mut self, context: &InvokeContext<'_>, machine: &mut Machine<'_>) {
        let Some(place) = self.sessions.last_mut() else { return };
        let program = context.instruction().program_id;
        let Some(image) = self.images.get(&program) else { return };
        let session = place.get_or_insert_with(|| {
            let metadata = metadata(context);
            #[allow(clippy::print_stderr, reason = "who set the variable waits for this line")]
            {
                eprintln!("Debugging executable with metadata ({metadata})");
            }
            let stream = connect(self.port).unwrap_or_else(|error| {
                panic!("SBF_DEBUG_PORT: cannot listen on port {}: {error}", self.port)
            });
            Session::new(Packets::new(stream), metadata)
        });
        session.step(image, machine);
    }

    pub(crate) fn leave(&mut self, result: &Result<(), InstructionError>) {
        if let Some(Some(session)) = self.sessions.pop() {
            session.end(result);
        }
    }
}

/// Returns what `monitor metadata` answers.
fn metadata(context: &InvokeContext<'_>) -> String {
    let programs: Vec<Pubkey> = context.stack_instructions().map(|it| it.program_id).collect();
    let caller =
        programs.iter().rev().nth(1).map_or_else(|| "none".to_owned(), ToString::to_string);
    let program = context.instruction().program_id;
    let level = context.stack_height().saturating_sub(1);
    format!("program_id={program};cpi_level={level};caller={caller}")
}

/// Waits for a connection, and frees the port.
fn connect(port: u16) -> io::Result<TcpStream> {
    let address = (Ipv4Addr::LOCALHOST, port);
    let mut is_told = false;
    let listener = loop {
        match TcpListener::bind(address) {
            Ok(listener) => break listener,
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(error),
            Err(_) => {
                #[allow(clippy::print_stderr, reason = "as above")]
                if !is_told {
                    eprintln!("Port {port} is in use; waiting until it is free");
                }
                is_told = true;
                thread::sleep(PORT_IS_TAKEN);
            }
        }
    };
    #[allow(clippy::print_stderr, reason = "as above")]
    {
        // Of port 0 the system chooses one.
        let address = listener.local_addr()?.to_string();
        eprintln!("Waiting for a Debugger connection on {address:?}...");
    }
    let (stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok(stream)
}
