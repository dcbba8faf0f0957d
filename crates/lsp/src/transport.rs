//! Messages as bytes: reading with bounds, and error responses to invalid messages.
//!
//! Invariant: memory is allocated for bytes that arrived, not for the length that a header claims, and
//! no message takes more memory than [`BODY_BYTES_MAX`] and [`VALUES_MAX`] allow.

use std::{
    io::{self, BufRead, Read as _, Write},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId};
use lsp_types::notification::{Exit, Notification as _};
use serde::Deserialize;
use serde_json::{Value, json};

/// The most bytes of a message. Editors send less: the text of a source at most.
const BODY_BYTES_MAX: u64 = 32 << 20;
/// The most JSON values of a message. Each takes far more memory than its text.
const VALUES_MAX: usize = 1 << 15;
/// The most bytes of a header line, and the most lines of a header.
const HEADER_BYTES_MAX: u64 = 4096;
const HEADER_LINES_MAX: usize = 64;

/// What was read.
enum Incoming {
    Message(Message),
    /// An invalid message and the error to respond with. The next message can be read.
    Refused(ErrorCode, String),
    End,
}

/// A connection to a client that writes to `input` and reads what is written to `output`.
pub(crate) struct Transport {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Transport {
    /// Starts the threads that read and write.
    pub(crate) fn start<W: Write + Send + 'static>(
        mut input: impl BufRead + Send + 'static,
        output: W,
    ) -> (Connection, Self) {
        let (server, client) = Connection::memory();
        let Connection { sender, receiver } = client;
        let output = Arc::new(Mutex::new(output));
        let answers = Arc::clone(&output);
        let reader = thread::spawn(move || {
            loop {
                match read(&mut input)? {
                    Incoming::Message(message) => {
                        let is_exit = is_exit(&message);
                        // Sending fails once the server has ended.
                        if sender.send(message).is_err() || is_exit {
                            return Ok(());
                        }
                    }
                    Incoming::Refused(code, message) => {
                        let error = json!({ "code": code as i32, "message": message });
                        let answer = json!({ "jsonrpc": "2.0", "id": null, "error": error });
                        let mut output = answers.lock().unwrap_or_else(PoisonError::into_inner);
                        write_body(&mut *output, &answer.to_string())?;
                    }
                    Incoming::End => return Ok(()),
                }
            }
        });
        let writer = thread::spawn(move || {
            receiver.into_iter().try_for_each(|message| {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                message.write(&mut *output)
            })
        });
        (server, Self { reader, writer })
    }

    /// Waits until everything is read and written.
    pub(crate) fn join(self) -> io::Result<()> {
        let panicked = |_| io::Error::other("a thread of the connection panicked");
        self.reader.join().map_err(panicked)??;
        self.writer.join().map_err(panicked)?
    }
}

/// Whether a message is `exit`, the last one of a client.
fn is_exit(message: &Message) -> bool {
    matches!(message, Message::Notification(it) if it.method == Exit::METHOD)
}

fn write_body(output: &mut impl Write, body: &str) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

/// Reads a message.
///
/// # Errors
/// If the input cannot be read, or if a header does not give the length of its message.
fn read(input: &mut impl BufRead) -> io::Result<Incoming> {
    let Some(length) = read_header(input)? else { return Ok(Incoming::End) };
    if length > BODY_BYTES_MAX {
        let skipped = io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
        if skipped < length {
            return Ok(Incoming::End);
        }
        let why =
            format!("the message has {length} bytes, and at most {BODY_BYTES_MAX} are accepted");
        return Ok(Incoming::Refused(ErrorCode::InvalidRequest, why));
    }
    let mut body = Vec::new();
    let count = input.by_ref().take(length).read_to_end(&mut body)? as u64;
    if count < length {
        return Ok(Incoming::End);
    }
    Ok(match parse(&body) {
        Ok(message) => Incoming::Message(message),
        Err((code, why)) => Incoming::Refused(code, why),
    })
}

/// Reads a header and returns the length of its message; `None` at the end of the input.
fn read_header(input: &mut impl BufRead) -> io::Result<Option<u64>> {
    let invalid = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let mut length = None;
    for _ in 0..HEADER_LINES_MAX {
        let mut line = Vec::new();
        input.by_ref().take(HEADER_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return invalid("the input is not a header of the Language Server Protocol");
        }
        let line = String::from_utf8_lossy(&line);
        match (line.trim_end().split_once(':'), length) {
            (None, Some(length)) if line.trim().is_empty() => return Ok(Some(length)),
            (Some((name, value)), _) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
            }
            (Some(_), _) => {}
            (None, _) => return invalid("a header has no Content-Length"),
        }
    }
    invalid("a header has too many lines")
}

/// The fields of a message.
#[derive(Deserialize)]
struct Parts {
    id: Option<RequestId>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
}

fn parse(body: &[u8]) -> Result<Message, (ErrorCode, String)> {
    if values(body) > VALUES_MAX {
        let why = format!("the message has more than {VALUES_MAX} values");
        return Err((ErrorCode::InvalidRequest, why));
    }
    let unreadable = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => (ErrorCode::InvalidRequest, error.to_string()),
        _ => (ErrorCode::ParseError, error.to_string()),
    };
    let Parts { id, method, params } = serde_json::from_slice(body).map_err(unreadable)?;
    match (id, method) {
        (Some(id), Some(method)) => Ok(Request { id, method, params }.into()),
        (None, Some(method)) => Ok(Notification { method, params }.into()),
        // The server sends no requests, so the content of a response does not matter.
        (Some(id), None) => Ok(lsp_server::Response::new_ok(id, ()).into()),
        (None, None) => Err((
            ErrorCode::InvalidRequest,
            "the message has neither a method nor an id".to_owned(),
        )),
    }
}

/// Returns an upper bound of the number of values of a JSON text: one more than the characters that
/// separate or open values.
fn values(body: &[u8]) -> usize {
    let mut count = 1;
    let (mut is_text, mut is_escaped) = (false, false);
    for &byte in body {
        match (is_text, is_escaped, byte) {
            (true, true, _) => is_escaped = false,
            (true, false, b'\\') => is_escaped = true,
            (_, _, b'"') => is_text = !is_text,
            (false, _, b',' | b'[' | b'{' | b':') => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads all messages of `input`, up to its end or an error.
    fn all(mut input: &[u8]) -> (Vec<Result<Message, i32>>, io::Result<()>) {
        let mut found = Vec::new();
        loop {
            match read(&mut input) {
                Ok(Incoming::Message(message)) => found.push(Ok(message)),
                Ok(Incoming::Refused(code, _)) => found.push(Err(code as i32)),
                Ok(Incoming::End) => return (found, Ok(())),
                Err(error) => return (found, Err(error)),
            }
        }
    }

    fn framed(body: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{body}", body.len())
    }

    fn check(bodies: &[&str], expected: &[Result<&str, ErrorCode>]) {
        let input: String = bodies.iter().map(|body| framed(body)).collect();
        let (found, ended) = all(input.as_bytes());
        ended.expect("each message has its header");
        let found: Vec<_> = found
            .iter()
            .map(|it| match it {
                Ok(Message::Request(it)) => Ok(it.method.as_str()),
                Ok(Message::Notification(it)) => Ok(it.method.as_str()),
                Ok(Message::Response(_)) => Ok(""),
                Err(code) => Err(*code),
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|it| it.map_err(|code| code as i32)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn messages_of_all_kinds_are_read() {
        let bodies = [
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":[1]}}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"c"}"#,
            r#"{"jsonrpc":"2.0","method":"d"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        ];
        check(&bodies, &[Ok("a"), Ok("c"), Ok("d"), Ok("")]);
    }

    #[test]
    fn invalid_messages_are_refused_and_the_next_is_read() {
        use ErrorCode::{InvalidRequest, ParseError};
        let many = format!("[{}1]", "1,".repeat(VALUES_MAX));
        let deep = "[".repeat(1000);
        let bodies = ["{{{", "", "[]", "{}", "\"\\", &many, &deep, r#"{"method":"a"}"#];
        let refused = [ParseError, ParseError, InvalidRequest, InvalidRequest, ParseError];
        let refused = refused.into_iter().chain([InvalidRequest, ParseError]).map(Err);
        check(&bodies, &refused.chain([Ok("a")]).collect::<Vec<_>>());
    }

    #[test]
    fn a_length_beyond_the_input_allocates_nothing() {
        let header = |length: u64| format!("Content-Length: {length}\r\n\r\n");
        for length in [7_600_000_000, BODY_BYTES_MAX, u64::MAX] {
            let (found, ended) = all(format!("{}abc", header(length)).as_bytes());
            assert!(found.is_empty() && ended.is_ok(), "{length}");
        }
        let length = BODY_BYTES_MAX + 1;
        let long = " ".repeat(usize::try_from(length).expect("a length in memory"));
        let input = [header(length), long, framed(r#"{"method":"a"}"#)].concat();
        let (found, ended) = all(input.as_bytes());
        assert!(matches!(found[..], [Err(_), Ok(_)]) && ended.is_ok(), "{found:?}");
    }

    #[test]
    fn an_invalid_header_is_an_error() {
        let endless = "a".repeat(10_000);
        let lines = "a: b\r\n".repeat(HEADER_LINES_MAX + 1);
        for input in
            ["\r\n", "GET / HTTP/1.1\r\n\r\n", &endless, &lines, "Content-Length: x\r\n\r\n"]
        {
            let (found, ended) = all(input.as_bytes());
            assert!(found.is_empty() && ended.is_err(), "{input:.40}");
        }
    }

    #[test]
    fn commas_in_strings_are_not_counted() {
        assert_eq!(values(br#"{"a":"b,c\",[:{"}"#), 3);
        assert_eq!(values(b"[1,2,3]"), 4);
    }
}
