//! `cargo xtask wheel`: builds the Python package with maturin, which it installs from PyPI.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{print, repository, steps::succeed};

/// What builds wheels.
const MATURIN: &str = "maturin>=1.9,<2";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let folder = match arguments {
        [] => repository().join("target/wheels"),
        [folder] => PathBuf::from(folder),
        _ => bail!("usage: cargo xtask wheel [FOLDER]"),
    };
    print(&build(&folder)?.display().to_string());
    Ok(())
}

/// Builds the wheel, in a folder from which older ones are removed. Returns its path.
pub(crate) fn build(folder: &Path) -> Result<PathBuf> {
    wheels(folder)?.iter().try_for_each(fs::remove_file)?;
    let tools = Venv::at(&repository().join("target/python/maturin"))?;
    tools.install(&[MATURIN])?;
    let mut maturin = tools.command("maturin");
    maturin.args(["build", "--profile", "lto", "--locked", "--out"]).arg(folder);
    maturin.current_dir(repository().join("bindings/python"));
    succeed(&mut maturin)?;
    wheels(folder)?.pop().context("maturin has written no wheel")
}

fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|it| it.path())).collect();
    let mut paths = paths?;
    let is_wheel = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("selkie-") && name.ends_with(".whl")
    };
    paths.retain(is_wheel);
    Ok(paths)
}

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
