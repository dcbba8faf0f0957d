//! A node and its server for tests, and requests over sockets.
#![allow(dead_code, reason = "each test file uses some of them")]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use selkie_node::Node;
use selkie_rpc::{Options, Server};
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::{self, HandshakeError, Message, WebSocket};

/// A WebSocket.
pub(crate) struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Opens one; the error is the status that the server answers with.
    pub(crate) fn connect(node: &TestNode) -> Result<Self, u16> {
        match tungstenite::client("ws://localhost/", node.connect()) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends a request and returns the answer, which comes before notifications.
    pub(crate) fn ask(&mut self, body: &str) -> String {
        self.0.send(Message::text(body)).unwrap();
        self.read()
    }

    /// Sends a request and reads a message, unless the server has let go of the connection: it does that
    /// as soon as too many notifications wait, of which the account's first state may be one.
    pub(crate) fn ask_while_open(&mut self, body: &str) {
        if self.0.send(Message::text(body)).is_ok() {
            let _ = self.0.read();
        }
    }

    /// Reads the next text.
    pub(crate) fn read(&mut self) -> String {
        loop {
            if let Message::Text(text) = self.read_message() {
                return text.to_string();
            }
        }
    }

    /// Reads the next message of any kind.
    pub(crate) fn read_message(&mut self) -> Message {
        self.0.read().unwrap()
    }
}

impl core::fmt::Debug for Socket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("a WebSocket")
    }
}

/// A node with a server on free ports.
pub(crate) struct TestNode {
    node: Node,
    server: Option<Server>,
    runtime: Runtime,
}

impl TestNode {
    /// Starts both.
    pub(crate) fn start() -> Self {
        Self::start_with(Options { rpc_port: 0, ..Options::default() })
    }

    /// Starts both with options of the server.
    pub(crate) fn start_with(options: Options) -> Self {
        Self::start_node(selkie_node::Options::default(), options)
    }

    /// Starts both with options of each.
    pub(crate) fn start_node(node: selkie_node::Options, options: Options) -> Self {
        let runtime = Runtime::new().unwrap();
        let node = Node::start(node).unwrap();
        let server = runtime.block_on(Server::start(node.clone(), options)).unwrap();
        Self { node, server: Some(server), runtime }
    }

    /// Returns the node.
    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> TcpStream {
        TcpStream::connect(self.server.as_ref().unwrap().addresses().rpc).unwrap()
    }

    /// Returns status and body of the answer to a JSON body.
    pub(crate) fn post(&self, body: &str) -> (u16, String) {
        self.request("POST", "content-type: application/json", body)
    }

    /// Returns status and body of the answer to a request.
    pub(crate) fn request(&self, verb: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = self.connect();
        let len = body.len();
        let head = format!(
            "{verb} / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {len}\r\n{headers}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        // The server may have answered, and closed, before it has read a body that is too long.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
        (status, body.to_owned())
    }
}

impl Drop for TestNode {
    fn drop(&mut self) {
        let server = self.server.take().unwrap();
        self.runtime.block_on(server.stop());
    }
}
