//! Building for other machines on this one.
//!
//! Zig compiles the C libraries and links for Linux and macOS, so that one machine builds for them all. For
//! Windows, GCC does.

use std::{
    env::consts::{ARCH, OS},
    path::Path,
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::{ports, repository, steps::cargo_command, toolchains::provide, venv::Venv};

/// How a program or library is linked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Linker {
    Zig,
    Gcc,
}

/// What is built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Product {
    Program,
    /// A library that a process loads: a package for JavaScript or Python.
    Library,
}

/// A kind of machine.
#[derive(Clone, Copy)]
pub(crate) struct Platform {
    /// Rust's name for it.
    pub(crate) target: &'static str,
    linker: Linker,
    /// npm's names for it: `os`, `cpu`, and `libc` where there is more than one.
    pub(crate) npm: [&'static str; 3],
    /// Whether there is an archive of the command for it. On Linux the one without a C library runs everywhere.
    pub(crate) has_archive: bool,
}

/// All of them.
pub(crate) const PLATFORMS: &[Platform] = &[
    platform("x86_64-unknown-linux-gnu", Linker::Zig, ["linux", "x64", "glibc"], false),
    platform("aarch64-unknown-linux-gnu", Linker::Zig, ["linux", "arm64", "glibc"], false),
    platform("x86_64-unknown-linux-musl", Linker::Zig, ["linux", "x64", "musl"], true),
    platform("aarch64-unknown-linux-musl", Linker::Zig, ["linux", "arm64", "musl"], true),
    platform("aarch64-apple-darwin", Linker::Zig, ["darwin", "arm64", ""], true),
    platform("x86_64-apple-darwin", Linker::Zig, ["darwin", "x64", ""], true),
    platform("x86_64-pc-windows-gnu", Linker::Gcc, ["win32", "x64", ""], true),
];

const fn platform(
    target: &'static str,
    linker: Linker,
    npm: [&'static str; 3],
    has_archive: bool,
) -> Platform {
    Platform { target, linker, npm, has_archive }
}

/// Zig, from PyPI.
pub(crate) const ZIG: &str = "ziglang==0.16.0";
/// What calls it, from PyPI.
const ZIGBUILD: &str = "cargo-zigbuild>=0.22,<0.25";

/// The oldest glibc that is enough: that of the oldest system on which node 20 starts.
const GLIBC: &str = "2.28";
/// The oldest macOS that is enough: the first for Arm64.
const MACOS: &str = "11.0";
/// What the linker has to know of macOS's frameworks, in place of Apple's SDK.
const FRAMEWORKS: &str = "xtask/dist";

/// Returns the platforms that are named by their targets, or all that are chosen.
pub(crate) fn named(names: &[String], is_chosen: fn(&Platform) -> bool) -> Result<Vec<Platform>> {
    let all: Vec<Platform> = PLATFORMS.iter().copied().filter(is_chosen).collect();
    let known = all.iter().map(|it| it.target).collect::<Vec<_>>().join(", ");
    let by_name = |name: &String| {
        let found = all.iter().find(|it| it.target == name).copied();
        found.with_context(|| format!("this is made for {known}, not for {name}"))
    };
    match names {
        [] => Ok(all),
        names => names.iter().map(by_name).collect(),
    }
}

/// Returns npm's names for this machine, as in [`Platform::npm`].
pub(crate) fn this() -> [&'static str; 3] {
    let system = match OS {
        "macos" => "darwin",
        "windows" => "win32",
        system => system,
    };
    let processor = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        processor => processor,
    };
    let libc = match (OS, cfg!(target_env = "musl")) {
        ("linux", true) => "musl",
        ("linux", false) => "glibc",
        _ => "",
    };
    [system, processor, libc]
}

impl Platform {
    pub(crate) fn is_windows(&self) -> bool {
        self.npm[0] == "win32"
    }

    /// Returns cargo, about to build a product for this platform in a folder.
    pub(crate) fn cargo(&self, folder: &Path, product: Product) -> Result<Command> {
        self.prepare()?;
        let mut command = match self.linker {
            Linker::Zig => {
                let mut command = zig()?.command_in_path("cargo-zigbuild")?;
                command.arg("zigbuild");
                command
            }
            Linker::Gcc => {
                let mut command = cargo_command();
                command.arg("build");
                command
            }
        };
        let suffix = if self.npm[2] == "glibc" { format!(".{GLIBC}") } else { String::new() };
        command.args(["--target", &format!("{}{suffix}", self.target)]).current_dir(folder);
        self.set_flags(&mut command, product);
        Ok(command)
    }

    /// Sets the options of the compiler for this platform.
    pub(crate) fn set_flags(&self, command: &mut Command, product: Product) {
        let flag = match (product, self.npm) {
            (_, ["darwin", ..]) => {
                format!("-Clink-arg=-F{}", repository().join(FRAMEWORKS).display())
            }
            // A library uses the C library of the process that loads it.
            (Product::Library, [.., "musl"]) => "-Ctarget-feature=-crt-static".to_owned(),
            _ => String::new(),
        };
        if !flag.is_empty() {
            let variable = self.target.to_uppercase().replace('-', "_");
            command.env(format!("CARGO_TARGET_{variable}_RUSTFLAGS"), flag);
        }
        command.env("MACOSX_DEPLOYMENT_TARGET", MACOS);
    }

    /// Returns the file that a library of this name is built as.
    pub(crate) fn library(&self, name: &str) -> String {
        match self.npm[0] {
            "win32" => format!("{name}.dll"),
            "darwin" => format!("lib{name}.dylib"),
            _ => format!("lib{name}.so"),
        }
    }

    /// Returns maturin's options for a wheel of this platform.
    pub(crate) fn maturin(&self) -> Vec<String> {
        let compatibility = match self.npm[2] {
            "glibc" => Some(format!("manylinux_{}", GLIBC.replace('.', "_"))),
            "musl" => Some("musllinux_1_2".to_owned()),
            _ => None,
        };
        let zig = (self.linker == Linker::Zig).then(|| "--zig".to_owned());
        let options = ["--target".to_owned(), self.target.to_owned()].into_iter().chain(zig);
        let compatibility = compatibility.map(|it| ["--compatibility".to_owned(), it]);
        options.chain(compatibility.into_iter().flatten()).collect()
    }

    /// Installs what building for this platform needs.
    pub(crate) fn prepare(&self) -> Result<()> {
        ensure!(
            ports::has_target(self.target),
            "the standard library of {} is missing",
            self.target
        );
        match self.linker {
            Linker::Zig => zig()?.install(&[ZIG, ZIGBUILD]),
            Linker::Gcc => {
                let is_there = provide("x86_64-w64-mingw32-gcc", "gcc-mingw-w64-x86-64");
                ensure!(is_there, "x86_64-w64-mingw32-gcc is missing");
                Ok(())
            }
        }
    }
}

/// The environment of Python that Zig is installed in.
fn zig() -> Result<Venv> {
    Venv::at(&repository().join("target/python/zig"))
}
