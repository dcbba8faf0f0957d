//! Servers whose answers would take far more memory than they have bytes, or have no end.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::Arc,
    thread,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};

use crate::{
    bound::{assert_short_lines, run},
    common::{Output, folder},
};

const KEY: &str = "7V1FVd1sHMp1kZW1JTnKbHKsLXP4yGnZ7SC4tvQXyZqA";

/// A server that gives each request the answer `head`, `body` so many times, and `tail`.
fn serve(head: &str, body: &str, count: usize, tail: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let block: Arc<str> = body.repeat(10_000).into();
    let blocks = count.div_ceil(10_000);
    let (head, tail) = (head.to_owned(), tail.to_owned());
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (block, head, tail) = (Arc::clone(&block), head.clone(), tail.clone());
            thread::spawn(move || {
                let mut request = [0; 65_536];
                let _ = stream.read(&mut request);
                let len = head.len() + blocks * block.len() + tail.len();
                let start = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
                let _ = write!(stream, "{start} {len}\r\n\r\n{head}");
                // The command closes the connection when it has seen enough.
                let sent = (0..blocks).try_for_each(|_| stream.write_all(block.as_bytes()));
                let _ = sent.and_then(|()| stream.write_all(tail.as_bytes()));
            });
        }
    });
    url
}

/// What an answer may take besides the bounds of all commands.
const ANSWER_BYTES_MAX: usize = 128 << 20;

fn ask(name: &str, url: &str, arguments: &[&str]) -> Output {
    let folder = folder(&format!("bounds-server-{name}"));
    let output = run(&folder, ANSWER_BYTES_MAX, &[arguments, &["--url", url]].concat());
    assert_eq!(output.code, Some(2), "{output:?}");
    assert_short_lines(&output);
    output
}

/// Answers of 400 MB, and such that end within the budget.
fn check(name: &str, head: &str, body: &str, tail: &str) {
    for bytes in [400_000_000, 60_000_000, 900_000] {
        let url = serve(head, body, bytes / body.len(), tail);
        ask(name, &url, &["account", "show", KEY]);
        ask(name, &url, &["airdrop", "1", KEY, "--payer", "test:payer"]);
    }
}

#[test]
fn long_lists_in_the_place_of_results() {
    check("list", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[0", ",0", "]}");
    check("lists", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[[]", ",[]", "]}");
}

#[test]
fn long_lists_of_accounts() {
    let head = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"value\":[null";
    check("nulls", head, ",null", "]}}");
}

#[test]
fn long_lists_in_errors() {
    let head =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"message\":\"m\",\"data\":{\"logs\":[\"\"";
    check("logs", head, ",\"\"", "]}}}");
    let head = "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"message\":\"m\",\"data\":[0";
    check("data", head, ",0", "]}}");
}

#[test]
fn answers_that_are_none() {
    check("none", "[0", ",0", "]");
    check("spaces", "{", " ", "}");
}

#[test]
fn accounts_over_ten_mebibytes() {
    let data = BASE64_STANDARD.encode(vec![0; (10 << 20) + 3]);
    let account = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"value\":[{{\"lamports\":1,\
         \"owner\":\"11111111111111111111111111111111\",\"executable\":false,\"rentEpoch\":0,\
         \"data\":[\"{data}\",\"base64\"]}}]}}}}"
    );
    let url = serve(&account, "", 0, "");
    let output = ask("accounts", &url, &["node", "--rpc-port", "0", "--clone", KEY]);
    assert!(output.stderr.contains("an account has more than 10485760 bytes"), "{output:?}");
}

#[test]
fn a_node_that_clones_from_a_hostile_server_says_so() {
    let head = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[0";
    let url = serve(head, ",0", 200_000_000, "]}");
    ask("node", &url, &["node", "--rpc-port", "0", "--clone", KEY]);
}
