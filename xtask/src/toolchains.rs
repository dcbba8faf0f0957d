//! `cargo xtask toolchains`: the compilers that programs in C and Rust are built with, installed
//! where they are missing.

use std::process::{Command, Stdio};

use anyhow::Result;
use selkie_build::{in_path, rust};

use crate::say;

/// The package of Debian that has a clang of the middle of those that are supported.
const CLANG: &str = "clang-19";

/// Runs the chore. What cannot be installed is said; tests then leave out what needs it.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    anyhow::ensure!(arguments.is_empty(), "usage: cargo xtask toolchains");
    install();
    Ok(())
}

/// Installs what is missing, and tells whether all is there.
pub(crate) fn install() -> bool {
    let clang = in_path(CLANG).is_some() || {
        let updated = succeeds(Command::new("apt-get").args(["update", "-qq"]));
        let arguments = ["install", "-y", "-qq", "--no-install-recommends", CLANG];
        updated && succeeds(Command::new("apt-get").args(arguments))
    };
    let mut words = rust::INSTALL.split(' ');
    let rust = words.next().is_some_and(|rustup| succeeds(Command::new(rustup).args(words)));
    for (is_there, what) in [(clang, CLANG), (rust, rust::INSTALL)] {
        if !is_there {
            say(&format!("not here, and not to be had: {what}"));
        }
    }
    clang && rust
}

/// Whether a command is there and succeeds; what it prints is shown.
fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).status().is_ok_and(|status| status.success())
}
