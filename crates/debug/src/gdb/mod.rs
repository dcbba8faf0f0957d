//! The remote protocol of gdb: a stock gdb as the front end of a session, backward steps included.
//!
//! gdb knows no sBPF. It is told that the program is one for RISC-V, whose registers x0 to x10 are r0
//! to r10, and gets files in which that is so: the program's symbols and debug information under
//! another machine, with rules for its frames. Everything that gdb sends is outside input.
//!
//! | module | what it owns |
//! |---|---|
//! | `layout` | gdb's address space: programs side by side, guest memory, the window of frames |
//! | `image` | the files that gdb reads |
//! | `registers` | the registers and their description |
//! | `machine` | a session as gdb sees it: registers, memory, motion, breakpoints |
//! | `files` | files and descriptions that gdb fetches |
//! | `target`, `fetch` | the requests of the protocol, by `gdbstub`'s traits |

mod fetch;
mod files;
mod image;
mod layout;
mod machine;
mod registers;
mod target;

use std::io::{self, BufRead, Write};

use gdbstub::{
    conn::Connection,
    stub::{GdbStub, GdbStubError, SingleThreadStopReason, state_machine::GdbStubStateMachine},
};

use self::{machine::Machine, target::Remote};
use crate::console::Console;

/// The size of a packet. gdb fetches files in parts of this size.
const PACKET_BYTES: usize = 1 << 16;

/// Answers a gdb until it goes away. Commands after `monitor` are the console's.
///
/// # Errors
/// If a packet cannot be read or written, or is none of the protocol.
pub fn serve(input: &mut dyn BufRead, output: &mut dyn Write, console: Console) -> io::Result<()> {
    let mut target = Remote::new(Machine::new(console));
    let stub = GdbStub::builder(Channel { input, output }).packet_buffer_size(PACKET_BYTES);
    let stub = stub.build().map_err(io::Error::other)?;
    let mut stub = stub.run_state_machine(&mut target).map_err(malformed)?;
    loop {
        let next = match stub {
            GdbStubStateMachine::Idle(mut idle) => match idle.borrow_conn().read()? {
                Some(byte) => idle.incoming_data(&mut target, byte),
                None => return Ok(()),
            },
            // A motion takes milliseconds, and is over before the next packet is read.
            GdbStubStateMachine::Running(running) => {
                let reason = target.machine().stop_reason();
                running.report_stop(&mut target, reason)
            }
            GdbStubStateMachine::CtrlCInterrupt(interrupt) => {
                interrupt.interrupt_handled(&mut target, None::<SingleThreadStopReason<u64>>)
            }
            GdbStubStateMachine::Disconnected(_) => return Ok(()),
        };
        stub = next.map_err(malformed)?;
    }
}

fn malformed(error: GdbStubError<core::convert::Infallible, io::Error>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

/// The two directions of a conversation.
struct Channel<'a> {
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
}

impl Channel<'_> {
    /// Reads a byte. `None` at the end of the input.
    fn read(&mut self) -> io::Result<Option<u8>> {
        let byte = self.input.fill_buf()?.first().copied();
        self.input.consume(usize::from(byte.is_some()));
        Ok(byte)
    }
}

impl Connection for Channel<'_> {
    type Error = io::Error;

    fn write(&mut self, byte: u8) -> io::Result<()> {
        self.output.write_all(&[byte])
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.output.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}
