//! Reading of untrusted files with a size limit: a path may be an endless device.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// The maximum size in bytes of a file; vectors and programs are smaller.
const BYTES_MAX: u64 = 1 << 30;

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
    let mut bytes = Vec::new();
    let count = File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if count as u64 > BYTES_MAX {
        let why = format!("the file is larger than {} MiB", BYTES_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}
