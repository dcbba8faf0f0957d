//! `docs/protocol.md`: gates and changes of agave, and what Selkie has of them.

use std::fmt::Write as _;

use selkie_protocol::rules::Ungated;

const GATES: &str = include_str!("../../upstream/gates.tsv");
const CHANGES: &str = include_str!("../../upstream/changes.tsv");

const RULES: &str = "\n## Rules\n\n\
    The rules of a run are the active gates and a release of agave, whose behaviour holds in what no gate \
    switches. `mainnet` means the release that mainnet runs, 4.4, with mainnet's gates. `--rules` of \
    `selkie run`, `trace`, `debug`, `build`, `check`, `node` and others, and `Svm::with_rules`, choose other rules:\n\n\
    | name | release | gates |\n|---|---|---|\n\
    | `mainnet` | 4.4 | mainnet's |\n\
    | `mainnet@2026-09-01` | that which mainnet ran on the day | those that mainnet had activated by its end; slots of days are estimated, from 2025-06-10 on |\n\
    | `4.2`, `4.3`, `4.4`, `4.5` | that | mainnet's |\n\n\
    `testnet` and `devnet` are no names of rules. These clusters run 4.5 and 4.4, but no release of agave lists which \
    gates they have activated, nor does a page that could be read here: only their accounts do. \
    `selkie node --url testnet --clone-feature-set` reads those, and `--feature NAME=on` switches single gates of \
    `--rules 4.5`.\n\n\
    Replays, state files and environments of batches name the release. Those of earlier versions of Selkie do not, and \
    follow 4.3. Fixtures of Firedancer follow the release whose harness writes their schema: 4.2 until protosol 12, which \
    agave 4.3 has, and 4.4 since protosol 13, of which 4.4 has 15. Files of protosol 17, which 4.5 has, look the same. Mollusk's \
    follow 4.2. `--rules` of `selkie conform`, `trace`, `debug`, `profile` and others overrides the release of vectors, fixtures \
    and replays; their features stay.\n\n\
    `testdata/vectors/releases.jsonl` has the transactions that end otherwise under 4.5, with the answers of agave's own \
    processor of both releases.\n\n\
    `oracle-svm` compares random transactions with agave's processor of 4.4, and `oracle-svm/next` with that of \
    4.5.0-alpha.4. On 29 November 2026 none of 10,061 cases with 48,071 transactions differed from the latter, with \
    gates that mainnet has not activated switched on and others off, and none of 10,650 with mainnet's gates.\n\n\
    What could not be compared: the gate of agave 4.4.1, `8whkDENelnfwYLirBc4Wb4H2Z1z5K7tiykpdxJS7cWg1`. On 29 November \
    2026 the newest releases on crates.io were 4.4.0 and 4.5.0-alpha.4, which do not declare it; neither its address nor \
    its name was found in the sources, proposals and threads of public repositories that could be searched. By the name that Firedancer gives it, \
    `loaderv3_programdata_size_floor`, it concerns the size of programdata accounts, so upgrades, closes and extensions \
    of programs may differ from mainnet since slot 466,128,000. Which gates mainnet has activated after 29 October 2026 is not known here either.\n\n\
    These changes are rules: code asks for them by name, and the test shows what was and what is.\n\n\
    | since | rule | what | source in agave | test |\n|---|---|---|---|---|\n";

const BANKS: &str = "\n## Banks\n\n\
    `oracle-bank` steps chains of Selkie's banks beside `Bank` of `solana-runtime` 4.4.0, and `oracle-bank/next` beside that \
    of 4.5.0-alpha.4, in clusters of 300 slots and five epochs: with votes, with Alpenglow, and with the migration on the way. Slots are skipped, up to three forks grow until \
    one becomes the root, and chains continue from what they export. Transactions are transfers, stakes that are created, \
    delegated, split, merged, moved, deactivated and withdrawn, votes, changes of commissions, copies of earlier \
    transactions, and some with old blockhashes; footers have certificates of rewards and of finalization. Credits, \
    commissions, collectors, balances, and the gates of slot times, rent, SIMD-0123, SIMD-0550 and SIMD-0599 change on the \
    way; in a tenth of the clusters rewards take several blocks.\n\n\
    On 29 November 2026 none of 120 clusters with 29,958 blocks, 2,880 forks, 513 epochs and 40,353 transactions differed \
    from 4.5.0-alpha.4, and none of 100 with 24,938 blocks and 33,562 transactions from 4.4.0. Equal in every block: the result, fee, compute units, loaded size and log of each transaction; sysvars and epoch stakes \
    at its start; every account that changed, the capitalization, blockhash, bank hash, the rewards that the block \
    records, and the bounds of its time. Equal at the start of each epoch: all accounts, and their hash. Not compared: \
    programs besides the stake program and builtins (those are compared by `oracle-svm`), durable nonces, and \
    blocks that a validator would refuse.\n";

/// Returns the text of `docs/protocol.md`.
pub(crate) fn protocol() -> String {
    let mut text = String::from(
        "# Changes of the protocol\n\n\
         Made from `xtask/upstream/gates.tsv`, `xtask/upstream/changes.tsv` and \
         `crates/protocol/src/rules.rs`; do not edit. \
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
    text.push_str(RULES);
    for change in Ungated::ALL {
        let (since, what, source, (test, _)) =
            (change.since(), change.what(), change.source(), change.test());
        writeln!(text, "| {since} | `{change:?}` | {what} | {source} | `{test}` |")
            .expect("strings take all that is written");
    }
    text.push_str(BANKS);
    text.push_str(
        "\n## Other changes without a gate\n\n\
         Changes that have no rule of their own: Selkie has them under every release, or not yet.\n\n\
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
                (None, Some(_)) => panic!("{gate}: no feature has its address"),
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
