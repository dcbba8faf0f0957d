//! The compilers that tests use if they are installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Compilers, with the oldest and newest BPF CPU that they support.
pub(crate) const COMPILERS: &[(&str, u32, u32)] = &[
    ("clang-14", 1, 3),
    ("clang-16", 1, 3),
    ("clang-19", 1, 4),
    ("clang-22", 1, 4),
    ("clang", 1, 3),
];

/// A file that a test may write.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("torture");
    fs::create_dir_all(&folder).expect("cargo made the folder above");
    folder.join(name)
}

pub(crate) fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|it| it.status.success())
}
