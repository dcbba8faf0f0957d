//! `cargo xtask peers --api`: whether the table of the peers' public items is complete and true.
//!
//! The table is `xtask/peers/api.tsv`, from which `docs/switch-api.md` is made. It has a row for every
//! public function and type in the sources of the peers' packages; what it calls the same or different
//! is in the sources of ours, and functions that it calls the same have the same signature.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

use crate::{
    peers::{
        rows,
        signature::{self, Signatures},
        source::{declared, entries, implemented, is_ident, public_part},
    },
    repository, say,
};

/// A peer's package.
struct Package {
    name: &'static str,
    version: &'static str,
    /// Our folder in `compat`.
    ours: &'static str,
    /// Another folder there, whose items ours exports.
    base: Option<&'static str>,
    modules: Modules,
}

/// What the peer's modules are to its users.
enum Modules {
    /// All are public, but these.
    PublicBut(&'static [&'static str]),
    /// None is; the package exports all of their items.
    Exported,
}

const PACKAGES: &[Package] = &[
    Package {
        modules: Modules::PublicBut(&[
            "accounts_db",
            "callback",
            "format_logs",
            "history",
            "precompiles",
            "programs",
            "utils",
        ]),
        ..package("litesvm", "0.18.1", "litesvm")
    },
    Package { modules: Modules::Exported, ..package("litesvm-token", "0.18.1", "litesvm-token") },
    Package {
        modules: Modules::PublicBut(&[
            "callback",
            "compile_accounts",
            "cpi_compute_units",
            "feature_set",
            "message_result",
            "rent",
        ]),
        ..package("mollusk-svm", "0.16.4", "mollusk")
    },
    Package { base: Some("mollusk"), ..package("mollusk-svm-result", "0.16.4", "mollusk-result") },
    package("mollusk-svm-bencher", "0.16.4", "mollusk-bencher"),
    package("mollusk-svm-programs-memo", "0.16.4", "mollusk-memo"),
    package("mollusk-svm-programs-token", "0.16.4", "mollusk-token"),
    Package {
        base: Some("mollusk-token"),
        ..package("mollusk-svm-programs-token-2022", "0.16.4", "mollusk-token-2022")
    },
];

/// A package whose modules are public.
const fn package(name: &'static str, version: &'static str, ours: &'static str) -> Package {
    Package { name, version, ours, base: None, modules: Modules::PublicBut(&[]) }
}

impl Package {
    /// The path by which users reach an item of the peer's sources; `None` if they cannot.
    fn public_path(&self, item: &str) -> Option<String> {
        let (module, rest) = item.split_once("::").unwrap_or_default();
        match self.modules {
            Modules::PublicBut(private) => (!private.contains(&module)).then(|| item.to_owned()),
            Modules::Exported if module.starts_with(char::is_lowercase) => Some(rest.to_owned()),
            Modules::Exported => Some(item.to_owned()),
        }
    }

    /// The folders of our sources.
    fn folders(&self) -> Vec<PathBuf> {
        let compat = repository().join("compat");
        let folders = std::iter::once(self.ours).chain(self.base);
        folders.map(|folder| compat.join(folder).join("src")).collect()
    }

    /// What is not right about the rows of the package.
    fn findings(&self, rows: &[&Vec<String>]) -> Result<Vec<String>> {
        let peer = selkie_testdata::package(self.name, self.version, &say)?.join("src");
        let public = |item: String| self.public_path(&item);
        let items: BTreeSet<String> = items(&peer, "")?.into_iter().filter_map(public).collect();
        let listed: BTreeSet<String> = rows.iter().map(|row| row[1].clone()).collect();
        let absent = items.difference(&listed).map(|it| format!("{it} has no row"));
        let stale = listed.difference(&items).map(|it| format!("{it} does not exist"));
        let mut findings: Vec<String> = absent.chain(stale).collect();
        let mut words = BTreeSet::new();
        for folder in self.folders() {
            words.extend(sources(&folder)?.split(|it: char| !is_ident(it)).map(str::to_owned));
        }
        for row in rows.iter().filter(|row| row[2] != "missing") {
            let (item, state) = (&row[1], &row[2]);
            if !words.contains(item.rsplit("::").next().unwrap_or_default()) {
                findings.push(format!("{item} is `{state}`, but missing here"));
            }
        }
        findings.extend(self.other_signatures(&peer, rows)?);
        findings.extend(self.missing_features(&peer)?);
        Ok(findings.into_iter().map(|it| format!("{}: {it}", self.name)).collect())
    }

    /// The functions that are the same by their rows, but not by their signatures.
    fn other_signatures(&self, peer: &Path, rows: &[&Vec<String>]) -> Result<Vec<String>> {
        let theirs: Signatures = signature::of_folder(peer)?
            .into_iter()
            .filter_map(|(path, it)| Some((self.public_path(&path)?, it)))
            .collect();
        let mut ours = Signatures::new();
        for folder in self.folders() {
            ours.extend(signature::of_folder(&folder)?);
        }
        let difference = |row: &&Vec<String>| {
            let item = &row[1];
            let theirs = theirs.get(item)?;
            let ours = signature::find(&ours, item);
            let list = |it: &[&str]| it.join("` or `");
            (!theirs.iter().any(|it| ours.contains(&it.as_str()))).then(|| {
                let theirs: Vec<&str> = theirs.iter().map(String::as_str).collect();
                let (ours, theirs) = (list(&ours), list(&theirs));
                format!("{item} is `same`, but here it is `{ours}`, there `{theirs}`")
            })
        };
        Ok(rows.iter().filter(|row| row[2] == "same").filter_map(difference).collect())
    }

    /// The features of the peer's package that ours does not have.
    fn missing_features(&self, peer: &Path) -> Result<Vec<String>> {
        let ours = repository().join("compat").join(self.ours).join("Cargo.toml");
        let ours = features(&fs::read_to_string(ours)?)?;
        let theirs = features(&fs::read_to_string(peer.with_file_name("Cargo.toml"))?)?;
        Ok(theirs.difference(&ours).map(|it| format!("the feature {it} is missing")).collect())
    }
}

const TABLE: &str = "xtask/peers/api.tsv";

/// Runs the chore.
pub(super) fn check() -> Result<()> {
    let rows = rows(TABLE)?;
    let mut findings = Vec::new();
    for package in PACKAGES {
        let of_package = |row: &&Vec<String>| row[0] == package.name;
        let rows: Vec<&Vec<String>> = rows.iter().filter(of_package).collect();
        findings.extend(package.findings(&rows)?);
    }
    if findings.is_empty() {
        return Ok(());
    }
    bail!("{TABLE} is not right\n  {}", findings.join("\n  "))
}

/// The names of a manifest's features, which tests' manifests may switch on.
fn features(manifest: &str) -> Result<BTreeSet<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let features = manifest.get("features").and_then(toml::Value::as_table);
    let names = features.into_iter().flatten().map(|(name, _)| name.clone());
    Ok(names.filter(|name| name != "default").collect())
}

/// The tables of `docs/switch-api.md`, one per package.
pub(crate) fn tables() -> String {
    let rows = rows(TABLE).expect("the table is part of the repository");
    let mut text = String::new();
    for Package { name, version, ours, .. } in PACKAGES {
        let rows: Vec<&Vec<String>> = rows.iter().filter(|row| row[0] == *name).collect();
        let count = |state: &str| rows.iter().filter(|row| row[2] == state).count();
        let (same, differs, missing) = (count("same"), count("differs"), count("missing"));
        let heading = format!(
            "\n### {name} {version}: `selkie-{ours}`\n\n{same} items are the same, {differs} differ, \
             {missing} are missing.\n\n| item | here | |\n|---|---|---|\n"
        );
        text += &heading;
        for row in rows {
            let note = row.get(3).map_or("", String::as_str);
            writeln!(text, "| `{}` | {} | {note} |", row[1], row[2]).expect("it is a string");
        }
    }
    text
}

/// The public items below a folder: `MODULE::TYPE::FUNCTION`.
fn items(folder: &Path, module: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (path, inner) in entries(folder, module)? {
        if path.is_dir() {
            found.extend(items(&path, &inner)?);
        } else if path.extension().is_some_and(|it| it == "rs") {
            found.extend(items_of(&fs::read_to_string(&path)?, &inner));
        }
    }
    Ok(found)
}

/// The public items of a file that is formatted as rustfmt formats it.
fn items_of(text: &str, module: &str) -> Vec<String> {
    let text = public_part(text);
    let mut owner = None;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("impl") {
            owner = implemented(line);
        } else if line.starts_with('}') {
            owner = None;
        }
        let Some((kind, name)) = declared(line.trim_start()) else { continue };
        match (line.starts_with("pub"), owner) {
            (true, _) => found.push(format!("{module}{name}")),
            (false, Some(owner)) if kind == "fn" => found.push(format!("{module}{owner}::{name}")),
            _ => {}
        }
    }
    found
}

/// The code below a folder, without comments.
fn sources(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            text += &sources(&path)?;
            continue;
        }
        let file = fs::read_to_string(&path)?;
        let code = file.lines().filter(|line| !line.trim_start().starts_with("//"));
        code.for_each(|line| text += &format!("{line}\n"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_items_are_found() {
        let text = "pub struct A;\nimpl A {\n    pub const fn b(self) {}\n    fn c() {}\n}\n\
                    impl Clone for A {\n    pub fn d() {}\n}\npub const E: u8 = 0;\npub(crate) fn f() {}\n\
                    impl<'a, T: X> G<'a, T> {\n    pub fn h<I>(self) {}\n}\n\
                    #[cfg(test)]\nmod tests {\npub fn i() {}\n}\n";
        assert_eq!(items_of(text, "m::"), ["m::A", "m::A::b", "m::E", "m::G::h"]);
    }
}
