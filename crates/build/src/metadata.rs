//! `cargo metadata`: the packages of a workspace.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::{failure::BuildError, toolchain::Toolchain};

/// A package of a workspace.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) root: PathBuf,
    pub(crate) manifest: PathBuf,
    /// Whether it has a `cdylib` library, as programs in Rust have.
    pub(crate) has_cdylib: bool,
}

/// A package whose tests `cargo test-sbf` runs.
#[derive(Clone, Debug)]
pub struct Tested {
    /// Its manifest.
    pub manifest: PathBuf,
    /// The names of its features.
    pub features: Vec<String>,
}

/// Returns cargo's target folder for a manifest.
///
/// # Errors
///
/// [`BuildError::Setup`] if cargo cannot be run, or refuses the manifest.
pub fn target_folder(manifest: &Path) -> Result<PathBuf, BuildError> {
    let metadata = metadata(Command::new("cargo"), manifest)?;
    Ok(PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target")))
}

/// Returns the packages that `cargo test-sbf` tests: that of the manifest, or, in a workspace without one,
/// each with a `cdylib`; of those, the named ones if there are names.
///
/// # Errors
///
/// As [`target_folder`].
pub fn tested(
    manifest: &Path,
    is_workspace: bool,
    named: &[String],
) -> Result<Vec<Tested>, BuildError> {
    let metadata = metadata(Command::new("cargo"), manifest)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = manifest.canonicalize().ok();
    let is_own = |it: &&Value| {
        let path = it["manifest_path"].as_str().map(Path::new);
        own.is_some() && path.and_then(|it| it.canonicalize().ok()) == own
    };
    let is_named =
        |it: &Value| named.is_empty() || named.iter().any(|name| it["name"].as_str() == Some(name));
    let root = packages.iter().find(is_own).filter(|it| !is_workspace && is_named(it));
    let is_program = |it: &&Value| {
        let targets = it["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut kinds = targets.iter().flat_map(|it| it["crate_types"].as_array()).flatten();
        kinds.any(|kind| kind == "cdylib")
    };
    let chosen: Vec<&Value> = match root {
        Some(root) => vec![root],
        None => packages.iter().filter(is_program).filter(|it| is_named(it)).collect(),
    };
    let tested = |it: &Value| {
        let features = it["features"].as_object().into_iter().flat_map(|it| it.keys().cloned());
        let manifest = PathBuf::from(it["manifest_path"].as_str()?);
        Some(Tested { manifest, features: features.collect() })
    };
    Ok(chosen.into_iter().filter_map(tested).collect())
}

/// Returns the packages of a workspace.
///
/// # Errors
///
/// [`BuildError::Setup`] if cargo cannot be run, or refuses the manifest.
pub(crate) fn packages(manifest: &Path) -> Result<Vec<Package>, BuildError> {
    // The toolchain that `rust-toolchain.toml` asks for may not be installed, and does not compile the programs.
    let cargo = Toolchain::find(None).map_or_else(|_| Command::new("cargo"), |it| it.cargo());
    let metadata = metadata(cargo, manifest)?;
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let package = |it: &Value| {
        let targets = it["targets"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut kinds = targets.iter().flat_map(|it| it["crate_types"].as_array()).flatten();
        let manifest = PathBuf::from(it["manifest_path"].as_str()?);
        Some(Package {
            name: it["name"].as_str()?.to_owned(),
            root: manifest.parent()?.to_owned(),
            has_cdylib: kinds.any(|kind| kind == "cdylib"),
            manifest,
        })
    };
    Ok(packages.iter().filter_map(package).collect())
}

/// Runs `cargo metadata` for a manifest, without dependencies.
pub(crate) fn metadata(mut cargo: Command, manifest: &Path) -> Result<Value, BuildError> {
    cargo.args(["metadata", "--no-deps"]);
    read(cargo, manifest)
}

/// Runs `cargo metadata` for a manifest, with dependencies.
pub(crate) fn with_dependencies(mut cargo: Command, manifest: &Path) -> Result<Value, BuildError> {
    cargo.arg("metadata");
    read(cargo, manifest)
}

fn read(mut cargo: Command, manifest: &Path) -> Result<Value, BuildError> {
    cargo.args(["--format-version=1", "--manifest-path"]).arg(manifest);
    let failed = |why: &dyn std::fmt::Display| {
        let message = format!("cargo cannot read {}: {why}", manifest.display());
        BuildError::setup(message, "run `cargo metadata` there for details")
    };
    let output = cargo.output().map_err(|error| failed(&error))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr).trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(&error))
}

/// Returns the crate name of a package's library.
pub(crate) fn library(metadata: &Value, manifest: &Path) -> Result<String, BuildError> {
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
        BuildError::setup(message, "a program is the library of its package: add src/lib.rs")
    })
}
