//! What small requests, and clients that read or say nothing, can make the server do.

mod support;

use core::time::Duration;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_rpc::{Limits, Options};
use serde_json::{Value, json};
use solana_account::Account;
use solana_instruction::{AccountMeta, Instruction};
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use support::TestNode;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// A node with an account of so many bytes.
fn node(limits: Limits, bytes: usize) -> TestNode {
    let options = Options { rpc_port: 0, limits, ..Options::default() };
    let node = TestNode::start_with(options);
    let account = Account { lamports: u64::MAX / 4, data: vec![7; bytes], ..Account::default() };
    node.node().set_account(key(), account).unwrap();
    node
}

fn key() -> Pubkey {
    Pubkey::new_from_array([7; 32])
}

/// A request for the account, as often as is said.
fn accounts(times: usize) -> String {
    let keys = vec![key().to_string(); times];
    let params = json!([keys, { "encoding": "base64" }]);
    json!({ "jsonrpc": "2.0", "id": 1, "method": "getMultipleAccounts", "params": params })
        .to_string()
}

const HEALTH: &str = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
const HEALTHY: &str = r#"{"jsonrpc":"2.0","result":"ok","id":1}"#;

/// Sends a request and reads nothing of its answer.
fn send(node: &TestNode, body: &str) -> TcpStream {
    let mut stream = node.connect();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let len = body.len();
    stream.write_all(format!("{head}content-length: {len}\r\n\r\n{body}").as_bytes()).unwrap();
    stream
}

/// Returns a number of the metrics.
fn metric(node: &TestNode, name: &str) -> usize {
    let mut stream = node.connect();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    line.trim().parse().unwrap()
}

/// Waits until something is so.
#[track_caller]
fn wait(mut is_so: impl FnMut() -> bool) {
    for _ in 0..4000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("it never is");
}

#[test]
fn a_batch_has_an_answer_of_bounded_size() {
    let answer_bytes_max = 8 * MIB;
    let node = node(Limits { answer_bytes_max, ..Limits::default() }, 0);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"getLeaderSchedule"}"#;
    let (status, answer) = node.post(&format!("[{}]", vec![call; 930].join(",")));
    assert_eq!(status, 200);
    assert!(answer.len() < answer_bytes_max + 930 * 400, "{} bytes", answer.len());
    let answers: Vec<Value> = serde_json::from_str(&answer).unwrap();
    assert_eq!(answers.len(), 930);
    assert!(answers[0]["result"].is_object() && answers[1]["result"].is_object());
    let last = &answers[929];
    let reason = last["error"]["message"].as_str().unwrap();
    assert!(reason.contains("longer than 8388608 bytes"), "{reason}");
    assert_eq!((&last["id"], &last["error"]["code"]), (&json!(1), &json!(-32600)));
}

#[test]
fn an_account_named_often_is_bounded_by_the_answer() {
    let node = node(Limits { answer_bytes_max: 8 * MIB, ..Limits::default() }, MIB);
    let (_, answer) = node.post(&accounts(100));
    assert!(answer.contains("the limit of an answer") && answer.contains(r#""id":1"#), "{answer}");
    let (_, answer) = node.post(&accounts(5));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let value = answer["result"]["value"].as_array().unwrap();
    assert!(value.len() == 5 && value.iter().all(|it| *it == value[0] && it["space"] == MIB));
}

#[test]
fn a_simulation_shows_accounts_within_the_limit() {
    let node = node(Limits { answer_bytes_max: 4 * MIB, ..Limits::default() }, 2 * MIB);
    let payer = Pubkey::new_from_array([9; 32]);
    let rich = Account { lamports: 1 << 40, ..Account::default() };
    node.node().set_account(payer, rich).unwrap();
    // The payer sends nothing to itself.
    let accounts = vec![
        AccountMeta::new(payer, true),
        AccountMeta::new(payer, true),
        AccountMeta::new_readonly(key(), false),
    ];
    let data = [&2_u32.to_le_bytes()[..], &[0; 8]].concat();
    let transfer = Instruction { program_id: solana_sdk_ids::system_program::ID, accounts, data };
    let message = Message::new(&[transfer], Some(&payer));
    let signatures = vec![Signature::default()];
    let message = VersionedMessage::Legacy(message);
    let wire = wincode::serialize(&VersionedTransaction { signatures, message }).unwrap();
    let wire = BASE64_STANDARD.encode(wire);
    let simulate = |addresses: &[String]| {
        let config = json!({
            "encoding": "base64", "sigVerify": false, "replaceRecentBlockhash": true,
            "accounts": { "encoding": "base64", "addresses": addresses },
        });
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "simulateTransaction", "params": [wire, config],
        });
        node.post(&body.to_string()).1
    };
    let one = simulate(&[key().to_string()]);
    assert!(one.contains(r#""space":2097152"#), "{}", &one[..one.len().min(300)]);
    assert!(simulate(&[key().to_string(), key().to_string()]).contains("the limit of an answer"));
}

#[test]
fn answers_that_nobody_reads_leave_space_for_others() {
    let limits = Limits { answers_bytes_max: 44 * MIB, ..Limits::default() };
    let node = node(limits, 8 * MIB);
    // The system's own buffers take some megabytes of an answer of 32.
    let idle = send(&node, &accounts(3));
    wait(|| metric(&node, "selkie_rpc_answers_bytes ") > 30 * MIB);
    let (_, answer) = node.post(&accounts(2));
    assert!(answer.contains("The node is busy") && answer.contains("-32603"), "{answer}");
    assert_eq!(node.post(HEALTH).1, HEALTHY);
    drop(idle);
    wait(|| metric(&node, "selkie_rpc_answers_bytes ") == 0);
    assert!(node.post(&accounts(2)).1.contains(r#""result""#));
}

#[test]
fn silent_connections_are_closed_whatever_they_began_with() {
    let limits = Limits { head_timeout: Duration::from_millis(100), ..Limits::default() };
    let node = node(limits, 0);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    for begun in
        [&b""[..], b"P", &preface[..3], &preface[..24], preface, b"POST / HTTP/1.1\r\nhost"]
    {
        let mut stream = node.connect();
        stream.write_all(begun).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        let is_open = ended.is_err_and(|error| {
            matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
        });
        assert!(!is_open, "{begun:?}");
    }
}

#[test]
fn silent_connections_make_way_for_new_ones() {
    let limits = Limits { connections_max: 20, address_connections_max: 10, ..Limits::default() };
    let node = node(limits, 0);
    let mut silent: Vec<TcpStream> = (0..50).map(|_| node.connect()).collect();
    assert_eq!(node.post(HEALTH).1, HEALTHY);
    // The oldest was closed.
    assert_eq!(silent[0].read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn requests_that_never_end_make_way_for_others() {
    let limits = Limits { connections_max: 10, ..Limits::default() };
    let node = node(limits, 0);
    let _begun: Vec<TcpStream> = (0..30)
        .map(|_| {
            let mut stream = node.connect();
            let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
            let _ = stream.write_all(format!("{head}content-length: 99\r\n\r\n{{").as_bytes());
            stream
        })
        .collect();
    assert_eq!(node.post(HEALTH).1, HEALTHY);
}

#[test]
fn web_sockets_leave_connections_for_requests() {
    let limits = Limits { sockets_max: 2, ..Limits::default() };
    let node = node(limits, 0);
    let sockets: Vec<_> = (0..2).map(|_| support::Socket::connect(&node).unwrap()).collect();
    assert_eq!(support::Socket::connect(&node).unwrap_err(), 503);
    assert_eq!(node.post(HEALTH).1, HEALTHY);
    drop(sockets);
    wait(|| support::Socket::connect(&node).is_ok());
}

fn subscribe(data_slice: &Value) -> String {
    let config = json!({ "encoding": "base64", "dataSlice": data_slice });
    let params = json!([key().to_string(), config]);
    json!({ "jsonrpc": "2.0", "id": 1, "method": "accountSubscribe", "params": params }).to_string()
}

#[test]
fn what_many_wait_for_is_kept_once() {
    let limits = Limits { queue_bytes_max: 1 << 40, ..Limits::default() };
    let node = node(limits, 4 * MIB);
    let mut slow = support::Socket::connect(&node).unwrap();
    for _ in 0..300 {
        slow.ask(&subscribe(&Value::Null));
    }
    let mut quick = support::Socket::connect(&node).unwrap();
    quick.ask(r#"{"jsonrpc":"2.0","id":1,"method":"rootSubscribe"}"#);
    node.node().set_balance(key(), u64::MAX / 5).unwrap();
    assert!(quick.read().contains("rootNotification"));
    let held = metric(&node, "selkie_ws_notifications_bytes ");
    assert!((4 * MIB..16 * MIB).contains(&held), "{held} bytes");
    // A long notification comes whole.
    let notification: Value = serde_json::from_str(&slow.read()).unwrap();
    let value = &notification["params"]["result"]["value"];
    assert_eq!((&value["lamports"], &value["space"]), (&json!(u64::MAX / 5), &json!(4 * MIB)));
    drop(slow);
    wait(|| metric(&node, "selkie_ws_notifications_bytes ") < MIB);
}

/// Lets notifications of an account wait for a client that does not read them, each in another encoding,
/// and returns the node once that connection is closed.
fn overflow(limits: Limits, subscriptions: usize) -> TestNode {
    let node = node(limits, 4 * MIB);
    let mut slow = support::Socket::connect(&node).unwrap();
    for offset in 0..subscriptions {
        slow.ask_while_open(&subscribe(&json!({ "offset": offset, "length": 3 * MIB })));
    }
    let mut quick = support::Socket::connect(&node).unwrap();
    quick.ask(r#"{"jsonrpc":"2.0","id":1,"method":"rootSubscribe"}"#);
    node.node().set_balance(key(), u64::MAX / 5).unwrap();
    assert!(quick.read().contains("rootNotification"));
    wait(|| metric(&node, "selkie_ws_connections ") == 1);
    node
}

#[test]
fn a_connection_that_overflows_is_let_go_and_nothing_more_is_kept_for_it() {
    let node = overflow(Limits { queue_bytes_max: 8 * MIB, ..Limits::default() }, 300);
    wait(|| metric(&node, "selkie_ws_notifications_bytes ") < MIB);
}

#[test]
fn notifications_of_all_connections_have_a_limit() {
    let node = overflow(Limits { queues_bytes_max: 6 * MIB, ..Limits::default() }, 3);
    assert_eq!(node.post(HEALTH).1, HEALTHY);
}

#[test]
fn the_length_of_a_filter_is_checked_before_it_is_decoded() {
    let node = node(Limits::default(), 0);
    let check = |bytes: String, encoding: &str| {
        let memcmp = json!({ "offset": 0, "bytes": bytes, "encoding": encoding });
        let params = json!([key().to_string(), { "filters": [{ "memcmp": memcmp }] }]);
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "getProgramAccounts", "params": params,
        });
        node.post(&body.to_string()).1
    };
    // The text is neither base58 nor base64, but the error is that of its length, which comes first.
    for (len, encoding) in [(176, "base58"), (45_000, "base58"), (173, "base64")] {
        let answer = check("!".repeat(len), encoding);
        assert!(answer.contains("Invalid param: DataTooLarge"), "{answer}");
    }
    assert!(check("!".repeat(175), "base58").contains("Base58DecodeError"));
    // 128 bytes are allowed.
    let longest = bs58::encode([255; 128]).into_string();
    assert!(check(longest, "base58").contains(r#""result":[]"#));
}

#[test]
fn cheatcodes_need_a_name_of_this_machine() {
    let options =
        Options { rpc_port: 0, hosts: vec!["dev.example".to_owned()], ..Options::default() };
    let node = TestNode::start_with(options);
    let ask = |host: &str, body: &str| {
        let mut stream = node.connect();
        let len = body.len();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n"
        );
        stream.write_all(format!("{head}content-length: {len}\r\n\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let cheat = r#"{"jsonrpc":"2.0","id":1,"method":"selkie_snapshot"}"#;
    for host in ["localhost:8899", "127.0.0.1", "[::1]:8899", "DEV.example:1"] {
        assert!(ask(host, cheat).contains(r#""result":"#), "{host}");
    }
    // A page whose name was made to mean this machine.
    for host in ["evil.example", "localhost.evil.example:8899"] {
        assert!(ask(host, cheat).contains("-32600"), "{host}");
        assert!(ask(host, HEALTH).contains(HEALTHY), "{host}");
    }
}
