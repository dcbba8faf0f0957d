//! The rules.

use std::path::Path;

use selkie::Signature;

use super::{
    Given, Rule,
    When::{self, Always, Found, If, With, Without},
};
use crate::files::{is_program, is_source};

/// What the node finds in the folder of `--ledger`.
pub(crate) const EXISTING_LEDGER: &str = "on a ledger that exists";
/// What it finds there, too.
pub(crate) const LATER_LEDGER: &str = "on a ledger that is in a later slot";
/// What `selkie send` finds in its file.
pub(crate) const SIGNED_TRANSACTION: &str = "on a transaction that is complete";
/// What `selkie build` finds in a folder.
pub(crate) const IN_ASSEMBLY: &str = "on a project in assembly";

const fn rule(
    commands: &'static [&'static str],
    options: &'static [&'static str],
    when: When,
    why: &'static str,
) -> Rule {
    Rule { commands, options, when, why }
}

/// Commands that take a program, or a source that they assemble.
const PROGRAMS: &[&str] =
    &["check", "run", "fuzz", "deploy", "program deploy", "program upgrade", "disasm", "cfg"];
/// Those of them that take no raw instructions, for which there is a version.
const LOADED: &[&str] = &["check", "run", "fuzz", "deploy", "program deploy", "program upgrade"];
/// Commands on replays.
const REPLAYS: &[&str] =
    &["trace", "diff-trace", "inspect", "profile", "coverage", "debug", "gdb-server"];

/// Those of them that make the call of a program themselves, too.
const CALLERS: &[&str] = &["trace", "inspect", "profile", "coverage", "debug", "gdb-server"];
/// Options that describe a call.
const OF_CALL: &[&str] = &[
    "--input",
    "--accounts",
    "--data",
    "--program-id",
    "--loader",
    "--program",
    "--state",
    "--feature",
    "--limit",
    "--heap",
    "--arch",
    "--include",
    "--define",
];

const BUILT: &str = "on a program that is built";
const ASSEMBLED: &str = "it is for sources that are assembled";
const IN_OBJECT: &str = "the object has it anyway";
const BIGTABLE: &str = "BigTable is not supported: the history is in the ledger";
const NO_GOSSIP: &str = "there is no gossip";
const FREE_FAUCET: &str = "the faucet gives without limits but its balance";

#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    rule(&["build"], &["--package"], If("on sources", paths_are_sources), "packages are in folders of projects"),
    rule(&["build"], &["--idl", "--sizes"], With("--object"), "an object is not linked yet"),
    rule(&["build"], &["--section-names"], With("--object"), "objects have them"),
    rule(&["build"], &["--feature", "--rules"], With("--object"), "the verifier checks programs"),
    rule(&["build"], &["--feature", "--rules"], If("on assembly sources", paths_are_assembly), "`selkie check` checks them"),
    rule(&["build"], &["--no-statics"], With("--object"), "`selkie link --no-statics` rejects them"),
    rule(&["build"], &["--no-statics"], With("--toolchain=official"), "that toolchain links by itself"),
    rule(&["build"], &["--sizes"], If("on assembly sources", paths_are_assembly), "`selkie inspect` and `selkie disasm` show what is in them"),
    rule(&["build"], &["--idl"], If("on sources", paths_are_sources), "it is that of an Anchor program, in a folder"),
    rule(&["build"], &["--toolchain"], If("on assembly sources", paths_are_assembly), "Selkie assembles them itself"),
    rule(&["build"], &["--functions"], If("on assembly sources", paths_are_assembly), "they have no report of functions"),
    rule(&["build", "link"], &["--functions"], With("--json"), "the object lists all functions"),
    rule(&["build"], &["everything after --"], If("on assembly sources", paths_are_assembly), "Selkie assembles them itself"),
    rule(&["build"], &["everything after --"], Found(IN_ASSEMBLY), "Selkie assembles it itself"),
    rule(&["build"], &["--toolchain"], Found(IN_ASSEMBLY), "Selkie assembles it itself"),

    rule(PROGRAMS, &["--include", "--define"], If(BUILT, is_built), ASSEMBLED),
    rule(LOADED, &["--arch"], If(BUILT, is_built), "its file says the version"),
    rule(&["disasm", "cfg"], &["--arch"], If(BUILT, is_built_and_not_raw), "its file says the version; --raw reads instructions without a file around them"),
    rule(&["disasm"], &["--style=anza", "--bytes", "--addresses"], With("--json"), "the object has all of it, in one form"),
    rule(&["disasm"], &["--bytes", "--addresses"], With("--style=anza"), "that syntax has no place for it"),
    rule(&["cfg"], &["--dominators"], With("--json"), IN_OBJECT),
    rule(&["run"], &["--engine=jit"], With("--trace"), "the interpreter writes traces"),
    rule(&["run", "trace", "send"], &["--raw"], With("--json"), "JSON escapes control characters"),
    rule(&["send"], &["--raw"], With("--sign-only"), "no log is printed"),

    rule(REPLAYS, &["--url"], If("on replay files", no_signature), "it is where transactions come from that are named by their signatures"),
    rule(CALLERS, OF_CALL, If("without a program", names_no_program), "what is recorded has its call; `PROGRAM --input FILE` makes one"),
    rule(CALLERS, &["--arch"], If(BUILT, calls_built), "its file says the version"),
    rule(CALLERS, &["--include", "--define"], If(BUILT, calls_built), ASSEMBLED),
    rule(CALLERS, &["--url"], With("--state"), "the accounts are those of the saved cluster"),
    rule(&["inspect"], &["--url"], With("--methods"), "no transaction is looked into"),
    rule(&["inspect"], &["--symbols"], Without(&["--port"]), "answers name programs and slots"),
    rule(&["diff-trace"], &["--symbols"], With("--json"), "the object names programs and slots"),
    rule(&["profile"], &["--top"], With("--json"), "the object has all rows"),
    rule(&["profile"], &["--by"], With("--json"), "the object has all tables"),
    rule(&["profile"], &["--by", "--libraries"], With("--compare"), "the functions of all code are compared"),
    rule(&["dap"], &["--token"], Without(&["--port"]), "the editor that starts the adapter needs none"),
    rule(&["dap"], &["--url"], Without(&["--port"]), "the configuration of a session names it"),
    rule(&["debug"], &["--json"], Without(&["--execute", "--script", "--list"]), "a conversation is text"),

    rule(&["program extend"], &["--authority"], Always, "programs are extended without it"),
    rule(&["send"], &["--any-blockhash"], With("--url"), "a running cluster checks blockhashes itself"),
    rule(&["send"], &["--skip-preflight"], Without(&["--url"]), "on a cluster in a file, what fails lands anyway"),
    rule(&["send"], &["--limit", "--price", "--heap", "--lookup-table"], Found(SIGNED_TRANSACTION), "they belong to the message, which stays as it is"),
    rule(&["keygen pubkey"], &["--url"], Always, "addresses and names are found without a cluster"),
    rule(&["keygen pubkey", "account dump"], &["--payer"], If("where no address is `payer`", names_no_payer), "nothing is paid"),
    rule(&["cache warm"], &["--state"], With("--url"), "the programs are those of the running cluster"),
    rule(&["conform"], &["--show"], With("--json"), "the object has all failures"),
    rule(&["conform"], &["--show"], With("--table"), "the table has counts"),

    rule(&["node"], &["--reset"], Without(&["--ledger"]), "everything is in memory"),
    rule(&["node"], &["--rpc-host"], With("--open-cheatcodes"), "all clients may call cheatcodes, by any name"),
    rule(&["node"], &["--url"], Without(ORIGIN), "it is where these copy from; --fork fetches what is missing"),
    rule(&["node"], &["--mint"], With("--faucet-sol=0"), "it gets as much as the faucet"),
    rule(&["node"], &["--config"], If("with --mint", is_cli_config_beside_mint), "of a configuration of the Solana CLI, only the default of --mint is taken"),
    rule(&["node"], &["--log", "--traces", "--raw"], With("--json"), "each transaction is an object on a line"),
    rule(&["node"], &["--log", "--traces", "--raw"], With("--log-format=json"), "each transaction is an object on a line, which has its log if it failed"),
    rule(&["node"], &["--traces"], With("--quiet"), "nothing is printed per transaction"),
    rule(&["node"], &["--log-format=text"], With("--json"), "each transaction is an object on a line"),
    rule(&["node"], &["--slots-per-epoch", "--features", "--feature", "--deactivate-feature", "--clone-feature-set", "--faucet-sol", "--mint", "--airdrop", "--snapshot", "--account", "--account-dir", "--bpf-program", "--upgradeable-program", "--clone", "--maybe-clone", "--deep-clone-address-lookup-table"],
        Found(EXISTING_LEDGER), "it belongs to the genesis, with which --reset begins anew"),
    rule(&["node"], &["--warp-slot"], Found(LATER_LEDGER), "slots do not go back"),
    rule(&["node"], &["--limit-ledger-size"], Always, "--history limits how many transactions are kept"),
    rule(&["node"], &["--ticks-per-slot"], Always, "--slot-time is the duration of a slot"),
    rule(&["node"], &["--faucet-port", "--rpc-faucet-address"], Always, "the faucet is part of the node: requestAirdrop asks it"),
    rule(&["node"], &["--gossip-host", "--gossip-port", "--advertised-ip"], Always, NO_GOSSIP),
    rule(&["node"], &["--dynamic-port-range"], Always, "the ports are those of --rpc-port, --ws-port and --tpu-port"),
    rule(&["node"], &["--rpc-pubsub-enable-vote-subscription"], Always, "there are no votes"),
    rule(&["node"], &["--faucet-time-slice-secs", "--faucet-per-time-sol-cap", "--faucet-per-request-sol-cap"], Always, FREE_FAUCET),
    rule(&["node"], &["--inflation-fixed"], Always, "inflation is mainnet's"),
    rule(&["node"], &["--rpc-pubsub-queue-capacity-items"], Always, "--rpc-pubsub-queue-capacity-bytes limits their size"),
    rule(&["node"], &["--rpc-pubsub-worker-threads", "--rpc-pubsub-notification-threads"], Always, "connections have no threads of their own"),
    rule(&["node"], &["--enable-rpc-bigtable-ledger-storage", "--enable-bigtable-ledger-upload", "--rpc-bigtable-instance", "--rpc-bigtable-app-profile-id"], Always, BIGTABLE),
    rule(&["node"], &["--geyser-plugin-config"], Always, "plugins are not supported: subscribe instead"),
    rule(&["node"], &["--transaction-account-lock-limit"], Always, "the limit of account locks is that of the features"),
];

/// The options of the node that copy from the cluster at `--url`.
const ORIGIN: &[&str] = &[
    "--clone",
    "--maybe-clone",
    "--deep-clone-address-lookup-table",
    "--clone-feature-set",
    "--warp-slot=cluster",
];

/// Whether no program is assembled: neither the command's own nor another one, as `KEY=FILE`.
fn is_built(given: &Given) -> bool {
    let own = given.values("program");
    let others = given.values("--program").filter_map(|it| Some(it.split_once('=')?.1));
    !own.chain(others).any(|it| is_source(Path::new(it)))
}

fn is_built_and_not_raw(given: &Given) -> bool {
    is_built(given) && !given.has("--raw")
}

fn paths_are_sources(given: &Given) -> bool {
    given.has("paths") && !given.values("paths").any(|it| Path::new(it).is_dir())
}

fn paths_are_assembly(given: &Given) -> bool {
    given.has("paths") && given.values("paths").all(|it| is_source(Path::new(it)))
}

/// Whether no transaction is named by its signature.
fn no_signature(given: &Given) -> bool {
    let named = ["path", "paths", "left", "right", "--compare"];
    let mut paths = named.iter().flat_map(|it| given.values(it)).map(Path::new);
    !given.has("--methods")
        && !paths.any(|path| {
            let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
            name.parse::<Signature>().is_ok() || is_program(path)
        })
}

/// Returns the programs in the place of replays.
fn called(given: &Given) -> impl Iterator<Item = &Path> {
    let paths = ["path", "paths"].into_iter().flat_map(|it| given.values(it)).map(Path::new);
    paths.filter(|it| is_program(it))
}

fn names_no_program(given: &Given) -> bool {
    called(given).next().is_none()
}

/// Whether a call is made, and neither its program nor another one, as `KEY=FILE`, is assembled.
fn calls_built(given: &Given) -> bool {
    let others = given.values("--program").filter_map(|it| Some(it.split_once('=')?.1));
    let mut all = called(given).chain(others.map(Path::new));
    !names_no_program(given) && !all.any(is_source)
}

fn names_no_payer(given: &Given) -> bool {
    let mut texts = ["key", "account", "--name"].iter().flat_map(|it| given.values(it));
    !texts.any(|it| it.contains("payer"))
}

fn is_cli_config_beside_mint(given: &Given) -> bool {
    let is_yaml = |it: &str| [".yml", ".yaml"].iter().any(|end| it.ends_with(end));
    given.has("--mint") && given.values("--config").any(is_yaml)
}
