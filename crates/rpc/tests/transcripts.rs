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
//! | `! start NAME=VALUE …` | starts another node, with the options of [`World::start`] |
//! | `! fails` | waits until the node has failed |
//! | `! version V [TABLE ADDRESS …]` | begins the transaction `$TRANSACTION`: `legacy`, `v0` or `v1` |
//! | `! call PROGRAM DATA [ACCOUNT …]` | adds an instruction; `:s` and `:w` mark signers and what is writable |
//!
//! In requests, `$TRANSFER` is a transfer of a million lamports from `PAYER` to `RECIPIENT`, signed
//! for the newest blockhash, in base64, `$MESSAGE` its message, and `$SIGNATURE` the signature of the
//! transaction sent last. `$KEY1`, the payer, to `$KEY8` are the addresses of keys that sign; commands
//! call them `key1` to `key8`, too.
//!
//! `UPDATE=1` writes the answers into the files. The second line of a file says which files of agave the
//! answers were compared with, and which version: `# compared with agave V: FILE, …`, or `# not compared
//! with agave: REASON`. The line `# differs: …` names what is another way on purpose.

use core::time::Duration;
use std::{
    env,
    fmt::Write as _,
    fs,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::{SinkExt as _, StreamExt as _};
use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_node::{
    Block, Commit, Event, Events, Fetch, FetchError, Header, HistoryLimit, ManualClock, Node,
    Store, StoreError,
};
use selkie_replay::{ReplayFile, Timeline};
use selkie_report::{Usage, explain, flame};
use selkie_rpc::{Addresses, Asked, Explainer, Service};
use serde_json::{Value, json};
use solana_account::AccountSharedData;
use solana_commitment_config::CommitmentLevel;
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{AddressLookupTableAccount, Message, VersionedMessage, v0, v1};
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

/// The associated token account program.
const ASSOCIATED: &str = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
/// Token-2022.
const TOKEN_2022: &str = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";

/// A node of which everything is known in advance.
struct World {
    node: Node,
    clock: Arc<ManualClock>,
    events: Events,
    service: Arc<Service>,
    socket: Option<(WebSocketStream<DuplexStream>, JoinHandle<()>)>,
    /// The transaction that was sent last.
    sent: Option<Signature>,
    /// The transaction that is being made.
    draft: Draft,
    text: String,
}

/// A transaction that is being made.
#[derive(Default)]
struct Draft {
    version: String,
    table: Option<AddressLookupTableAccount>,
    instructions: Vec<Instruction>,
}

impl Draft {
    /// Adds an instruction: program, data in hex, accounts.
    fn add(&mut self, words: &[&str]) {
        let [program, data, accounts @ ..] = words else {
            panic!("! call PROGRAM DATA ACCOUNT …")
        };
        let meta = |word: &&str| {
            let (name, flags) = word.split_once(':').unwrap_or((word, ""));
            let (signs, writes) = (flags.contains('s'), flags.contains('w'));
            AccountMeta { pubkey: address(name), is_signer: signs, is_writable: writes }
        };
        self.instructions.push(Instruction {
            program_id: address(program),
            data: hex::decode(data).unwrap(),
            accounts: accounts.iter().map(meta).collect(),
        });
    }

    fn message(&self, blockhash: Hash) -> VersionedMessage {
        let (payer, calls) = (address("key1"), self.instructions.as_slice());
        match self.version.as_str() {
            "v1" => VersionedMessage::V1(
                v1::Message::try_compile_with_config(&payer, calls, blockhash, v1_config())
                    .unwrap(),
            ),
            "v0" => {
                let tables = self.table.as_slice();
                let message = v0::Message::try_compile(&payer, calls, tables, blockhash);
                VersionedMessage::V0(message.unwrap())
            }
            _ => VersionedMessage::Legacy(Message::new_with_blockhash(
                calls,
                Some(&payer),
                &blockhash,
            )),
        }
    }

    /// Returns the transaction, signed by all keys that it names.
    fn sign(&self, blockhash: Hash) -> VersionedTransaction {
        let message = self.message(blockhash);
        let count = usize::from(message.header().num_required_signatures);
        let signers = &message.static_account_keys()[..count];
        let keys: Vec<Keypair> =
            signers.iter().map(|it| keys().find(|key| key.pubkey() == *it).unwrap()).collect();
        let keys: Vec<&Keypair> = keys.iter().collect();
        VersionedTransaction::try_new(message, &keys).unwrap()
    }
}

/// What the transactions of version 1 ask for.
fn v1_config() -> v1::TransactionConfig {
    v1::TransactionConfig {
        compute_unit_limit: Some(20_000),
        priority_fee: Some(500),
        loaded_accounts_data_size_limit: Some(200_000),
        ..Default::default()
    }
}

/// The keys that sign, of which the first is the payer's.
fn keys() -> impl Iterator<Item = Keypair> {
    (1..=8).map(|number| Keypair::new_from_array([number; 32]))
}

/// Returns the address of a word: a key's name, `ata/OWNER/MINT` for the associated account of
/// Token-2022, or base58.
fn address(word: &str) -> Pubkey {
    if let Some((owner, mint)) = word.strip_prefix("ata/").and_then(|it| it.split_once('/')) {
        let [program, token] = [ASSOCIATED, TOKEN_2022].map(address);
        let seeds = [address(owner), token, address(mint)].map(|key| key.to_bytes());
        let seeds: Vec<&[u8]> = seeds.iter().map(|seed| &seed[..]).collect();
        return Pubkey::find_program_address(&seeds, &program).0;
    }
    match word.strip_prefix("key") {
        Some(number) => keys().nth(number.parse::<usize>().unwrap() - 1).unwrap().pubkey(),
        None => word.parse().unwrap_or_else(|_| panic!("no address: {word}")),
    }
}

/// A cluster that never answers.
#[derive(Debug)]
struct Silent;

impl Fetch for Silent {
    fn fetch(&self, _: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, FetchError> {
        Err(FetchError("the other cluster does not answer".to_owned()))
    }
}

/// A cluster whose account of `key8` has more lamports whenever it is asked for.
#[derive(Default, Debug)]
struct Growing(AtomicU64);

impl Fetch for Growing {
    fn fetch(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, FetchError> {
        let grown = || {
            let lamports = 1_000_000 + self.0.fetch_add(1, Ordering::Relaxed);
            AccountSharedData::empty(lamports, &solana_sdk_ids::system_program::ID)
        };
        Ok(keys.iter().map(|key| (*key == address("key8")).then(grown)).collect())
    }
}

/// A disk that is full after some commits.
#[derive(Debug)]
struct FullDisk(usize);

impl Store for FullDisk {
    fn header(&mut self) -> Result<Option<Header>, StoreError> {
        Ok(None)
    }

    fn accounts(&mut self, _: &mut dyn FnMut(Pubkey, AccountSharedData)) -> Result<(), StoreError> {
        Ok(())
    }

    fn blocks(&mut self, _: &mut dyn FnMut(Block)) -> Result<(), StoreError> {
        Ok(())
    }

    fn fetched(&mut self) -> Result<Vec<Pubkey>, StoreError> {
        Ok(Vec::new())
    }

    fn commit(&mut self, _: &Commit) -> Result<(), StoreError> {
        let full = StoreError::File("ledger".to_owned(), "no space left on device".to_owned());
        self.0 = self.0.checked_sub(1).ok_or(full)?;
        Ok(())
    }

    fn clear(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn check(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn compact(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn size_bytes(&self) -> u64 {
        0
    }
}

/// What the command answers by, but for the debugger.
#[derive(Debug)]
struct Explorer;

impl Explainer for Explorer {
    fn explain(&self, asked: Asked) -> Result<Value, Failure> {
        Ok(explain::explain_transaction(&timeline(asked)?))
    }

    fn disassemble(
        &self,
        id: Pubkey,
        elf: Vec<u8>,
        from: usize,
        count: Option<usize>,
    ) -> Option<Value> {
        explain::disassemble_program(id, elf, from, count)
    }

    fn graph(&self, id: Pubkey, elf: Vec<u8>, function: u32) -> Option<Value> {
        explain::function_graph(id, elf, function)
    }

    fn usage(&self, asked: Vec<Asked>, program: Option<&Pubkey>) -> Result<Value, Failure> {
        let mut usage = Usage::default();
        for asked in asked {
            usage.add(&timeline(asked)?);
        }
        Ok(usage.to_json(program))
    }

    fn flame(&self, asked: Asked, format: Option<&str>) -> Result<Value, Failure> {
        flame::flame([timeline(asked)], format)
    }

    fn ask(
        &self,
        name: &str,
        asked: &dyn Fn() -> Result<Option<Asked>, Failure>,
        question: &Value,
    ) -> Result<Value, Failure> {
        let id = asked()?.map(timeline).transpose()?.map(|it| it.id().to_owned());
        Ok(json!({ "name": name, "id": id, "asked": question }))
    }
}

fn timeline(asked: Asked) -> Result<Timeline, Failure> {
    match asked {
        Asked::Replay(replay) => ReplayFile::from(*replay).timeline(0).or_failure(),
        Asked::Opened(_) | Asked::AllOpened => Err("nothing was opened".into()),
    }
}

impl World {
    /// Starts a node with these options: `history`, the transactions that are kept, `scan`, the
    /// accounts that a scan may return, `commits`, those after which the disk is full, and
    /// `fork=silent` or `fork=growing`.
    fn start(options: &str) -> Self {
        let clock = Arc::new(ManualClock::at(Duration::from_secs(1_800_000_000)));
        let mut node = selkie_node::Options { clock: clock.clone(), ..Default::default() };
        let explainer = Some(Arc::new(Explorer) as Arc<dyn Explainer>);
        let mut server = selkie_rpc::Options { explainer, ..Default::default() };
        let mut store = None;
        for option in options.split_whitespace() {
            match option.split_once('=').unwrap() {
                ("history", it) => node.history = HistoryLimit::Transactions(it.parse().unwrap()),
                ("scan", it) => server.limits.scan_accounts_max = it.parse().unwrap(),
                ("commits", it) => store = Some(Box::new(FullDisk(it.parse().unwrap()))),
                ("fork", "silent") => {
                    node.fetch = Some(Arc::new(Silent));
                    server.fetches = true;
                }
                ("fork", "growing") => {
                    node.fetch = Some(Arc::new(Growing::default()));
                    server.fetches = true;
                }
                (name, _) => panic!("no option: {name}"),
            }
        }
        let node = match store {
            Some(store) => Node::start_with_store(node, store).unwrap(),
            None => Node::start(node).unwrap(),
        };
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let addresses =
            Addresses { rpc: address(8899), websocket: address(8900), quic: Some(address(8003)) };
        let service = Arc::new(Service::start(node.clone(), server, addresses));
        let events = node.subscribe();
        let (text, draft) = (String::new(), Draft::default());
        Self { node, clock, events, service, socket: None, sent: None, draft, text }
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
        let mut text = text.replace("$SIGNATURE", &sent);
        if !text.contains('$') {
            return text;
        }
        for (number, key) in (1..).zip(keys()) {
            text = text.replace(&format!("$KEY{number}"), &key.pubkey().to_string());
        }
        if text.contains("$TRANSACTION") {
            let signed = self.draft.sign(self.node.view(CommitmentLevel::Finalized).blockhash());
            let wire = BASE64_STANDARD.encode(wincode::serialize(&signed).unwrap());
            text = text.replace("$TRANSACTION", &wire);
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
            Some(("start", options)) => {
                let text = core::mem::take(&mut self.text);
                *self = Self { text, ..Self::start(options) };
            }
            Some(("version", words)) => {
                let mut words = words.split_whitespace();
                let version = words.next().unwrap().to_owned();
                let table = words.next().map(|table| AddressLookupTableAccount {
                    key: address(table),
                    addresses: words.map(address).collect(),
                });
                self.draft = Draft { version, table, instructions: Vec::new() };
            }
            Some(("call", words)) => {
                self.draft.add(&words.split_whitespace().collect::<Vec<_>>());
            }
            _ if text == "fails" => {
                while self.node.failure().is_none() {
                    self.clock.advance(Duration::from_millis(400));
                    self.node.tick();
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            _ => self.wait().await,
        }
    }

    /// Waits until the block of the transaction that was sent last is the root, and all that happens
    /// until then has been notified: this is the only thread, and sleeps only when nothing is left.
    async fn wait(&mut self) {
        let sent = self.sent.expect("a transaction was sent");
        loop {
            let next = tokio::time::timeout(Duration::from_secs(20), self.events.recv()).await;
            let next = next.unwrap_or_else(|_| panic!("it does not land:\n{}", self.text));
            match next.expect("no event is missed") {
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
    let mut world = World::start("");
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
fn every_transcript_says_what_it_was_compared_with() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/rpc");
    let compared = format!("# compared with agave {}: ", selkie_rpc::API_VERSION);
    for path in fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
        let text = fs::read_to_string(&path).unwrap();
        let mark = text.lines().nth(1).unwrap_or_default();
        let is_reason =
            mark.strip_prefix("# not compared with agave: ").is_some_and(|it| !it.is_empty());
        let names_files = mark.strip_prefix(&compared).is_some_and(|it| it.contains(".rs"));
        assert!(
            names_files || is_reason,
            "{}: compare the answers with agave's source, and write the second line",
            path.display()
        );
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
