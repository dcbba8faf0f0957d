//! Conformance vectors: which there are, and running them.

use std::{path::PathBuf, process::Command};

use anyhow::{Result, bail};

use crate::{
    repository,
    steps::{built, succeed},
};

/// The folder, beside the repository, of Firedancer's and Mollusk's fixtures, which cannot be part of
/// it. It also has vectors with today's results of those fixtures.
const SHARED_FIXTURES: [&str; 2] = ["../shared/vectors/fix", "../shared/pending"];

/// The vectors to run: the repository's own, and those of the folder that was named, or the shared
/// fixtures if they are here.
pub(super) fn folders(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut folders = vec![repository().join("testdata/vectors")];
    match named {
        [] => {
            let shared = SHARED_FIXTURES.iter().map(|folder| repository().join(folder));
            folders.extend(shared.filter(|folder| folder.exists()));
        }
        [folder] => folders.push(folder.clone()),
        _ => bail!("at most one folder of vectors is expected"),
    }
    Ok(folders)
}

/// Judges vectors.
pub(super) fn run(vectors: &[PathBuf], arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(built("selkie")?);
    command.current_dir(repository()).arg("conform").args(vectors);
    command.arg("--elfs").arg(repository().join("testdata/elfs")).args(arguments);
    succeed(&mut command)
}
