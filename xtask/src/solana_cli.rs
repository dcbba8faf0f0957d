//! `cargo xtask clients solana_cli`: the Solana CLI, built from its published source, against `selkie node`.
//!
//! The build takes a quarter of an hour on two cores, and needs the headers of libudev. What it leaves
//! is kept in `target/solana-cli`.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use selkie_protocol::rules::Release;

use crate::{output, published::Published, repository, say};

/// The newest version without a bound on rustc.
const SOLANA: Published = Published {
    package: "solana-cli",
    version: "4.2.2",
    command: "solana",
    help: "on Debian, `apt install libudev-dev pkg-config`",
};

/// Runs the chore with a build of `selkie`.
pub(crate) fn run(selkie: &Path) -> Result<()> {
    let folder = repository().join("target/solana-cli");
    let solana = SOLANA.install(&folder)?;
    let work = folder.join("work");
    // It is not there in the first run.
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work)?;
    let node = Node::start(selkie)?;
    let cli = Cli { solana, node: &node, work: &work };
    build_programs(selkie, &work)?;
    selkie_keys(selkie, &work)?;
    cli.wallet()?;
    for transport in [&["--use-rpc"][..], &[]] {
        cli.life_of_a_program(transport)?;
    }
    Ok(())
}

/// A node on free ports, which ends with the chore.
struct Node {
    process: Child,
    url: String,
}

impl Node {
    fn start(selkie: &Path) -> Result<Self> {
        let mut command = Command::new(selkie);
        command.args(["node", "--json", "--quiet", "--rpc-port", "0"]).stdout(Stdio::piped());
        let mut process = command.spawn().context("cannot start the node")?;
        let mut line = String::new();
        let out = process.stdout.take().context("the output is a pipe")?;
        BufReader::new(out).read_line(&mut line)?;
        let (_, rest) = line.split_once(r#""rpcUrl":""#).context("the node does not start")?;
        let url = rest.split('"').next().unwrap_or_default().to_owned();
        Ok(Self { process, url })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Builds two programs: one that logs little and one that logs much.
fn build_programs(selkie: &Path, work: &Path) -> Result<()> {
    for (name, text) in [("small", "one".to_owned()), ("large", "two ".repeat(3000))] {
        let source = format!(
            ".globl entrypoint\nentrypoint:\n    lddw r1, text\n    mov64 r2, 3\n    call sol_log_\n    \
             mov64 r0, 0\n    exit\n.rodata\ntext: .ascii \"{text}\"\n"
        );
        fs::write(work.join(format!("{name}.s")), source)?;
        let (from, to) = (format!("{name}.s"), format!("{name}.so"));
        output(Command::new(selkie).args(["build", &from, "-o", &to]).current_dir(work))?;
    }
    Ok(())
}

fn selkie_keys(selkie: &Path, work: &Path) -> Result<()> {
    for name in ["payer.json", "rpc.json", "quic.json"] {
        output(Command::new(selkie).args(["keygen", "new", name]).current_dir(work))?;
    }
    Ok(())
}

/// The CLI, and the node that it asks.
struct Cli<'a> {
    solana: PathBuf,
    node: &'a Node,
    work: &'a Path,
}

impl Cli<'_> {
    /// Runs a command, and returns what it prints.
    fn run(&self, line: &str) -> Result<String> {
        say(&format!("solana {line}"));
        let mut command = Command::new(&self.solana);
        command.args(line.split_whitespace()).args(["--url", &self.node.url]);
        command.args(["--keypair", "payer.json", "--commitment", "confirmed"]);
        let printed = output(command.current_dir(self.work).env("HOME", self.work))?;
        Ok(String::from_utf8(printed.stdout)?)
    }

    /// Runs a command that prints a text.
    fn expect(&self, line: &str, text: &str) -> Result<()> {
        let printed = self.run(line)?;
        ensure!(printed.contains(text), "`solana {line}` prints {printed}");
        Ok(())
    }

    fn wallet(&self) -> Result<()> {
        self.expect("airdrop 100", "100 SOL")?;
        self.expect("balance", "100 SOL")?;
        let to = "11111111111111111111111111111112";
        self.run(&format!("transfer {to} 1 --allow-unfunded-recipient"))?;
        self.expect(&format!("balance {to}"), "1 SOL")?;
        self.expect("cluster-version", &format!("{}.", Release::MAINNET))?;
        self.run("epoch-info").map(drop)
    }

    /// Deploys, shows, extends, upgrades and closes a program.
    fn life_of_a_program(&self, transport: &[&str]) -> Result<()> {
        let key = if transport.is_empty() { "quic.json" } else { "rpc.json" };
        let flags = transport.join(" ");
        let deploy = |file: &str| format!("program deploy {file} --program-id {key} {flags}");
        let deployed = self.run(&deploy("small.so"))?;
        let id = deployed.lines().find_map(|line| line.strip_prefix("Program Id: "));
        let id = id.with_context(|| format!("no program id in {deployed}"))?.trim().to_owned();
        self.expect(&format!("program show {id}"), &id)?;
        self.run(&format!("program extend {id} 20000"))?;
        self.run(&deploy("large.so"))?;
        self.expect("program show --programs", &id)?;
        self.expect(&format!("program close {id} --bypass-warning"), "Closed Program Id")
    }
}
