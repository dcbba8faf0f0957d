//! Clones of other people's repositories, from GitHub or from a folder that has them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{output, say};

/// Splits `--checkouts FOLDER` off the arguments of a chore: a folder with repositories by their own
/// names.
pub(crate) fn option(arguments: &[String]) -> (Option<PathBuf>, &[String]) {
    match arguments {
        [flag, folder, rest @ ..] if flag == "--checkouts" => (Some(PathBuf::from(folder)), rest),
        _ => (None, arguments),
    }
}

/// Returns the own name of a repository that is called `OWNER/NAME`.
pub(crate) fn own_name(repository: &str) -> &str {
    repository.rsplit('/').next().unwrap_or_default()
}

/// Makes a folder a clone of a repository, `OWNER/NAME`, as it is at a commit. `checkouts` has
/// repositories by their own names; without it they are those of GitHub.
pub(crate) fn at_commit(
    repository: &str,
    commit: &str,
    folder: &Path,
    checkouts: Option<&Path>,
) -> Result<()> {
    let address = checkouts.map_or_else(
        || format!("https://github.com/{repository}"),
        |it| it.join(own_name(repository)).display().to_string(),
    );
    clone(&address, &["--no-checkout"], folder)?;
    let reset = ["reset", "--quiet", "--hard", commit];
    output(Command::new("git").args(reset).current_dir(folder)).map(drop)
}

/// Clones the repository at an address into a folder, unless it is there.
pub(crate) fn clone(address: &str, options: &[&str], folder: &Path) -> Result<()> {
    if folder.exists() {
        return Ok(());
    }
    say(&format!("cloning {address}"));
    let unfinished = unfinished(folder)?;
    let clone = ["clone", "--quiet"].iter().chain(options);
    output(Command::new("git").args(clone).arg(address).arg(&unfinished))?;
    Ok(fs::rename(unfinished, folder)?)
}

/// A folder beside another one, for work that may fail half-way. What an earlier run left there is
/// removed; the caller renames the folder when it is complete.
pub(crate) fn unfinished(folder: &Path) -> Result<PathBuf> {
    let unfinished = folder.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    fs::create_dir_all(unfinished.parent().context("the folder has a parent")?)?;
    Ok(unfinished)
}
