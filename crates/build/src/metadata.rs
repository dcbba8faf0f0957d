//! `cargo metadata`: the packages of a workspace.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::failure::Failure;

/// A package that is a program.
pub(crate) struct Program {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) manifest: PathBuf,
}

/// Returns the packages of a workspace that are programs: those with a `cdylib` library.
///
/// # Errors
///
/// [`Failure::Setup`] if cargo cannot be run, or refuses the manifest.
pub(crate) fn programs(manifest: &Path) -> Result<Vec<Program>, Failure> {
    let metadata = metadata(Command::new("cargo"), manifest)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_program = |package: &&Value| {
        let targets = package["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        let kinds = targets.iter().flat_map(|it| it["crate_types"].as_array()).flatten();
        kinds.into_iter().any(|kind| kind == "cdylib")
    };
    let program = |package: &Value| {
        let manifest = PathBuf::from(package["manifest_path"].as_str()?);
        let name = package["name"].as_str()?.to_owned();
        Some(Program { name, root: manifest.parent()?.to_owned(), manifest })
    };
    Ok(packages.iter().filter(is_program).filter_map(program).collect())
}

/// Runs `cargo metadata` for a manifest, without dependencies.
pub(crate) fn metadata(mut cargo: Command, manifest: &Path) -> Result<Value, Failure> {
    cargo.args(["metadata", "--no-deps"]);
    read(cargo, manifest)
}

/// Runs `cargo metadata` for a manifest, with dependencies.
pub(crate) fn with_dependencies(mut cargo: Command, manifest: &Path) -> Result<Value, Failure> {
    cargo.arg("metadata");
    read(cargo, manifest)
}

fn read(mut cargo: Command, manifest: &Path) -> Result<Value, Failure> {
    cargo.args(["--format-version=1", "--manifest-path"]).arg(manifest);
    let failed = |why: &dyn std::fmt::Display| {
        let message = format!("cargo cannot read {}: {why}", manifest.display());
        Failure::setup(message, "run `cargo metadata` there for details")
    };
    let output = cargo.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// Returns the crate name of a package's library.
pub(crate) fn library(metadata: &Value, manifest: &Path) -> Result<String, Failure> {
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|it| it["manifest_path"].as_str().map(Path::new) == Some(manifest));
    let mut targets = package.and_then(|it| it["targets"].as_array()).into_iter().flatten();
    let is_library = |it: &&Value| {
        let kinds = it["kind"].as_array().into_iter().flatten();
        kinds.filter_map(Value::as_str).any(|kind| kind.ends_with("lib"))
    };
    let name = targets.find(is_library).and_then(|it| it["name"].as_str());
    name.map(|it| it.replace('-', "_")).ok_or_else(|| {
        let message = format!("{} has no library", manifest.display());
        Failure::setup(message, "a program is the library of its package: add src/lib.rs")
    })
}
