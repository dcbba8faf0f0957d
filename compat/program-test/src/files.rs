//! Where programs and account data are looked for.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The variables that name the folder of programs, the first one that is set.
const OUT_FOLDERS: [&str; 2] = ["BPF_OUT_DIR", "SBF_OUT_DIR"];

/// Returns the folder that `cargo test-sbf` and others set.
fn out_folder() -> Option<PathBuf> {
    OUT_FOLDERS.into_iter().find_map(env::var_os).map(PathBuf::from)
}

/// Returns the path of a file: in the folder of `BPF_OUT_DIR` or `SBF_OUT_DIR`, in `tests/fixtures`, or in the
/// current folder.
#[must_use]
pub fn find_file(filename: &str) -> Option<PathBuf> {
    let fixtures = Some(PathBuf::from("tests/fixtures"));
    let folders = [out_folder(), fixtures, env::current_dir().ok()];
    let mut files = folders.into_iter().flatten().map(|folder| folder.join(filename));
    files.find(|path| path.exists())
}

/// Reads a file.
///
/// # Panics
/// If it cannot be read.
pub fn read_file(path: impl AsRef<Path>) -> Vec<u8> {
    let path = path.as_ref();
    fs::read(path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}
