//! What the server is started with, and its limits.

use core::{fmt, net::IpAddr, time::Duration};
use std::sync::Arc;

use selkie_case::Replay;
use selkie_isa::failure::Failure;
use serde_json::Value;
use solana_pubkey::Pubkey;

use crate::interfaces::Interface;

/// Options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on.
    pub bind: IpAddr,
    /// The port for HTTP and WebSocket; 0 picks a free one.
    pub rpc_port: u16,
    /// The port for WebSocket; `None` is the next one after `rpc_port`, where clients look for it.
    pub websocket_port: Option<u16>,
    /// The port for transactions over QUIC; 0 picks a free one, which `getClusterNodes` tells clients.
    /// `None` does not listen.
    pub quic_port: Option<u16>,
    /// Whether clients of other machines may call cheatcodes, and pages of any origin.
    pub open_cheatcodes: bool,
    /// Names of this machine beside `localhost` by which clients on it may call cheatcodes: what the
    /// header `Host` of their requests says. Addresses need not be listed.
    pub hosts: Vec<String>,
    /// Whether the node fetches accounts of another cluster. Methods that read accounts then take
    /// as long as that cluster.
    pub fetches: bool,
    /// What runs transactions again and lists programs, for the explorer. Without it, the methods that need it are
    /// refused.
    pub explainer: Option<Arc<dyn Explainer>>,
    /// The limits.
    pub limits: Limits,
}

/// A transaction that is looked into.
#[derive(Clone, Debug)]
pub enum Asked {
    /// One of the node, with the state before it.
    Replay(Box<Replay>),
    /// The one with this number of those that [`Explainer::opened`] lists.
    Opened(usize),
    /// All of them.
    AllOpened,
}

/// Looks into transactions and programs, with the debug information of the machine.
pub trait Explainer: fmt::Debug + Send + Sync {
    /// Runs a transaction again, and returns what `selkie_explainTransaction` answers.
    ///
    /// # Errors
    /// If the replay cannot be run.
    fn explain(&self, asked: Asked) -> Result<Value, Failure>;

    /// Returns what `selkie_disassembleProgram` answers of a program's address and ELF file: the instructions
    /// from a slot on, at most so many. `None` if it is no program that can be loaded.
    fn disassemble(
        &self,
        id: Pubkey,
        elf: Vec<u8>,
        from: usize,
        count: Option<usize>,
    ) -> Option<Value>;

    /// Returns the basic blocks of the function of a program that begins at a slot, for the same method. `None` if
    /// there is none.
    fn graph(&self, id: Pubkey, elf: Vec<u8>, function: u32) -> Option<Value> {
        let _ = (id, elf, function);
        None
    }

    /// Runs a transaction again, and returns where its compute units go: what `selkie_flameTransaction` answers,
    /// or the text of a format.
    ///
    /// # Errors
    /// If the replay cannot be run, or there is no such format.
    fn flame(&self, asked: Asked, format: Option<&str>) -> Result<Value, Failure>;

    /// Runs transactions again, and returns what they use of a program, or of all, for `selkie_programUsage`.
    ///
    /// # Errors
    /// If one of them cannot be run.
    fn usage(&self, asked: Vec<Asked>, program: Option<&Pubkey>) -> Result<Value, Failure> {
        let _ = (asked, program);
        Err("this server counts no lines".into())
    }

    /// Answers a question of `selkie_debugTransaction` about the steps of the transaction with a name. `asked`
    /// is called for it if it is not known from questions before; the answer is null if there is none.
    ///
    /// # Errors
    /// If the replay cannot be had or run, or the question is not understood.
    fn ask(
        &self,
        name: &str,
        asked: &dyn Fn() -> Result<Option<Asked>, Failure>,
        question: &Value,
    ) -> Result<Value, Failure>;

    /// Returns the description of a program's interface that a file on this machine has; `elf` reads the
    /// program.
    fn interface(
        &self,
        program: &Pubkey,
        elf: &dyn Fn() -> Option<Vec<u8>>,
    ) -> Option<Arc<Interface>> {
        let _ = (program, elf);
        None
    }

    /// Returns a list of transactions that are looked into instead of the node's, for `selkie_listReplays`;
    /// `None` if the node's are.
    fn opened(&self) -> Option<Value> {
        None
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: IpAddr::from([127, 0, 0, 1]),
            rpc_port: 8899,
            websocket_port: None,
            quic_port: Some(0),
            open_cheatcodes: false,
            hosts: Vec::new(),
            fetches: false,
            explainer: None,
            limits: Limits::default(),
        }
    }
}

/// Limits on what clients may ask for.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The size of an HTTP request's body, in bytes; larger ones get status 413.
    pub body_bytes_max: usize,
    /// The size of a cheatcode's body from this machine, in bytes.
    pub cheat_body_bytes_max: usize,
    /// The size of a WebSocket message from a client, in bytes; larger ones end the connection.
    pub message_bytes_max: usize,
    /// The number of requests in a batch.
    pub batch_max: usize,
    /// The size of an answer, and of all answers to a batch, in bytes.
    pub answer_bytes_max: usize,
    /// The size of all answers that are being made and sent, and of long bodies that are being read, in
    /// bytes.
    pub answers_bytes_max: usize,
    /// The number of open connections. Beyond it, and beyond those of an address, one that waits for no
    /// answer makes way for a new one; if there is none, the new one is closed.
    pub connections_max: usize,
    /// The number of open connections from one address; for IPv6, from a network of 64 bits.
    pub address_connections_max: usize,
    /// The number of WebSockets among the connections; further ones get status 503.
    pub sockets_max: usize,
    /// The number of WebSockets from one address. Being less than its connections, it leaves some for
    /// requests.
    pub address_sockets_max: usize,
    /// The number of subscriptions of one connection.
    pub subscriptions_max: usize,
    /// The number of subscriptions of all connections.
    pub all_subscriptions_max: usize,
    /// The number of notifications that wait for a slow client before its connection is closed.
    pub queue_max: usize,
    /// The size of these notifications together, in bytes.
    pub queue_bytes_max: usize,
    /// The size of the notifications that wait for all clients, in bytes. What several clients wait for
    /// counts once.
    pub queues_bytes_max: usize,
    /// The number of accounts that a scan returns.
    pub scan_accounts_max: usize,
    /// How long a client may take to send a request's head, and how long a connection may be idle.
    /// web3.js uses connections again that were idle for up to 19 seconds.
    pub head_timeout: Duration,
    /// How long a client may take to send a request's body.
    pub body_timeout: Duration,
    /// How long a client may read nothing of an answer that waits for it, and how long it may take to
    /// read a WebSocket message.
    pub send_timeout: Duration,
    /// The number of open QUIC connections; further ones are refused.
    pub quic_connections_max: usize,
    /// The number of open QUIC connections from one address; for IPv6, from a network of 64 bits.
    pub quic_address_connections_max: usize,
    /// The number of transactions that one QUIC connection may be sending.
    pub quic_streams_max: u32,
    /// How long a QUIC client may take to connect, and to send a transaction.
    pub quic_timeout: Duration,
    /// How long a QUIC connection may be silent before it is closed.
    pub quic_silence_max: Duration,
    /// How often an idle WebSocket is asked for a sign of life; it is closed after three times as
    /// long without one.
    pub ping_interval: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 50 * 1024,
            cheat_body_bytes_max: 64 * 1024 * 1024,
            message_bytes_max: 4096,
            batch_max: 1000,
            answer_bytes_max: 256 * 1024 * 1024,
            answers_bytes_max: 384 * 1024 * 1024,
            connections_max: 12_000,
            address_connections_max: 11_000,
            sockets_max: 11_000,
            address_sockets_max: 10_500,
            subscriptions_max: 20_000,
            all_subscriptions_max: 250_000,
            queue_max: 4096,
            queue_bytes_max: 64 * 1024 * 1024,
            queues_bytes_max: 192 * 1024 * 1024,
            scan_accounts_max: 1_000_000,
            head_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            send_timeout: Duration::from_secs(10),
            quic_connections_max: 2000,
            quic_address_connections_max: 1800,
            quic_streams_max: 512,
            quic_timeout: Duration::from_secs(2),
            quic_silence_max: Duration::from_secs(30),
            ping_interval: Duration::from_secs(30),
        }
    }
}
