//! `selkie inspect` answers questions about a transaction, and writes a page that shows it.

mod common;

use std::{
    fs,
    io::Write as _,
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
fn a_page_has_the_transaction_and_no_markup_of_it() {
    let folder = recorded("inspect-page");
    let replay = fs::read_to_string(folder.join("call.replay")).expect("it was written");
    let hostile = replay.replace("\"counter.s\"", "\"</script><script>alert(1)</script>\"");
    assert_ne!(replay, hostile);
    fs::write(folder.join("call.replay"), hostile).expect("it is writable");
    let written = selkie(&folder, &["inspect", "call.replay", "-o", "call.html"]);
    assert_eq!(written.code, Some(0), "{written:#?}");
    let page = fs::read_to_string(folder.join("call.html")).expect("it was written");
    assert_eq!(page.matches("</script>").count(), 2, "that of the data, and that of the page");
    let (_, data) = page.split_once("type=\"application/json\">").expect("it has data");
    let (data, _) = data.split_once("</script>").expect("the data end");
    let data: Value = serde_json::from_str(data).expect("they are JSON");
    assert_eq!(data["id"], "</script><script>alert(1)</script>");
    assert_eq!(data["compute_units"], 17);
    assert_eq!(data["profile"]["functions"][0]["own"], 17);
    let missing = selkie(&folder, &["inspect", "call.replay", "--transaction", "3"]);
    assert_eq!(missing.code, Some(2), "{missing:#?}");
    assert!(selkie(&folder, &["inspect", "--methods"]).stdout.contains("lastWrite"));
}
