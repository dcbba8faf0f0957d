//! A client that is connected to the server in memory.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::thread::{self, JoinHandle};

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use selkie_isa::Version;
use selkie_lsp::{Ended, Settings, serve};
use serde_json::{Value, json};

/// The document that most tests open.
pub(crate) const URI: &str = "file:///project/program.s";

pub(crate) struct Client {
    connection: Option<Connection>,
    server: Option<JoinHandle<Ended>>,
    next: i32,
}

impl Client {
    /// Connects a client that has not sent `initialize`.
    pub(crate) fn new() -> Self {
        let (server, client) = Connection::memory();
        let settings =
            Settings { version: Version::V3, include_paths: Vec::new(), defines: Vec::new() };
        let server = thread::spawn(move || serve(server, settings));
        Self { connection: Some(client), server: Some(server), next: 0 }
    }

    /// Connects a client and sends `initialize` with `params`.
    pub(crate) fn with(params: Value) -> Self {
        let mut client = Self::new();
        let answer = client.ask("initialize", params);
        assert!(answer["capabilities"].is_object(), "{answer}");
        client.notify("initialized", json!({}));
        client
    }

    /// Connects a client and opens `text` as [`URI`].
    pub(crate) fn open(text: &str) -> Self {
        let mut client = Self::with(json!({ "capabilities": {} }));
        client.open_at(URI, text);
        client
    }

    pub(crate) fn open_at(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "sbpf", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub(crate) fn send(&self, message: Message) {
        let connection = self.connection.as_ref().expect("the client has not left");
        connection.sender.send(message).expect("the server listens");
    }

    pub(crate) fn notify(&self, method: &str, params: Value) {
        self.send(Notification::new(method.to_owned(), params).into());
    }

    /// Receives the next message.
    pub(crate) fn receive(&self) -> Message {
        let connection = self.connection.as_ref().expect("the client has not left");
        let wait = core::time::Duration::from_secs(60);
        connection.receiver.recv_timeout(wait).expect("the server answers")
    }

    /// Sends a request and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        self.send(Request::new(id.clone(), method.to_owned(), params).into());
        id
    }

    /// Waits for the response to a request.
    pub(crate) fn response(&self, id: &RequestId) -> Response {
        loop {
            if let Message::Response(response) = self.receive()
                && response.id == *id
            {
                return response;
            }
        }
    }

    /// Sends a request and returns its result.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let response = self.response(&id);
        response.response_result.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    /// Sends a request and returns the code and message of its error.
    pub(crate) fn fail(&mut self, method: &str, params: Value) -> (i32, String) {
        let id = self.request(method, params);
        let error = self.response(&id).response_result.expect_err(method);
        (error.code, error.message)
    }

    /// Sends a request about a position in [`URI`] and returns its result.
    pub(crate) fn at(&mut self, method: &str, (line, character): (u32, u32)) -> Value {
        self.ask(method, place(line, character))
    }

    /// Waits for the next diagnostics that are published.
    pub(crate) fn diagnostics(&self) -> Value {
        loop {
            if let Message::Notification(it) = self.receive()
                && it.method == "textDocument/publishDiagnostics"
            {
                return it.params;
            }
        }
    }

    /// Sends `shutdown` and `exit`, and waits for the server to end.
    pub(crate) fn leave(mut self) -> Ended {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.notify("exit", Value::Null);
        self.ended()
    }

    /// Closes the connection and waits for the server to end.
    pub(crate) fn ended(mut self) -> Ended {
        let server = self.server.take().expect("it was started");
        drop(self.connection.take());
        server.join().expect("the server does not panic")
    }
}

pub(crate) fn place(line: u32, character: u32) -> Value {
    json!({
        "textDocument": { "uri": URI },
        "position": { "line": line, "character": character },
    })
}

/// Returns a text without its `|`, and the line and column of the `|`.
pub(crate) fn cursor(text: &str) -> (String, (u32, u32)) {
    let at = text.find('|').expect("the text has a cursor");
    let before = &text[..at];
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
    let narrow = |it: usize| u32::try_from(it).expect("texts are short");
    (text.replacen('|', "", 1), (narrow(line), narrow(column)))
}
