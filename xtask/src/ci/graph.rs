//! Which checks a change calls for, by the files that it changes and the graph of crates.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::rows::Row;
use crate::{output, repository, steps::cargo_command, workspaces::WORKSPACES};

/// What every check depends on.
const EVERYTHING: &[&str] =
    &["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml", "xtask/src/ci"];

/// What has changed since a revision.
pub(super) struct Change {
    /// The files, from the root of the repository.
    files: Vec<String>,
    /// The folders of crates with a changed file, and of those that depend on them.
    pub(super) crates: BTreeSet<String>,
}

impl Change {
    /// The changes since a revision, with those that are not committed.
    pub(super) fn since(revision: &str) -> Result<Self> {
        let git = |arguments: &[&str]| -> Result<Vec<String>> {
            let mut git = std::process::Command::new("git");
            let printed = output(git.args(arguments).current_dir(repository()))?.stdout;
            Ok(String::from_utf8(printed)?.lines().map(str::to_owned).collect())
        };
        let mut files = git(&["diff", "--name-only", revision, "--"])
            .with_context(|| format!("git knows no changes since `{revision}`"))?;
        files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
        Ok(Self::of(files, &crates()?))
    }

    /// The change of these files, given the folders of crates and those that each depends on.
    fn of(files: Vec<String>, crates: &BTreeMap<String, BTreeSet<String>>) -> Self {
        let home = |file: &String| {
            let folders = crates.keys().filter(|folder| is_below(file, folder));
            folders.max_by_key(|it| it.len()).cloned()
        };
        let mut changed: BTreeSet<String> = files.iter().filter_map(home).collect();
        loop {
            let uses_changed = |uses: &BTreeSet<String>| uses.iter().any(|it| changed.contains(it));
            let more = crates
                .iter()
                .filter(|(folder, uses)| !changed.contains(*folder) && uses_changed(uses));
            let more: Vec<String> = more.map(|(folder, _)| folder.clone()).collect();
            if more.is_empty() {
                return Self { files, crates: changed };
            }
            changed.extend(more);
        }
    }

    /// Whether a row protects something that has changed.
    pub(super) fn calls_for(&self, row: &Row) -> bool {
        let is_protected = |path: &String| row.protects.iter().any(|it| is_below(path, it));
        let concerns_all = |file: &String| EVERYTHING.iter().any(|it| is_below(file, it));
        self.files.iter().any(|it| concerns_all(it) || is_protected(it))
            || self.crates.iter().any(is_protected)
    }
}

/// Whether a path is a folder, or lies below it. Everything lies below the empty one.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|it| it.is_empty() || it.starts_with('/'))
}

/// The folders of all crates, each with those of ours that it depends on.
fn crates() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut crates = BTreeMap::new();
    for workspace in WORKSPACES {
        let mut cargo = cargo_command();
        cargo.args(["metadata", "--no-deps", "--format-version=1", "--locked"]);
        let metadata = output(cargo.current_dir(repository().join(workspace.folder)))?.stdout;
        let metadata: Value = serde_json::from_slice(&metadata)?;
        let packages = metadata["packages"].as_array().context("cargo names no packages")?;
        for package in packages {
            let manifest = package["manifest_path"].as_str().context("a package has a path")?;
            let folder = Path::new(manifest).parent().context("a manifest has a folder")?;
            let uses = package["dependencies"].as_array().into_iter().flatten();
            let uses = uses.filter_map(|it| relative(Path::new(it["path"].as_str()?)));
            crates.insert(relative(folder).unwrap_or_default(), uses.collect());
        }
    }
    Ok(crates)
}

/// A folder of the repository, from its root.
fn relative(folder: &Path) -> Option<String> {
    folder.strip_prefix(repository()).ok()?.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ci::rows::ROWS;

    fn change(file: &str) -> Change {
        let uses = |folders: &[&str]| folders.iter().map(|it| (*it).to_owned()).collect();
        let crates = [
            ("crates/vm", uses(&[])),
            ("crates/svm", uses(&["crates/vm"])),
            ("crates/lsp", uses(&[])),
            ("compat/litesvm", uses(&["crates/svm"])),
        ];
        let crates = crates.map(|(folder, uses)| (folder.to_owned(), uses)).into();
        Change::of(vec![file.to_owned()], &crates)
    }

    fn rows(file: &str) -> Vec<&'static str> {
        let change = change(file);
        ROWS.iter().filter(|it| change.calls_for(it)).map(|it| it.name).collect()
    }

    #[test]
    fn a_crate_calls_for_what_depends_on_it() {
        let rows = rows("crates/vm/src/lib.rs");
        assert!(rows.contains(&"compat") && rows.contains(&"oracle") && !rows.contains(&"vscode"));
        assert!(change("crates/vm/src/lib.rs").crates.contains("compat/litesvm"));
    }

    #[test]
    fn a_leaf_calls_for_little() {
        let rows = rows("crates/lsp/src/lib.rs");
        assert!(rows.contains(&"vscode") && rows.contains(&"tests") && !rows.contains(&"compat"));
    }

    #[test]
    fn the_lock_file_calls_for_everything() {
        assert_eq!(rows("Cargo.lock").len(), ROWS.len());
    }

    #[test]
    fn names_that_only_begin_alike_are_others() {
        assert!(is_below("crates/vm/src", "crates/vm") && is_below("a", "") && is_below("a", "a"));
        assert!(!is_below("crates/vmx/src", "crates/vm"));
    }
}
