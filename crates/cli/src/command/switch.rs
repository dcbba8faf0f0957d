//! `selkie switch` and `selkie link-names`.

use std::{env, io::Write as _, path::Path, process::Command};

use anyhow::{Context as _, Result, anyhow};
use selkie_switch::{
    links, lock,
    project::{self, Plan, Source},
};
use serde_json::json;

use crate::{
    args::switch::{LinkNamesArgs, SwitchArgs},
    ui::{Advise as _, DIM, GOOD, STRONG, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &SwitchArgs) -> Result<Status> {
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    let folder =
        folder.canonicalize().with_context(|| format!("no folder {}", folder.display()))?;
    if args.undo {
        return undo(ui, &folder);
    }
    let source = match &args.from {
        Some(text) => Source::parse(text)?,
        None => Source::of_program(&env::current_exe()?)
            .ok_or_else(|| anyhow!("this program was not built in a clone of Selkie"))
            .advise("name a clone, or the address of its repository, with --from")?,
    };
    if args.write
        && project::without_lock(&folder).is_some()
        && !shown(ui, &["cargo", "generate-lockfile"].map(str::to_owned), &folder)?
    {
        let error = anyhow!("cargo cannot make the lock file, which says what is pinned");
        return Err(error).advise("cargo's error is above; nothing was written");
    }
    let plan = project::plan(&folder, &source)?;
    if args.write {
        plan.write()?;
    }
    show(ui, &plan, args.write)?;
    if !args.write {
        return Ok(Status::Success);
    }
    let mut is_success = true;
    for words in &plan.commands {
        is_success &= !project::is_due(&folder, words)? || update(ui, words, &folder)?;
    }
    let is_switched = is_success && project::is_switched(&folder)?;
    if is_switched && plan.commands.is_empty() {
        // Manifests may have changed since.
        is_success = shown(ui, &["cargo", "update", "--workspace"].map(str::to_owned), &folder)?;
    }
    if is_switched && let Some(words) = project::last_update(&folder)? {
        is_success &= shown(ui, &words, &folder)?;
    }
    plan.finish()?;
    let behind = if is_switched { project::behind(&folder)? } else { Vec::new() };
    for note in &behind {
        ui.warning(note)?;
    }
    Ok(Status::of(is_success && behind.is_empty()))
}

/// Runs a command, and shows it with what it wrote to standard error.
fn shown(ui: &mut Ui, words: &[String], folder: &Path) -> Result<bool> {
    let (is_success, text) = cargo(words, folder)?;
    ui.aside(&format!("{DIM}$ {}{DIM:#}\n{text}", words.join(" ")))?;
    Ok(is_success)
}

/// Runs `cargo update`, and before it that of each package that stands in the way, or with them: a package
/// of a repository is replaced at once, so that alone they cannot change.
fn update(ui: &mut Ui, words: &[String], folder: &Path) -> Result<bool> {
    let mut words = words.to_vec();
    let is_precise = words.iter().any(|it| it == "--precise");
    let mut updated = Vec::new();
    loop {
        let (is_success, text) = cargo(&words, folder)?;
        let conflicts = if is_success { Vec::new() } else { lock::conflicts(&text) };
        let Some(package) = conflicts.into_iter().find(|it| !updated.contains(it)) else {
            ui.aside(&format!("{DIM}$ {}{DIM:#}\n{text}", words.join(" ")))?;
            return Ok(is_success);
        };
        let id = ["-p", &package].map(str::to_owned);
        if is_precise {
            update_first(ui, &id, folder)?;
        } else if project::is_due(folder, &id)? {
            words.extend(id);
        }
        updated.push(package);
    }
}

/// Updates a package, and then those that it needs, if cargo leaves it as it is otherwise. It may not be in the
/// lock file.
fn update_first(ui: &mut Ui, id: &[String], folder: &Path) -> Result<()> {
    for more in [&[][..], &["--recursive"]] {
        let mut words = ["cargo", "update"].map(str::to_owned).to_vec();
        words.extend(id.iter().cloned().chain(more.iter().map(|it| (*it).to_owned())));
        if project::is_due(folder, &words)? {
            shown(ui, &words, folder)?;
        }
    }
    Ok(())
}

/// Runs a command. Returns whether it succeeded, and what it wrote to standard error.
fn cargo(words: &[String], folder: &Path) -> Result<(bool, String)> {
    let [program, arguments @ ..] = words else { return Ok((true, String::new())) };
    let output = Command::new(program).args(arguments).current_dir(folder).output();
    let output = output.with_context(|| format!("cannot run {}", words.join(" ")))?;
    Ok((output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn show(ui: &mut Ui, plan: &Plan, is_written: bool) -> Result<()> {
    if ui.json {
        let edit = |it: &project::Edit| json!({ "file": it.path, "lines": it.lines });
        let edits: Vec<_> = plan.edits.iter().map(edit).collect();
        ui.object(&json!({
            "written": is_written, "edits": edits, "commands": plan.commands, "notes": plan.notes,
        }))?;
        return Ok(());
    }
    for edit in &plan.edits {
        writeln!(ui.out, "{STRONG}{}{STRONG:#}", edit.path.display())?;
        for line in &edit.lines {
            writeln!(ui.out, "  {GOOD}+ {line}{GOOD:#}")?;
        }
    }
    for words in &plan.commands {
        writeln!(ui.out, "{DIM}$ {}{DIM:#}", words.join(" "))?;
    }
    for note in &plan.notes {
        writeln!(ui.out, "note: {note}")?;
    }
    match (plan.edits.is_empty(), is_written) {
        (true, _) => writeln!(ui.out, "no file needs a change")?,
        (false, true) => {}
        (false, false) => {
            writeln!(ui.out, "nothing is written yet: `selkie switch --write` does it")?
        }
    }
    Ok(())
}

fn undo(ui: &mut Ui, folder: &Path) -> Result<Status> {
    let changed = project::undo(folder)?;
    if ui.json {
        ui.object(&json!({ "restored": changed }))?;
        return Ok(Status::Success);
    }
    for path in &changed {
        writeln!(ui.out, "{STRONG}{}{STRONG:#} is as it was", path.display())?;
    }
    let has = |name: &str| changed.iter().any(|it| it.ends_with(name));
    if changed.is_empty() {
        writeln!(ui.out, "there was nothing to take back")?;
    } else if has("Cargo.toml") && !has("Cargo.lock") {
        let what = "take Cargo.lock from version control, or run `cargo update`";
        writeln!(ui.out, "note: the lock file still has Selkie's versions: {what}")?;
    }
    Ok(Status::Success)
}

pub(crate) fn link_names(ui: &mut Ui, args: &LinkNamesArgs) -> Result<Status> {
    let program = env::current_exe()?.canonicalize()?;
    let paths = match args.undo {
        true => links::remove(&args.folder, &program)?,
        false => links::make(&args.folder, &program)?,
    };
    if ui.json {
        ui.object(&json!({ "links": paths, "program": program }))?;
        return Ok(Status::Success);
    }
    let what = if args.undo { "removed" } else { "link" };
    for path in &paths {
        writeln!(ui.out, "{what} {STRONG}{}{STRONG:#}", path.display())?;
    }
    if !args.undo {
        let folder = args.folder.display();
        writeln!(
            ui.out,
            "put {folder} first in PATH; to take this back: selkie link-names {folder} --undo"
        )?;
    }
    Ok(Status::Success)
}
