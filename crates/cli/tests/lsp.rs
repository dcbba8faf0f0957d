//! `selkie lsp`, started and called as editors do.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
};

use serde_json::{Value, json};

struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_selkie"))
            .arg("lsp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command is built");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        Self { child, input, output }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("the pipe is open").write_all(bytes).expect("it reads");
    }

    fn say(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
    }

    fn hear(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).expect("it writes text");
            if let Some(number) = line.strip_prefix("Content-Length: ") {
                length = number.trim().parse().expect("it is a number");
            }
            if line == "\r\n" {
                break;
            }
            assert!(!line.is_empty(), "the server is gone");
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("all of it comes");
        serde_json::from_slice(&bytes).expect("it is JSON")
    }

    fn end(mut self) -> ExitStatus {
        drop(self.input.take());
        self.child.wait().expect("it ends")
    }
}

#[test]
fn a_session_reports_diagnostics_and_ends_with_success() {
    let mut server = Server::start(&["--arch", "v0", "--stdio"]);
    server.say(json!({ "id": 1, "method": "initialize", "params": { "capabilities": {} } }));
    let answer = server.hear();
    assert_eq!(answer["result"]["serverInfo"]["name"], "selkie");
    server.say(json!({ "method": "initialized", "params": {} }));
    let document = json!({
        "uri": "file:///a.s",
        "languageId": "sbpf",
        "version": 1,
        "text": "entrypoint:\n    jeq32 r1, 0, entrypoint\n    exit\n",
    });
    server.say(json!({
        "method": "textDocument/didOpen",
        "params": { "textDocument": document },
    }));
    let told = server.hear();
    assert_eq!(told["method"], "textDocument/publishDiagnostics");
    let message = told["params"]["diagnostics"][0]["message"].as_str().expect("it is text");
    assert!(message.starts_with("v0 has no `jeq32`"), "{message}");
    server.say(json!({ "id": 2, "method": "shutdown" }));
    assert_eq!(server.hear()["id"], 2);
    server.say(json!({ "method": "exit" }));
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn the_server_continues_after_a_malformed_message() {
    let mut server = Server::start(&[]);
    server.write(b"Content-Length: 3\r\n\r\n{{{");
    let refused = server.hear();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32700)));
    server.say(json!({ "id": 1, "method": "initialize", "params": { "capabilities": {} } }));
    assert_eq!(server.hear()["result"]["serverInfo"]["name"], "selkie");
    assert_eq!(server.end().code(), Some(1));
}

#[test]
fn the_server_exits_on_input_without_a_header() {
    let mut server = Server::start(&[]);
    server.write(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(server.end().code(), Some(2));
    assert_eq!(Server::start(&[]).end().code(), Some(1));
}
