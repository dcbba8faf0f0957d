//! Arguments of `selkie node`, which are also the keys of its configuration file.

mod limits;

use std::{
    net::{IpAddr, ToSocketAddrs as _},
    path::PathBuf,
    str::FromStr,
};

use clap::{Args, ValueEnum, ValueHint};
use serde::{Deserialize, Serialize};

/// Run a local Solana cluster that unmodified clients can use
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[command(after_help = "\
Examples:
  selkie node                                     everything in memory, RPC on port 8899
  selkie node --ledger dev-ledger                 keeps its state in a folder
  selkie node --bpf-program my-key.json my.so     with a program at genesis
  selkie node --json --rpc-port 0                 prints one JSON object when it is ready

Options of solana-test-validator have the same names; under the name solana-test-validator (a
symbolic link), the command takes that tool's command line. docs/switch-validator.md compares the two.")]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(crate) struct NodeArgs {
    /// Read options from a TOML file; those given here override it. From a configuration of the
    /// Solana CLI, a YAML file, the node takes the default of --mint
    #[arg(short = 'C', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,

    /// Print the options as a configuration file and exit
    #[arg(long)]
    #[serde(skip)]
    pub(crate) print_config: bool,

    /// Port for RPC over HTTP and WebSocket; the next one serves WebSocket too, and 0 picks a
    /// free one [default: 8899]
    #[arg(long, value_name = "PORT", visible_alias = "port")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_port: Option<u16>,

    /// Port for WebSocket alone [default: the one after --rpc-port]
    #[arg(long, value_name = "PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ws_port: Option<u16>,

    /// Port for transactions over QUIC; 0 picks a free one, which clients learn by getClusterNodes
    /// [default: 0]
    #[arg(long, value_name = "PORT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tpu_port: Option<u16>,

    /// Address to listen on, or the name of a host [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS", visible_alias = "host", value_parser = host)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bind_address: Option<IpAddr>,

    /// Let clients of other machines call cheatcodes, too
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) open_cheatcodes: bool,

    /// Names of this machine, beside `localhost` and addresses, by which clients on it may call
    /// cheatcodes
    #[arg(long, value_name = "NAME", num_args = 1..)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rpc_host: Vec<String>,

    /// Keep the state in this folder [default: in memory]
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger: Option<PathBuf>,

    /// Start from genesis even if the ledger has a state
    #[arg(short, long)]
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) reset: bool,

    /// Duration of a slot, in milliseconds [default: 200]
    #[arg(long, value_name = "MILLISECONDS", visible_alias = "slot-time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slot_milliseconds: Option<u64>,

    /// When blocks are produced [default: on-demand]
    #[arg(long, value_enum, value_name = "MODE", visible_alias = "block-production-mode")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) blocks: Option<BlocksArg>,

    /// Produce a block per slot of this many milliseconds: --blocks interval with --slot-time
    #[arg(long, value_name = "MILLISECONDS", conflicts_with_all = ["blocks", "slot_milliseconds"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) block_time: Option<u64>,

    /// When blocks are confirmed and finalized [default: immediate]
    #[arg(long, value_enum, value_name = "WHEN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) finality: Option<FinalityArg>,

    /// Slots per epoch [default: 432000]
    #[arg(long, value_name = "SLOTS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) slots_per_epoch: Option<u64>,

    /// Start at this slot; without a number, at the current one of the cluster at --url
    #[arg(short = 'w', long, value_name = "SLOT", num_args = 0..=1, default_missing_value = CLUSTER)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) warp_slot: Option<WarpSlot>,

    /// How many transactions to keep: a number, or `all` [default: 10000]
    #[arg(long, value_name = "N|all")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) history: Option<String>,

    /// The rules: `mainnet`, those of a day (`mainnet@2026-09-01`), or a release of agave (`4.5`)
    /// [default: mainnet]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rules: Option<String>,

    /// Features at genesis: `mainnet`, `all`, or a file with their addresses [default: those of --rules]
    #[arg(long, value_name = "SET")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) features: Option<String>,

    /// Leave out features, by their addresses
    #[arg(long, value_name = "FEATURE", num_args = 1.., visible_alias = "disable-feature")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deactivate_feature: Vec<String>,

    /// Add features to those of --features, by their names or addresses
    #[arg(long, value_name = "FEATURE", num_args = 1..)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) feature: Vec<String>,

    /// The faucet's balance in SOL; 0 for no faucet [default: 500000000]
    #[arg(long, value_name = "SOL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) faucet_sol: Option<u64>,

    /// Give an address as much as the faucet has [default: the key of the Solana CLI, if there is one]
    #[arg(long, value_name = "ADDRESS")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mint: Option<String>,

    /// Give an address, or that of a key file, a balance in lamports
    #[arg(long, num_args = 2, value_names = ["ADDRESS", "LAMPORTS"])]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) airdrop: Vec<String>,

    /// Load accounts from files of `surfnet_exportSnapshot`; the last file wins
    #[arg(long, value_name = "FILE", num_args = 1.., value_hint = ValueHint::FilePath)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) snapshot: Vec<PathBuf>,

    /// Load an account from a file of `solana account --output json`, which is looked for in
    /// tests/fixtures too; `-` takes its address from the file
    #[arg(long, num_args = 2, value_names = ["ADDRESS", "FILE"], allow_hyphen_values = true)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) account: Vec<String>,

    /// Load every account file of folders
    #[arg(long, value_name = "DIR", num_args = 1.., value_hint = ValueHint::DirPath)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) account_dir: Vec<PathBuf>,

    /// Add a program that cannot be upgraded; the address may be a key file
    #[arg(long, num_args = 2, value_names = ["ADDRESS", "FILE"])]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) bpf_program: Vec<String>,

    /// Add a program with an upgrade authority: an address, a key file or `none`
    #[arg(long, num_args = 3, value_names = ["ADDRESS", "FILE", "AUTHORITY"])]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) upgradeable_program: Vec<String>,

    /// Fetch accounts that are missing from another cluster when they are first needed: a URL, or
    /// a name such as mainnet-beta
    #[arg(long, value_name = "URL", visible_aliases = ["fork-url", "rpc-url"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) fork: Option<String>,

    /// Where --clone finds accounts: a URL, or a name such as mainnet-beta
    #[arg(short, long, value_name = "URL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,

    /// Copy accounts from the cluster at --url, and programs with their data
    #[arg(short, long, value_name = "ADDRESS", num_args = 1.., visible_alias = "clone-upgradeable-program")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) clone: Vec<String>,

    /// As --clone, but leave out accounts that do not exist there
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) maybe_clone: Vec<String>,

    /// As --clone for address lookup tables, with the accounts that they name and that exist there
    #[arg(long, value_name = "ADDRESS", num_args = 1..)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deep_clone_address_lookup_table: Vec<String>,

    /// Take the features that are active in the cluster at --url
    #[arg(long, conflicts_with = "features")]
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) clone_feature_set: bool,

    /// Size of a transaction's log in bytes after which lines are dropped [default: 10000]
    #[arg(long, value_name = "BYTES", visible_alias = "log-messages-bytes-limit")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_bytes: Option<usize>,

    /// Compute units that each transaction may use, whatever it asks for
    #[arg(long, value_name = "UNITS", visible_alias = "max-compute-units")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) compute_unit_limit: Option<u64>,

    /// Print nothing per transaction
    #[arg(short, long, conflicts_with = "log")]
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) quiet: bool,

    /// Print the log of each transaction
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) log: bool,

    /// Write logs and names as they are, with their control characters and line breaks
    #[arg(long)]
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) raw: bool,

    /// Print the calls of each transaction as a tree, with their compute units
    #[arg(long, visible_alias = "print-traces")]
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) traces: bool,

    /// The form of the log on standard output: `json` is one object on each line [default: text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_format: Option<LogFormatArg>,

    /// What is logged beside transactions: error, warn, info, debug or trace, also by crate as in
    /// `info,selkie_rpc=debug` [default: info]
    #[arg(long, value_name = "LEVEL")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_level: Option<String>,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) limits: limits::LimitArgs,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) ignored: IgnoredArgs,
}

/// Options of solana-test-validator that change nothing here: `effects` says why each of them has no
/// effect.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct IgnoredArgs {
    /// Accepted: the history is limited by --history
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "10000")]
    #[serde(skip_serializing)]
    limit_ledger_size: Option<u64>,
    /// Accepted: there is no port for the faucet
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    faucet_port: Option<u16>,
    /// Accepted: there is no gossip
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    gossip_host: Option<String>,
    /// Accepted: there is no gossip
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    gossip_port: Option<u16>,
    /// Accepted: there are no other ports
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    dynamic_port_range: Option<String>,
    /// Accepted: use --slot-time
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    ticks_per_slot: Option<u64>,
    /// Accepted: the cluster begins with Alpenglow
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    alpenglow: bool,
    /// Accepted: block subscriptions are always there
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_pubsub_enable_block_subscription: bool,
    /// Accepted: there are no votes
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_pubsub_enable_vote_subscription: bool,
    /// Accepted: the faucet gives without limits
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    faucet_time_slice_secs: Option<u64>,
    /// Accepted: the faucet gives without limits
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "0.0")]
    #[serde(skip_serializing)]
    faucet_per_time_sol_cap: Option<f64>,
    /// Accepted: the faucet gives without limits
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "0.0")]
    #[serde(skip_serializing)]
    faucet_per_request_sol_cap: Option<f64>,
    /// Accepted: the faucet is part of the node
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_faucet_address: Option<String>,
    /// Accepted: inflation is mainnet's
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "0.0")]
    #[serde(skip_serializing)]
    inflation_fixed: Option<f64>,
    /// Accepted: accounts are found without an index
    #[arg(long, hide = true, num_args = 1..,
        value_parser = ["program-id", "spl-token-owner", "spl-token-mint"])]
    #[serde(skip_serializing)]
    account_index: Vec<String>,
    /// Accepted: there is no gossip
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    advertised_ip: Option<String>,
    /// Accepted: limits of subscriptions are the server's own
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_pubsub_queue_capacity_items: Option<u64>,
    /// Accepted: connections have no threads of their own
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_pubsub_worker_threads: Option<u64>,
    /// Accepted: connections have no threads of their own
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_pubsub_notification_threads: Option<u64>,
    /// Accepted, without an effect
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    enable_rpc_bigtable_ledger_storage: bool,
    /// Accepted, without an effect
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    enable_bigtable_ledger_upload: bool,
    /// Accepted, without an effect
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_bigtable_instance: Option<String>,
    /// Accepted, without an effect
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    rpc_bigtable_app_profile_id: Option<String>,
    /// Accepted, without an effect
    #[arg(long, hide = true, num_args = 1.., alias = "accountsdb-plugin-config")]
    #[serde(skip_serializing)]
    geyser_plugin_config: Vec<String>,
    /// Accepted, without an effect
    #[arg(long, hide = true)]
    #[serde(skip_serializing)]
    transaction_account_lock_limit: Option<u64>,
}

/// What stands for the current slot of the cluster at `--url`.
const CLUSTER: &str = "cluster";

/// The slot to start at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "toml::Value", into = "toml::Value")]
pub(crate) enum WarpSlot {
    /// This one.
    At(u64),
    /// The current one of the cluster at `--url`.
    OfCluster,
}

impl FromStr for WarpSlot {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            CLUSTER => Ok(Self::OfCluster),
            number => number.parse().map(Self::At).map_err(|_| format!("not a slot: {number}")),
        }
    }
}

impl TryFrom<toml::Value> for WarpSlot {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        match value {
            toml::Value::String(text) => text.parse(),
            value => value.to_string().parse(),
        }
    }
}

impl From<WarpSlot> for toml::Value {
    fn from(slot: WarpSlot) -> Self {
        match slot {
            WarpSlot::At(slot) => Self::Integer(i64::try_from(slot).unwrap_or(i64::MAX)),
            WarpSlot::OfCluster => Self::String(CLUSTER.to_owned()),
        }
    }
}

/// Reads an address or the name of a host.
fn host(text: &str) -> Result<IpAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let mut found = (text, 0).to_socket_addrs().map_err(|error| format!("no host: {error}"))?;
    found.next().map(|address| address.ip()).ok_or_else(|| "no host has this name".to_owned())
}

/// When blocks are produced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BlocksArg {
    /// When transactions arrive; slots follow the clock
    #[value(alias = "transaction")]
    OnDemand,
    /// Once per slot
    #[value(alias = "clock")]
    Interval,
    /// When the cheatcode `selkie_mine` asks for them
    Manual,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LogFormatArg {
    /// Lines for people
    Text,
    /// One JSON object on each line, with time and level
    Json,
}

/// When blocks are confirmed and finalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FinalityArg {
    /// At once
    Immediate,
    /// After 1 slot, as on a real cluster
    Realistic,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !flag
}
