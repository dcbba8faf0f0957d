//! `cargo xtask peers --api`: whether the table of the peers' public items is complete and true.
//!
//! The table is `xtask/peers/api.tsv`, from which `docs/switch.md` is made. It has a row for every
//! public function and type in the sources of the peers' packages; what it calls the same or different
//! is in the sources of ours.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::Path};

use anyhow::{Result, bail};

use crate::{peers::rows, repository, say};

/// A peer's package, the version of the table, our folder in `compat`, and the peer's private modules.
const PACKAGES: &[(&str, &str, &str, &[&str])] = &[
    (
        "litesvm",
        "0.18.1",
        "litesvm",
        &["accounts_db", "callback", "format_logs", "history", "precompiles", "programs", "utils"],
    ),
    (
        "mollusk-svm",
        "0.16.4",
        "mollusk",
        &[
            "callback",
            "compile_accounts",
            "cpi_compute_units",
            "feature_set",
            "message_result",
            "rent",
        ],
    ),
    ("mollusk-svm-result", "0.16.4", "mollusk", &[]),
    ("mollusk-svm-bencher", "0.16.4", "mollusk-bencher", &[]),
    ("mollusk-svm-programs-memo", "0.16.4", "mollusk-memo", &[]),
    ("mollusk-svm-programs-token", "0.16.4", "mollusk-token", &[]),
    ("mollusk-svm-programs-token-2022", "0.16.4", "mollusk-token-2022", &[]),
];

const TABLE: &str = "xtask/peers/api.tsv";

/// Runs the chore.
pub(super) fn check() -> Result<()> {
    let rows = rows(TABLE)?;
    let mut findings = Vec::new();
    for (package, version, ours, private) in PACKAGES {
        let peer = selkie_testdata::package(package, version, &say)?;
        let items: BTreeSet<String> = items(&peer.join("src"), "")?
            .into_iter()
            .filter(|item| !private.contains(&item.split("::").next().unwrap_or_default()))
            .collect();
        let listed = rows.iter().filter(|row| row[0] == *package);
        let listed: BTreeSet<String> = listed.map(|row| row[1].clone()).collect();
        findings.extend(items.difference(&listed).map(|it| format!("{package}: {it} has no row")));
        findings
            .extend(listed.difference(&items).map(|it| format!("{package}: {it} does not exist")));
        let sources = sources(&repository().join("compat").join(ours).join("src"))?;
        let words: BTreeSet<&str> = sources.split(|it: char| !is_ident(it)).collect();
        for row in rows.iter().filter(|row| row[0] == *package) {
            let name = row[1].rsplit("::").next().unwrap_or_default();
            if row[2] != "missing" && !words.contains(name) {
                findings.push(format!("{package}: {} is `{}`, but missing here", row[1], row[2]));
            }
        }
    }
    if findings.is_empty() {
        return Ok(());
    }
    bail!("{TABLE} is not right\n  {}", findings.join("\n  "))
}

/// The tables of `docs/switch.md`, one per package.
pub(crate) fn tables() -> String {
    let rows = rows(TABLE).expect("the table is part of the repository");
    let mut text = String::new();
    for (package, version, ours, _) in PACKAGES {
        let rows: Vec<&Vec<String>> = rows.iter().filter(|row| row[0] == *package).collect();
        let count = |state: &str| rows.iter().filter(|row| row[2] == state).count();
        let (same, differs, missing) = (count("same"), count("differs"), count("missing"));
        let heading = format!(
            "\n### {package} {version}: `selkie-{ours}`\n\n{same} items are the same, {differs} differ, \
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
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::path);
    for path in entries.iter().map(fs::DirEntry::path) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let inner = match name.as_str() {
            "lib" | "mod" => module.to_owned(),
            name => format!("{module}{name}::"),
        };
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
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
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

/// The type of an `impl` that implements no trait.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    let end = rest.find(|it: char| !is_ident(it))?;
    (!line.contains(" for ")).then(|| &rest[..end])
}

/// The kind and the name of a public item.
fn declared(line: &str) -> Option<(&str, &str)> {
    let mut words = line.strip_prefix("pub ")?.split_whitespace().peekable();
    words.next_if(|it| ["const", "unsafe", "async"].contains(it) && line.contains(" fn "));
    let kind = words.next()?;
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "mod", "static"];
    let name = words.next()?;
    let end = name.find(|it: char| !is_ident(it)).unwrap_or(name.len());
    kinds.contains(&kind).then(|| (kind, &name[..end]))
}

fn is_ident(it: char) -> bool {
    it.is_alphanumeric() || it == '_'
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
