//! Text of programs, files and servers does not steer the terminal, and makes no lines of its own.

mod common;

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use common::{Output, folder, repository, selkie};
use serde_json::json;

/// The program's log as it is shown.
const SHOWN: &str = r"Program log: \x1b]0;PWNED\x07\x1b[2J\x1b[31mRED\nfake\rln";
/// The same with its control characters.
const RAW: &str = "Program log: \x1b]0;PWNED\x07\x1b[2J\x1b[31mRED\nfake\rln";

/// A folder with the program whose log has control characters.
fn prepared(name: &str) -> PathBuf {
    let folder = folder(&format!("terminal-{name}"));
    let source = repository().join("testdata/hostile/escape-sequences.s");
    fs::copy(source, folder.join("escapes.s")).expect("the source is there");
    folder
}

#[track_caller]
fn assert_plain(text: &str) {
    let is_ours = |it: char| it == '\n' || it == '\t' || !it.is_control();
    assert!(text.chars().all(is_ours), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("fake")), "{text:?}");
}

#[track_caller]
fn check(folder: &Path, arguments: &[&str]) {
    let output = selkie(folder, arguments);
    assert!(output.text().contains(SHOWN), "{output:?}");
    assert_plain(&output.text());
    let raw = selkie(folder, &[arguments, &["--raw"]].concat());
    assert!(raw.text().contains(RAW), "{raw:?}");
    // The text is not ours in colours either.
    let coloured = selkie(folder, &[arguments, &["--color", "always"]].concat());
    assert!(coloured.text().contains(SHOWN), "{coloured:?}");
}

#[test]
fn logs_of_a_run_are_shown_without_control_characters() {
    check(&prepared("run"), &["run", "escapes.s"]);
}

#[test]
fn logs_of_a_sent_transaction_are_shown_without_control_characters() {
    let folder = prepared("send");
    let deployed = selkie(&folder, &["deploy", "escapes.s", "--state", "a.state"]);
    assert_eq!(deployed.code, Some(0), "{deployed:?}");
    check(&folder, &["send", "--state", "a.state", "--simulate", "-P", "escapes"]);
}

#[test]
fn events_in_the_debugger_are_shown_without_control_characters() {
    let folder = prepared("debug");
    selkie(&folder, &["run", "escapes.s", "--save-replay", "a.replay"]);
    check(&folder, &["debug", "a.replay", "-x", "info events"]);
}

/// Text that moves the cursor and draws a line.
const NAME: &str = "a\x1b[2Jb\ncd";

#[test]
fn names_of_transactions_are_shown_without_control_characters() {
    let folder = prepared("names");
    selkie(&folder, &["run", "escapes.s", "--save-replay", "a.replay"]);
    let replay = fs::read_to_string(folder.join("a.replay")).expect("it was written");
    let hostile = replay.replace("escapes.s\"", &json!(NAME).to_string()[1..]);
    assert_ne!(replay, hostile);
    fs::write(folder.join("b.replay"), hostile).expect("the folder is writable");
    let output = selkie(&folder, &["trace", "b.replay"]);
    assert!(output.stdout.contains(r"a\x1b[2Jb\ncd"), "{output:?}");
    assert_plain(&output.text());
}

#[test]
fn names_of_functions_are_shown_without_control_characters() {
    let folder = prepared("functions");
    let source = "entrypoint:\n call callee\n exit\ncallee:\n mov64 r2, 0\n div64 r1, r2\n exit\n";
    fs::write(folder.join("a.s"), source).expect("the folder is writable");
    selkie(&folder, &["build", "a.s", "-o", "a.so"]);
    let elf = fs::read(folder.join("a.so")).expect("it was written");
    let name = elf.windows(6).position(|it| it == b"callee").expect("it has symbols");
    let mut hostile = elf;
    hostile[name..name + 6].copy_from_slice(b"\x1b[2J\n!");
    fs::write(folder.join("a.so"), hostile).expect("the folder is writable");
    selkie(&folder, &["run", "a.so", "--save-replay", "a.replay"]);
    for arguments in [
        &["run", "a.so"][..],
        &["disasm", "a.so"],
        &["profile", "a.replay"],
        &["trace", "a.replay", "--registers"],
        &["debug", "a.replay"],
    ] {
        let output = selkie(&folder, arguments);
        assert_plain(&output.text());
    }
    let output = selkie(&folder, &["run", "a.so"]);
    assert!(output.stdout.contains(r"\x1b[2J\n!"), "{output:?}");
}

/// Runs a command on a server that answers each request with these bytes.
fn with_server(folder: &Path, answer: String) -> Output {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 65_536];
            let _ = stream.read(&mut request);
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
            let _ = write!(stream, "{head} {}\r\n\r\n{answer}", answer.len());
        }
    });
    selkie(folder, &["airdrop", "1", "--url", &url, "--payer", "test:payer"])
}

#[test]
fn errors_of_servers_are_shown_without_control_characters() {
    let folder = folder("terminal-server");
    let error = json!({ "code": 1, "message": NAME, "data": { "logs": [NAME] } });
    let answer = json!({ "jsonrpc": "2.0", "id": 1, "error": error });
    let output = with_server(&folder, answer.to_string());
    assert_eq!(output.stderr.matches(r"a\x1b[2Jb\ncd").count(), 2, "{output:?}");
    assert_plain(&output.text());
}

/// A node, which ends with the test.
#[cfg(feature = "node")]
struct Node(std::process::Child);

#[cfg(feature = "node")]
impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sends a transaction to a node, and returns its output up to a text.
#[cfg(feature = "node")]
fn log_of_a_node(folder: &Path, options: &[&str], end: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
    command.args(["node", "--rpc-port", "0"]).args(options).stdout(Stdio::piped());
    let mut node = Node(command.spawn().expect("the command is built"));
    let mut output = BufReader::new(node.0.stdout.take().expect("it is a pipe"));
    let mut text = String::new();
    let mut read_to = |text: &mut String, end: &str| {
        while !text.contains(end) {
            assert!(output.read_line(text).expect("it is text") > 0, "{text:?}");
        }
    };
    read_to(&mut text, "http://");
    let (_, address) = text.split_once("http://").expect("it has one");
    let url = format!("http://{}", address.split_whitespace().next().unwrap_or_default());
    let on_node = ["--url", &url, "--payer", "test:payer"];
    for arguments in [&["airdrop", "10"][..], &["deploy", "escapes.s"], &["send", "-P", "escapes"]]
    {
        let output = selkie(folder, &[arguments, &on_node[..]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    read_to(&mut text, end);
    text
}

#[cfg(feature = "node")]
#[test]
fn the_log_of_a_node_is_shown_without_control_characters() {
    let folder = prepared("node");
    // What fails in the simulation does not land.
    let source = fs::read_to_string(folder.join("escapes.s")).expect("it was copied");
    let source = source.replace("mov64 r0, 1", "mov64 r0, 0");
    fs::write(folder.join("escapes.s"), source).expect("the folder is writable");
    assert_plain(&log_of_a_node(&folder, &["--log"], SHOWN));
    assert!(
        log_of_a_node(&folder, &["--log", "--raw"], "RED\n")
            .contains(RAW.split('\n').next().unwrap_or_default())
    );
}
