//! `docs/protocol.md`: gates and changes of agave, and what Selkie has of them.

use std::fmt::Write as _;

const GATES: &str = include_str!("../../upstream/gates.tsv");
const CHANGES: &str = include_str!("../../upstream/changes.tsv");

/// Returns the text of `docs/protocol.md`.
pub(crate) fn protocol() -> String {
    let mut text = String::from(
        "# Changes of the protocol\n\n\
         Made from `xtask/upstream/gates.tsv` and `xtask/upstream/changes.tsv`; do not edit. \
         `cargo xtask upstream` compares Selkie's tables with a release of agave \
         ([when agave releases](../CONTRIBUTING.md#when-agave-releases)).\n\n\
         ## Feature gates\n\n\
         Gates that mainnet has activated since January 2025 or has not activated, as agave \
         4.5.0-alpha.4 declares them. Mainnet is that of 15 October 2026, except for `alpenglow` and for \
         the gate of agave 4.4.1, of which there are later announcements. A dash in the last column: no \
         test names the gate.\n\n\
         | SIMD | gate | mainnet | Selkie | test |\n|---|---|---|---|---|\n",
    );
    for [gate, address, simd, mainnet, selkie, test] in rows(GATES) {
        let test = if test == "-" { test.to_owned() } else { format!("`{test}`") };
        writeln!(text, "| {simd} | {gate} `{address}` | {mainnet} | {selkie} | {test} |")
            .expect("strings take all that is written");
    }
    text.push_str(
        "\n## Changes without a gate\n\n\
         Behaviour that differs between releases of agave with the same gates active.\n\n\
         | since | what | source in agave | Selkie |\n|---|---|---|---|\n",
    );
    for [since, what, source, state] in rows(CHANGES) {
        writeln!(text, "| {since} | {what} | {source} | {state} |")
            .expect("strings take all that is written");
    }
    text
}

/// The rows of a table below its header.
fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    table.lines().skip(1).map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        columns.try_into().unwrap_or_else(|_| panic!("a row has not {N} columns: {line}"))
    })
}

#[cfg(test)]
mod tests {
    use selkie_protocol::features::Feature;

    use super::*;
    use crate::repository;

    #[test]
    fn gates_are_those_of_selkie_where_a_row_says_so() {
        for [gate, address, .., selkie, _] in rows::<6>(GATES) {
            let ours = Feature::ALL.iter().find(|it| it.address().to_string() == address);
            let named = selkie.strip_prefix('`').and_then(|it| it.split_once('`'));
            match (ours, named) {
                (Some(feature), Some((name, _))) => assert_eq!(format!("{feature:?}"), name),
                (None, Some(_)) => assert!(selkie.contains("address of 4.3"), "{gate}: {selkie}"),
                (None, None) => {}
                (Some(feature), None) => panic!("{gate}: Selkie has {feature:?}"),
            }
        }
    }

    #[test]
    fn tests_that_rows_name_exist() {
        for [gate, .., test] in rows::<6>(GATES) {
            assert!(test == "-" || repository().join(test).exists(), "{gate}: no file {test}");
        }
    }
}
