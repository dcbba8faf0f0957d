//! Opening files to read them. All code that reads a file which it did not write itself opens it here.
//!
//! A pipe blocks who opens it, a device may have no end, and a file may be larger than memory. So files
//! that are found in a folder, or that another file names, are regular ones of a bounded size. Only what
//! the user has named may be a pipe ([`named`]).

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// The most bytes read of a file, unless less will do.
pub const FILE_BYTES_MAX: u64 = 512 << 20;
/// The most bytes read of a text that people write: a configuration, a key, a query.
pub const TEXT_BYTES_MAX: u64 = 16 << 20;
/// The most bytes read of a pipe or device, which may have no end.
const STREAM_BYTES_MAX: u64 = 64 << 20;

/// Opens a regular file.
///
/// # Errors
/// If it cannot be opened, or is something else.
pub fn open(path: &Path) -> io::Result<File> {
    // Before it is opened, since that would block; and after, since it may have been replaced.
    check(&fs::metadata(path)?)?;
    let file = File::open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

fn check(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

/// Reads a regular file.
///
/// # Errors
/// If it cannot be read, is something else, or has more bytes.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    at_most(open(path)?, bytes_max)
}

/// Reads a regular file as text.
///
/// # Errors
/// If it cannot be read, is something else, has more bytes, or is not UTF-8.
pub fn text(path: &Path, bytes_max: u64) -> io::Result<String> {
    String::from_utf8(read(path, bytes_max)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

/// Reads what the user has named: a file, or a pipe such as `/dev/stdin` to its end.
///
/// # Errors
/// If it cannot be read or has too many bytes.
pub fn named(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let bytes_max = if file.metadata()?.is_file() { FILE_BYTES_MAX } else { STREAM_BYTES_MAX };
    at_most(file, bytes_max)
}

/// Reads a stream to its end.
///
/// # Errors
/// If it cannot be read or has too many bytes.
pub fn stream(input: impl Read) -> io::Result<Vec<u8>> {
    at_most(input, STREAM_BYTES_MAX)
}

fn at_most(input: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if input.take(bytes_max + 1).read_to_end(&mut bytes)? as u64 > bytes_max {
        let why = match bytes_max >> 20 {
            0 => format!("more than {bytes_max} bytes"),
            mebibytes => format!("more than {mebibytes} MiB"),
        };
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Returns whether the extension of a file is that of an assembly source.
#[must_use]
pub fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| ["s", "S", "asm"].contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_a_bound_and_folders_are_none() {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let len = fs::metadata(&manifest).expect("it is there").len();
        assert_eq!(text(&manifest, len).expect("it is text").len() as u64, len);
        let error = read(&manifest, len - 1).expect_err("it is larger");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let folder = read(Path::new(env!("CARGO_MANIFEST_DIR")), len).expect_err("it is none");
        assert_eq!(folder.kind(), io::ErrorKind::IsADirectory);
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_refused() {
        let error = read(Path::new("/dev/zero"), 10).expect_err("it has no end");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        let error = named(Path::new("/dev/zero")).expect_err("it has no end");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
