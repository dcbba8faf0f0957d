//! What the server answers, byte for byte, over real sockets.

mod support;

use core::time::Duration;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    thread,
};

use selkie_rpc::{Limits, Options};
use support::TestNode;

/// Checks the answer to a body.
#[track_caller]
fn check(node: &TestNode, body: &str, expected: &str) {
    assert_eq!(node.post(body).1, expected, "{body}");
}

/// Checks the answer to a call, without the envelope.
#[track_caller]
fn call(node: &TestNode, method: &str, params: &str, expected: &str) {
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
    let expected = format!(r#"{{"jsonrpc":"2.0",{expected},"id":1}}"#);
    check(node, &body, &expected);
}

#[track_caller]
fn error(node: &TestNode, method: &str, params: &str, code: i64, message: &str) {
    let expected = format!(r#""error":{{"code":{code},"message":"{message}"}}"#);
    call(node, method, params, &expected);
}

#[test]
fn envelopes() {
    let node = TestNode::start();
    let check = |body, expected| check(&node, body, expected);
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":"getHealth"}"#,
        r#"{"jsonrpc":"2.0","result":"ok","id":7}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":"x","method":"getHealth","params":null}"#,
        r#"{"jsonrpc":"2.0","result":"ok","id":"x"}"#,
    );
    check("{", r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#);
    check(
        "[]",
        r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request"},"id":null}"#,
    );
    check(
        r#"{"jsonrpc":"1.0","id":1,"method":"getHealth"}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Unsupported JSON-RPC protocol version"},"id":1}"#,
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}"#,
    );
    check(r#"{"jsonrpc":"2.0","method":"ping"}"#, "");
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"getHealth"},{"jsonrpc":"2.0","method":"ping"},5]"#,
        r#"[{"jsonrpc":"2.0","result":"ok","id":1},{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request"},"id":null}]"#,
    );
}

#[test]
fn parameters() {
    let node = TestNode::start();
    let error = |method, params, code, message| error(&node, method, params, code, message);
    error("getBalance", "[]", -32602, "`params` should have at least 1 argument(s)");
    error("getBalance", "{}", -32602, "`params` should be an array");
    error("getBalance", r#"["11"]"#, -32602, "Invalid param: WrongSize");
    error("getBalance", r#"["0"]"#, -32602, "Invalid param: Invalid");
    error(
        "getBalance",
        "[5]",
        -32602,
        "Invalid params: invalid type: integer `5`, expected a string.",
    );
    error("getSignatureStatuses", r#"[["abc"]]"#, -32602, "Invalid param: WrongSize");
    error("getSlotLeaders", "[0,5001]", -32602, "Invalid limit; max 5000");
    error("getMinimumBalanceForRentExemption", "[10485761]", -32600, "Invalid request");
    error("getHighestSnapshotSlot", "[]", -32008, "No snapshot");
    let many = serde_json::to_string(&vec![vec![SYSTEM; 101]]).unwrap();
    error("getMultipleAccounts", &many, -32602, "Too many inputs provided; max 100");
    let key = format!(r#"["{SYSTEM}",{{"limit":1001}}]"#);
    error("getSignaturesForAddress", &key, -32602, "Invalid limit; max 1000");
    let key = format!(r#"["{SYSTEM}",{{"commitment":"processed"}}]"#);
    error(
        "getSignaturesForAddress",
        &key,
        -32602,
        "Method does not support commitment below `confirmed`",
    );
    error("getBlock", "[1000000]", -32004, "Block not available for slot 1000000");
    let key = format!(
        r#"["{SYSTEM}",{{"filters":[{{"dataSize":1}},{{"dataSize":1}},{{"dataSize":1}},{{"dataSize":1}},{{"dataSize":1}}]}}]"#
    );
    error("getProgramAccounts", &key, -32602, "Too many filters provided; max 4");
    let (system, nobody) = (quoted(SYSTEM), quoted(NOBODY));
    error("getTokenAccountBalance", &system, -32602, "Invalid param: not a Token account");
    error("getTokenSupply", &nobody, -32602, "Invalid param: could not find account");
    let program = format!(r#"["{SYSTEM}",{{"programId":"{SYSTEM}"}}]"#);
    error(
        "getTokenAccountsByOwner",
        &program,
        -32602,
        "Invalid param: unrecognized Token program id",
    );
}

const SYSTEM: &str = "11111111111111111111111111111111";
const NOBODY: &str = "Stake11111111111111111111111111111111111112";

fn quoted(key: &str) -> String {
    format!(r#"["{key}"]"#)
}

#[test]
fn transactions_that_cannot_be_read() {
    let node = TestNode::start();
    let error = |params, message| error(&node, "sendTransaction", params, -32602, message);
    error(
        r#"["",{"encoding":"json"}]"#,
        "unsupported encoding: json. Supported encodings: base58, base64",
    );
    error(r#"["!",{"encoding":"base64"}]"#, "invalid base64 encoding: InvalidByte(0, 33)");
    let long = format!(r#"["{}"]"#, "1".repeat(1684));
    error(
        &long,
        "base58 encoded solana_transaction::versioned::VersionedTransaction too large: 1684 bytes (max: encoded/raw 1683/1232)",
    );
}

#[test]
fn nulls_and_unknown_keys_are_ignored() {
    let node = TestNode::start();
    let config =
        r#"{"commitment":null,"minContextSlot":null,"encoding":null,"dataSlice":null,"color":1}"#;
    let (_, answer) = node.post(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["{NOBODY}",{config}]}}"#
    ));
    assert!(answer.contains(r#""value":null"#), "{answer}");
    let (_, answer) = node.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"commitment":"sometime"}]}"#,
    );
    assert!(answer.contains(r#""result":"#), "{answer}");
    let (_, answer) = node.post(
        r#"{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"minContextSlot":1000000}]}"#,
    );
    assert!(answer.contains("-32016") && answer.contains("contextSlot"), "{answer}");
}

#[test]
fn an_account_has_alphabetical_fields() {
    let node = TestNode::start();
    let (_, answer) = node.post(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["{SYSTEM}",{{"encoding":"base64"}}]}}"#
    ));
    let value = r#""value":{"data":["c29sYW5hX3N5c3RlbV9wcm9ncmFt","base64"],"executable":true,"lamports":1,"owner":"NativeLoader1111111111111111111111111111111","rentEpoch":0,"space":21}"#;
    assert!(answer.contains(value), "{answer}");
}

#[test]
fn limits_of_http() {
    let node = TestNode::start();
    let (status, _) = node.request("POST", "content-type: text/plain", "{}");
    assert_eq!(status, 415);
    let (status, _) = node.request("PUT", "content-type: application/json", "{}");
    assert_eq!(status, 405);
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(60_000));
    let (status, _) = node.request("POST", "content-type: application/json", &long);
    assert_eq!(status, 413);
    let deep = "[".repeat(10_000);
    assert!(node.post(&deep).1.contains("-32700"));
    let batch = format!("[{}]", vec!["1"; 1001].join(","));
    assert!(node.post(&batch).1.contains("the limit is 1000"));
}

#[test]
fn pages_of_other_origins_cannot_cheat() {
    let node = TestNode::start();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"selkie_snapshot"}"#;
    let json = "content-type: application/json";
    let (_, answer) = node.request("POST", &format!("{json}\r\norigin: https://x.org"), body);
    assert!(answer.contains("-32600"), "{answer}");
    let (_, answer) = node.request("POST", &format!("{json}\r\norigin: http://localhost:3"), body);
    assert!(answer.contains(r#""result":"#), "{answer}");
}

#[test]
fn every_method_answers_with_the_protocol() {
    let node = TestNode::start();
    for method in selkie_rpc::METHODS {
        for params in ["[]", "[null,null,null,null]", "[[[[]]]]", r#"["x",{},{},{}]"#, "[-1]"] {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"{}","params":{params}}}"#,
                method.name
            );
            let (status, answer) = node.post(&body);
            assert!(
                status == 200 && answer.starts_with(r#"{"jsonrpc":"2.0","#),
                "{body}: {answer}"
            );
            assert!(!answer.contains("-32603"), "{body}: {answer}");
        }
    }
}

/// Opens a WebSocket, and reads the status of the answer.
#[track_caller]
fn web_socket(node: &TestNode) -> TcpStream {
    let mut socket = node.connect();
    let head = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    let mut status = [0; 12];
    socket.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 101");
    socket
}

/// A client that gets no answer to its close frame takes the connection for broken: web3.js opens it again
/// and again, and a process with it never ends.
#[test]
fn a_close_of_a_web_socket_is_answered() {
    let node = TestNode::start_with(Options { rpc_port: 0, ..Options::default() });
    let mut socket = web_socket(&node);
    // A masked close frame with the code 1000, and the one that answers it.
    socket.write_all(&[0x88, 0x82, 0, 0, 0, 0, 3, 0xe8]).unwrap();
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    assert!(rest.ends_with(&[0x88, 2, 3, 0xe8]), "{rest:?}");
}

#[test]
fn web_sockets_count_as_connections() {
    let limits = Limits { connections_max: 1, ..Limits::default() };
    let node = TestNode::start_with(Options { rpc_port: 0, limits, ..Options::default() });
    let mut socket = web_socket(&node);
    // A masked ping and its pong: the socket is being served.
    socket.write_all(&[0x89, 0x80, 0, 0, 0, 0]).unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(&[0x8a, 0]) {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    // A connection beyond the limit is closed without an answer.
    assert_eq!(node.connect().read(&mut [0]).unwrap_or(0), 0);
    drop(socket);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
    loop {
        // The server needs a moment to see that the client has gone.
        let mut next = node.connect();
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let _ = next
            .write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
        if next.read(&mut [0]).is_ok_and(|len| len == 1) {
            break;
        }
    }
}

#[test]
fn the_leader_schedule_has_every_slot_of_the_epoch() {
    let node = selkie_node::Options { slots_per_epoch: 32, ..Default::default() };
    let node = TestNode::start_node(node, Options { rpc_port: 0, ..Options::default() });
    let slots = (0..32).map(|slot| slot.to_string()).collect::<Vec<_>>().join(",");
    let own = r#""FPGEgaV3hz37zQj1jiAgPAkopM2gZtpMkfDx1CaLSvFr""#;
    let schedule = format!(r#""result":{{{own}:[{slots}]}}"#);
    call(&node, "getLeaderSchedule", "[]", &schedule);
    call(&node, "getLeaderSchedule", &format!(r#"[null,{{"identity":{own}}}]"#), &schedule);
    call(&node, "getLeaderSchedule", r#"[{"identity":null}]"#, &schedule);
    call(&node, "getLeaderSchedule", "[1000]", r#""result":null"#);
    let other = "11111111111111111111111111111111";
    let unknown = format!("Node {other} was not in the leader schedule for specified epoch");
    error(&node, "getLeaderSchedule", &format!(r#"[{{"identity":"{other}"}}]"#), -32022, &unknown);
    let vote_account = selkie_node::Options::default().vote_account;
    let schedule = format!(r#""result":{{"{vote_account}":[{slots}]}}"#);
    let params = format!(r#"[{{"keyByVoteAccount":true,"identity":{own}}}]"#);
    call(&node, "getLeaderSchedule", &params, &schedule);
}

#[test]
fn who_reads_nothing_of_an_answer_is_let_go() {
    let send_timeout = Duration::from_millis(100);
    let limits = Limits { connections_max: 1, send_timeout, ..Limits::default() };
    let node = TestNode::start_with(Options { rpc_port: 0, limits, ..Options::default() });
    let post = |mut socket: &TcpStream, body: &str| {
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        let len = body.len();
        socket.write_all(format!("{head}content-length: {len}\r\n\r\n{body}").as_bytes())
    };
    // Answers that together are longer than what the system buffers, of which nothing is read.
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"getLeaderSchedule"}"#;
    let mut idle = node.connect();
    post(&idle, &format!("[{}]", [call; 6].join(","))).unwrap();
    // One that waits for no answer yet would make way.
    idle.read_exact(&mut [0; 12]).unwrap();
    let is_served = || {
        let mut next = node.connect();
        let _ = post(&next, r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#);
        next.read(&mut [0]).is_ok_and(|len| len == 1)
    };
    let mut attempts = 0;
    while !is_served() {
        attempts += 1;
        assert!(attempts < 2000, "the connection is still open");
        thread::sleep(Duration::from_millis(5));
    }
    let mut read = Vec::new();
    let _ = idle.read_to_end(&mut read);
    let text = String::from_utf8_lossy(&read);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let whole = head.to_lowercase().split("content-length: ").nth(1).unwrap().to_owned();
    let whole: usize = whole.split("\r\n").next().unwrap().parse().unwrap();
    assert!(body.len() < whole, "all {whole} bytes were sent");
}
