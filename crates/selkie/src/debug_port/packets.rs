//! The frames of gdb's remote protocol: `$text#sum`, each answered with `+` until both sides agree to go without.

use std::{
    io::{self, Read as _, Write as _},
    net::TcpStream,
};

/// The longest packet that is read, in bytes.
pub(super) const PACKET_BYTES_MAX: usize = 4096;
/// What interrupts a program, outside of packets.
const INTERRUPT: u8 = 0x03;

/// A connection to a debugger.
#[derive(Debug)]
pub(super) struct Packets {
    stream: TcpStream,
    /// Whether packets are acknowledged.
    pub(super) acknowledges: bool,
}

impl Packets {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream, acknowledges: true }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.stream.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    /// Waits for a packet. One whose sum is wrong is asked for again.
    pub(super) fn read(&mut self) -> io::Result<Vec<u8>> {
        loop {
            // Acknowledgments, and interrupts of a program that has stopped, say nothing.
            while self.byte()? != b'$' {}
            let (mut packet, mut sum) = (Vec::new(), 0_u8);
            loop {
                match self.byte()? {
                    b'#' => break,
                    _ if packet.len() >= PACKET_BYTES_MAX => {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                    byte => {
                        sum = sum.wrapping_add(byte);
                        packet.push(byte);
                    }
                }
            }
            let digits = [self.byte()?, self.byte()?];
            let is_right = format!("{sum:02x}").as_bytes() == digits.to_ascii_lowercase();
            if self.acknowledges {
                self.stream.write_all(if is_right { b"+" } else { b"-" })?;
            }
            if is_right || !self.acknowledges {
                return Ok(packet);
            }
        }
    }

    /// Sends a packet.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let sum = text.bytes().fold(0_u8, u8::wrapping_add);
        self.stream.write_all(format!("${text}#{sum:02x}").as_bytes())
    }

    /// Returns whether the debugger wants a program to stop that is running.
    pub(super) fn is_interrupted(&mut self) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let mut byte = [0];
        let read = self.stream.read(&mut byte);
        self.stream.set_nonblocking(false)?;
        match read {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(byte[0] == INTERRUPT),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
