//! `cargo xtask fixtures`: fetches the programs that tests and vectors refer to.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::say;

/// Runs the chore; the argument is a folder of source lists other than the repository's own.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let sources = match arguments {
        [] => selkie_testdata::sources(),
        [folder] => PathBuf::from(folder),
        _ => bail!("usage: cargo xtask fixtures [SOURCES]"),
    };
    selkie_testdata::fetch(&sources, &say)
}
