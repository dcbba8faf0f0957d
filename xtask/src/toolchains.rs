//! `cargo xtask toolchains`: installs the compilers for programs in C and Rust that are missing.

use std::process::{Command, Stdio};

use anyhow::Result;
use selkie_build::{in_path, rust};

use crate::say;

/// Debian packages: the recommended clang, and an older one without unaligned accesses.
const CLANGS: &[&str] = &["clang-22", "clang-19"];

/// Runs the chore. Prints what cannot be installed; tests that need it are then ignored.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    anyhow::ensure!(arguments.is_empty(), "usage: cargo xtask toolchains");
    install();
    Ok(())
}

/// Installs what is missing. Returns whether a clang and the toolchain for Rust are installed.
pub(crate) fn install() -> bool {
    let clangs: Vec<bool> = CLANGS.iter().map(|clang| provide(clang, clang)).collect();
    let mut words = rust::INSTALL.split(' ');
    let rust = words.next().is_some_and(|rustup| succeeds(Command::new(rustup).args(words)));
    let names = CLANGS.iter().copied().chain([rust::INSTALL]);
    for (name, is_there) in names.zip(clangs.iter().copied().chain([rust])) {
        if !is_there {
            say(&format!("missing, and cannot be installed here: {name}"));
        }
    }
    clangs.contains(&true) && rust
}

/// Installs a Debian package unless its command exists.
pub(crate) fn provide(command: &str, package: &str) -> bool {
    in_path(command).is_some() || install_package(package)
}

/// Installs a Debian package, without those that it only recommends.
pub(crate) fn install_package(package: &str) -> bool {
    let updated = succeeds(Command::new("apt-get").args(["update", "-qq"]));
    let arguments = ["install", "-y", "-qq", "--no-install-recommends", package];
    updated && succeeds(Command::new("apt-get").args(arguments))
}

/// Whether a command exists and succeeds. Its output is shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}
