//! `cargo xtask wheel`: builds the Python package with maturin, which it installs from PyPI.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    cross::{self, Platform, Product},
    print, repository,
    steps::{step, succeed},
    venv::Venv,
};

/// What builds wheels.
const MATURIN: &str = "maturin>=1.9,<2";

/// The optimised profile, and the one that is compiled in less time: to try a change of this chore.
const PROFILES: (&str, &str) = ("lto", "quick");

/// Runs the chore: for this machine, or for others.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (profile, rest) = match arguments {
        [flag, rest @ ..] if flag == "--quick" => (PROFILES.1, rest),
        rest => (PROFILES.0, rest),
    };
    let folder = repository().join("target/wheels");
    let wheel = match rest {
        [flag, names @ ..] if flag == "--platforms" => {
            let folder = folder.join("platforms");
            remove(&folder)?;
            for platform in cross::named(names, |_| true)? {
                step(platform.target, || build_for(&platform, profile, &folder))?;
            }
            let names = wheels(&folder)?.into_iter().map(|it| it.display().to_string());
            names.collect::<Vec<_>>().join("\n")
        }
        [] => build(&folder)?.display().to_string(),
        [folder] => build(Path::new(folder))?.display().to_string(),
        _ => bail!("usage: cargo xtask wheel [FOLDER] | [--quick] --platforms [TARGET...]"),
    };
    print(&wheel);
    Ok(())
}

/// Builds the wheel, in a folder from which older ones are removed. Returns its path.
pub(crate) fn build(folder: &Path) -> Result<PathBuf> {
    remove(folder)?;
    succeed(&mut maturin(PROFILES.0, folder)?)?;
    wheels(folder)?.pop().context("maturin has written no wheel")
}

/// Adds the wheel for a platform to a folder.
fn build_for(platform: &Platform, profile: &str, folder: &Path) -> Result<()> {
    platform.prepare()?;
    let mut maturin = maturin(profile, folder)?;
    maturin.args(platform.maturin());
    platform.set_flags(&mut maturin, Product::Library);
    succeed(&mut maturin)
}

/// Returns maturin, about to build a wheel into a folder.
fn maturin(profile: &str, folder: &Path) -> Result<Command> {
    let tools = Venv::at(&repository().join("target/python/maturin"))?;
    tools.install(&[MATURIN, cross::ZIG])?;
    let mut maturin = tools.command_in_path("maturin")?;
    maturin.args(["build", "--profile", profile, "--locked", "--out"]).arg(folder);
    maturin.current_dir(repository().join("bindings/python"));
    Ok(maturin)
}

/// Removes older wheels from a folder.
fn remove(folder: &Path) -> Result<()> {
    Ok(wheels(folder)?.iter().try_for_each(fs::remove_file)?)
}

fn wheels(folder: &Path) -> Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|it| it.path())).collect();
    let mut paths = paths?;
    let is_wheel = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("selkie_svm-") && name.ends_with(".whl")
    };
    paths.retain(is_wheel);
    Ok(paths)
}
