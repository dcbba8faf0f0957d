//! Records the transactions of a command, and goes over what is recorded.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie_replay::Timeline;

use crate::{
    args::replay::ReplayArgs,
    recordings::{RECORDINGS, Recordings},
    replays::{HELP, is_empty},
    ui::Advise as _,
};

/// Cargo's folder, if it is the usual one.
const TARGET: &str = "target";
/// The variable by which the test library is told where to record.
pub(crate) const VARIABLE: &str = "SELKIE_RECORD";

/// Calls `use_it` with each transaction and its number, in order.
pub(crate) fn each(
    paths: &[PathBuf],
    url: Option<&str>,
    mut use_it: impl FnMut(usize, Timeline) -> Result<()>,
) -> Result<()> {
    if paths.is_empty() {
        return Err(anyhow!("no replays were given")).advise(HELP);
    }
    let mut recordings = Recordings::open(paths, url)?;
    for number in 0..recordings.len() {
        let timeline = recordings.timeline(number)?;
        use_it(number, timeline)?;
    }
    Ok(())
}

/// Returns the paths of the arguments, or those of what a command has recorded. The command may fail:
/// what it recorded until then counts.
pub(crate) fn paths(args: &ReplayArgs, command: &[String], what: &str) -> Result<Vec<PathBuf>> {
    if command.is_empty() {
        return Ok(args.paths.clone());
    }
    let folder = new_recordings(Path::new(TARGET), what)?;
    let (program, arguments) = command.split_first().context("there is a command")?;
    let status = Command::new(program).args(arguments).env(VARIABLE, &folder).status();
    let status = status.with_context(|| format!("cannot run {program}"))?;
    if is_empty(&folder)? {
        if !status.success() {
            bail!("`{}` failed: {status}", command.join(" "));
        }
        let why = anyhow!("`{}` sent no transactions", command.join(" "));
        return Err(why).advise("tests that use the library `selkie` are recorded");
    }
    Ok(vec![folder])
}

/// Makes an empty folder of recordings in a target folder, and returns its absolute path.
pub(crate) fn new_recordings(target: &Path, what: &str) -> Result<PathBuf> {
    let folder = target.join(RECORDINGS).join(what);
    let named = || format!("cannot write to {}", folder.display());
    // It is not there the first time.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(named)?;
    folder.canonicalize().with_context(named)
}
