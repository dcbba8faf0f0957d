//! The crates that a package of `compat` brings into a build beyond those that `selkie` needs.
//!
//! Each has a row in `xtask/peers/dependencies.tsv`, with the packages that bring it and the reason;
//! packages that use one of those need no row of their own. A crate is a name and a major version.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{output, peers::rows, repository};

/// The packages of `compat`, by their folders, with the features of a test's manifest.
const PACKAGES: &[(&str, &str)] = &[
    ("convert", ""),
    ("litesvm", ""),
    ("litesvm-token", ""),
    ("mollusk", "cpi-compute-units,inner-instructions"),
    ("mollusk-bencher", "cpi-compute-units"),
    ("mollusk-memo", ""),
    ("mollusk-result", ""),
    ("mollusk-token", ""),
    ("mollusk-token-2022", ""),
];

/// What is not as the table says.
fn findings() -> Result<Vec<String>> {
    let selkie = crates(".", "selkie", &["--no-default-features", "--features", "programs,zk"])?;
    let mut brought = BTreeMap::new();
    for (package, features) in PACKAGES {
        let crates = crates("compat", &format!("selkie-{package}"), &["--features", features])?;
        let own: BTreeSet<String> = crates.difference(&selkie).cloned().collect();
        brought.insert(*package, own);
    }
    let rows = rows("xtask/peers/dependencies.tsv")?;
    let allowed = rows.iter().flat_map(|row| row[1].split(' ').map(|it| (it, row[0].as_str())));
    let allowed: BTreeSet<(&str, &str)> = allowed.collect();
    let found: BTreeSet<(&str, &str)> = brought
        .iter()
        .flat_map(|(package, crates)| crates.iter().map(|it| (*package, it.as_str())))
        .filter(|(package, it)| !it.starts_with("selkie") && !is_of_another(&brought, package, it))
        .collect();
    let news =
        found.difference(&allowed).map(|(by, it)| format!("{by} brings {it}, without a row"));
    let stale = allowed.difference(&found).map(|(by, it)| format!("{by} does not bring {it}"));
    Ok(news.chain(stale).collect())
}

/// Whether a package has a crate because it uses another package that has it.
fn is_of_another(brought: &BTreeMap<&str, BTreeSet<String>>, package: &str, it: &str) -> bool {
    let uses = |other: &str| brought[package].contains(&format!("selkie-{other} 0"));
    brought.iter().any(|(other, crates)| *other != package && uses(other) && crates.contains(it))
}

/// The crates of a package's build, each as its name and major version.
fn crates(workspace: &str, package: &str, chosen: &[&str]) -> Result<BTreeSet<String>> {
    let form =
        ["tree", "--locked", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let mut command = Command::new("cargo");
    command.args(form).args(["--package", package]).args(chosen);
    let output = output(command.current_dir(repository().join(workspace)))?;
    let name_and_major = |line: &str| {
        let (name, version) = line.split_once(" v")?;
        Some(format!("{name} {}", version.split('.').next()?))
    };
    let text = String::from_utf8(output.stdout).context("cargo writes UTF-8")?;
    Ok(text.lines().filter_map(name_and_major).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_bring_no_crate_but_those_of_the_table() {
        let findings = findings().expect("cargo lists the crates");
        assert_eq!(findings, [""; 0], "see xtask/peers/dependencies.tsv");
    }
}
