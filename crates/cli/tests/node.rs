//! `selkie node` as scripts see it: its configuration, its log and its end.

#![cfg(feature = "node")]

mod common;

use std::{
    io::{BufRead as _, BufReader, Lines, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use common::{folder, selkie};
use serde_json::Value;

/// A node on free ports, and the lines that it prints. It ends with the test.
struct Node {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    url: String,
    /// The first line that has an address.
    ready: String,
}

impl Node {
    fn start(arguments: &[&str]) -> Self {
        Self::start_in(Path::new("."), arguments)
    }

    fn start_in(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
        command.args(["node", "--rpc-port", "0"]).args(arguments);
        command.current_dir(folder).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut node = Self { process, lines, url: String::new(), ready: String::new() };
        let line = node.find("127.0.0.1");
        let (_, address) = line.split_once("http://").unwrap();
        let end = address.find('"').unwrap_or(address.len());
        node.url = format!("http://{}", &address[..end]);
        node.ready = line;
        node
    }

    /// Reads up to the next line with a text.
    fn find(&mut self, text: &str) -> String {
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        lines.find(|line| line.contains(text)).unwrap_or_else(|| panic!("no line with {text}"))
    }

    #[track_caller]
    fn check(&self, folder: &Path, line: &str) {
        let mut arguments: Vec<&str> = line.split_whitespace().collect();
        arguments.extend(["--payer", "test:payer", "--url", &self.url]);
        let output = selkie(folder, &arguments);
        assert_eq!(output.code, Some(0), "{line}: {}", output.text());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_json_log_has_an_object_for_each_transaction() {
    let folder = folder("node-json");
    let mut node = Node::start(&["--log-format", "json"]);
    node.check(&folder, "airdrop 2");
    let line: Value = serde_json::from_str(&node.find("signature")).unwrap();
    assert_eq!((&line["level"], &line["message"]), (&"INFO".into(), &"transaction".into()));
    assert!(line["timestamp"].is_string() && line["slot"].is_u64(), "{line}");
    assert_eq!((line["compute_units"].as_u64(), line["fee"].as_u64()), (Some(150), Some(5000)));
}

#[test]
fn traces_are_the_calls_of_each_transaction() {
    let folder = folder("node-traces");
    let mut node = Node::start(&["--traces"]);
    node.check(&folder, "airdrop 2");
    node.find("ok ");
    assert_eq!(node.find("CU").trim(), "system (11111111111111111111111111111111) 150 CU");
}

#[test]
fn a_failed_transaction_is_logged_with_the_name_of_its_error() {
    let folder = folder("node-failed");
    let mut node = Node::start(&[]);
    node.check(&folder, "airdrop 2");
    let line = "send --json --sign-only --payer test:payer --program system --data u32:2,u64:9000000000 \
                --accounts payer:ws --accounts test:bob:w --url";
    let mut arguments: Vec<&str> = line.split_whitespace().collect();
    arguments.push(&node.url);
    let signed = selkie(&folder, &arguments).json();
    let transaction = signed["transaction"].as_str().unwrap();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"sendTransaction","params":["{transaction}",{{"encoding":"base64","skipPreflight":true}}]}}"#
    );
    let mut stream = TcpStream::connect(&node.url["http://".len()..]).unwrap();
    let length = body.len();
    let head =
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close";
    write!(stream, "{head}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    let failed = node.find("failed");
    let error = "custom program error: 0x1 ResultWithNegativeLamports (system)";
    assert!(failed.ends_with(error), "{failed}");
    let line = node.find("invoke [1]");
    assert_eq!(line.trim(), "Program 11111111111111111111111111111111 (system) invoke [1]");
}

#[test]
fn the_printed_configuration_has_every_option_and_can_be_read() {
    let folder = folder("node-config");
    let arguments = ["--rpc-port", "0", "--blocks", "manual", "--faucet-sol", "7", "--reset"];
    let print = |arguments: &[&str]| {
        let output = selkie(&folder, &[&["node", "--print-config"], arguments].concat());
        assert_eq!(output.code, Some(0), "{}", output.text());
        output.stdout
    };
    let printed = print(&arguments);
    for line in ["rpc-port = 0", "blocks = \"manual\"", "reset = true", "# fork = <URL>"] {
        assert!(printed.lines().any(|it| it == line), "{line} is not in\n{printed}");
    }
    std::fs::write(folder.join("node.toml"), &printed).unwrap();
    assert_eq!(print(&["--config", "node.toml"]), printed);
    assert!(print(&["--config", "node.toml", "--rpc-port", "9"]).contains("\nrpc-port = 9\n"));
}

#[test]
fn a_busy_port_is_named_with_its_owner() {
    let node = Node::start(&["--quiet"]);
    let port = node.url.rsplit_once(':').unwrap().1;
    let second = selkie(&folder("node-busy"), &["node", "--rpc-port", port]);
    assert_ne!(second.code, Some(0));
    assert!(second.stderr.contains(port) && second.stderr.contains("--rpc-port"), "{second:?}");
    if cfg!(target_os = "linux") {
        assert!(second.stderr.contains(&node.process.id().to_string()), "{}", second.stderr);
    }
}

#[test]
fn accounts_and_features_are_cloned_from_another_node() {
    let folder = folder("node-clone");
    let origin = Node::start(&["--features", "all"]);
    origin.check(&folder, "airdrop 2");
    let payer = selkie(&folder, &["account", "show", "test:payer", "--url", &origin.url, "--json"]);
    let payer = payer.json()["pubkey"].as_str().unwrap().to_owned();
    let nowhere = "11111111111111111111111111111112";
    let clone = ["--maybe-clone", nowhere, "--maybe-clone", &payer, "--clone-feature-set"];
    let node = Node::start(&[&clone[..], &["--url", &origin.url]].concat());
    // That of sol_blake3, which mainnet does not have.
    let feature = "HTW2pSyErTj4BV6KBM9NZ9VBUJVxt7sacNWcf76wtzb3";
    for (address, text) in [(payer.as_str(), "2 SOL"), (feature, "Feature1")] {
        let shown = selkie(&folder, &["account", "show", address, "--url", &node.url]);
        assert!(shown.stdout.contains(text), "{}", shown.text());
    }
    let refused = selkie(&folder, &["node", "--rpc-port", "0", "--maybe-clone", nowhere]);
    assert!(refused.stderr.contains("--maybe-clone needs a cluster"), "{}", refused.stderr);
}

#[test]
fn options_of_the_test_validator_are_taken_under_its_name_too() {
    let folder = folder("node-validator");
    let name = folder.join("solana-test-validator");
    #[cfg(unix)]
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_selkie"), &name).unwrap();
    #[cfg(not(unix))]
    std::fs::copy(env!("CARGO_BIN_EXE_selkie"), &name).unwrap();
    let line = "--reset --quiet --rpc-port 0 --faucet-port 9900 --gossip-port 8001 \
                --gossip-host 127.0.0.1 --dynamic-port-range 8002-8030 --limit-ledger-size \
                --ticks-per-slot 8 --alpenglow --log-messages-bytes-limit 5000 --account-index program-id \
                --account-index spl-token-mint spl-token-owner --bind-address localhost \
                --rpc-pubsub-enable-block-subscription --rpc-pubsub-enable-vote-subscription \
                --faucet-time-slice-secs 60 --faucet-per-time-sol-cap 1.5 --inflation-fixed \
                --faucet-per-request-sol-cap --enable-rpc-bigtable-ledger-storage \
                --enable-bigtable-ledger-upload --rpc-bigtable-app-profile-id default \
                --rpc-pubsub-max-active-subscriptions 5 --rpc-pubsub-worker-threads 2 \
                --rpc-faucet-address 127.0.0.1:9900 --geyser-plugin-config a.json b.json \
                --transaction-account-lock-limit 64 --max-compute-units 90000 -C cli.yml \
                --clone 11111111111111111111111111111112 11111111111111111111111111111113 \
                --clone-upgradeable-program 11111111111111111111111111111114 \
                --maybe-clone 11111111111111111111111111111115 11111111111111111111111111111116 \
                --deactivate-feature 11111111111111111111111111111117 \
                11111111111111111111111111111118 --account-dir one two --warp-slot --print-config";
    let output = Command::new(&name).args(line.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let config = String::from_utf8(output.stdout).unwrap();
    assert!(config.contains("log-bytes = 5000") && config.contains("reset = true"), "{config}");
    let (one, six) =
        ("\"11111111111111111111111111111112\"", "\"11111111111111111111111111111118\"");
    for line in [
        "bind-address = \"127.0.0.1\"",
        "warp-slot = \"cluster\"",
        "compute-unit-limit = 90000",
        "account-dir = [\"one\", \"two\"]",
        &format!(
            "clone = [{one}, {}, {}]",
            one.replace("12\"", "13\""),
            one.replace("12\"", "14\"")
        ),
        &format!("deactivate-feature = [{}, {six}]", six.replace("18\"", "17\"")),
    ] {
        assert!(config.lines().any(|it| it == line), "{line} is not in\n{config}");
    }
    // What would have no effect is not in the configuration.
    assert!(!config.contains("gossip") && !config.contains("faucet-port"), "{config}");
}

#[test]
fn the_summary_names_the_features_that_are_active() {
    let folder = folder("node-features");
    let ledger = folder.join("ledger");
    let ledger = ledger.to_str().unwrap();
    // Each node prints its features behind its addresses.
    let mut first = Node::start(&["--ledger", ledger, "--features", "all"]);
    assert!(first.find("features").contains(" all (of "));
    // What is finalized is on disk.
    first.check(&folder, "airdrop 2");
    drop(first);
    let mut second = Node::start(&["--ledger", ledger]);
    assert!(second.find("features").contains("those of the ledger: "));
    let mut third = Node::start(&[]);
    assert!(third.find("features").contains(" mainnet (of "));
}

#[test]
fn what_is_not_there_is_a_warning() {
    let folder = folder("node-warnings");
    let refused = ["node", "--rpc-port", "0", "--rpc-bigtable-instance", "x", "--features", "none"];
    let output = selkie(&folder, &refused);
    let warning = "--rpc-bigtable-instance has no effect: BigTable is not supported";
    assert!(output.stderr.contains(warning), "{}", output.stderr);
    let index = selkie(&folder, &["node", "--account-index", "color", "--print-config"]);
    assert!(index.stderr.contains("program-id"), "{}", index.stderr);
}

#[test]
fn limits_of_the_server_are_options() {
    let node = Node::start(&["--rpc-max-batch", "1", "--rpc-max-request-body-size", "300"]);
    let ask = |body: &str| {
        let mut stream = TcpStream::connect(&node.url["http://".len()..]).unwrap();
        let head =
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close";
        write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let request = r#"{"jsonrpc":"2.0","id":1,"method":"getHealth"}"#;
    assert!(ask(&format!("[{request}]")).contains(r#""result":"ok""#));
    assert!(ask(&format!("[{request},{request}]")).contains("-32600"));
    let long = ask(&format!("[{request}{}]", " ".repeat(300)));
    assert!(long.starts_with("HTTP/1.1 413"), "{long}");
}

#[test]
fn a_ledger_that_was_emptied_is_a_warning() {
    let folder = folder("node-emptied");
    let arguments = ["node", "--ledger", "ledger", "--bind-address", "203.0.113.1"];
    let first = selkie(&folder, &arguments);
    assert!(!first.stderr.contains("holds nothing"), "{}", first.stderr);
    std::fs::write(folder.join("ledger/ledger.redb"), b"").unwrap();
    let second = selkie(&folder, &arguments);
    let warning =
        "warning: the ledger in ledger holds nothing, so a new cluster begins\nhelp: restore";
    assert!(second.stderr.contains(warning), "{}", second.stderr);
}

#[test]
fn the_default_mint_is_the_key_of_the_solana_cli() {
    let folder = folder("node-mint");
    let key = selkie(&folder, &["keygen", "new", "id.json", "--json"]);
    let key = key.json()["address"].as_str().unwrap().to_owned();
    let config = format!(
        "---\njson_rpc_url: http://x\nkeypair_path: \"{}\"\n",
        folder.join("id.json").display()
    );
    std::fs::write(folder.join("cli.yml"), config).unwrap();
    let config = folder.join("cli.yml");
    let node = Node::start(&["-C", config.to_str().unwrap(), "--faucet-sol", "7"]);
    let shown = selkie(&folder, &["account", "show", &key, "--url", &node.url]);
    assert!(shown.stdout.contains("7 SOL"), "{}", shown.text());
    let missing = selkie(&folder, &["node", "--rpc-port", "0", "-C", "none.yml"]);
    assert!(missing.stderr.contains("cannot read none.yml"), "{}", missing.stderr);
}

#[test]
fn account_files_are_found_among_fixtures() {
    let folder = folder("node-fixtures");
    let origin = Node::start(&[]);
    origin.check(&folder, "airdrop 2");
    let shown = selkie(&folder, &["account", "show", "test:payer", "--url", &origin.url, "--json"]);
    let payer = shown.json()["pubkey"].as_str().unwrap().to_owned();
    std::fs::create_dir_all(folder.join("tests/fixtures")).unwrap();
    let dump = ["account", "dump", &payer, "tests/fixtures/payer.json", "--url", &origin.url];
    assert_eq!(selkie(&folder, &dump).code, Some(0));
    let other = "11111111111111111111111111111112";
    let node = Node::start_in(
        &folder,
        &["--account", "-", "payer.json", "--account", other, "payer.json"],
    );
    for address in [payer.as_str(), other] {
        let shown = selkie(&folder, &["account", "show", address, "--url", &node.url]);
        assert!(shown.stdout.contains("2 SOL"), "{}", shown.text());
    }
}

#[test]
fn a_node_starts_in_the_slot_of_another_cluster() {
    let origin = Node::start(&["--warp-slot", "5000"]);
    let node = Node::start(&["--log-format", "json", "--url", &origin.url, "--warp-slot"]);
    let ready: Value = serde_json::from_str(&node.ready).unwrap();
    assert!(ready["slot"].as_u64() >= Some(5000), "{ready}");
    let folder = folder("node-warp");
    let refused = selkie(&folder, &["node", "--rpc-port", "0", "-w"]);
    assert!(refused.stderr.contains("needs a cluster"), "{}", refused.stderr);
}

#[test]
fn what_fails_lands_without_preflight_and_can_be_debugged() {
    let folder = folder("node-skip-preflight");
    let source = "entrypoint:\n  mov64 r0, 7\n  ldxdw r1, [r0+0]\n  exit\n";
    std::fs::write(folder.join("fails.s"), source).unwrap();
    let node = Node::start(&[]);
    node.check(&folder, "airdrop 10");
    node.check(&folder, "deploy fails.s");
    let send = ["send", "-P", "fails", "--payer", "test:payer", "--url", &node.url];
    let simulated = selkie(&folder, &send);
    assert_eq!(simulated.code, Some(1), "{}", simulated.text());
    assert!(!simulated.stdout.contains("signature"), "{}", simulated.text());
    let sent = selkie(&folder, &[&send[..], &["--skip-preflight"]].concat());
    assert_eq!(sent.code, Some(1), "{}", sent.text());
    let (_, rest) = sent.stdout.split_once("\n  signature ").expect("it landed");
    let signature = rest.lines().next().unwrap();
    let debugged = selkie(&folder, &["debug", signature, "--url", &node.url, "-x", "bt"]);
    assert_eq!(debugged.code, Some(0), "{}", debugged.text());
}
