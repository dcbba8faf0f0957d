//! Recording of everything that a test suite runs: with the environment variable `SELKIE_RECORD=DIR`,
//! each transaction is written to the folder as a replay, for `selkie test`, `selkie debug`,
//! `selkie profile`, `selkie coverage` and `selkie trace`.
//!
//! ```text
//! DIR/0123456789abcdef.replay     one replay; its `id` is the name of the test's thread, `suite` that of
//!                                 the test's executable, `number` counts the transactions of the test,
//!                                 `symbols` are files that may have debug information
//! DIR/0123456789abcdef.failed     a test that failed: `suite`, `test`, and the file name of the `replay`
//!                                 that it failed with
//! DIR/blobs/SHA256.bin            account data of 1 KiB and more, which replays share
//! ```
//!
//! Names are hashes of the content, so recording the same again changes nothing.
//!
//! Without the variable, the transaction that a test fails with is written in the same form to
//! `target/selkie-replays`, which keeps the newest ones.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    env, fs, io,
    path::{self, Path, PathBuf},
    sync::OnceLock,
    thread,
    time::SystemTime,
};

use selkie_case::Replay;
use selkie_inspect::target_folders;
use selkie_isa::input;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{json::base64, origin::Origins, receipt::Receipt};

/// Account data of at least this many characters of base64 become files.
const BLOB_CHARS_MIN: usize = 1366;

/// Returns the folder of recordings. The variable is read once.
#[allow(clippy::disallowed_methods, reason = "the variable is documented")]
fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::var_os("SELKIE_RECORD").filter(|folder| !folder.is_empty());
        folder.map(PathBuf::from)
    });
    folder.as_deref()
}

/// Returns whether everything is recorded.
pub(crate) fn is_on() -> bool {
    folder().is_some()
}

thread_local! {
    /// How many transactions this thread has recorded.
    static RECORDED: Cell<u64> = const { Cell::new(0) };
    /// The newest one.
    static LAST: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
    /// The transaction that was named last as the one that a test failed with.
    static NAMED: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

/// Writes a replay to the folder of recordings, and returns the file; `None` if there is no such folder.
///
/// # Panics
/// If the folder cannot be written: a test suite that was asked to record does not pass without.
pub(crate) fn write(
    origins: Option<&Origins>,
    replay: impl FnOnce(&str) -> Replay,
) -> Option<PathBuf> {
    let folder = folder()?;
    let number = RECORDED.get().saturating_add(1);
    RECORDED.set(number);
    let mut replay = in_test(origins, replay);
    replay["number"] = number.into();
    match write_to(folder, replay) {
        Ok(path) => {
            LAST.set(Some(path.clone()));
            Some(path)
        }
        Err(error) => panic!("SELKIE_RECORD: cannot write to {}: {error}", folder.display()),
    }
}

/// Makes a replay with the names of the test and of its executable, and with the files that programs were
/// added from, which may have debug information.
fn in_test(origins: Option<&Origins>, replay: impl FnOnce(&str) -> Replay) -> Value {
    let mut line = Value::from(replay(&test()));
    line["suite"] = suite().into();
    let programs = origins.into_iter().flat_map(Origins::values);
    let files: BTreeSet<PathBuf> = programs
        .flat_map(|it| [it.clone(), it.with_extension("so.debug")])
        .filter(|it| it.is_file())
        .filter_map(|it| path::absolute(it).ok())
        .collect();
    line["symbols"] = files.iter().map(|it| it.display().to_string()).collect();
    line
}

/// Returns the name of the test: test harnesses name its thread so.
fn test() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Returns the name of the running executable, without the hash that cargo adds.
fn suite() -> String {
    let path = env::current_exe().unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match stem.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|it| it.is_ascii_hexdigit()) => {
            name.to_owned()
        }
        _ => stem,
    }
}

impl Receipt {
    /// Keeps the transaction as the one that a test fails with, and returns the command that debugs it.
    /// `None` if the receipt has no [replay](Receipt::replay), or cargo's target folder is not found or
    /// cannot be written.
    pub(crate) fn debug_command(&self) -> Option<String> {
        let case = self.case()?;
        let path = match self.evidence.as_ref().and_then(|it| it.recording.as_ref()) {
            Some(path) => {
                // The recording is there, with the mark or without it.
                let _ = mark_failed(path);
                path.clone()
            }
            None => {
                let origins = self.evidence.as_ref().and_then(|it| it.origins.as_deref());
                write_failure(in_test(origins, |id| self.replay_of(id, &case))).ok()??
            }
        };
        NAMED.set(Some(path.clone()));
        Some(command(&path))
    }

    /// Prints the command that debugs the transaction, unless it was shown already. For the last one of a
    /// test that panics.
    #[allow(clippy::print_stderr, reason = "test harnesses show it below the panic's message")]
    pub(crate) fn show_debug_command(&self) {
        let named = NAMED.take();
        if let Some(command) = self.debug_command()
            && named != NAMED.with_borrow(Clone::clone)
        {
            eprintln!("the last transaction failed: {command}");
        }
    }
}

/// Marks the test as failed, with the last transaction that it recorded unless another one was named.
pub(crate) fn test_failed() {
    let last = LAST.with_borrow(Clone::clone);
    if let Some(path) = NAMED.with_borrow(Clone::clone).or(last) {
        // The test fails as well without the mark.
        let _ = mark_failed(&path);
    }
}

/// Writes that the test of this thread failed, with a recorded transaction.
fn mark_failed(replay: &Path) -> io::Result<()> {
    let (Some(folder), Some(file)) = (replay.parent(), replay.file_name()) else { return Ok(()) };
    let (suite, test) = (suite(), test());
    let name = hash(format!("{suite}\n{test}").as_bytes());
    let mark = json!({ "suite": suite, "test": test, "replay": file.to_string_lossy() });
    replace(&folder.join(format!("{name:.16}.failed")), format!("{mark}\n").as_bytes())
}

/// Where the transactions go that tests fail with, within cargo's target folder.
const FAILURES: &str = "selkie-replays";

/// How many of them are kept, and how many bytes they may have with their account data.
const FAILURES_MAX: usize = 64;
const FAILURES_BYTES_MAX: u64 = 256 << 20;

/// The longest replay whose text is searched for account data: longer ones have all of it in files.
const REPLAY_BYTES_MAX: u64 = 64 << 20;

/// Writes the transaction that a test fails with, and returns the file; `None` if cargo's target folder
/// is not found.
fn write_failure(line: Value) -> io::Result<Option<PathBuf>> {
    let Some(target) = target_folders(Path::new("")).into_iter().next() else { return Ok(None) };
    let folder = target.join(FAILURES);
    let path = write_to(&folder, line)?;
    // The transaction is kept, with old ones beside it or without them.
    let _ = keep_newest(&folder);
    Ok(Some(path))
}

/// Removes the oldest replays of a folder beyond [`FAILURES_MAX`] and [`FAILURES_BYTES_MAX`], and the
/// account data that no replay refers to and that is older than those which stay. The newest replay stays.
///
/// Tests of other processes write to the folder and remove old files at the same time.
fn keep_newest(folder: &Path) -> io::Result<()> {
    let mut replays = files(folder)?;
    replays.retain(|it| it.path.extension().is_some_and(|it| it == "replay"));
    let blobs = files(&folder.join("blobs"))?;
    let bytes = replays.iter().chain(&blobs).map(|it| it.bytes).sum::<u64>();
    if replays.len() <= FAILURES_MAX && bytes <= FAILURES_BYTES_MAX {
        return Ok(());
    }
    replays.sort_unstable_by(|left, right| {
        (right.changed, &right.path).cmp(&(left.changed, &left.path))
    });
    let (mut used, mut kept, mut bytes) = (BTreeSet::new(), 0, 0_u64);
    for replay in &replays {
        let text = input::text(&replay.path, REPLAY_BYTES_MAX).unwrap_or_default();
        let new = blobs.iter().filter(|it| !used.contains(&it.path) && text.contains(&it.stem()));
        let new: Vec<&Kept> = new.collect();
        let more = new.iter().map(|it| it.bytes).sum::<u64>().saturating_add(replay.bytes);
        bytes = bytes.saturating_add(more);
        if kept > 0 && (kept >= FAILURES_MAX || bytes > FAILURES_BYTES_MAX) {
            break;
        }
        used.extend(new.into_iter().map(|it| it.path.clone()));
        kept = kept.saturating_add(1);
    }
    let oldest = kept.checked_sub(1).and_then(|it| replays.get(it)).map(|it| it.changed);
    let is_old = |it: &&Kept| oldest.is_some_and(|oldest| it.changed < oldest);
    let unused = blobs.iter().filter(|it| !used.contains(&it.path)).filter(is_old);
    let mut superfluous = replays.iter().skip(kept).chain(unused);
    superfluous.try_for_each(|it| unless_gone(fs::remove_file(&it.path)).map(|_| ()))
}

/// A file of a folder.
struct Kept {
    path: PathBuf,
    changed: SystemTime,
    bytes: u64,
}

impl Kept {
    fn stem(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn files(folder: &Path) -> io::Result<Vec<Kept>> {
    let entries = fs::read_dir(folder)?.map(|entry| {
        let entry = entry?;
        let Some(metadata) = unless_gone(entry.metadata())? else { return Ok(None) };
        let changed = metadata.modified()?;
        Ok(Some(Kept { path: entry.path(), changed, bytes: metadata.len() }))
    });
    entries.filter_map(Result::transpose).collect()
}

/// Returns `None` for a file that is not there any more.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[allow(clippy::disallowed_methods, reason = "files are dated by the system's clock, too")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Renders the command that debugs a replay, with the path from the current folder if it is in that.
fn command(replay: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    format!("selkie debug {}", replay.strip_prefix(here).unwrap_or(replay).display())
}

/// Writes a replay to a folder, and returns the file.
fn write_to(folder: &Path, mut value: Value) -> io::Result<PathBuf> {
    let blobs = folder.join("blobs");
    fs::create_dir_all(&blobs)?;
    for pointer in ["/accounts", "/expect/post"] {
        let accounts = value.pointer_mut(pointer).and_then(Value::as_array_mut);
        for account in accounts.into_iter().flatten() {
            if let Some(data) = account.get_mut("d") {
                move_to_blob(data, &blobs)?;
            }
        }
    }
    let text = format!("{value}\n");
    let path = folder.join(format!("{:.16}.replay", hash(text.as_bytes())));
    write_once(&path, text.as_bytes())?;
    Ok(path)
}

/// Replaces long data by the name of a file that has them.
fn move_to_blob(data: &mut Value, blobs: &Path) -> io::Result<()> {
    let long = data.as_str().filter(|text| text.len() >= BLOB_CHARS_MIN);
    let Some(bytes) = long.and_then(|text| base64(text).ok()) else { return Ok(()) };
    let name = hash(&bytes);
    write_once(&blobs.join(format!("{name}.bin")), &bytes)?;
    *data = format!("blob:{name}").into();
    Ok(())
}

/// Writes a file whose name is the hash of its content. One that is there since an earlier run becomes as
/// new, so that it is not removed with the old ones.
fn write_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let touched =
        fs::OpenOptions::new().append(true).open(path).and_then(|it| it.set_modified(now()));
    match unless_gone(touched)? {
        Some(()) => Ok(()),
        None => replace(path, bytes),
    }
}

/// Replaces a file, or makes it, so that it is never seen in part. If that fails, the file is as before.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let writer = format!("{}-{:?}", std::process::id(), thread::current().id());
    let temporary = path.with_extension(format!("{}.part", hash(writer.as_bytes())));
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Half a file serves no one, and may have filled the disk.
        let _ = fs::remove_file(&temporary);
    }
    written
}

pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_kept_while_others_write_and_remove_them() {
        let folder = env::temp_dir().join(format!("selkie-failures-{}", std::process::id()));
        // Long enough to become a file of its own.
        let data = "A".repeat(1_400);
        let write = |thread: usize| {
            for number in 0..60 {
                let line = json!({ "id": (thread, number), "accounts": [{ "d": data }] });
                write_to(&folder, line).unwrap();
                keep_newest(&folder).unwrap();
            }
        };
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || write(thread));
            }
        });
        let replays = files(&folder).unwrap();
        assert_eq!(replays.iter().filter(|it| it.path.is_file()).count(), FAILURES_MAX);
        assert_eq!(files(&folder.join("blobs")).unwrap().len(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
