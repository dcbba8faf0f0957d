//! Arguments of `selkie switch` and `selkie link-names`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Put Selkie behind the names that a project uses: litesvm, mollusk-svm and others
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie switch                          shows what would change in the project of the current folder
  selkie switch --write                  changes it, and brings Cargo.lock up to date
  selkie switch --undo                   takes the changes back
  selkie switch --from ../selkie         with the packages of this clone

Cargo.toml gets lines in [patch.crates-io], package.json one line with `overrides`, and nothing else is
changed: tests and dependencies stay as they are. docs/switch.md says what is different then.")]
pub(crate) struct SwitchArgs {
    /// The project's folder, or one below it [default: the current folder]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,

    /// A clone of Selkie, or the address of its repository as URL#COMMIT [default: the clone in which this
    /// program was built]
    #[arg(long, value_name = "DIR|URL", conflicts_with = "undo")]
    pub(crate) from: Option<String>,

    /// Make the changes
    #[arg(long)]
    pub(crate) write: bool,

    /// Take the changes back
    #[arg(long, conflicts_with = "write")]
    pub(crate) undo: bool,
}

/// Make links by which scripts and Anchor start Selkie: cargo-build-sbf, surfpool and others
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie link-names ~/.selkie/bin                  makes the links
  PATH=~/.selkie/bin:$PATH anchor test             with Selkie in the place of the other tools
  selkie link-names ~/.selkie/bin --undo           removes them

The names are cargo-build-sbf, cargo-test-sbf, solana-test-validator and surfpool. Under each, selkie takes
the command line of the tool that has this name; `NAME --help` lists it.")]
pub(crate) struct LinkNamesArgs {
    /// The folder for the links, which stands in PATH before those of the other tools
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) folder: PathBuf,

    /// Remove the links
    #[arg(long)]
    pub(crate) undo: bool,
}
