//! Arguments of `selkie batch`.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, Subcommand};
use selkie::Pubkey;
use selkie_batch::folder::Work;

use crate::args::EngineArg;

/// Run millions of self-contained transactions from Parquet files
#[derive(Args, Debug)]
#[command(
    after_help = "A folder of items has the files `items/*.parquet` and `contents/*.parquet`. \
docs/scale.md describes their columns."
)]
pub(crate) struct BatchArgs {
    #[command(subcommand)]
    pub(crate) command: BatchCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum BatchCommand {
    Run(BatchRunArgs),
    Verify(BatchVerifyArgs),
    Diff(BatchDiffArgs),
    Import(BatchImportArgs),
}

/// Make items of recorded transactions, whose results are then expected
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie batch import recordings/ --out items        of SELKIE_RECORD=recordings cargo test
  selkie batch import fixtures/ --out items          Firedancer's transaction fixtures
  selkie batch import node.dump --out items          a saved node, by its method selkie_dumpState
  selkie batch import --url localhost --out items    the newest transactions of a running `selkie node`
  selkie batch run items --out results               runs them, and says which differ

Files are taken by the end of their names:
  .replay    replays of Selkie: those of transactions, not of single instructions
  .fix       transaction fixtures of Firedancer, in protobuf
  .dump      dumps of `selkie node`: its history, and the accounts at the end
  .json      {\"transactions\": […], \"accounts\": […]} as RPC servers return them, in base64
Others in a folder are left out.")]
pub(crate) struct BatchImportArgs {
    /// Files, or folders of files
    #[arg(required_unless_present = "url")]
    pub(crate) paths: Vec<PathBuf>,
    /// Take the newest transactions of a running `selkie node`: a URL, or a name such as localhost
    #[arg(short, long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The folder of items, which is created
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// How many items a file has
    #[arg(long, value_name = "N", default_value = "2000")]
    pub(crate) rows: NonZeroUsize,
}

/// Run all items of a folder, and write a file of results for each file of items
///
/// Files whose results are there already are skipped, so a run that was killed goes on where it was.
#[derive(Args, Debug)]
pub(crate) struct BatchRunArgs {
    /// The folder of items
    pub(crate) items: PathBuf,
    /// The folder of results, which is created
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) work: BatchWorkArgs,
    /// Replace results that are there already
    #[arg(long)]
    pub(crate) restart: bool,
    /// Write the log lines of each transaction
    #[arg(long)]
    pub(crate) logs: bool,
    /// Work for the process that has started this one, and end when it does. Users do not give it
    #[arg(long, value_name = "WORK", hide = true)]
    pub(crate) worker: Option<Work>,
}

/// How items are run.
#[derive(Args, Debug)]
pub(crate) struct BatchWorkArgs {
    /// How many threads work [default: one per processor]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// The engine that runs programs
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: EngineArg,
    /// Run the items with this file in place of a program's own, to compare with results without it. May
    /// be given several times
    #[arg(long, value_name = "ADDRESS=FILE.so", value_parser = parse_program)]
    pub(crate) program: Vec<(Pubkey, PathBuf)>,
    /// Keep the data of changed accounts, not their hash alone
    #[arg(long)]
    pub(crate) data: bool,
    /// How many rows are in memory for each thread
    #[arg(long, value_name = "N", default_value = "1024")]
    pub(crate) rows: NonZeroUsize,
}

/// Prove that results are complete: their number, distinct ids, expectations and digest
#[derive(Args, Debug)]
pub(crate) struct BatchVerifyArgs {
    /// The folder of results
    pub(crate) results: PathBuf,
    /// The folder of items that were run: each has to have one result
    #[arg(long, value_name = "FOLDER")]
    pub(crate) items: Option<PathBuf>,
    /// The digest that the results must have
    #[arg(long, value_name = "HEX")]
    pub(crate) digest: Option<String>,
    /// Accept malformed items, and items on which the engine crashed
    #[arg(long)]
    pub(crate) allow_unusable: bool,
}

/// Compare the results of two runs of the same items: of two versions of a program, or of Selkie
#[derive(Args, Debug)]
pub(crate) struct BatchDiffArgs {
    /// The folder of results before
    pub(crate) before: PathBuf,
    /// The folder of results after
    pub(crate) after: PathBuf,
    /// Print a Markdown table
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// How many of the differences to show
    #[arg(long, value_name = "N", default_value = "20")]
    pub(crate) show: usize,
}

/// Parses the replacement of a program.
fn parse_program(text: &str) -> Result<(Pubkey, PathBuf), String> {
    let (address, file) = text.split_once('=').ok_or("expected an address, `=` and a file")?;
    let address = address.parse().map_err(|error| format!("`{address}` is no address: {error}"))?;
    Ok((address, file.into()))
}
