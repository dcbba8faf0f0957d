//! Nodes that tests embed.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Mutex,
    thread,
};

use selkie_rpc::LocalNode;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

/// Sends a body and returns the answer's body.
fn post(local: &LocalNode, body: &str) -> String {
    let mut stream = TcpStream::connect(local.addresses().rpc).unwrap();
    let len = body.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {len}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

fn airdrop_and_check(number: u8) {
    let local = LocalNode::start(selkie_node::Options::default()).unwrap();
    let key = Pubkey::new_from_array([number.saturating_add(1); 32]);
    let lamports = 1_000_000 + u64::from(number);
    let params = format!(r#"["{key}",{lamports}]"#);
    let answer = post(
        &local,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"requestAirdrop","params":{params}}}"#),
    );
    assert!(answer.contains(r#""result":"#), "{answer}");
    while local.node().view(CommitmentLevel::Finalized).balance(&key) == 0 {
        thread::yield_now();
    }
    let params = format!(r#"["{key}"]"#);
    let answer = post(
        &local,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getBalance","params":{params}}}"#),
    );
    assert!(answer.contains(&format!(r#""value":{lamports}"#)), "{answer}");
}

/// Held by each test: a port that one node has freed may be given to another one.
static PORTS: Mutex<()> = Mutex::new(());

#[test]
fn a_hundred_nodes_run_in_parallel() {
    let _ports = PORTS.lock();
    thread::scope(|scope| {
        for number in 0..100 {
            scope.spawn(move || airdrop_and_check(number));
        }
    });
}

#[test]
fn a_node_starts_and_stops_inside_an_async_test() {
    let _ports = PORTS.lock();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let local = LocalNode::start(selkie_node::Options::default()).unwrap();
        assert!(local.rpc_url().starts_with("http://127.0.0.1:"));
        assert!(local.websocket_url().starts_with("ws://127.0.0.1:"));
        let address = local.addresses().rpc;
        drop(local);
        assert!(tokio::net::TcpStream::connect(address).await.is_err());
    });
}
