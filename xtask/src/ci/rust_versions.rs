//! The oldest compilers that the manifests promise: `rust-version` of each package.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::setting::Setting;
use crate::{
    output, repository, say,
    steps::{cargo_command, succeed},
    toolchains::succeeds,
};

/// The workspaces that others build.
const PUBLIC: &[&str] = &["", "compat"];

/// Checks every package with the Rust version of its manifest, and none of its dependencies may ask for more.
pub(super) fn run(_: &Setting) -> Result<()> {
    let target = repository().join("target/rust-versions");
    for workspace in PUBLIC {
        let folder = repository().join(workspace);
        let mut cargo = cargo_command();
        cargo.args(["metadata", "--no-deps", "--format-version=1", "--locked"]);
        let metadata: Value = serde_json::from_slice(&output(cargo.current_dir(&folder))?.stdout)?;
        for (version, packages) in by_version(&metadata)? {
            say(&format!("Rust {version}: {}", Vec::from_iter(packages.iter().copied()).join(" ")));
            let is_exact = version.matches('.').count() == 2;
            let toolchain = if is_exact { version.to_owned() } else { format!("{version}.0") };
            let mut rustup = Command::new("rustup");
            rustup.args(["toolchain", "install", &toolchain, "--profile", "minimal"]);
            ensure!(succeeds(&mut rustup), "Rust {toolchain} cannot be installed");
            // Not this cargo, which is of another version.
            let mut check = Command::new("cargo");
            check
                .args(["check", "--locked"])
                .env("RUSTUP_TOOLCHAIN", &toolchain)
                .env_remove("CARGO");
            for package in &packages {
                check.args(["--package", package]);
            }
            succeed(check.current_dir(&folder).env("CARGO_TARGET_DIR", &target))?;
        }
    }
    Ok(fs::remove_dir_all(target)?)
}

/// The names of a workspace's packages by the Rust version that they ask for. Those that are for us alone, like
/// measurements, ask for none.
fn by_version(metadata: &Value) -> Result<BTreeMap<&str, BTreeSet<&str>>> {
    let mut versions: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for package in metadata["packages"].as_array().context("cargo names no packages")? {
        let name = package["name"].as_str().context("a package has a name")?;
        if let Some(version) = package["rust_version"].as_str() {
            versions.entry(version).or_default().insert(name);
        }
    }
    Ok(versions)
}
