//! Virtual environments of Python, in which chores install what they need from PyPI.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::steps::succeed;

/// A virtual environment of Python.
pub(crate) struct Venv(PathBuf);

impl Venv {
    /// Creates the environment, unless it is there.
    pub(crate) fn at(folder: &Path) -> Result<Self> {
        if !folder.join("bin/python").exists() {
            succeed(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        }
        Ok(Self(folder.to_owned()))
    }

    /// Creates an environment that has nothing in it.
    pub(crate) fn clean(folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        Self::at(folder)
    }

    /// Installs packages from PyPI, or from files.
    pub(crate) fn install(&self, packages: &[&str]) -> Result<()> {
        let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        succeed(self.command("python").args(options).args(packages))
    }

    /// Installs a wheel, in place of one with the same version, and what an extra of it needs.
    pub(crate) fn install_wheel(&self, wheel: &Path, extra: &str) -> Result<()> {
        let wheel = wheel.to_str().context("the wheel's path is text")?;
        let with_extra = if extra.is_empty() { wheel.into() } else { format!("{wheel}[{extra}]") };
        self.install(&[&with_extra])?;
        self.install(&["--force-reinstall", "--no-deps", wheel])
    }

    /// Returns a command of the environment.
    pub(crate) fn command(&self, name: &str) -> Command {
        Command::new(self.0.join("bin").join(name))
    }

    /// Returns a command of the environment that calls others of it.
    pub(crate) fn command_in_path(&self, name: &str) -> Result<Command> {
        let others = env::var_os("PATH").unwrap_or_default();
        let folders = [self.0.join("bin")].into_iter().chain(env::split_paths(&others));
        let mut command = self.command(name);
        command.env("PATH", env::join_paths(folders)?);
        Ok(command)
    }
}
