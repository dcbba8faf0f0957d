//! A node and its server for tests, and requests over sockets.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use selkie_node::Node;
use selkie_rpc::{Options, Server};
use tokio::runtime::Runtime;

/// A node with a server on free ports.
pub(crate) struct TestNode {
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
        let server = runtime.block_on(Server::start(node, options)).unwrap();
        Self { server: Some(server), runtime }
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
