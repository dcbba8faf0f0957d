//! `cargo xtask upstream`: what a release of agave has that Selkie lacks, or has differently.
//!
//! The crates of the release are fetched from the registry and read; nothing of them is compiled.
//! Their gates, constants, syscalls, RPC methods and errors, and variants of errors and instructions are
//! compared with Selkie's tables. A difference that is known has a row in `xtask/upstream/known.tsv`
//! with the reason. Any other difference is an error.

mod known;
mod ours;
pub(crate) mod page;
mod read;
mod release;

use std::fmt::{Display, Formatter};

use anyhow::{Result, bail, ensure};
use serde_json::json;

use crate::{print, repository, say};
use known::Known;
use ours::Ours;
use release::Release;

/// A fact of a release, and where its sources state it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fact {
    kind: &'static str,
    name: String,
    /// The address, number or expression; may be empty.
    value: String,
    /// What the source says of it; may be empty.
    note: String,
    /// The file below the folder of cargo's registry, with its line.
    place: String,
}

/// A fact that Selkie's tables do not have.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Difference {
    fact: Fact,
    /// What Selkie has in its place; `None` if nothing.
    ours: Option<String>,
    /// Why that is known, and until which release.
    why: Option<String>,
}

impl Difference {
    /// Columns that are stable: state, kind, name, value, Selkie's value, place, words.
    fn columns(&self) -> [&str; 7] {
        let Fact { kind, name, value, note, place } = &self.fact;
        let state = if self.why.is_some() { "known" } else { "new" };
        let ours = self.ours.as_deref().unwrap_or("-");
        [state, kind, name, value, ours, place, self.why.as_deref().unwrap_or(note)]
    }
}

impl Display for Difference {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Fact { kind, name, value, note, place } = &self.fact;
        write!(f, "{kind} {name}")?;
        if !value.is_empty() {
            write!(f, " = {value}")?;
        }
        match &self.ours {
            Some(ours) => write!(f, ", in Selkie {ours}")?,
            None => f.write_str(", not in Selkie")?,
        }
        if !note.is_empty() {
            write!(f, " ({note})")?;
        }
        write!(f, "\n    {place}")
    }
}

/// Runs the chore for a release, by default the newest that the registry has. With `--json`, every
/// difference is printed as a line of JSON, the known ones too.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_json = arguments.iter().any(|it| it == "--json");
    let versions: Vec<&String> = arguments.iter().filter(|it| *it != "--json").collect();
    let release = match versions[..] {
        [] => Release::fetch(&release::newest()?)?,
        [version] if !version.starts_with('-') => Release::fetch(version)?,
        _ => bail!("usage: cargo xtask upstream [VERSION] [--json]"),
    };
    let mut known = Known::read(&repository().join("xtask/upstream/known.tsv"))?;
    let differences = compare(&release.facts()?, &Ours::read(repository())?, &mut known);
    let new: Vec<&Difference> = differences.iter().filter(|it| it.why.is_none()).collect();
    if is_json {
        let names = ["state", "kind", "name", "value", "selkie", "place", "words"];
        for it in &differences {
            let pairs = names.into_iter().zip(it.columns());
            let object: serde_json::Map<_, _> =
                pairs.map(|(name, text)| (name.to_owned(), json!(text))).collect();
            print(&json!(object).to_string());
        }
    } else {
        for it in &new {
            print(&it.to_string());
        }
    }
    for row in known.unused() {
        say(&format!(
            "note: xtask/upstream/known.tsv has a row that this release does not need: {row}"
        ));
    }
    let (count, version) = (new.len(), &release.version);
    say(&format!("agave {version}: {} differences, {count} of them new", differences.len()));
    ensure!(
        count == 0,
        "agave {version} has {count} facts that Selkie lacks or has differently\n\
         help: build them, or say why they are not built in xtask/upstream/known.tsv"
    );
    Ok(())
}

/// Returns the facts that differ, in the order of `facts`, then gates that only Selkie has.
fn compare(facts: &[Fact], ours: &Ours, known: &mut Known) -> Vec<Difference> {
    let differing = facts.iter().filter_map(|fact| Some((fact.clone(), ours.differs(fact)?)));
    let mut differences: Vec<(Fact, Option<String>)> = differing.collect();
    let is_gate = |address: &str| facts.iter().any(|it| it.kind == "gate" && it.value == address);
    for (name, address) in ours.gates.iter().filter(|(_, address)| !is_gate(address)) {
        let fact = Fact {
            kind: "stale gate",
            name: name.clone(),
            value: String::new(),
            note: "no gate of this release has Selkie's address".to_owned(),
            place: "crates/protocol/src/features.rs".to_owned(),
        };
        differences.push((fact, Some(address.clone())));
    }
    let explain = |(fact, ours): (Fact, Option<String>)| {
        let why = known.explain(fact.kind, &fact.name, &fact.value);
        Difference { fact, ours, why }
    };
    differences.into_iter().map(explain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(kind: &'static str, name: &str, value: &str) -> Fact {
        let (name, value) = (name.to_owned(), value.to_owned());
        Fact { kind, name, value, note: String::new(), place: "a.rs:1".to_owned() }
    }

    #[test]
    fn a_difference_is_new_unless_a_row_explains_its_value() {
        let ours = Ours {
            gates: vec![("Mine".to_owned(), "Addr1".to_owned())],
            constants: vec![("COST".to_owned(), 5)],
            names: vec![("syscall", "sol_log_".to_owned(), String::new())],
        };
        let facts = [
            fact("gate", "renamed", "Addr2"),
            fact("constant", "COST", "6"),
            fact("constant", "OTHER", "7"),
            fact("syscall", "sol_log_", ""),
        ];
        let mut known =
            Known::parse("kind\tname\tvalue\tuntil\twhy\nconstant\tOTHER\t7\t-\tno use\n").unwrap();
        let differences = compare(&facts, &ours, &mut known);
        let columns: Vec<_> = differences.iter().map(|it| it.columns()).collect();
        let rows: Vec<_> = columns.iter().map(|it| (it[0], it[2], it[4])).collect();
        assert_eq!(
            rows,
            [
                ("new", "renamed", "-"),
                ("new", "COST", "5"),
                ("known", "OTHER", "-"),
                ("new", "Mine", "Addr1")
            ]
        );
        assert_eq!(known.unused().count(), 0);
        let text = differences[1].to_string();
        assert_eq!(text, "constant COST = 6, in Selkie 5\n    a.rs:1");
    }
}
