//! Kinds of files by their names, and reading of files with a size limit: a path may be an endless
//! device.

use std::{io, path::Path};

use selkie_isa::input;

/// The maximum size in bytes of a file; vectors and programs are smaller.
const BYTES_MAX: u64 = 1 << 30;

/// The file name extensions of files with one vector per line.
const LINES: [&str; 2] = [".jsonl", ".jsonl.zst"];
/// The file name extension of fixtures.
const FIXTURE: &str = ".fix";

/// The file name extensions of archives.
const ARCHIVES: [&str; 2] = [".tar", ".tar.zst"];

/// Returns the folder of a file.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Reads a file.
///
/// # Errors
/// If the file cannot be read or is larger than [`BYTES_MAX`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    input::read(path, BYTES_MAX)
}

/// Returns whether a file contains vectors or fixtures, by its extension.
pub(crate) fn is_content(path: &Path) -> bool {
    is_lines(path) || is_fixture(path) || archive_name(path).is_some()
}

fn ends_with_any(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Returns whether a file has one vector per line, by its extension.
pub(crate) fn is_lines(path: &Path) -> bool {
    ends_with_any(path, &LINES)
}

/// Returns whether a file is a fixture, by its extension.
pub(crate) fn is_fixture(path: &Path) -> bool {
    ends_with_any(path, &[FIXTURE])
}

/// Returns the file name of an archive without its extension; `None` for other files.
pub(crate) fn archive_name(path: &Path) -> Option<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ARCHIVES.iter().find_map(|ending| name.strip_suffix(ending)).map(str::to_owned)
}
