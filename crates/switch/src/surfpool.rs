//! `surfpool start` as arguments of `selkie node`.
//!
//! The flags are those of surfpool 1.7 and of txtx/surfpool, `crates/cli/src/cli/mod.rs`.

use std::path::{Path, PathBuf};

use selkie_isa::failure::{Failure, Result};

use crate::{
    anchor,
    flags::{self, Flag, Given, Takes, flag, short},
    sbf::Asked,
};

/// What surfpool gives an address, in lamports.
const AIRDROP_LAMPORTS: u64 = 10_000_000_000_000;

const NO_RUNBOOKS: &str = "accepted; there are no runbooks";
const ALWAYS: &str = "accepted; there is no such part here";

/// The flags of `surfpool start`.
pub const START: &[Flag] = &[
    short("manifest-file-path", 'm', Takes::One, "its folder is that of Anchor.toml"),
    short("port", 'p', Takes::One, "port for RPC [default: 8899]"),
    short("ws-port", 'w', Takes::One, "port for WebSocket [default: 8900]"),
    short("host", 'o', Takes::One, "address to listen on [default: 127.0.0.1]"),
    short("slot-time", 't', Takes::One, "duration of a slot in milliseconds"),
    short(
        "block-production-mode",
        'b',
        Takes::One,
        "clock, transaction or manual [default: clock]",
    ),
    short("rpc-url", 'u', Takes::One, "fetch accounts here [env: SURFPOOL_DATASOURCE_RPC_URL]"),
    short("network", 'n', Takes::One, "mainnet, devnet or testnet"),
    flag("offline", Takes::Nothing, "fetch no accounts"),
    short("runbook", 'r', Takes::One, NO_RUNBOOKS),
    short("runbook-input", 'i', Takes::One, NO_RUNBOOKS),
    short("yes", 'y', Takes::Nothing, "accepted; nothing is asked"),
    short("airdrop", 'a', Takes::One, "an address that gets a balance"),
    short("airdrop-amount", 'q', Takes::One, "its lamports [default: 10000000000000]"),
    short("airdrop-keypair-path", 'k', Takes::One, "a key file whose address gets it"),
    short("geyser-plugin-config", 'g', Takes::One, "accepted; subscribe instead"),
    short("subgraph-db", 'd', Takes::One, ALWAYS),
    flag("db", Takes::One, "keep the state in this folder"),
    flag("surfnet-id", Takes::One, ALWAYS),
    short("studio-port", 's', Takes::One, ALWAYS),
    flag("no-studio", Takes::Nothing, ALWAYS),
    flag("no-explorer", Takes::Nothing, ALWAYS),
    short("log-level", 'l', Takes::One, "none, error, warn, info, debug or trace"),
    flag("log-path", Takes::One, "accepted; the log is on the standard output"),
    flag("log-bytes-limit", Takes::One, "size of a transaction's log"),
    flag("debug", Takes::Nothing, "the same as --log-level debug"),
    flag("no-tui", Takes::Nothing, "accepted; the log is text"),
    flag("no-deploy", Takes::Nothing, "leave out the programs of Anchor.toml"),
    flag("watch", Takes::Nothing, "accepted; deploy again with `selkie deploy`"),
    flag("legacy-anchor-compatibility", Takes::Nothing, "deploy as Anchor.toml says"),
    flag("anchor-test-config-path", Takes::Many, "a Test.toml with more accounts and programs"),
    flag("artifacts-path", Takes::One, "the folder of programs [default: target/deploy]"),
    flag("snapshot", Takes::One, "a file of accounts; may be repeated, and the last one wins"),
    short("feature", 'f', Takes::One, "a feature that is to be active"),
    flag("disable-feature", Takes::One, "a feature that is not"),
    flag("features-all", Takes::Nothing, "all features"),
    flag("skip-signature-verification", Takes::Nothing, "accepted; use `selkie_impersonateAll`"),
    flag("skip-blockhash-check", Takes::Nothing, ALWAYS),
    flag("disable-instruction-profiling", Takes::Nothing, ALWAYS),
    flag("max-profiles", Takes::One, ALWAYS),
    flag("metrics-enabled", Takes::Nothing, "accepted; /metrics is always there"),
    flag("metrics-addr", Takes::One, "accepted; /metrics is on the port of RPC"),
    flag("ci", Takes::Nothing, "the same as --log-level none"),
    flag("daemon", Takes::Nothing, "accepted; the process stays in the foreground"),
    short("help", 'h', Takes::Nothing, "print this page"),
];

/// Flags that are accepted with a warning: a user may count on what they do.
const WARNED: &[(&str, &str)] = &[
    ("runbook", "there are no runbooks: programs of Anchor.toml are deployed as they are"),
    ("geyser-plugin-config", "there are no plugins: subscribe instead"),
    ("skip-signature-verification", "signatures are checked: call `selkie_impersonateAll`"),
    ("skip-blockhash-check", "blockhashes are checked"),
    ("watch", "programs are not watched: deploy again with `selkie deploy`"),
    ("daemon", "the process stays in the foreground"),
];

/// A node that was asked for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Start {
    /// The arguments of `selkie node`.
    pub arguments: Vec<String>,
    /// What is done otherwise than by surfpool, a sentence each.
    pub notes: Vec<String>,
}

/// What surfpool finds around itself.
#[derive(Clone, Default, Debug)]
pub struct Surroundings {
    /// The folder in which it is started.
    pub folder: PathBuf,
    /// The user's folder.
    pub home: Option<PathBuf>,
    /// The value of `SURFPOOL_DATASOURCE_RPC_URL`.
    pub source: Option<String>,
    /// The value of `SURFPOOL_NETWORK_HOST`.
    pub host: Option<String>,
}

/// Reads the command line of surfpool, without the program's name.
///
/// # Errors
///
/// If a flag or command is unknown, or a file of the project cannot be read.
pub fn start(arguments: &[String], around: &Surroundings) -> Result<Asked<Start>> {
    let about = "Start a local cluster: `selkie node`, by the flags of surfpool start";
    let arguments = match arguments {
        [first, rest @ ..] if ["start", "simnet"].contains(&first.as_str()) => rest,
        [first, ..] if ["--version", "-V"].contains(&first.as_str()) => {
            let version = env!("CARGO_PKG_VERSION");
            return Ok(Asked::Text(format!("surfpool 1.7.0 (selkie {version} stands for it)\n")));
        }
        [] => return Ok(Asked::Text(flags::help("surfpool start", about, START))),
        [first, ..] if ["--help", "-h"].contains(&first.as_str()) => {
            return Ok(Asked::Text(flags::help("surfpool start", about, START)));
        }
        [first, ..] => {
            let help = "selkie stands for `surfpool start`; start the other tool by its path";
            return Err(Failure::new(format!("surfpool {first} is not there")).with_help(help));
        }
    };
    let given = flags::parse("surfpool start", START, arguments)?;
    if given.has("help") {
        return Ok(Asked::Text(flags::help("surfpool start", about, START)));
    }
    let mut made = Start::default();
    let warned = WARNED.iter().filter(|(name, _)| given.has(name));
    made.notes.extend(warned.map(|(name, why)| format!("--{name}: {why}")));
    let mut add = |name: &str, values: &[&str]| {
        made.arguments.push(format!("--{name}"));
        made.arguments.extend(values.iter().map(|it| (*it).to_owned()));
    };
    for name in ["port", "ws-port", "slot-time", "disable-feature"] {
        given.values(name).for_each(|value| add(name, &[value]));
    }
    if let Some(host) = given.value("host").or(around.host.as_deref()) {
        add("host", &[host]);
    }
    add("blocks", &[blocks(given.value("block-production-mode"))?]);
    if let Some(folder) = given.value("db") {
        add("ledger", &[folder]);
    }
    if given.has("features-all") {
        add("features", &["all"]);
    }
    given.values("feature").for_each(|name| add("feature", &[name]));
    if let Some(bytes) = given.value("log-bytes-limit") {
        add("log-bytes", &[bytes]);
    }
    let level = given.value("log-level").or(given.has("debug").then_some("debug"));
    match level.or(given.has("ci").then_some("none")) {
        Some("none") => add("quiet", &[]),
        Some(level) => add("log-level", &[level]),
        None => {}
    }
    let source = given.value("rpc-url").or(given.value("network")).or(around.source.as_deref());
    let source = (!given.has("offline")).then(|| source.unwrap_or("mainnet-beta"));
    if let Some(source) = source {
        add("fork", &[source]);
    }
    given.values("snapshot").for_each(|file| add("snapshot", &[file]));
    let amount = given.value("airdrop-amount").map(str::to_owned);
    let amount = amount.unwrap_or_else(|| AIRDROP_LAMPORTS.to_string());
    given.values("airdrop").for_each(|address| add("airdrop", &[address, &amount]));
    given
        .values("airdrop-keypair-path")
        .for_each(|file| add("airdrop", &[&around.path(file), &amount]));
    if let Some(found) = workspace(&given, around)? {
        made.add(&found, source);
    }
    Ok(Asked::Work(made))
}

impl Surroundings {
    /// Returns a path whose `~` is the home folder.
    fn path(&self, file: &str) -> String {
        match (file.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest).display().to_string(),
            _ => file.to_owned(),
        }
    }
}

/// Reads the workspace of Anchor that the flags name, or the one of the folder, if there is one.
fn workspace(given: &Given, around: &Surroundings) -> Result<Option<anchor::Start>> {
    let at = |path: &str| around.folder.join(path);
    let root = given.value("manifest-file-path").and_then(|it| Path::new(it).parent());
    let root = root.map_or_else(|| around.folder.clone(), |it| around.folder.join(it));
    if given.has("no-deploy") || !root.join("Anchor.toml").is_file() {
        return Ok(None);
    }
    let files: Vec<PathBuf> = given.values("anchor-test-config-path").map(at).collect();
    let artifacts = given.value("artifacts-path").map(at);
    anchor::start(&root, artifacts.as_deref(), &files, around.home.as_deref()).map(Some)
}

impl Start {
    /// Adds what a workspace of Anchor asks for.
    fn add(&mut self, found: &anchor::Start, source: Option<&str>) {
        let mut add = |name: &str, values: &[String]| {
            self.arguments.push(format!("--{name}"));
            self.arguments.extend_from_slice(values);
        };
        if let Some(wallet) = &found.wallet {
            add("mint", &[wallet.display().to_string()]);
        }
        found.programs.iter().for_each(|it| add("upgradeable-program", it));
        found.accounts.iter().for_each(|it| add("account", it));
        found.account_folders.iter().for_each(|it| add("account-dir", &[it.display().to_string()]));
        match source {
            Some(source) if !found.clones.is_empty() => {
                add("url", &[source.to_owned()]);
                found.clones.iter().for_each(|it| add("clone", std::slice::from_ref(it)));
            }
            _ => {}
        }
        if source.is_none() && !found.clones.is_empty() {
            let what = "the accounts that Anchor.toml clones are left out";
            self.notes.push(format!("{what}: set `online = true` in its table [surfpool]"));
        }
        self.notes.extend(found.notes.iter().cloned());
    }
}

/// The mode of the node for one of surfpool.
fn blocks(mode: Option<&str>) -> Result<&'static str> {
    match mode {
        None | Some("clock") => Ok("interval"),
        Some("transaction") => Ok("on-demand"),
        Some("manual") => Ok("manual"),
        Some(other) => {
            let help = "use clock, transaction or manual";
            Err(Failure::new(format!("surfpool has no mode `{other}`")).with_help(help))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Start {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match start(&words, &Surroundings::default()).unwrap() {
            Asked::Work(start) => start,
            Asked::Text(text) => panic!("{text}"),
        }
    }

    #[test]
    fn the_command_line_of_anchor_is_understood() {
        let made = read(
            "start --airdrop A --host 127.0.0.1 --port 8899 --offline --block-production-mode transaction \
             --log-level none --no-tui --disable-instruction-profiling --max-profiles 1 --no-studio \
             --feature deprecate_rent_exemption_threshold --legacy-anchor-compatibility \
             --anchor-test-config-path a/Anchor.toml",
        );
        assert_eq!(
            made.arguments.join(" "),
            "--port 8899 --host 127.0.0.1 --blocks on-demand --feature deprecate_rent_exemption_threshold \
             --quiet --airdrop A 10000000000000"
        );
        assert!(made.notes.is_empty());
    }

    #[test]
    fn accounts_come_from_mainnet_by_default() {
        let made = read("start --runbook deployment");
        assert_eq!(made.arguments.join(" "), "--blocks interval --fork mainnet-beta");
        assert_eq!(made.notes.len(), 1);
        let made = read("start -n devnet -p 1");
        assert_eq!(made.arguments.join(" "), "--port 1 --blocks interval --fork devnet");
    }
}
