//! Reports crashes and hangs: wrong machine code can kill the process, or never return.
//!
//! The oracle runs in a child process that records the current case of each thread in a file. If
//! the child dies or hangs, each of those cases is run in a child of its own; the one that fails is
//! shrunk in the same way and printed.

use std::{
    env, fs,
    fs::File,
    io::{Seek, Write},
    path::PathBuf,
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    Options,
    exec::{Place, probe},
    shrink::shrink,
};

/// Environment variable of the child: the folder for its records.
const NOTES: &str = "SELKIE_ORACLE_NOTES";

/// A thread hangs if one case takes longer than this.
const STANDSTILL: Duration = Duration::from_secs(30);
const PROBE_MAX: Duration = Duration::from_secs(3);
const SHRINK_MAX: Duration = Duration::from_secs(90);

/// The record of a thread that has finished.
const DONE: &str = "done";

/// The file in which a thread records its current case.
pub(crate) struct Notes(Option<File>);

impl Notes {
    pub(crate) fn new(thread: u64) -> Self {
        Self(note_path(thread).and_then(|path| File::create(path).ok()))
    }

    pub(crate) fn begin(&mut self, place: Place) {
        self.write(&format!("{} {}", place.index, u8::from(place.tightened)));
    }

    fn write(&mut self, text: &str) {
        // Without records the comparison still works.
        if let Some(file) = &mut self.0 {
            let _ = file.rewind().and_then(|()| file.write_all(format!("{text:<32}").as_bytes()));
        }
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        self.write(DONE);
    }
}

fn note_path(thread: u64) -> Option<PathBuf> {
    let mut path = env::var_os(NOTES)?;
    path.push(format!("-{thread}"));
    Some(path.into())
}

/// Whether this is the child process, or needs none.
pub(crate) fn is_watched() -> bool {
    env::var_os(NOTES).is_some()
}

/// Runs a child process, and returns how it ended.
pub(crate) fn watch(options: &Options) -> std::io::Result<ExitCode> {
    let notes = env::temp_dir().join(format!("selkie-oracle-{}", std::process::id()));
    let paths: Vec<PathBuf> = (0..options.threads)
        .map(|thread| {
            let mut path = notes.clone().into_os_string();
            path.push(format!("-{thread}"));
            path.into()
        })
        .collect();
    let mut child = Command::new(env::current_exe()?)
        .args(env::args_os().skip(1))
        .env(NOTES, &notes)
        .spawn()?;
    let status = wait(&mut child, &paths)?;
    let at: Vec<String> = paths.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    paths.iter().for_each(|path| drop(fs::remove_file(path)));
    if let Some(code @ 0..=2) = status.and_then(|it| it.code()) {
        return Ok(ExitCode::from(u8::try_from(code).expect("0 to 2")));
    }
    let how = status.map_or("stands still".to_owned(), |status| format!("died: {status}"));
    println!("the run {how}");
    for place in at.iter().filter_map(|text| place(options.seed, text)) {
        if let Some(how) = fate(options, place, &[]) {
            report(options, place, &how);
        }
    }
    Ok(ExitCode::from(1))
}

/// Waits for the child, and kills it if a thread hangs.
fn wait(child: &mut Child, paths: &[PathBuf]) -> std::io::Result<Option<ExitStatus>> {
    let mut last: Vec<(String, Instant)> =
        paths.iter().map(|_| (String::new(), Instant::now())).collect();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        for (path, (text, since)) in paths.iter().zip(&mut last) {
            let now = fs::read_to_string(path).unwrap_or_default();
            if now != *text || now.trim() == DONE {
                (*text, *since) = (now, Instant::now());
            } else if !now.is_empty() && since.elapsed() > STANDSTILL {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn place(seed: u64, text: &str) -> Option<Place> {
    let (index, tightened) = text.trim().split_once(' ')?;
    Some(Place { seed, index: index.parse().ok()?, tightened: tightened == "1" })
}

/// Runs one case in a child. Returns how the child failed, if it did.
fn fate(options: &Options, place: Place, changes: &[u32]) -> Option<String> {
    let changes: Vec<String> = changes.iter().map(u32::to_string).collect();
    let versions: Vec<String> = options.versions.iter().map(|it| format!("{it:?}")).collect();
    let mut command = Command::new(env::current_exe().ok()?);
    command.args(["probe", "--seed", &place.seed.to_string(), "--only", &place.index.to_string()]);
    command.args(["--tightened", if place.tightened { "1" } else { "0" }]);
    command.args(["--versions", &versions.join(","), "--changes", &changes.join(",")]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let start = Instant::now();
    loop {
        match child.try_wait().ok()? {
            Some(status) if status.success() => return None,
            Some(status) => return Some(status.to_string()),
            None if start.elapsed() > PROBE_MAX => {
                child.kill().and_then(|()| child.wait()).ok()?;
                return Some("does not end".into());
            }
            None => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Shrinks and prints a case that crashes or hangs.
fn report(options: &Options, place: Place, how: &str) {
    let Some((case, plan)) = probe(place, &options.versions, &[], false) else { return };
    let start = Instant::now();
    let small = shrink(&case, |_, changes| {
        start.elapsed() < SHRINK_MAX && fate(options, place, changes).as_deref() == Some(how)
    });
    let Place { seed, index, tightened } = place;
    let tightened = if tightened { ", tightened" } else { "" };
    println!("seed {seed}, case {index}{tightened}, {plan:?}\nends so: {how}\nshrunk to:\n{small}");
}
