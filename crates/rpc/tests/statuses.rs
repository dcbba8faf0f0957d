//! Statuses of transactions that the history no longer has.

mod support;

use selkie_node::HistoryLimit;
use selkie_rpc::Options;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use support::{Socket, TestNode};
use tokio_tungstenite::tungstenite::Message;

#[test]
fn a_transaction_that_has_just_landed_is_notified_whatever_the_history_keeps() {
    let node =
        selkie_node::Options { history: HistoryLimit::Transactions(1), ..Default::default() };
    let node = TestNode::start_node(node, Options { rpc_port: 0, ..Options::default() });
    let to = Pubkey::new_from_array([5; 32]);
    let landed = node.node().airdrop_and_wait(&to, 1_000_000_000).unwrap();
    // The history has at least 512 blocks.
    for _ in 0..600 {
        node.node().airdrop_and_wait(&to, 1_000_000_000).unwrap();
    }
    let signature = landed.signature.to_string();
    let ask = |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        serde_json::from_str::<Value>(&node.post(&body.to_string()).1).unwrap()["result"].clone()
    };
    assert_eq!(ask("getTransaction", json!([signature])), Value::Null);
    let status = ask("getSignatureStatuses", json!([[signature]]));
    assert_eq!(
        (&status["value"][0]["slot"], &status["value"][0]["err"]),
        (&json!(landed.slot), &Value::Null)
    );
    let mut socket = Socket::connect(&node).unwrap();
    let params = json!([signature, { "commitment": "confirmed" }]);
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "signatureSubscribe", "params": params });
    socket.ask(&body.to_string());
    // The notification waits until the client has answered this, and so has read the subscription's id.
    assert!(matches!(socket.read_message(), Message::Ping(number) if number.len() == 8));
    let notification: Value = serde_json::from_str(&socket.read()).unwrap();
    assert_eq!(notification["method"], "signatureNotification");
    let result = json!({ "context": { "slot": landed.slot }, "value": { "err": null } });
    assert_eq!(notification["params"]["result"], result);
}
