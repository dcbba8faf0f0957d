//! Arguments of the debugger.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use selkie_debug::StartAt;

use super::{
    call::CallArgs,
    replay::{CALLS, NodeArgs},
};

/// Debug a transaction: step forward and backward, set breakpoints, find who wrote a value
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie test                                       records what tests do
  selkie debug                                      the newest failure of a test
  selkie debug --test withdraws                     the failure of this test
  selkie debug program.so --input call.json         a call, described as for `selkie run`
  selkie debug call.replay                          begins at the failure, or at the start
  selkie debug recordings/ --list                   all transactions of a folder
  selkie debug recordings/ --transaction 7
  selkie debug SIGNATURE --url localhost            a transaction of a running `selkie node`
  selkie debug call.replay -x 'who *total' -x 'info locals'
  SELKIE_RECORD=recordings cargo test               records those of a test suite in a folder

Commands, in the manner of gdb's (`help` lists all):
  next, step, finish, continue       forward; rn, rs, rf, rc go backward in time
  break lib.rs:20 if count > 5       places are FILE:LINE, LINE, FUNCTION, *SLOT
  print EXPR, info locals, bt        variables, registers ($r1), memory (*(u64*)$r1)
  who EXPR                           goes to the last write to a value
  goto 1234                          goes to a step

docs/debugging.md explains expressions, breakpoints and editors.")]
pub(crate) struct DebugArgs {
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

    /// List the transactions with test, result and compute units, and end
    #[arg(long)]
    pub(crate) list: bool,

    /// Where to begin: at the failure of a transaction that failed, unless it says otherwise
    #[arg(long, value_name = "PLACE", value_enum)]
    pub(crate) at: Option<PlaceArg>,

    /// Do a command and end, instead of reading commands; may be repeated
    #[arg(short = 'x', long = "execute", value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,

    /// Do the commands in a file, one on each line, and end
    #[arg(long = "script", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) script: Option<PathBuf>,

    /// Also look here for debug information: .so and .so.debug files, or folders of them. Those
    /// beside the program and where programs are built are found anyway
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) symbols: Vec<PathBuf>,

    /// Where the sources are: a folder that the compiler recorded, and the one here
    #[arg(long, value_name = "FROM=TO", value_parser = parse_rule)]
    pub(crate) source_map: Vec<(String, String)>,

    /// Write logs and names as they are, with their control characters and line breaks
    #[arg(long)]
    pub(crate) raw: bool,

    /// Step into the standard library and other packages as well
    #[arg(long)]
    pub(crate) libraries: bool,

    #[command(flatten, next_help_heading = CALLS)]
    pub(crate) call: CallArgs,
}

/// A place in a run.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum PlaceArg {
    Start,
    Failure,
    End,
}

impl From<PlaceArg> for StartAt {
    fn from(place: PlaceArg) -> Self {
        match place {
            PlaceArg::Start => Self::Start,
            PlaceArg::Failure => Self::Failure,
            PlaceArg::End => Self::End,
        }
    }
}

/// Run the debug adapter for editors: VS Code, Neovim, Zed, Helix and others
#[derive(Args, Debug)]
#[command(after_help = "\
The adapter speaks the Debug Adapter Protocol over standard input and output, or with --port to editors that
connect to it. docs/debugging.md explains how to set up editors. The configuration of a session:
  { \"replay\": \"call.replay\", \"transaction\": 0, \"startAt\": \"start\", \"stopOnEntry\": true,
    \"symbols\": [\"target/deploy\"], \"sourceMap\": { \"/recorded\": \"/here\" } }")]
pub(crate) struct DapArgs {
    /// Listen on this port of this machine; 0 takes a free one, which is printed. Sessions have to name
    /// the token that is printed, too
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    /// The token of sessions, of at least 16 characters [default: a new one, which is printed]
    #[arg(long, value_name = "TEXT", env = "SELKIE_DAP_TOKEN", hide_env_values = true)]
    #[arg(value_parser = parse_token)]
    pub(crate) token: Option<String>,

    /// Let sessions take transactions from this node, by signature: a URL, or a name such as localhost
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// Accepted because editors pass it to every adapter
    #[arg(long, hide = true, conflicts_with = "port")]
    stdio: bool,
}

/// Debug a transaction with gdb, backward in time as well
#[derive(Args, Debug)]
#[command(after_help = "\
Any gdb with support for RISC-V will do, as Debian's gdb-multiarch. It starts the server itself:
  gdb-multiarch -ex 'target remote | selkie gdb-server call.replay --stdio'
or connects to one that listens:
  selkie gdb-server recordings/ --transaction 7
  gdb-multiarch -ex 'target remote :9001'

gdb's own commands work: break, watch, backtrace, info locals, reverse-step, reverse-continue.
`monitor COMMAND` does a command of `selkie debug`: `monitor who *total`, `monitor print vault`.")]
pub(crate) struct GdbServerArgs {
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

    /// Where to begin: at the failure of a transaction that failed, unless it says otherwise
    #[arg(long, value_name = "PLACE", value_enum)]
    pub(crate) at: Option<PlaceArg>,

    /// Listen on this port of this machine; 0 takes a free one, which is printed
    #[arg(long, value_name = "PORT", default_value_t = 9001)]
    pub(crate) port: u16,

    /// Speak over standard input and output, with the gdb that started it
    #[arg(long, conflicts_with = "port")]
    pub(crate) stdio: bool,

    /// Also look here for debug information: .so and .so.debug files, or folders of them. Those
    /// beside the program and where programs are built are found anyway
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath)]
    pub(crate) symbols: Vec<PathBuf>,

    #[command(flatten, next_help_heading = CALLS)]
    pub(crate) call: CallArgs,
}

fn parse_token(text: &str) -> Result<String, String> {
    const CHARACTERS_MIN: usize = 16;
    match text.chars().count() < CHARACTERS_MIN {
        true => Err(format!("it has less than {CHARACTERS_MIN} characters, and could be guessed")),
        false => Ok(text.to_owned()),
    }
}

fn parse_rule(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("expected FROM=TO")?;
    Ok((from.to_owned(), to.to_owned()))
}
