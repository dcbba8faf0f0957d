//! `selkie batch run`: in two processes, of which one works and the other goes on if it dies.

use core::time::Duration;
use std::{
    env,
    io::{self, Write as _},
    process::{Command, exit},
    sync::OnceLock,
    thread,
    time::Instant,
};

use anyhow::Result;
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use selkie_batch::{
    RunOptions,
    folder::{FolderRun, Supervised, Total, Work, supervise},
};
use selkie_isa::plural::count;
use selkie_svm::Engine;
use serde_json::json;

use crate::{
    args::batch::BatchRunArgs,
    ui::{BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// The exit code of a process whose starter is gone.
const ABANDONED: i32 = 2;

pub(super) fn run(ui: &mut Ui, args: &BatchRunArgs) -> Result<Status> {
    let folder = folder(args);
    if let Some(work) = &args.worker {
        end_with_starter();
        return execute(ui, &folder, work);
    }
    let warn = &mut |text: &str| ui.warning(text);
    match supervise(&folder, &worker, warn)? {
        Supervised::Ended(code) => Ok(Status::Shown(code)),
        // An emulator of another processor, for instance, cannot start programs for it.
        Supervised::NotStarted => execute(ui, &folder, &Work::First),
    }
}

fn folder(args: &BatchRunArgs) -> FolderRun {
    let BatchRunArgs { items, out, restart, logs, work, .. } = args;
    FolderRun {
        programs: work.program.clone(),
        threads: work.threads,
        rows: work.rows,
        restart: *restart,
        options: RunOptions {
            engine: Engine::from(work.engine),
            keeps_logs: *logs,
            keeps_data: work.data,
            clock: Some(nanoseconds),
            ..RunOptions::default()
        },
        ..FolderRun::new(items.clone(), out.clone())
    }
}

/// Returns the command of a process that does some of the work of this one.
fn worker(work: Work) -> io::Result<Command> {
    let mut arguments: Vec<_> = env::args_os().skip(1).collect();
    let end = arguments.iter().position(|it| it == "--").unwrap_or(arguments.len());
    arguments.splice(end..end, ["--worker".into(), work.to_string().into()]);
    let mut command = Command::new(env::current_exe()?);
    command.args(arguments);
    Ok(command)
}

/// Ends this process when the one that has started it is gone.
#[expect(clippy::exit, reason = "the parent process, which reads the result, has exited")]
fn end_with_starter() {
    thread::spawn(|| {
        // Nothing is written: this returns when the other end is closed.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        exit(ABANDONED)
    });
}

fn execute(ui: &mut Ui, folder: &FolderRun, work: &Work) -> Result<Status> {
    let ready = folder.prepare()?;
    let is_shown = ui.is_watched() && !matches!(work, Work::Rows { .. });
    let bar = if is_shown { bar(ready.rows()?) } else { ProgressBar::hidden() };
    let start = nanoseconds();
    let total = ready.run(work, &|rows, compute_units| {
        bar.inc(rows);
        bar.set_message(HumanCount(compute_units).to_string());
    })?;
    bar.finish_and_clear();
    let elapsed = Duration::from_nanos(nanoseconds().saturating_sub(start));
    match total {
        Some(total) => report(ui, &total, elapsed.as_secs_f64()),
        None => Ok(Status::Success),
    }
}

fn bar(rows: u64) -> ProgressBar {
    let bar = ProgressBar::new(rows);
    let template =
        "{bar:30.cyan} {human_pos}/{human_len} items, {per_sec}, {msg} compute units, {eta} left";
    ProgressStyle::with_template(template).into_iter().for_each(|style| bar.set_style(style));
    bar
}

/// Returns the time since the first call, in nanoseconds.
#[expect(clippy::disallowed_methods, reason = "times are only shown")]
fn nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Shows a total.
fn report(ui: &mut Ui, total: &Total, seconds: f64) -> Result<Status> {
    let Total { digest, compute_units, statuses, unexpected, files_skipped, unusable, .. } = total;
    if ui.json {
        ui.object(&json!({
            "items": digest.items,
            "statuses": statuses,
            "compute_units": compute_units,
            "unexpected": unexpected,
            "unusable": unusable,
            "files_skipped": files_skipped,
            "digest": digest.to_hex(),
            "seconds": seconds,
        }))?;
        return Ok(Status::of(total.is_fine()));
    }
    writeln!(ui.out, "{STRONG}{}{STRONG:#} in {seconds:.1} s", count(digest.items, "item"))?;
    for (status, number) in statuses {
        writeln!(ui.out, "  {status:14} {number}")?;
    }
    writeln!(ui.out, "  compute units  {compute_units}")?;
    if *files_skipped > 0 {
        writeln!(ui.out, "  {DIM}{} had results{DIM:#}", count(*files_skipped, "file"))?;
    }
    for line in unusable {
        writeln!(ui.out, "{BAD}unusable{BAD:#} {line}")?;
    }
    if *unexpected > 0 {
        writeln!(ui.out, "{BAD}{} not as expected{BAD:#}", count(*unexpected, "result"))?;
    }
    let style = if total.is_fine() { GOOD } else { BAD };
    writeln!(ui.out, "digest {style}{}{style:#}", digest.to_hex())?;
    Ok(Status::of(total.is_fine()))
}
