//! What every method answers and every subscription notifies, byte for byte: the files in
//! `testdata/rpc`. The node's clock stands still, so that each run gives the same bytes.
//!
//! | line | meaning |
//! |---|---|
//! | `> BODY` | a request over HTTP |
//! | `< ANSWER` | its answer; empty if there is none |
//! | `ws> TEXT` | a message over WebSocket; its answer follows |
//! | `ws< TEXT` | an answer or a notification |
//! | `! wait` | waits until the block of the transaction sent last is the root |
//! | `! notified N` | reads N notifications |
//! | `! advance MILLISECONDS` | advances the clock |
//!
//! In requests, `$TRANSFER` is a transfer of a million lamports from `PAYER` to `RECIPIENT`, signed
//! for the newest blockhash, in base64, `$MESSAGE` its message, and `$SIGNATURE` the signature of the
//! transaction sent last.
//!
//! `UPDATE=1` writes the answers into the files.

use core::time::Duration;
use std::{env, fmt::Write as _, fs, net::SocketAddr, path::Path, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::{SinkExt as _, StreamExt as _};
use selkie_node::{Event, Events, ManualClock, Node};
use selkie_rpc::{Addresses, Service};
use serde_json::Value;
use solana_commitment_config::CommitmentLevel;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::Signer as _;
use solana_transaction::versioned::VersionedTransaction;
use tokio::{io::DuplexStream, task::JoinHandle};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite};

/// The secret key of the account that pays for transfers.
const PAYER: [u8; 32] = [1; 32];
/// The address that receives them.
const RECIPIENT: [u8; 32] = [9; 32];

/// A node of which everything is known in advance.
struct World {
    node: Node,
    clock: Arc<ManualClock>,
    events: Events,
    service: Arc<Service>,
    socket: Option<(WebSocketStream<DuplexStream>, JoinHandle<()>)>,
    /// The transaction that was sent last.
    sent: Option<Signature>,
    text: String,
}

impl World {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::at(Duration::from_secs(1_800_000_000)));
        let options = selkie_node::Options { clock: clock.clone(), ..Default::default() };
        let node = Node::start(options).unwrap();
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let addresses =
            Addresses { rpc: address(8899), websocket: address(8900), quic: Some(address(8003)) };
        let service = Arc::new(Service::start(node.clone(), Default::default(), addresses));
        let events = node.subscribe();
        Self { node, clock, events, service, socket: None, sent: None, text: String::new() }
    }

    /// Repeats a line of a transcript, and adds what comes of it.
    async fn play(&mut self, line: &str) {
        if line.starts_with("< ") || line == "<" || line.starts_with("ws< ") {
            return;
        }
        writeln!(self.text, "{line}").unwrap();
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let rest = &self.fill_in(rest);
        match kind {
            ">" => {
                let answer = self.service.answer(rest.as_bytes()).await.unwrap_or_default();
                let answer = String::from_utf8(answer).unwrap();
                self.remember(&answer);
                writeln!(self.text, "{}", format!("< {answer}").trim_end()).unwrap();
            }
            "ws>" => {
                self.socket().await.send(tungstenite::Message::text(rest)).await.unwrap();
                self.read().await;
            }
            "!" => self.command(rest).await,
            _ => {}
        }
    }

    /// Replaces the placeholders of a request.
    fn fill_in(&self, text: &str) -> String {
        let sent = self.sent.map(|signature| signature.to_string()).unwrap_or_default();
        let text = text.replace("$SIGNATURE", &sent);
        if !text.contains('$') {
            return text;
        }
        let transaction = self.transfer();
        let encode = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
        let wire = wincode::serialize(&transaction).unwrap();
        let text = text.replace("$TRANSFER", &encode(&wire));
        text.replace("$MESSAGE", &encode(&transaction.message.serialize()))
    }

    fn transfer(&self) -> VersionedTransaction {
        let payer = Keypair::new_from_array(PAYER);
        let to = Pubkey::new_from_array(RECIPIENT);
        let accounts = vec![AccountMeta::new(payer.pubkey(), true), AccountMeta::new(to, false)];
        let data = [&2_u32.to_le_bytes()[..], &1_000_000_u64.to_le_bytes()].concat();
        let program_id = solana_sdk_ids::system_program::ID;
        let transfer = Instruction { program_id, accounts, data };
        let blockhash = self.node.view(CommitmentLevel::Finalized).blockhash();
        let message = Message::new_with_blockhash(&[transfer], Some(&payer.pubkey()), &blockhash);
        VersionedTransaction::try_new(VersionedMessage::Legacy(message), &[&payer]).unwrap()
    }

    async fn command(&mut self, text: &str) {
        match text.split_once(' ') {
            Some(("notified", count)) => {
                for _ in 0..count.parse::<usize>().unwrap() {
                    self.read().await;
                }
            }
            Some(("advance", milliseconds)) => {
                self.clock.advance(Duration::from_millis(milliseconds.parse().unwrap()));
            }
            _ => self.wait().await,
        }
    }

    /// Waits until the block of the transaction that was sent last is the root, and all that happens
    /// until then has been notified: this is the only thread, and sleeps only when nothing is left.
    async fn wait(&mut self) {
        let sent = self.sent.expect("a transaction was sent");
        loop {
            match self.events.recv().await.expect("no event is missed") {
                Event::Root(_) if self.node.transaction(&sent).is_some() => break,
                _ => {}
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    /// Remembers the signature that an answer may have.
    fn remember(&mut self, answer: &str) {
        let answer: Value = serde_json::from_str(answer).unwrap_or_default();
        let signature = answer["result"].as_str().and_then(|text| text.parse().ok());
        self.sent = signature.or(self.sent);
    }

    async fn socket(&mut self) -> &mut WebSocketStream<DuplexStream> {
        if self.socket.is_none() {
            let (near, far) = tokio::io::duplex(1 << 16);
            let service = Arc::clone(&self.service);
            let served = tokio::spawn(async move { service.serve(far).await });
            let (socket, _) = client_async("ws://localhost/", near).await.unwrap();
            self.socket = Some((socket, served));
        }
        &mut self.socket.as_mut().unwrap().0
    }

    /// Reads the next answer or notification.
    async fn read(&mut self) {
        let socket = self.socket().await;
        let message = loop {
            let next = tokio::time::timeout(Duration::from_secs(20), socket.next()).await;
            let next = next.expect("there is a message in time").unwrap().unwrap();
            if let tungstenite::Message::Text(text) = next {
                break text;
            }
        };
        writeln!(self.text, "ws< {message}").unwrap();
    }
}

async fn check(path: &Path) {
    let expected = fs::read_to_string(path).unwrap();
    let mut world = World::new();
    for line in expected.lines() {
        world.play(line).await;
    }
    if env::var_os("UPDATE").is_some() {
        return fs::write(path, world.text).unwrap();
    }
    for (found, expected) in world.text.lines().zip(expected.lines()) {
        assert_eq!(found, expected, "{}\nhelp: UPDATE=1 rewrites the file", path.display());
    }
    assert_eq!(world.text.len(), expected.len(), "{}", path.display());
}

#[tokio::test]
async fn transcripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rpc");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        check(&path).await;
    }
}

#[test]
fn every_method_and_subscription_is_in_a_transcript() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rpc");
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let text: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    let has = |method: &str| text.contains(&format!(r#""method":"{method}""#));
    for method in selkie_rpc::METHODS {
        assert!(has(method.name), "{}", method.name);
    }
    for row in selkie_rpc::SUBSCRIPTIONS {
        assert!(has(&format!("{}Subscribe", row.name)), "{}", row.name);
        assert!(has(&format!("{}Notification", row.name)), "{}", row.name);
    }
}
