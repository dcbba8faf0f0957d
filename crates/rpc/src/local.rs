//! [`LocalNode`]: a node and its server in one value, for tests.

use core::fmt;
use std::{
    io,
    sync::mpsc::{SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use selkie_node::{Node, NodeError};
use tokio::sync::oneshot;

use crate::{
    methods::Addresses,
    options::Options,
    server::{BindError, Server},
};

/// A node whose RPC server listens on free ports of this machine. Dropping it stops both.
///
/// A process may have many. The server runs on a thread of its own, so this works in synchronous
/// tests and in those on any async runtime.
///
/// ```
/// use selkie_rpc::LocalNode;
///
/// let local = LocalNode::start(selkie_node::Options::default())?;
/// assert!(local.rpc_url().starts_with("http://127.0.0.1:"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LocalNode {
    node: Node,
    addresses: Addresses,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Why a [`LocalNode`] did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The node.
    Node(NodeError),
    /// The thread of the server.
    Thread(io::Error),
    /// A port of the server.
    Bind(BindError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "cannot start a thread: {error}"),
            Self::Bind(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for StartError {}

impl LocalNode {
    /// Starts a node and its server.
    ///
    /// # Errors
    /// If the node cannot start, or the system is out of threads or ports.
    pub fn start(options: selkie_node::Options) -> Result<Self, StartError> {
        let node = Node::start(options).map_err(StartError::Node)?;
        Self::start_with(node, Options { rpc_port: 0, ..Options::default() })
    }

    /// Starts a server for a node that is running already.
    ///
    /// # Errors
    /// As [`LocalNode::start`].
    pub fn start_with(node: Node, options: Options) -> Result<Self, StartError> {
        let (ready, started) = sync_channel(1);
        let (stop, stopping) = oneshot::channel();
        let served = node.clone();
        let thread = thread::Builder::new().name("selkie-rpc".to_owned());
        let thread = thread.spawn(move || run(served, options, &ready, stopping));
        let thread = thread.map_err(StartError::Thread)?;
        let lost = || StartError::Thread(io::Error::other("the server's thread has panicked"));
        let addresses = started.recv().map_err(|_| lost())??;
        Ok(Self { node, addresses, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the node, to read and to change its state without RPC.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Returns where the server listens.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Returns the URL for requests.
    #[must_use]
    pub fn rpc_url(&self) -> String {
        format!("http://{}", self.addresses.rpc)
    }

    /// Returns the URL for subscriptions.
    #[must_use]
    pub fn websocket_url(&self) -> String {
        format!("ws://{}", self.addresses.websocket)
    }
}

impl Drop for LocalNode {
    fn drop(&mut self) {
        // The thread ends when the channel is closed, and returns nothing.
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Serves until the channel is closed.
fn run(
    node: Node,
    options: Options,
    ready: &SyncSender<Result<Addresses, StartError>>,
    stopping: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(ready.send(Err(StartError::Thread(error)))),
    };
    runtime.block_on(async {
        match Server::start(node, options).await {
            Ok(server) => {
                let _ = ready.send(Ok(server.addresses()));
                let _ = stopping.await;
                server.stop().await;
            }
            Err(error) => drop(ready.send(Err(StartError::Bind(error)))),
        }
    });
    // A request that still runs has no client any more.
    runtime.shutdown_background();
}
