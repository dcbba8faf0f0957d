//! `selkie profile`.

use std::{io::Write as _, path::Path};

use anyhow::{Result, anyhow};
use selkie_replay::recordings::Recordings;
use selkie_report::{
    Profile, Programs,
    profile::{
        compare::compare,
        format::{FORMATS, Format},
        table::{Libraries, Row, Tables},
    },
};
use serde_json::json;

use crate::{
    args::replay::ProfileArgs,
    files,
    pages::{self, Pages},
    recording,
    render::count,
    replays,
    ui::{Advise as _, BAD, DIM, GOOD, STRONG, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &ProfileArgs) -> Result<Status> {
    let output = args.output.as_ref().map(|path| Ok::<_, anyhow::Error>((path, format(path)?)));
    let output = output.transpose()?;
    let mut programs = replays::programs(&args.replay.symbols)?;
    let opened = recording::open_or_record(ui, &args.replay, &args.call, &args.command, "profile")?;
    let Ok(mut recordings) = opened else { return Ok(Status::Failure) };
    if args.open {
        let (path, symbols) = ("flame/replay-all", &args.replay.symbols);
        return pages::serve(ui, recordings, &Pages { path, symbols, port: None, opens: true });
    }
    let profile = read(&mut recordings, &mut programs)?;
    replays::warn(ui, &programs)?;
    replays::warn_without_lines(ui, &programs)?;
    let libraries = if args.libraries { Libraries::Expanded } else { Libraries::RolledUp };
    if let Some((path, format)) = output {
        files::write(path, format.render(&profile.shown(libraries)))?;
    }
    if let Some(path) = &args.compare {
        let url = args.replay.node.url.as_deref();
        let mut before = Recordings::open(core::slice::from_ref(path), replays::fetcher(url))?;
        let before = read(&mut before, &mut programs)?;
        return show_changes(ui, &before, &profile, args.top);
    }
    let tables = Tables::of(&profile, libraries);
    if ui.json {
        let mut report = tables.to_json();
        report["success"] = true.into();
        report["compute_units"] = profile.units.into();
        report["transactions"] = profile.transactions.into();
        ui.object(&report)?;
        return Ok(Status::Success);
    }
    let transactions = count(usize::try_from(profile.transactions).unwrap_or(0), "transaction");
    writeln!(ui.out, "{STRONG}{}{STRONG:#} compute units, {transactions}", profile.units)?;
    for (title, rows) in [
        ("program", &tables.programs),
        ("package", &tables.packages),
        ("function", &tables.functions),
        ("syscall", &tables.syscalls),
        ("line", &tables.lines),
    ] {
        let is_shown = match args.by {
            None => title != "package",
            Some(by) => by.title() == title,
        };
        if is_shown {
            show_table(ui, title, rows, profile.units, args.top)?;
        }
    }
    Ok(Status::Success)
}

/// Returns the format that a file's name asks for.
fn format(path: &Path) -> Result<&'static Format> {
    let name = path.display().to_string();
    let known: Vec<&str> = FORMATS.iter().map(|format| format.extension).collect();
    Format::of_file(&name)
        .ok_or_else(|| anyhow!("which format has {name}?"))
        .advise(format!("its name should end in one of {}", known.join(", ")))
}

fn read(recordings: &mut Recordings, programs: &mut Programs) -> Result<Profile> {
    let mut profile = Profile::default();
    recording::each(recordings, |_, timeline| {
        profile.add(&timeline, programs);
        Ok(())
    })?;
    Ok(profile)
}

fn show_table(ui: &mut Ui, title: &str, rows: &[Row], units: u64, top: usize) -> Result<()> {
    if rows.is_empty() || top == 0 {
        return Ok(());
    }
    writeln!(ui.out, "\n{DIM}      own           total    calls  {title}{DIM:#}")?;
    for row in rows.iter().take(top) {
        let calls = if row.calls == 0 { String::new() } else { row.calls.to_string() };
        let (own, total) = (share(row.own, units), share(row.total, units));
        write!(ui.out, "{:>9} {own:>6} {:>9} {total:>6} {calls:>6}", row.own, row.total)?;
        write!(ui.out, "  {STRONG}{}{STRONG:#}", row.name)?;
        if !row.program.is_empty() {
            write!(ui.out, "  {DIM}{}{DIM:#}", row.program)?;
        }
        writeln!(ui.out)?;
    }
    let left_out = rows.len().saturating_sub(top);
    if left_out > 0 {
        writeln!(ui.out, "{DIM}          and {left_out} more{DIM:#}")?;
    }
    Ok(())
}

fn share(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{}%", tenths / 10, tenths % 10)
}

fn show_changes(ui: &mut Ui, before: &Profile, after: &Profile, top: usize) -> Result<Status> {
    let changes = compare(before, after);
    if ui.json {
        let changes = changes.iter().map(|it| it.to_json());
        let report = json!({
            "success": true,
            "before": before.units,
            "after": after.units,
            "changes": changes.collect::<Vec<_>>(),
        });
        ui.object(&report)?;
        return Ok(Status::Success);
    }
    let delta = i128::from(after.units) - i128::from(before.units);
    writeln!(
        ui.out,
        "{} → {STRONG}{}{STRONG:#} compute units  {delta:+}",
        before.units, after.units
    )?;
    for change in changes.iter().take(top) {
        let colour = if change.delta() > 0 { BAD } else { GOOD };
        writeln!(
            ui.out,
            "{colour}{:>+10}{colour:#}  {} → {}  {STRONG}{}{STRONG:#}  {DIM}{}{DIM:#}",
            change.delta(),
            change.before,
            change.after,
            change.name,
            change.program
        )?;
    }
    Ok(Status::Success)
}
