//! Arguments of `selkie fuzz`.

use std::{num::NonZeroUsize, path::PathBuf};

use clap::{Args, ValueHint};
use selkie_explore::FailsOn;

use crate::args::AssemblerArgs;

/// Look for inputs that make a program fail, guided by the branches that they take
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie fuzz program.so --input call.json         from an example, as for `selkie run --input`
  selkie fuzz program.so --idl target/idl/program.json
  selkie fuzz -- cargo test                        from the transactions of a test suite
  selkie fuzz --replay recordings/ --program-id Vau1t…  only this program's instructions
  selkie fuzz program.so                           any data, without accounts
  selkie fuzz program.so --input call.json --seconds 600 --corpus corpus/

A finding is a panic or another crash, told by its line in your own code; errors that programs return
are none. It is a sequence of calls, made as short as possible. Its replay is for `selkie trace` and
`selkie debug`; its test is for the folder `tests` of your project, and fails until the program is
repaired. Targets in Rust, with actions on any accounts and invariants, are described in
docs/fuzzing.md.

Exit codes:
  0  nothing was found
  1  something was found
  2  the search could not start: wrong arguments, or no call succeeds")]
pub(crate) struct FuzzArgs {
    /// The program: .so, or .s, which is assembled first
    #[arg(value_hint = ValueHint::FilePath, required_unless_present_any = ["replays", "command"])]
    pub(crate) program: Option<PathBuf>,

    /// Begin with this instruction and its accounts: a JSON file as for `selkie run`
    #[arg(short, long = "input", value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(requires = "program")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Call the instructions of this interface description, as Anchor writes it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(requires = "program", conflicts_with_all = ["inputs", "replays", "command"])]
    pub(crate) idl: Option<PathBuf>,

    /// Begin with the transactions of these replay files, or folders of recordings
    #[arg(long = "replay", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    #[arg(conflicts_with = "inputs")]
    pub(crate) replays: Vec<PathBuf>,

    /// The address of the program; of replays, only its instructions are changed
    #[arg(long, value_name = "KEY")]
    pub(crate) program_id: Option<String>,

    /// Another program that it can invoke by CPI
    #[arg(long = "program", value_name = "KEY=FILE", value_hint = ValueHint::FilePath)]
    pub(crate) programs: Vec<String>,

    /// What counts as a finding: `trap` for panics and other crashes, `error:N` for a custom error, or
    /// `log:TEXT`. May be given several times [default: trap]
    #[arg(long, value_name = "WHAT")]
    pub(crate) fails_on: Vec<FailsOn>,

    /// End after this time [default: 60, unless --runs is given]
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,

    /// End after about this many calls
    #[arg(long, value_name = "N")]
    pub(crate) runs: Option<u64>,

    /// The seed of all randomness; with one thread and --runs, a search can be repeated exactly
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// How many threads search
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: NonZeroUsize,

    /// Begin with the cases of this folder, and add those that reach something new
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) corpus: Option<PathBuf>,

    /// Where findings are written
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    #[arg(default_value = "target/selkie-findings")]
    pub(crate) findings: PathBuf,

    /// End after this many different findings
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) findings_max: NonZeroUsize,

    #[command(flatten)]
    pub(crate) assembler: AssemblerArgs,

    /// A command that runs tests, whose transactions the search begins with
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["inputs", "replays"])]
    pub(crate) command: Vec<String>,
}
