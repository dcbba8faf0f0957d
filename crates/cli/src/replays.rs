//! Opens replays for the commands that look into them, and records those of a command.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use selkie::Signature;
use selkie_isa::input;
use selkie_replay::{DebugFiles, FileError, ReplayFile, Timeline};
use selkie_report::Programs;
use serde_json::{Value, json};

use crate::{
    client::{Client, REPLAY_BYTES_MAX},
    files as output,
    ui::{Advise as _, Ui},
};

/// What an ELF file begins with.
const ELF_MAGIC: &[u8] = b"\x7fELF";

/// How replays come to be.
pub(crate) const HELP: &str =
    "name a program with its --input, or a replay: `selkie test` records those of a test suite";

/// Returns the programs of a report, whose debug information is looked for in these files or folders,
/// and where programs are built.
pub(crate) fn programs(symbols: &[PathBuf]) -> Result<Programs> {
    debug_files(symbols, Path::new("")).map(Programs::new)
}

/// Returns the files in which debug information is looked for: these files or folders, and those where
/// programs are built for who is in the folder `here`.
pub(crate) fn debug_files(symbols: &[PathBuf], here: &Path) -> Result<DebugFiles> {
    let mut files = DebugFiles::default();
    for path in symbols {
        path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
        files.add(path);
    }
    files.add_usual(here);
    Ok(files)
}

/// Says where debug information was looked for, and what else to do about there being none.
pub(crate) fn searched(files: &[PathBuf]) -> String {
    let places = files.iter().map(|it| it.display().to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "looked in {places}, and beside the program; --symbols names the .so.debug file that \
         `selkie build` wrote, or its folder"
    )
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
        for replay in fetch_from(url, &signature)?.replays() {
            saved.push(replay.clone());
        }
    }
    output::write(to, saved.to_string())?;
    Ok(vec![to.to_owned()])
}

/// Returns the signature in the place of a file's name.
fn signature(path: &Path) -> Option<Signature> {
    path.file_name()?.to_str()?.parse().ok()
}

/// Takes the transaction with a signature from the node with a URL.
fn fetch_from(url: Option<&str>, signature: &Signature) -> Result<ReplayFile> {
    let url = url.ok_or_else(|| anyhow!("there is no file {signature}"));
    let client = Client::new(url.advise("--url URL takes the transaction of a running node")?)?;
    fetch(&client, &signature.to_string())
}

/// Takes a landed transaction from a node.
pub(crate) fn fetch(client: &Client, signature: &str) -> Result<ReplayFile> {
    let replay: Option<String> = client
        .call_for("selkie_replayTransaction", &json!([signature]), REPLAY_BYTES_MAX)
        .with_context(|| format!("cannot replay {signature}"))
        .advise("only `selkie node` keeps the state before its newest transactions")?;
    let missing = || anyhow!("{} has no transaction {signature}", client.url());
    let replay = replay.ok_or_else(missing);
    let replay = replay.advise("what fails in the simulation does not land: skip the preflight")?;
    Ok(ReplayFile::parse(&replay)?)
}

/// Opens a replay file, or takes the transaction with a signature from a node.
pub(crate) fn open(path: &Path, url: Option<&str>) -> Result<ReplayFile> {
    if let Some(signature) = signature(path).filter(|_| !path.exists()) {
        return fetch_from(url, &signature);
    }
    let opened = ReplayFile::open(path);
    if opened.is_err()
        && let Some(error) = not_a_replay(path)
    {
        return Err(error);
    }
    let opened = match opened {
        // Only the other errors name the file.
        Err(error @ FileError::Line(..)) => Err(error).with_context(|| path.display().to_string()),
        other => other.map_err(Into::into),
    };
    opened.advise(HELP)
}

/// Says what a file is that is no replay, and how it is used: a program, or the input of one.
fn not_a_replay(path: &Path) -> Option<anyhow::Error> {
    let bytes = input::read(path, input::FILE_BYTES_MAX).ok()?;
    let name = path.display();
    let refused = |what: String, help: String| Err::<(), _>(anyhow!(what)).advise(help).err();
    if bytes.starts_with(ELF_MAGIC) {
        let what = format!("{name} is an ELF file, and no replay");
        return refused(what, "programs are known by the ending .so of their names".to_owned());
    }
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    let is_input = ["program_id", "instruction_data", "accounts", "account"];
    is_input.iter().any(|key| value.get(key).is_some()).then_some(())?;
    let what = format!("{name} is the input of a program, and no replay");
    refused(what, format!("name the program, and the file by --input: PROGRAM.so --input {name}"))
}

/// Lists the files, and the replays in folders, sorted by name.
pub(crate) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let found = replays_in(path)?;
        if found.is_empty() {
            let why = anyhow!("there are no replays in {}", path.display());
            return Err(why).advise(HELP);
        }
        files.extend(found);
    }
    Ok(files)
}

/// Whether a folder has no replays.
pub(crate) fn is_empty(folder: &Path) -> Result<bool> {
    Ok(replays_in(folder)?.is_empty())
}

fn replays_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder);
    let entries = entries.with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.map(|entry| entry.map(|it| it.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "replay"));
    paths.sort_unstable();
    Ok(paths)
}
