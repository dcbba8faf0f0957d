//! `selkie inspect` answers questions about a transaction, and serves pages that show it.

mod common;

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use common::{folder, repository, selkie};
use serde_json::{Value, json};

/// Records a run of the counter, which adds one to 41.
fn recorded(name: &str) -> PathBuf {
    let folder = folder(name);
    let counter = repository().join("examples/counter");
    let path = |file: &str| counter.join(file).display().to_string();
    let (source, input) = (path("counter.s"), path("input.json"));
    let run = ["run", &source, "--input", &input, "--save-replay", "call.replay"];
    assert_eq!(selkie(&folder, &run).code, Some(0));
    folder
}

/// Asks questions, and returns the answers.
fn ask(folder: &Path, requests: &[String]) -> Vec<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
    command.args(["inspect", "call.replay"]).current_dir(folder);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it is built");
    let input = requests.join("\n");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("answers are text");
    text.lines().map(|line| serde_json::from_str(line).expect("answers are JSON")).collect()
}

#[test]
fn questions_are_answered_line_by_line() {
    let folder = recorded("inspect-questions");
    let first = ask(&folder, &[json!({ "method": "transaction" }).to_string()]);
    let program = first[0]["result"]["invocations"][0]["program"].clone();
    let end = first[0]["result"]["steps"].as_u64().expect("it is a number");
    let data = json!({ "step": end, "invocation": 0, "vaddr": "0x400000060", "len": 8 });
    let requests = [
        json!({ "id": "a", "method": "lastWrite", "params": data }).to_string(),
        json!({ "id": 2, "method": "memory", "params": {
            "step": end - 1, "vaddr": 0x4_0000_0060_u64, "len": 8 } })
        .to_string(),
        json!({ "id": 3, "method": "find", "params": { "pc": 0, "program": program } }).to_string(),
        json!({ "id": 4, "method": "state", "params": { "step": 3 } }).to_string(),
        json!({ "id": 5, "method": "account", "params": { "step": 0, "index": 0 } }).to_string(),
        "{".to_owned(),
        json!({ "id": 7, "method": "state" }).to_string(),
        json!({ "id": 8, "method": "memory", "params": {
            "step": 0, "vaddr": 0, "len": 1 << 30 } })
        .to_string(),
        json!({ "id": 9, "method": "lastWrite", "params": {
            "step": 0, "invocation": 5, "vaddr": 0, "len": 1 } })
        .to_string(),
        json!({ "id": 10, "method": "find", "params": { "pc": 0, "program": "x" } }).to_string(),
        json!({ "id": 11, "method": "run" }).to_string(),
    ];
    let answers = ask(&folder, &requests);
    assert_eq!(answers.len(), requests.len());
    assert_eq!(answers[0]["id"], "a");
    assert_eq!(answers[0]["result"]["new"], "2a00000000000000");
    assert_eq!(answers[1]["result"], "2a00000000000000");
    assert_eq!(answers[2]["result"], 0);
    assert_eq!(answers[3]["result"]["levels"][0]["step"], 3);
    assert!(answers[4]["result"]["pubkey"].is_string(), "{}", answers[4]);
    for (answer, error) in answers[5..].iter().zip([
        "not JSON",
        "`step` is missing",
        "1048576 is the maximum",
        "there is no invocation 5",
        "`program`",
        "there is no method `run`, only transaction, state",
    ]) {
        let found = answer["error"].as_str().unwrap_or_default();
        assert!(found.contains(error), "{answer}");
    }
}

#[test]
fn pages_are_served_for_what_was_recorded() {
    let folder = recorded("inspect-pages");
    let missing = selkie(&folder, &["inspect", "call.replay", "--transaction", "3"]);
    assert_eq!(missing.code, Some(2), "{missing:#?}");
    assert!(selkie(&folder, &["inspect", "--methods"]).stdout.contains("lastWrite"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
    command.args(["inspect", "call.replay", "--port", "0", "--json"]).current_dir(&folder);
    let mut served = command.stdout(Stdio::piped()).spawn().expect("it is built");
    let mut line = String::new();
    let output = served.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut line).expect("it tells its address");
    let told: Value = serde_json::from_str(&line).expect("it is JSON");
    let url = told["url"].as_str().expect("it is text");
    let (address, path) = url.trim_start_matches("http://").split_once('/').expect("it has a path");
    assert_eq!((path, &told["transactions"]), ("replay/0", &json!(1)));
    let ask = |method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        post(address, &body.to_string())["result"].clone()
    };
    assert_eq!(ask("selkie_listReplays", json!([]))[0]["compute_units"], 17);
    assert_eq!(ask("selkie_explainTransaction", json!(["replay-0"]))["steps"], 17);
    assert_eq!(ask("selkie_flameTransaction", json!(["replay-0"]))["units"], 17);
    let question = json!(["replay-0", { "ask": "step", "step": 3 }]);
    assert_eq!(ask("selkie_debugTransaction", question)["unitsLeft"], json!(199_997));
    served.kill().expect("it is running");
    served.wait().expect("it was started here");
}

/// Sends a request, and returns the answer.
fn post(address: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("it has a body");
    serde_json::from_str(body).expect("it is JSON")
}
