//! Program files.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// Reads a file.
///
/// # Panics
/// If it cannot be read.
#[track_caller]
#[must_use]
pub fn read_file<P: AsRef<Path>>(path: P) -> Vec<u8> {
    let path = path.as_ref();
    // A closure would hide the place of the test.
    match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => panic!("cannot read {}: {error}", path.display()),
    }
}

/// Reads `{program_name}.so` from `tests/fixtures`, from the folder that `BPF_OUT_DIR` or
/// `SBF_OUT_DIR` names, or from the current folder.
///
/// # Panics
/// If it is in none of them or cannot be read.
#[track_caller]
#[must_use]
pub fn load_program_elf(program_name: &str) -> Vec<u8> {
    let folders = folders();
    let name = format!("{program_name}.so");
    let found = folders.iter().map(|folder| folder.join(&name)).find(|path| path.exists());
    let Some(found) = found else {
        let searched = folders.iter().map(|it| format!("\n  {}", it.display()));
        let searched = searched.collect::<String>();
        panic!(
            "cannot find {name} in any of{searched}\n\
             help: `selkie build` builds it to target/deploy: set SBF_OUT_DIR to that folder"
        )
    };
    read_file(found)
}

fn folders() -> Vec<PathBuf> {
    let named =
        ["BPF_OUT_DIR", "SBF_OUT_DIR"].into_iter().filter_map(env::var_os).map(PathBuf::from);
    let fixtures = PathBuf::from("tests/fixtures");
    core::iter::once(fixtures).chain(named).chain(env::current_dir().ok()).collect()
}
