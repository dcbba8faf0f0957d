//! Arguments of the commands that look into replays.

use std::{ops::Range, path::PathBuf};

use clap::{Args, ValueHint};

use super::call::CallArgs;

/// The heading of options that describe a call.
pub(super) const CALLS: &str = "Call of a program";

/// Where transactions are that are named by their signatures.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct NodeArgs {
    /// Take transactions from a running `selkie node`, by signature: a URL, or a name such as localhost
    #[arg(short, long, value_name = "URL", env = "SELKIE_URL")]
    pub(crate) url: Option<String>,
}

/// Where replays and debug information are.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReplayArgs {
    /// Replay files, folders of recordings, or with --url signatures of transactions; or a program
    /// (.so, or .s) with the options of a call
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) node: NodeArgs,

    /// Also look here for debug information: .so and .so.debug files, or folders of them. Those
    /// beside the program and where programs are built are found anyway
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) symbols: Vec<PathBuf>,
}

/// Show what a transaction did: the tree of its calls, or every instruction with its registers
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie trace program.so --input call.json         a call, described as for `selkie run`
  selkie trace call.replay                          calls, compute units, changed accounts
  selkie trace call.replay --registers              every instruction with its registers
  selkie trace call.replay --registers --function transfer --steps 1000..2000
  selkie trace recordings/ --transaction 7
  selkie trace call.replay --agave traces/          register files as agave's tools write them
  selkie trace SIGNATURE --url localhost            a transaction of a running `selkie node`
  selkie trace SIGNATURE --url localhost --save-replay call.replay

A replay is a transaction with the state before it, as a line of JSON. It is written by
`selkie run --save-replay FILE`, by SELKIE_RECORD=DIR cargo test for all transactions of a test suite,
in Rust by `receipt.replay()` for each failed transaction, and by `selkie trace SIGNATURE --url URL
--save-replay FILE` for a transaction of a `selkie node`.")]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,

    /// Only the transaction with this number, from 0
    #[arg(short, long, value_name = "N")]
    pub(crate) transaction: Option<usize>,

    /// Write logs and names as they are, with their control characters and line breaks
    #[arg(long)]
    pub(crate) raw: bool,

    /// Show every instruction with the registers before it
    #[arg(short, long)]
    pub(crate) registers: bool,

    /// Only instructions of this program
    #[arg(long, value_name = "KEY", requires = "registers")]
    pub(crate) only_program: Option<String>,

    /// Only instructions of this function, and of its inlined copies
    #[arg(long, value_name = "NAME", requires = "registers")]
    pub(crate) function: Option<String>,

    /// Only these steps: 1000..2000
    #[arg(long, value_name = "START..END", requires = "registers", value_parser = parse_steps)]
    pub(crate) steps: Option<Range<u64>>,

    /// Write the register files of agave's tools to a folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) agave: Option<PathBuf>,

    /// Write the transactions that are taken from --url to a replay file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) save_replay: Option<PathBuf>,

    #[command(flatten, next_help_heading = CALLS)]
    pub(crate) call: CallArgs,
}

/// Open the explorer for recorded transactions, or answer questions about one as JSON
///
/// In a terminal, or with --port, the pages of `selkie node` are served for what was recorded, on this machine alone.
/// Otherwise each line of the standard input is a request, and is answered by a line.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie inspect call.replay                       prints an address for the browser
  selkie inspect recordings/ --test withdraws
  selkie inspect program.so --input call.json
  echo '{\"method\": \"state\", \"params\": {\"step\": 34}}' | selkie inspect call.replay
  selkie inspect --methods                         what can be asked

Requests have the form {\"id\": 1, \"method\": NAME, \"params\": {…}}, and answers
{\"id\": 1, \"result\": …} or {\"id\": 1, \"error\": TEXT}.")]
pub(crate) struct InspectArgs {
    /// A replay file, a folder of recordings, or with --url the signature of a transaction; or a
    /// program (.so, or .s) with the options of a call [default: the newest failure of a test]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) path: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) node: NodeArgs,

    /// The transaction with this number, from 0; if it is missing, the one that a test failed with, or
    /// the first one that failed
    #[arg(short, long, value_name = "N")]
    pub(crate) transaction: Option<usize>,

    /// The transaction that this test failed with: its name, the last part of it, or any part
    #[arg(long, value_name = "NAME", conflicts_with = "transaction")]
    pub(crate) test: Option<String>,

    /// Serve the pages on this port, whatever the standard input is; 0 takes a free one
    #[arg(short, long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// List the methods with their parameters
    #[arg(long, conflicts_with_all = ["port", "path", "transaction", "test", "symbols"])]
    pub(crate) methods: bool,

    /// Also look here for debug information: .so and .so.debug files, or folders of them
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) symbols: Vec<PathBuf>,

    #[command(flatten, next_help_heading = CALLS)]
    pub(crate) call: CallArgs,
}

/// Find the first step where two transactions part
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie diff-trace before.replay after.replay")]
pub(crate) struct DiffTraceArgs {
    /// A replay file, of several transactions the first one; or with --url a signature
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) left: PathBuf,

    /// Another one
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) right: PathBuf,

    #[command(flatten)]
    pub(crate) node: NodeArgs,

    /// Also look here for debug information: .so and .so.debug files, or folders of them
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) symbols: Vec<PathBuf>,
}

/// Show where compute units go: by program, function, syscall and source line
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie profile program.so --input call.json       a call, described as for `selkie run`
  selkie profile call.replay
  selkie profile -- cargo test                      all transactions of a test suite
  selkie profile call.replay -o units.svg           a flame graph
  selkie profile call.replay -o units.speedscope.json
  selkie profile after.replay --compare before.replay

The end of the file's name decides the format:
  .svg                a flame graph, for browsers
  .speedscope.json    for https://www.speedscope.app
  .pb                 for `go tool pprof`
  .folded             a line for each stack
  .cpuprofile         for VS Code and browsers

Every compute unit counts once: the sum is that of the transactions.")]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,

    /// Write the profile to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Serve the explorer's flame graph of it, and open that in a browser
    #[arg(long, conflicts_with_all = ["output", "compare", "top", "by", "libraries"])]
    pub(crate) open: bool,

    /// Compare with the profile of these replays: a file or a folder
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath, conflicts_with = "output")]
    pub(crate) compare: Option<PathBuf>,

    /// How many rows each table has
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub(crate) top: usize,

    /// Show one table only
    #[arg(long, value_name = "TABLE", value_enum)]
    pub(crate) by: Option<ProfileTable>,

    /// Show the functions and lines of libraries, not the own ones that call them
    #[arg(long)]
    pub(crate) libraries: bool,

    /// A command to run, whose transactions are recorded: a test suite
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "paths")]
    pub(crate) command: Vec<String>,

    #[command(flatten, next_help_heading = CALLS)]
    pub(crate) call: CallArgs,
}

/// A table of a profile.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ProfileTable {
    Program,
    /// By the files of instructions, libraries included.
    #[value(alias = "crate")]
    Package,
    Function,
    Syscall,
    Line,
}

impl ProfileTable {
    /// Returns the heading of the table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Package => "package",
            Self::Function => "function",
            Self::Syscall => "syscall",
            Self::Line => "line",
        }
    }
}

/// Show which lines, functions and branches of programs were executed
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie coverage -- cargo test                     all transactions of a test suite
  selkie coverage -o lcov.info -- cargo test
  selkie coverage recordings/ -o coverage.html
  selkie coverage program.so --input call.json      a call, described as for `selkie run`

The end of the file's name decides the format:
  .info    lcov, for genhtml, Codecov and editors
  .xml     Cobertura, for GitLab, Jenkins and Azure
  .html    one page with all sources

Programs need debug information: `selkie build` writes it beside them. Lines count once for each time
that control comes to them, also in optimised programs.")]
pub(crate) struct CoverageArgs {
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,

    /// Write a report to a file
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,

    /// Serve the explorer's page of it, and open that in a browser
    #[arg(long, conflicts_with_all = ["output", "all_sources"])]
    pub(crate) open: bool,

    /// Report the sources of libraries too
    #[arg(long)]
    pub(crate) all_sources: bool,

    /// A command to run, whose transactions are recorded: a test suite
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "paths")]
    pub(crate) command: Vec<String>,

    #[command(flatten, next_help_heading = CALLS)]
    pub(crate) call: CallArgs,
}

fn parse_steps(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str, missing: u64| match text.replace('_', "") {
        text if text.is_empty() => Ok(missing),
        text => text.parse::<u64>().map_err(|_| format!("`{text}` is not a number")),
    };
    let (start, end) = text.split_once("..").ok_or("expected START..END")?;
    Ok(number(start, 0)?..number(end, u64::MAX)?)
}

#[cfg(test)]
mod tests {
    use super::parse_steps;

    #[test]
    fn ranges_of_steps_may_be_open() {
        assert_eq!(parse_steps("5..7"), Ok(5..7));
        assert_eq!(parse_steps("1_000.."), Ok(1000..u64::MAX));
        assert_eq!(parse_steps("..7"), Ok(0..7));
        assert!(parse_steps("7").is_err() && parse_steps("a..b").is_err());
    }
}
