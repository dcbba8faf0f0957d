//! Messages and their framing: a header with the length, then JSON.

use selkie_isa::failure::Failure;
use std::io::{self, BufRead, Read as _, Write};

use serde::Deserialize;
use serde_json::{Value, json};

/// The size of a message.
const MESSAGE_BYTES_MAX: u64 = 16 << 20;

/// The length of a header line.
const HEADER_BYTES_MAX: u64 = 4096;

/// The lines of a header.
const HEADER_LINES_MAX: usize = 32;

/// A request of an editor.
#[derive(Deserialize, Debug)]
pub(super) struct Request {
    /// Its number.
    #[serde(default)]
    pub(super) seq: i64,
    /// What is asked for.
    #[serde(default)]
    pub(super) command: String,
    /// `request`; editors answer nothing that we ask.
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    /// Missing, `null` or an object.
    #[serde(default)]
    pub(super) arguments: Value,
}

/// Reads a message. `None` at the end of the input.
///
/// # Errors
/// If the input cannot be read or is no message of the protocol.
pub(super) fn read(input: &mut dyn BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    for number in 0..HEADER_LINES_MAX {
        let mut line = Vec::new();
        if input.take(HEADER_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        if number == 0 && is_http(&line) {
            return Err(malformed(
                "it sent an HTTP request, as a page in a browser does, and no message of the Debug \
                 Adapter Protocol",
            ));
        }
        let Some((name, value)) = line.trim().split_once(':') else {
            match (line.trim().is_empty(), length) {
                (true, Some(length)) => return body(input, length).map(Some),
                _ => return Err(malformed("a message must begin with `Content-Length: N`")),
            }
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok().filter(|&it: &u64| it <= MESSAGE_BYTES_MAX);
        }
    }
    Err(malformed("the header of a message has too many lines"))
}

/// Whether a line is the first one of an HTTP request: a method, a target and the version. A target may
/// have a colon, and would make the line a header.
fn is_http(line: &str) -> bool {
    let (first, rest) = line.trim_end().split_once(' ').unwrap_or((line, ""));
    let is_method = !first.is_empty() && first.bytes().all(|it| it.is_ascii_uppercase());
    is_method && !rest.is_empty() || rest.contains(" HTTP/")
}

fn body(input: &mut dyn BufRead, length: u64) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    match body.len() as u64 == length {
        true => Ok(body),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn malformed(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Writes messages with ascending numbers.
pub(super) struct Outlet<'a> {
    output: &'a mut dyn Write,
    seq: i64,
}

impl<'a> Outlet<'a> {
    pub(super) fn new(output: &'a mut dyn Write) -> Self {
        Self { output, seq: 0 }
    }

    /// Answers a request: with a body, or with the reason why there is none.
    pub(super) fn respond(
        &mut self,
        request: &Request,
        result: Result<Value, Failure>,
    ) -> io::Result<()> {
        let mut message = json!({
            "type": "response",
            "request_seq": request.seq,
            "command": request.command,
            "success": result.is_ok(),
        });
        match result {
            Ok(Value::Null) => {}
            Ok(body) => message["body"] = body,
            Err(reason) => {
                message["message"] = reason.chain().into();
                message["body"] =
                    json!({ "error": { "id": 1, "format": reason.chain(), "showUser": true } });
            }
        }
        self.write(message)
    }

    /// Tells the editor of an event.
    pub(super) fn event(&mut self, event: &str, body: Value) -> io::Result<()> {
        let mut message = json!({ "type": "event", "event": event });
        if !body.is_null() {
            message["body"] = body;
        }
        self.write(message)
    }

    fn write(&mut self, mut message: Value) -> io::Result<()> {
        self.seq += 1;
        message["seq"] = self.seq.into();
        let text = message.to_string();
        write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.output.flush()
    }
}
