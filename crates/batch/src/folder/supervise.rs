//! A run as two processes: one works, and this one goes on if it dies.
//!
//! A crash of machine code ends its process, whatever that does about panics. So a process of its own
//! does all work. If it dies, the files of items that it was at are run again in parts, each in a
//! further process: a part whose process dies is halved, and an item that twice ends a process in which
//! it is alone has the status `EngineCrash`. Twice, since the first process may have been killed from outside.
//! Then the rest of the work goes on.
//!
//! A process works for as long as its standard input is open, so none outlives this one.

use std::{
    io,
    path::Path,
    process::{Command, ExitStatus, Stdio},
};

use selkie_isa::failure::{Context as _, Failure, OrFailure as _};

use super::{
    Result,
    job::stamp,
    parts,
    run::{FolderRun, Work},
    table::{Table, TableWriter},
};
use crate::{run::crashed, schema};

/// How many rows of results are read at once.
const ROWS_AT_ONCE: usize = 1024;
/// How a run ended that was done by other processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supervised {
    /// The process that has done the last of it has shown the outcome, and ended with this exit code.
    Ended(u8),
    /// Processes cannot be started here.
    NotStarted,
}

/// Runs a folder in processes that `worker` gives, each for some [`Work`] of it. They work as long as their
/// standard input is open. `warn` takes a sentence for each file of items that is run again.
///
/// # Errors
/// If the engine dies before it runs an item, or files cannot be used.
pub fn supervise(
    run: &FolderRun,
    worker: &dyn Fn(Work) -> io::Result<Command>,
    warn: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<Supervised> {
    let Ok(mut ended) = start(worker, Work::First) else { return Ok(Supervised::NotStarted) };
    loop {
        let why = match ended {
            Ended::Exit(code) => return Ok(Supervised::Ended(code)),
            Ended::Crash(why) => why,
        };
        let mut is_explained = false;
        for (index, items) in run.shards()?.iter().enumerate() {
            if !parts::is_begun(&run.out, items) {
                continue;
            }
            is_explained = true;
            let name = items.display();
            warn(&format!("the engine died of {why}; {name} is run again in parts"))?;
            if let Some(code) = (Shard { run, worker, index, items }).run()? {
                return Ok(Supervised::Ended(code));
            }
        }
        if !is_explained {
            return Err(Failure::new(format!("the engine died of {why} before it ran an item")));
        }
        ended = start(worker, Work::Again).context("cannot start the engine again")?;
    }
}

/// How a process ended.
enum Ended {
    /// By itself: it has shown what there is to show.
    Exit(u8),
    /// By this signal or exception.
    Crash(String),
}

/// Starts a process for some work, and waits for its end.
fn start(worker: &dyn Fn(Work) -> io::Result<Command>, work: Work) -> io::Result<Ended> {
    let mut process = worker(work)?.stdin(Stdio::piped()).spawn()?;
    // Waiting would close it.
    let _open = process.stdin.take();
    Ok(ended_by(process.wait()?))
}

/// Tells crashes from an exit, and from the signals by which users end programs.
#[cfg(unix)]
fn ended_by(status: ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt as _;

    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        low_level::signal_name,
    };
    match status.signal() {
        Some(signal @ (SIGHUP | SIGINT | SIGTERM)) => {
            Ended::Exit(u8::try_from(128_i32.saturating_add(signal)).unwrap_or(u8::MAX))
        }
        Some(signal) => {
            let name = signal_name(signal).map(str::to_owned);
            Ended::Crash(name.unwrap_or_else(|| format!("signal {signal}")))
        }
        None => exited(status),
    }
}

/// Exceptions are exit codes here, that of Ctrl-C among them.
#[cfg(not(unix))]
fn ended_by(status: ExitStatus) -> Ended {
    const CTRL_C: u32 = 0xc000_013a;
    match status.code().map(i32::cast_unsigned) {
        Some(code @ 0xc000_0000..) if code != CTRL_C => {
            Ended::Crash(format!("exception {code:#x}"))
        }
        _ => exited(status),
    }
}

fn exited(status: ExitStatus) -> Ended {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ended::Exit(code.unwrap_or(u8::MAX))
}

/// A file of items at which a process has died.
struct Shard<'a> {
    run: &'a FolderRun,
    worker: &'a dyn Fn(Work) -> io::Result<Command>,
    /// The place among all files.
    index: usize,
    items: &'a Path,
}

impl Shard<'_> {
    /// Runs the items in parts. Returns the exit code of a process that could not.
    fn run(&self) -> Result<Option<u8>> {
        let Self { run, worker, index, items } = *self;
        let results = parts::results(&run.out, items);
        let stamp = stamp(items, &run.made_by()?)?;
        let mut writer = TableWriter::create(&results, schema::results(), stamp)?;
        // Rows from the first on, as many, and how often an item alone has ended its process.
        let mut ranges = vec![(0, count(items)?, 0)];
        while let Some((first, count, deaths)) = ranges.pop() {
            match start(worker, Work::Rows { shard: index, first, count })? {
                Ended::Exit(0) => self.take_results(&mut writer)?,
                Ended::Exit(code) => return Ok(Some(code)),
                Ended::Crash(_) if count > 1 => {
                    let half = count / 2;
                    ranges.push((first.saturating_add(half), count.saturating_sub(half), 0));
                    ranges.push((first, half, 0));
                }
                Ended::Crash(_) if deaths == 0 => ranges.push((first, count, 1)),
                Ended::Crash(why) => {
                    let mut table = Table::open(items, None, ROWS_AT_ONCE)?;
                    let item = table.next_of(first, count)?;
                    let item = item.with_context(|| format!("{} has changed", items.display()))?;
                    let why = format!("the engine died of {why}");
                    writer.write(&crashed(&item, &why).or_failure()?)?;
                }
            }
        }
        // The process of the last item may have left something.
        parts::remove_rows(&run.out, items)?;
        writer.finish()?;
        Ok(None)
    }

    /// Appends what a process has written.
    fn take_results(&self, writer: &mut TableWriter) -> Result<()> {
        let path = parts::rows(&self.run.out, self.items);
        let mut table = Table::open(&path, None, ROWS_AT_ONCE)?;
        while let Some(batch) = table.next()? {
            writer.write(&batch)?;
        }
        parts::remove_file(&path)
    }
}

/// Counts the rows of a file.
fn count(path: &Path) -> Result<u64> {
    let mut table = Table::open(path, Some(&[schema::column::ITEM_ID]), ROWS_AT_ONCE)?;
    let mut rows: u64 = 0;
    while let Some(batch) = table.next()? {
        rows = rows.saturating_add(batch.num_rows() as u64);
    }
    match rows {
        0 => {
            let path = path.display();
            Err(Failure::new(format!("{path} has no items, but the engine died of them")))
        }
        _ => Ok(rows),
    }
}
