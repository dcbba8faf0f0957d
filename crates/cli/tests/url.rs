//! Commands on a running node (`--url`), and nodes that take accounts from others.

mod common;

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use common::{Output, folder, repository, selkie};

/// A node on free ports, which ends with the test.
struct Node {
    process: Child,
    url: String,
}

impl Node {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
        command.current_dir(folder).args(["node", "--json", "--quiet", "--rpc-port", "0"]);
        let mut process = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).expect("the node is ready");
        Self { process, url: ready["rpcUrl"].as_str().unwrap().to_owned() }
    }

    /// Runs a command on the node.
    fn run(&self, folder: &Path, line: &str) -> Output {
        let mut arguments: Vec<&str> = line.split_whitespace().collect();
        arguments.extend(["--url", &self.url]);
        selkie(folder, &arguments)
    }

    #[track_caller]
    fn check(&self, folder: &Path, line: &str) -> Output {
        let output = self.run(folder, line);
        assert_eq!(output.code, Some(0), "{line}: {}", output.text());
        output
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder with the counter's source.
fn prepared(name: &str) -> std::path::PathBuf {
    let folder = folder(name);
    let source = repository().join("examples/counter/counter.s");
    std::fs::copy(source, folder.join("counter.s")).unwrap();
    folder
}

const PAYER: &str = "--payer test:payer";

#[test]
fn a_program_is_deployed_called_upgraded_and_closed() {
    let folder = prepared("url-deploy");
    let node = Node::start(&folder, &[]);
    let check = |line: &str| node.check(&folder, line);
    let airdrop = check(&format!("airdrop 100 {PAYER}"));
    assert!(airdrop.stdout.contains("balance 100 SOL"), "{}", airdrop.stdout);
    let deployed = check(&format!("deploy counter.s {PAYER}"));
    assert!(deployed.stdout.contains("deployed"), "{}", deployed.stdout);
    assert!(check("program show counter").stdout.contains("callable"));
    assert!(check("program show").stdout.contains("Memo4c2pN8afCj432Lb7RMVKi9PbQnnW7ewFFaV3oAH"));
    check("account set vault --name vault=pda:counter:vault --owner counter --data u64:40");
    let sent = check(&format!("send -P counter -a vault:w -d u64:2 {PAYER}"));
    assert!(sent.stdout.contains("u64 40 → 42"), "{}", sent.stdout);
    assert!(check("account show vault").stdout.contains("2a000000"));
    let run = "run counter.s --program-id counter --accounts vault --data u64:5";
    assert!(check(run).stdout.contains("42 → 47"));
    assert!(check(&format!("deploy counter.s {PAYER}")).stdout.contains("upgraded"));
    check(&format!("program extend counter 10240 {PAYER}"));
    check(&format!("send -P counter -a vault:w -d u64:1 {PAYER}"));
    check(&format!("program set-authority counter --new-authority test:bob {PAYER}"));
    let refused = node.run(&folder, &format!("program close counter {PAYER}"));
    assert_eq!(refused.code, Some(1));
    check(&format!("program close counter --authority test:bob {PAYER}"));
    assert!(!folder.join("selkie.state").exists());
}

#[test]
fn what_fails_here_is_explained_and_not_sent() {
    let folder = prepared("url-failure");
    let node = Node::start(&folder, &[]);
    node.check(&folder, &format!("airdrop 100 {PAYER}"));
    node.check(&folder, &format!("deploy counter.s {PAYER}"));
    let before = node.check(&folder, "account show test:payer").stdout;
    let failed = node.run(&folder, &format!("send -P counter -d u64:2 {PAYER}"));
    assert_eq!(failed.code, Some(1));
    assert!(failed.stdout.contains("in instruction #0"), "{}", failed.stdout);
    assert_eq!(node.check(&folder, "account show test:payer").stdout, before);
    let json = node.check(&folder, &format!("send -P memo -d str:hi --json {PAYER}")).json();
    assert_eq!((json["success"].as_bool(), json["simulated"].as_bool()), (Some(true), Some(false)));
    let simulated = format!("send -P memo -d str:hi --simulate --json {PAYER}");
    assert_eq!(node.check(&folder, &simulated).json()["simulated"].as_bool(), Some(true));
}

#[test]
fn a_nodes_newest_transactions_become_items_with_the_same_results() {
    let folder = prepared("url-import");
    let node = Node::start(&folder, &[]);
    let check = |line: &str| node.check(&folder, line);
    check(&format!("airdrop 100 {PAYER}"));
    check(&format!("deploy counter.s {PAYER}"));
    check("account set vault --name vault=pda:counter:vault --owner counter --data u64:40");
    check(&format!("send -P counter -a vault:w -d u64:2 {PAYER}"));
    let imported = check("batch import --out items --json").json();
    assert!(imported["items"].as_u64().unwrap() >= 5, "{imported}");
    assert_eq!(imported["differing"], 0, "{imported}");
    assert_eq!(imported["skipped"], serde_json::json!([]));
    let run = selkie(&folder, &["batch", "run", "items", "--out", "results"]);
    assert_eq!(run.code, Some(0), "{}", run.text());
    let verified = selkie(&folder, &["batch", "verify", "results", "--items", "items"]);
    assert_eq!(verified.code, Some(0), "{}", verified.text());
}

#[test]
fn a_landed_transaction_is_looked_into_by_its_signature() {
    let folder = prepared("url-replay");
    let node = Node::start(&folder, &[]);
    let check = |line: &str| node.check(&folder, line);
    check(&format!("airdrop 100 {PAYER}"));
    check(&format!("deploy counter.s {PAYER}"));
    check("account set vault --name vault=pda:counter:vault --owner counter --data u64:40");
    let sent = check(&format!("send -P counter -a vault:w -d u64:2 --json {PAYER}")).json();
    let signature = sent["signature"].as_str().expect("it has landed");
    let traced = check(&format!("trace {signature} --json --save-replay sent.replay")).json();
    let traced = &traced["transactions"][0];
    assert_eq!(traced["compute_units"], sent["compute_units"], "{traced} {sent}");
    assert_eq!(traced["differences"], serde_json::json!([]));
    let saved = selkie(&folder, &["trace", "sent.replay", "--json"]).json();
    assert_eq!(saved["transactions"][0], *traced);
    for command in ["profile", "inspect", "diff-trace sent.replay"] {
        check(&format!("{command} {signature}"));
    }
    // What was deployed has no debug information.
    let output = node.run(&folder, &format!("coverage {signature}"));
    assert!(output.stderr.contains("no debug information was found of"), "{output:?}");
    let folder = &folder;
    let debug = ["debug", signature, "--at", "end", "-x", "info accounts", "--url", &node.url];
    let debugged = selkie(folder, &debug);
    assert!(debugged.stdout.contains("690880 lamports, 8 bytes"), "{}", debugged.text());
    let unknown = "1".repeat(64);
    let output = node.run(folder, &format!("trace {unknown}"));
    assert!(output.code == Some(2) && output.stderr.contains("has no transaction"), "{output:?}");
    let output = selkie(folder, &["debug", &unknown]);
    assert!(output.stderr.contains("--url URL takes"), "{}", output.stderr);
    let output = node.run(folder, "trace sent.replay --save-replay again.replay");
    assert!(output.stderr.contains("name it by its signature"), "{}", output.stderr);
}

#[test]
fn tokens_are_made_and_moved() {
    let folder = folder("url-token");
    let node = Node::start(&folder, &[]);
    let check = |line: &str| node.check(&folder, &format!("{line} {PAYER}"));
    check("airdrop 10");
    check("token create-mint usd --decimals 2");
    check("token mint usd 5 payer");
    check("token transfer usd 1.5 test:bob");
    let balance = check("token balance test:bob");
    assert!(balance.stdout.contains("1.5"), "{}", balance.stdout);
}

#[test]
fn a_url_that_nothing_listens_on_is_an_error_with_help() {
    let folder = folder("url-nothing");
    let line = "account show payer --payer test:payer --url http://127.0.0.1:1";
    let output = selkie(&folder, &line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("`selkie node` starts"), "{}", output.stderr);
    let output = selkie(&folder, &["account", "show", "payer", "--url", "nowhere"]);
    assert!(output.stderr.contains("neither a URL nor"), "{}", output.stderr);
}

#[test]
fn accounts_of_another_node_are_cloned_or_fetched_when_needed() {
    let folder = prepared("url-fork");
    let origin = Node::start(&folder, &[]);
    origin.check(&folder, &format!("airdrop 100 {PAYER}"));
    origin.check(&folder, &format!("deploy counter.s {PAYER}"));
    let vault = "account set vault --name vault=pda:counter:vault --owner counter --data u64:40";
    origin.check(&folder, vault);
    let names = std::fs::read_to_string(folder.join("selkie.state.names.json")).unwrap();
    let names: serde_json::Value = serde_json::from_str(&names).unwrap();
    let address = |name: &str| names[name].as_str().unwrap().to_owned();
    let (counter, vault) = (address("counter"), address("vault"));
    let fork = Node::start(&folder, &["--fork", &origin.url]);
    let send = format!("send -P counter -a vault:w -d u64:2 {PAYER}");
    assert!(fork.check(&folder, &send).stdout.contains("u64 40 → 42"));
    // The other node has not changed.
    assert!(origin.check(&folder, "account show vault").stdout.contains("28000000"));
    let clone =
        Node::start(&folder, &["--clone", &counter, "--clone", &vault, "--url", &origin.url]);
    clone.check(&folder, &format!("airdrop 1 {PAYER}"));
    assert!(clone.check(&folder, &send).stdout.contains("u64 40 → 42"));
}
