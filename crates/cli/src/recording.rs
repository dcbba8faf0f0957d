//! Records the transactions of a command, and goes over what is recorded.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, anyhow, bail};
use selkie_replay::Timeline;
use selkie_replay::recordings::{self, RECORDINGS, Recordings};

use crate::{
    args::{call::CallArgs, replay::ReplayArgs},
    call::Call,
    files::is_program,
    program::Refused,
    replays::{self, HELP, is_empty},
    ui::{Advise as _, Ui},
};

/// Cargo's folder, if it is the usual one.
const TARGET: &str = "target";
/// The variable by which the test library is told where to record.
pub(crate) const VARIABLE: &str = "SELKIE_RECORD";

/// Opens what a command looks into: replays, or a program with the call that its arguments describe. Of a
/// source with errors these are shown, and `Refused` is returned.
pub(crate) fn open(
    ui: &mut Ui,
    paths: &[PathBuf],
    url: Option<&str>,
    call: &CallArgs,
) -> Result<Result<Recordings, Refused>> {
    let Some(program) = paths.iter().find(|it| is_program(it)) else {
        let recordings = Recordings::open(paths, replays::fetcher(url))?;
        return Ok(Ok(match call.features.rules {
            Some(rules) => recordings.with_release(rules.release),
            None => recordings,
        }));
    };
    if paths.len() > 1 {
        let why = anyhow!("{} is a program, and not the only argument", program.display());
        return Err(why).advise("name one program, or replays");
    }
    // A variable may name a cluster that this call is not about.
    let url = url.filter(|_| call.state.is_none());
    let call = Call::open(ui, program, call, url)?;
    let replay = call.map(|call| call.replay());
    Ok(match replay {
        Ok(replay) => Ok(Recordings::of(program, replay?)),
        Err(refused) => Err(refused),
    })
}

/// Opens what a command looks into; without a path that is the place of the newest failure of a test.
pub(crate) fn open_or_newest(
    ui: &mut Ui,
    path: Option<&Path>,
    test: Option<&str>,
    url: Option<&str>,
    call: &CallArgs,
) -> Result<Result<Recordings, Refused>> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => recordings::newest(Path::new(""), test)?,
    };
    open(ui, &[path], url, call)
}

/// Opens what a command looks into, which must be something; or what a command line of a user's has
/// recorded, as `cargo test`.
pub(crate) fn open_or_record(
    ui: &mut Ui,
    args: &ReplayArgs,
    call: &CallArgs,
    command: &[String],
    what: &str,
) -> Result<Result<Recordings, Refused>> {
    let paths = paths(args, command, what)?;
    if paths.is_empty() {
        return Err(anyhow!("no replays were given")).advise(HELP);
    }
    open(ui, &paths, args.node.url.as_deref(), call)
}

/// Calls `use_it` with each transaction and its number, in order.
pub(crate) fn each(
    recordings: &mut Recordings,
    mut use_it: impl FnMut(usize, Timeline) -> Result<()>,
) -> Result<()> {
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
