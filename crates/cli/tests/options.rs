//! Runs the examples of `testdata/cli/options.txt`, whose form `crates/cli/src/cli/options.rs` explains.

#![cfg(all(feature = "batch", feature = "conform", feature = "lsp", feature = "node"))]

mod common;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use common::{Output, folder, repository, selkie};

/// An account that the examples name.
const ACCOUNT: &str = r#"{"pubkey": "11111111111111111111111111111115", "account": {"lamports": 1000000000,
"data": ["", "base64"], "owner": "11111111111111111111111111111111", "executable": false, "rentEpoch": 0}}"#;

/// A node that clones may come from. It ends with the test.
struct Node(Child, String);

impl Node {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
        command.args(["node", "--rpc-port", "0", "--json"]).args(arguments);
        let mut process = command.current_dir(folder).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
        Self(process, ready["rpcUrl"].as_str().unwrap().to_owned())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A folder with the files that the examples name.
fn files() -> PathBuf {
    let folder = folder("options");
    let run = |line: &str| {
        let output = selkie(&folder, &line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.code, Some(0), "{line}: {}", output.text());
        output.stdout
    };
    fs::write(folder.join("program.s"), "mov64 r0, 0\nexit\n").unwrap();
    run("build program.s");
    run("run program.so --save-replay call.replay");
    fs::write(folder.join("signed.txt"), run("send -P memo -d str:x --sign-only")).unwrap();
    run("new project");
    fs::write(folder.join("account.json"), ACCOUNT).unwrap();
    fs::write(folder.join("snapshot.json"), "{}").unwrap();
    fs::create_dir(folder.join("accounts")).unwrap();
    fs::write(folder.join("cli.yml"), "---\njson_rpc_url: http://x\n").unwrap();
    // It ends with an error, and in order: this machine has no such address.
    let ledger = "node --ledger ledger --warp-slot 100 --bind-address 203.0.113.1";
    let made = selkie(&folder, &ledger.split(' ').collect::<Vec<_>>());
    assert!(made.stderr.contains("cannot listen"), "{}", made.text());
    folder
}

/// The examples, as pairs of a command line and what it prints.
fn examples(text: &str) -> Vec<(String, String)> {
    let (mut command, mut line, mut examples) = (String::new(), String::new(), Vec::new());
    for text in text.lines() {
        if let Some(name) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            name.clone_into(&mut command);
        } else if let Some(arguments) = text.strip_prefix("    $ ") {
            line = format!("{command} {arguments}");
        } else if let Some(printed) = text.strip_prefix("    ") {
            examples.push((line.clone(), printed.to_owned()));
        }
    }
    examples
}

#[test]
fn options_without_effect_say_so() {
    let text = fs::read_to_string(repository().join("testdata/cli/options.txt")).unwrap();
    let examples = examples(&text);
    assert!(examples.len() > 100, "examples are missing");
    let folder = files();
    let node = Node::start(&folder, &["--features", "all"]);
    let mut outputs: BTreeMap<&str, Output> = BTreeMap::new();
    let mut silent = Vec::new();
    for (line, printed) in &examples {
        let output = outputs.entry(line).or_insert_with(|| {
            let words = line.split(' ').map(|it| if it == "NODE" { &node.1 } else { it });
            selkie(&folder, &words.collect::<Vec<_>>())
        });
        let said = output.stderr.lines().chain(output.stdout.lines());
        // With --json, an error is a field of an object.
        let told = printed.split_once(": ").map_or("", |(_, text)| text);
        let is_said = said.clone().any(|it| it == printed)
            || printed.starts_with("error") && said.clone().any(|it| it.contains(told));
        if !is_said {
            silent.push(format!("$ selkie {line}\n{printed}\nis not in:\n{}", output.text()));
        }
    }
    assert!(silent.is_empty(), "{}", silent.join("\n"));
}

#[test]
fn options_of_a_configuration_file_count_as_given() {
    let folder = folder("options-file");
    let file = "url = \"http://x\"\nreset = false\nfaucet-port = 1\nlog = true\n";
    fs::write(folder.join("node.toml"), file).unwrap();
    let arguments = ["node", "--config", "node.toml", "--log-format", "json", "--print-config"];
    let output = selkie(&folder, &arguments);
    for option in ["--url", "--faucet-port", "--log"] {
        let warning = format!("warning: {option} has no effect ");
        let warning =
            if option == "--faucet-port" { warning.replace("effect ", "effect:") } else { warning };
        assert!(output.stderr.contains(&warning), "{option}: {}", output.stderr);
    }
    assert!(!output.stderr.contains("--reset"), "{}", output.stderr);
}

#[test]
fn variables_are_no_options_of_a_run() {
    let folder = folder("options-variables");
    fs::write(folder.join("program.s"), "exit\n").unwrap();
    for line in ["build program.s", "run program.so --save-replay call.replay"] {
        assert_eq!(selkie(&folder, &line.split(' ').collect::<Vec<_>>()).code, Some(0));
    }
    let url: &Path = "http://127.0.0.1:9".as_ref();
    let variables = [("SELKIE_URL", url)];
    let traced = common::selkie_with(&folder, &["trace", "call.replay"], &variables);
    assert_eq!((traced.code, traced.stderr.as_str()), (Some(0), ""), "{traced:?}");
    // The cluster that a variable names is used all the same.
    let sent = ["send", "-P", "memo", "--any-blockhash"];
    let sent = common::selkie_with(&folder, &sent, &variables);
    assert!(sent.stderr.contains("--any-blockhash has no effect with --url"), "{sent:?}");
}
