//! Descriptions of interfaces that are stored on chain.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use flate2::{Compression, write::ZlibEncoder};
use selkie_rpc::LocalNode;
use serde_json::{Value, json};
use solana_pubkey::Pubkey;

const METADATA: &str = "ProgM6JCCvbYkfKqJYHePx4xxSUSqJp7rh8Lyv7nk7S";

/// Sends a request, and returns its result.
fn ask(node: &LocalNode, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let mut stream = TcpStream::connect(node.addresses().rpc).expect("it listens");
    let head =
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("it has a head");
    serde_json::from_str::<Value>(body).expect("it is JSON")["result"].take()
}

/// Returns a description with one instruction of this name, compressed by zlib.
fn packed(name: &str) -> Vec<u8> {
    let text =
        json!({ "instructions": [{ "name": name, "accounts": [], "args": [] }] }).to_string();
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).expect("memory can be written");
    packed.finish().expect("memory can be written")
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).expect("it is short").to_le_bytes()
}

#[test]
fn descriptions_are_found_on_chain_and_change_with_their_account() {
    let node = LocalNode::start(selkie_node::Options::default()).expect("it starts");
    let program = Pubkey::new_unique();
    let described = || {
        let it = ask(&node, "selkie_getIdl", json!([program.to_string()]));
        (it["instructions"][0]["name"].clone(), it["origin"].clone())
    };
    let set = |address: &Pubkey, owner: &str, data: &[u8]| {
        let data: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
        let account = json!({ "data": data, "owner": owner });
        ask(&node, "selkie_setAccount", json!([address.to_string(), account]));
    };
    assert_eq!(described().0, Value::Null);

    let base = Pubkey::find_program_address(&[], &program).0;
    let anchor = Pubkey::create_with_seed(&base, "anchor:idl", &program).expect("it is short");
    for name in ["first", "second"] {
        let packed = packed(name);
        let data = [&[0; 40][..], &length(&packed), &packed, &[0; 100]].concat();
        set(&anchor, &program.to_string(), &data);
        assert_eq!(described(), (json!(name), json!(format!("on chain, in {anchor}"))));
    }

    // The newer program's account comes first.
    let metadata: Pubkey = METADATA.parse().expect("it is an address");
    let seed = [&b"idl"[..], &[0; 13]].concat();
    let newer = Pubkey::find_program_address(&[program.as_ref(), &seed], &metadata).0;
    let packed = packed("third");
    let head = [&[2][..], program.as_ref(), &[0; 32], &[1, 1], &seed, &[1, 2, 1, 0]].concat();
    let data = [&head[..], &length(&packed), &[0; 5], &packed].concat();
    set(&newer, METADATA, &data);
    assert_eq!(described(), (json!("third"), json!(format!("on chain, in {newer}"))));

    // What a client gives comes before all of them, until it is taken away.
    let given = json!({ "instructions": [{ "name": "fourth", "accounts": [], "args": [] }] });
    ask(&node, "selkie_setIdl", json!([program.to_string(), given]));
    assert_eq!(described(), (json!("fourth"), json!("uploaded")));
    ask(&node, "selkie_setIdl", json!([program.to_string()]));
    assert_eq!(described().0, "third");
}
