//! Reading files that may be anything: devices without an end too.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// More than any file of vectors or program has.
const BYTES_MAX: u64 = 1 << 30;

/// The folder that a file is in.
pub(crate) fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Reads a file.
///
/// # Errors
/// If it cannot be read, or is larger than any file that belongs here.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let count = File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if count as u64 > BYTES_MAX {
        let why = format!("the file has more than {} MiB", BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}
