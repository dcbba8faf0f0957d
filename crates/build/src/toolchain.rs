//! Rust toolchains: finding one that compiles for BPF and has the standard library's source.

use std::{env, fs, path::PathBuf, process::Command};

use crate::{failure::BuildError, system::in_path};

/// The toolchain that programs are tested with.
pub const TESTED: &str = "1.99.0";

/// The command that installs it.
pub const INSTALL: &str = "rustup toolchain install 1.99.0 --profile minimal --component rust-src";

/// The oldest LLVM whose BPF back end supports large return values and library calls.
const LLVM_MIN: u32 = 23;

/// A Rust toolchain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Toolchain {
    pub(crate) name: String,
    /// The folder of `bin` and `lib`.
    pub(crate) root: PathBuf,
    /// The release of rustc: `1.100.0-nightly (8925ea358 2026-08-20)`.
    release: String,
    llvm: u32,
}

impl Toolchain {
    fn open(root: PathBuf) -> Option<Self> {
        let output = Command::new(root.join("bin/rustc")).arg("-Vv").output().ok()?;
        let said = String::from_utf8(output.stdout).ok()?;
        let llvm = said.lines().find_map(|line| line.strip_prefix("LLVM version: "))?;
        Some(Self {
            name: root.file_name()?.to_string_lossy().into_owned(),
            release: said.lines().next()?.strip_prefix("rustc ")?.to_owned(),
            llvm: llvm.split('.').next()?.parse().ok()?,
            root,
        })
    }

    pub(crate) fn library(&self) -> PathBuf {
        self.root.join("lib/rustlib/src/rust/library")
    }

    fn is_usable(&self) -> bool {
        self.llvm >= LLVM_MIN && self.library().join("std/Cargo.toml").is_file()
    }

    pub(crate) fn title(&self) -> String {
        format!("{} (rustc {}, LLVM {})", self.name, self.release, self.llvm)
    }

    /// Returns the named toolchain, or else [`TESTED`], or else the newest usable one.
    pub(crate) fn find(named: Option<&str>) -> Result<Self, BuildError> {
        let roots = installed();
        let called = |name: &str| {
            let is_called = |root: &&PathBuf| {
                let base = root.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
                base.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            roots.iter().find(is_called).cloned()
        };
        if let Some(name) = named {
            let root = called(name).unwrap_or_else(|| name.into());
            let toolchain = Self::open(root).ok_or_else(|| {
                BuildError::setup(format!("found no Rust toolchain `{name}`"), install(&roots))
            })?;
            return match toolchain.is_usable() {
                true => Ok(toolchain),
                false => Err(toolchain.lacking()),
            };
        }
        if let Some(tested) = called(TESTED).and_then(Self::open).filter(Self::is_usable) {
            return Ok(tested);
        }
        let all: Vec<Self> = roots.iter().cloned().filter_map(Self::open).collect();
        let usable = all.iter().filter(|it| it.is_usable());
        let newest = usable.max_by_key(|it| (it.llvm, it.release.clone()));
        newest.cloned().ok_or_else(|| {
            let near = all.iter().find(|it| it.llvm >= LLVM_MIN);
            near.map_or_else(
                || {
                    let message = format!("found no Rust toolchain with LLVM {LLVM_MIN} or newer");
                    BuildError::setup(message, install(&roots))
                },
                Self::lacking,
            )
        })
    }

    fn lacking(&self) -> BuildError {
        let Self { name, llvm, .. } = self;
        if *llvm < LLVM_MIN {
            let message = format!("{name} has LLVM {llvm}, but BPF needs LLVM {LLVM_MIN} or newer");
            return BuildError::setup(message, format!("install a newer toolchain: {INSTALL}"));
        }
        BuildError::setup(
            format!("{name} lacks the source of the standard library"),
            format!("install it: rustup component add rust-src --toolchain {name}"),
        )
    }

    /// Returns the toolchain's cargo, which starts the toolchain's rustc.
    pub(crate) fn cargo(&self) -> Command {
        let bin = self.root.join("bin");
        let own = bin.join("cargo");
        let mut command = Command::new(if own.is_file() { own } else { "cargo".into() });
        command.env("RUSTC", bin.join("rustc")).env("RUSTUP_TOOLCHAIN", &self.name);
        command.env_remove("RUSTC_WRAPPER").env_remove("RUSTDOC");
        command
    }
}

/// Returns the folders of rustup's toolchains, and of the `rustc` in `PATH`.
#[allow(clippy::disallowed_methods, reason = "rustup's own variable")]
fn installed() -> Vec<PathBuf> {
    let rustup = env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let rustup = rustup.or_else(|| Some(env::home_dir()?.join(".rustup")));
    let folders = rustup.map(|it| it.join("toolchains")).and_then(|it| fs::read_dir(it).ok());
    let folders = folders.into_iter().flatten().flatten().map(|entry| entry.path());
    let own = in_path("rustc").and_then(|rustc| {
        let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
    });
    let mut roots: Vec<PathBuf> =
        folders.chain(own).filter_map(|it| it.canonicalize().ok()).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// Returns the help for a missing toolchain.
fn install(roots: &[PathBuf]) -> String {
    let rustup =
        if roots.is_empty() { "after installing rustup (https://rustup.rs): " } else { "" };
    format!("{rustup}{INSTALL}")
}
