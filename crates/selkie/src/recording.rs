//! Recording of everything that a test suite runs: with the environment variable `SELKIE_RECORD=DIR`,
//! each transaction is written to the folder as a replay, for `selkie profile`, `selkie coverage` and
//! `selkie trace`.
//!
//! ```text
//! DIR/0123456789abcdef.replay     one fixture; its `id` is the name of the test's thread
//! DIR/blobs/SHA256.bin            account data of 1 KiB and more, which fixtures share
//! ```
//!
//! Names are hashes of the content, so recording the same again changes nothing.
//!
//! Without the variable, a failed [`Receipt::assert`](crate::Receipt::assert) writes its transaction in
//! the same form to `target/selkie-replays`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::json::base64;

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

/// Writes a fixture to the folder of recordings, if there is one. `fixture` makes it under an id.
///
/// # Panics
/// If the folder cannot be written: a test suite that was asked to record does not pass without.
pub(crate) fn write(fixture: impl FnOnce(&str) -> Value) {
    let Some(folder) = folder() else { return };
    let thread = thread::current();
    let fixture = fixture(thread.name().unwrap_or_default());
    if let Err(error) = write_to(folder, fixture) {
        panic!("SELKIE_RECORD: cannot write to {}: {error}", folder.display());
    }
}

/// Where the replays of failed assertions go, within cargo's target folder.
const FAILURES: &str = "selkie-replays";

/// Writes the transaction of a failed assertion, and returns the file; `None` if cargo's target folder
/// is neither in the current folder, which is that of the package, nor in one of three above it, or
/// cannot be written.
pub(crate) fn write_failure(fixture: Value) -> Option<PathBuf> {
    let targets = ["target", "../target", "../../target", "../../../target"].map(Path::new);
    // Cargo marks its folder.
    let target = targets.into_iter().find(|it| it.join("CACHEDIR.TAG").is_file())?;
    write_to(&target.join(FAILURES), fixture).ok()
}

/// Writes a fixture to a folder, and returns the file.
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

/// Writes a file whose name is the hash of its content, unless it is there.
fn write_once(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let writer = format!("{}-{:?}", std::process::id(), thread::current().id());
    let temporary = path.with_extension(format!("{}.part", hash(writer.as_bytes())));
    fs::write(&temporary, bytes)?;
    fs::rename(&temporary, path)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
