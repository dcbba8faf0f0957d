//! `cargo xtask toolchains`: the compilers that programs in C and Rust are built with, installed
//! where they are missing.

use std::process::{Command, Stdio};

use anyhow::Result;
use selkie_build::{in_path, rust};

use crate::say;

/// Packages of Debian: the clang that is recommended, and an older one that lacks unaligned accesses.
const CLANGS: &[&str] = &["clang-22", "clang-19"];

/// Runs the chore. What cannot be installed is said; tests then leave out what needs it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    anyhow::ensure!(arguments.is_empty(), "usage: cargo xtask toolchains");
    install();
    Ok(())
}

/// Installs what is missing, and tells whether a clang and the toolchain for Rust are there.
pub(crate) fn install() -> bool {
    let clangs: Vec<bool> = CLANGS.iter().map(|clang| provide(clang)).collect();
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

/// Installs a package of Debian unless its command is there.
fn provide(package: &str) -> bool {
    in_path(package).is_some() || {
        let updated = succeeds(Command::new("apt-get").args(["update", "-qq"]));
        let arguments = ["install", "-y", "-qq", "--no-install-recommends", package];
        updated && succeeds(Command::new("apt-get").args(arguments))
    }
}

/// Whether a command is there and succeeds; what it prints is shown.
fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}
