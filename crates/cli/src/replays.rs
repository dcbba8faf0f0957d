//! Replays of the command line: files, or transactions of a node.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result, anyhow};
use selkie::Signature;
use selkie_client::Client;
use selkie_isa::failure::Failure;
pub(crate) use selkie_replay::files::{HELP, debug_files, files, is_empty, searched};
use selkie_replay::{
    ReplayFile, Timeline,
    files::{self as replay_files, Fetch, signature},
};
use selkie_report::Programs;

use crate::{
    files as output,
    ui::{Advise as _, Ui},
};

/// Takes transactions from the node with a URL, if there is one.
pub(crate) fn fetcher(url: Option<&str>) -> Option<Fetch> {
    let url = url?.to_owned();
    Some(Arc::new(move |signature| {
        let client = Client::new(&url)?;
        fetch(&client, signature).map_err(Failure::of)
    }))
}

/// Opens a replay file, or takes the transaction with a signature from a node.
pub(crate) fn open(path: &Path, url: Option<&str>) -> Result<ReplayFile> {
    Ok(replay_files::open(path, fetcher(url).as_ref())?)
}

/// Returns the programs of a report, whose debug information is looked for in these files or folders,
/// and where programs are built.
pub(crate) fn programs(symbols: &[PathBuf]) -> Result<Programs> {
    Ok(Programs::new(debug_files(symbols, Path::new(""))?))
}

/// Warns of programs whose debug information is not used.
pub(crate) fn warn(ui: &mut Ui, programs: &Programs) -> Result<()> {
    for (name, refusal) in programs.refusals() {
        ui.warning(&refusal.of(&name))?;
    }
    Ok(())
}

/// Warns if no program of the user's has source lines.
pub(crate) fn warn_without_lines(ui: &mut Ui, programs: &Programs) -> Result<()> {
    let names = programs.without_lines();
    if names.is_empty() {
        return Ok(());
    }
    let searched = searched(programs.searched());
    let names = names.join(", ");
    Ok(ui.warning(&format!("no debug information was found of {names}: {searched}"))?)
}

/// Opens the first transaction of a file, or the one with a signature.
pub(crate) fn first(path: &Path, url: Option<&str>) -> Result<Timeline> {
    let file = open(path, url)?;
    file.timeline(0).with_context(|| format!("{}", path.display()))
}

/// Writes the transactions with these signatures to a replay file, and returns that.
pub(crate) fn save(paths: &[PathBuf], url: Option<&str>, to: &Path) -> Result<Vec<PathBuf>> {
    let mut saved = ReplayFile::default();
    for path in paths {
        let signature = signature(path).ok_or_else(|| {
            anyhow!("--save-replay writes transactions of a node, and {} is none", path.display())
        });
        let signature = signature.advise("name it by its signature, with --url")?;
        for replay in open(&PathBuf::from(signature.to_string()), url)?.replays() {
            saved.push(replay.clone());
        }
    }
    output::write(to, saved.to_string())?;
    Ok(vec![to.to_owned()])
}

/// Takes a landed transaction from a node.
pub(crate) fn fetch(client: &Client, signature: &Signature) -> Result<ReplayFile> {
    Ok(ReplayFile::parse(&client.replay(signature)?)?)
}
