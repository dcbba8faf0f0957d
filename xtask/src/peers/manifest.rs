//! The manifest of a suite's package.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use toml::{Table, Value};

/// Crates whose features the peer's other dependencies switch on, and tests rely on: the name, what the
/// version begins with, and the feature.
const FEATURES: &[(&str, &str, &str)] = &[
    ("solana-account", "", "bincode"),
    ("solana-address-lookup-table-interface", "", "bincode"),
    ("solana-hash", "4", "atomic"),
    ("solana-loader-v3-interface", "", "serde"),
    ("solana-nonce", "", "serde"),
    ("solana-stake-interface", "", "bincode"),
];

/// Other packages of the peers, with our folder in `compat`.
const OURS: &[(&str, &str)] = &[
    ("litesvm", "litesvm"),
    ("mollusk-svm", "mollusk"),
    ("mollusk-svm-programs-memo", "mollusk-memo"),
    ("mollusk-svm-result", "mollusk-result"),
    ("mollusk-svm-programs-token", "mollusk-token"),
    ("mollusk-svm-programs-token-2022", "mollusk-token-2022"),
];

/// Crates of agave, which have nothing without this feature since version 3.
const AGAVE_FEATURE: &str = "agave-unstable-api";
const AGAVE: &[&str] = &[
    "agave-feature-set",
    "solana-compute-budget",
    "solana-program-runtime",
    "solana-svm-callback",
    "solana-svm-feature-set",
    "solana-svm-log-collector",
    "solana-transaction-context",
];

/// The profile of the product, without debug information.
const PROFILE: &str = "\
[profile.dev]
debug = 0
[profile.dev.package.selkie-vm]
opt-level = 2
[profile.dev.package.selkie-elf]
opt-level = 2
[profile.dev.package.curve25519-dalek]
opt-level = 3
";

/// Makes a manifest from the peer's: the dependencies that the tests name, and ours in the place of the
/// peer, or the peer itself if there is no `shim`.
pub(super) fn make(
    peer: &str,
    package: &str,
    shim: Option<&Path>,
    features: &[String],
    tests: &str,
) -> Result<String> {
    let peer: Table = peer.parse().context("the peer's manifest is not TOML")?;
    let about = peer.get("package").context("the peer's manifest is that of no package")?;
    let edition = about.get("edition");
    let tested = match shim {
        Some(shim) => our(shim, features),
        None => published(about.get("version"), peer.get("features"), features),
    };
    let mut dependencies = Table::from_iter([(package.to_owned(), tested)]);
    for section in ["dependencies", "dev-dependencies"] {
        for (name, value) in peer.get(section).and_then(Value::as_table).into_iter().flatten() {
            if is_named(tests, name) && name != package {
                let ours = OURS.iter().find(|(it, _)| it == name);
                let folder =
                    ours.zip(shim).map(|((_, folder), it)| it.with_file_name(of_line(folder, it)));
                let value = folder.map_or_else(|| dependency(name, value), |it| our(&it, &[]));
                dependencies.entry(name.clone()).or_insert(value);
            }
        }
    }
    let mut about = Table::from_iter([("name".to_owned(), "peer-tests".into())]);
    about.extend(edition.map(|edition| ("edition".to_owned(), edition.clone())));
    let manifest = Table::from_iter([
        ("workspace".to_owned(), Value::Table(Table::new())),
        ("package".to_owned(), Value::Table(about)),
        ("features".to_owned(), Value::Table(own_features(features))),
        ("dependencies".to_owned(), Value::Table(dependencies)),
    ]);
    Ok(manifest.to_string() + PROFILE)
}

/// The features of the package itself, all on: the tests ask for those of the peer by their names.
fn own_features(features: &[String]) -> Table {
    let names = features.iter().cloned().map(Value::from).collect();
    let each = features.iter().map(|it| (it.clone(), Value::Array(Vec::new())));
    each.chain([("default".to_owned(), Value::Array(names))]).collect()
}

/// The folder of another package, for the same versions of the types as a suite's.
fn of_line(folder: &str, shim: &Path) -> String {
    let shim = shim.to_string_lossy();
    let line = ["-2", "-3"].into_iter().find(|it| shim.ends_with(it));
    folder.to_owned() + line.unwrap_or_default()
}

/// The dependency on a crate of ours.
fn our(shim: &Path, features: &[String]) -> Value {
    let features = features.iter().cloned().map(Value::from).collect();
    Value::Table(Table::from_iter([
        ("path".to_owned(), shim.display().to_string().into()),
        ("package".to_owned(), shim_package(shim).into()),
        ("features".to_owned(), Value::Array(features)),
    ]))
}

/// The dependency on the peer, with those of the features that it has.
fn published(version: Option<&Value>, has: Option<&Value>, features: &[String]) -> Value {
    let features =
        features.iter().filter(|it| has.is_some_and(|has| has.get(it.as_str()).is_some()));
    let version = version.and_then(Value::as_str).unwrap_or_default();
    Value::Table(Table::from_iter([
        ("version".to_owned(), format!("={version}").into()),
        ("features".to_owned(), Value::Array(features.cloned().map(Value::from).collect())),
    ]))
}

fn shim_package(shim: &Path) -> String {
    let folder = shim.file_name().map(|it| it.to_string_lossy().into_owned());
    format!("selkie-{}", folder.unwrap_or_default())
}

/// The tests that need features of the peer which a suite does not switch on.
pub(super) fn without_features(peer: &str, features: &[String]) -> Result<Vec<String>> {
    let peer: Table = peer.parse().context("the peer's manifest is not TOML")?;
    let tests = peer.get("test").and_then(Value::as_array).into_iter().flatten();
    let is_without = |test: &&Value| {
        let needed = test.get("required-features").and_then(Value::as_array);
        needed.into_iter().flatten().any(|it| !features.iter().any(|on| it.as_str() == Some(on)))
    };
    let name = |test: &Value| test.get("name").and_then(Value::as_str).map(str::to_owned);
    Ok(tests.filter(is_without).filter_map(name).collect())
}

/// The benchmarks that do not name the peer: they are about something else.
pub(super) fn about_others(folder: &Path, package: &str) -> Result<Vec<String>> {
    let mut others = names(folder)?;
    others.retain(|name| {
        let source = fs::read_to_string(folder.join(name).with_extension("rs"));
        source.is_ok_and(|source| !is_named(&source, package))
    });
    Ok(others)
}

/// The sections of a manifest for benchmarks with a main function of their own.
pub(super) fn benches(folder: &Path) -> Result<String> {
    let section = |name: &String| format!("[[bench]]\nname = \"{name}\"\nharness = false\n");
    let sections = names(folder)?.iter().map(section).collect::<String>();
    // It has none, and its main function knows no options of theirs.
    Ok("[lib]\nbench = false\n".to_owned() + &sections)
}

/// The names of the sources in a folder.
fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "rs") {
            names.extend(path.file_stem().map(|it| it.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// Returns whether sources name a crate.
fn is_named(sources: &str, name: &str) -> bool {
    let ident = name.replace('-', "_");
    let is_part = |it: Option<char>| it.is_some_and(|it| it.is_alphanumeric() || it == '_');
    sources.match_indices(&ident).any(|(at, _)| {
        !is_part(sources[..at].chars().next_back())
            && !is_part(sources[at + ident.len()..].chars().next())
    })
}

/// A dependency as the peer has it, but with any later minor version: ours needs later ones.
fn dependency(name: &str, value: &Value) -> Value {
    let mut table = match value {
        Value::Table(table) => table.clone(),
        version => Table::from_iter([("version".to_owned(), version.clone())]),
    };
    table.remove("optional");
    let mut of_version = String::new();
    if let Some(Value::String(version)) = table.get_mut("version") {
        *version = version.trim_start_matches(['~', '=']).to_owned();
        of_version.clone_from(version);
    }
    let rows =
        FEATURES.iter().filter(|(it, begin, _)| *it == name && of_version.starts_with(begin));
    let added = rows.map(|(_, _, feature)| *feature);
    let has_feature = AGAVE.contains(&name) && !of_version.starts_with('2');
    let agave = has_feature.then_some(AGAVE_FEATURE);
    let features = table.entry("features").or_insert(Value::Array(Vec::new()));
    if let Value::Array(features) = features {
        features.extend(added.chain(agave).map(Value::from));
    }
    Value::Table(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_without_their_features_are_found() {
        let peer = "[[test]]\nname = \"a\"\n[[test]]\nname = \"b\"\nrequired-features = [\"x\"]\n";
        assert_eq!(without_features(peer, &[]).expect("it is TOML"), ["b"]);
        assert!(without_features(peer, &["x".to_owned()]).expect("it is TOML").is_empty());
    }

    #[test]
    fn manifest_has_what_the_tests_name() {
        let peer = "[package]\nedition = \"2021\"\n[dependencies]\na-b = \"~1.2\"\nc = \"1\"\n\
                    [dev-dependencies.solana-nonce]\nversion = \"3\"\noptional = true\n";
        let tests = "use a_b::X; use solana_nonce; let abc = 1;";
        let features = ["precompiles".to_owned()];
        let shim = Path::new("compat/litesvm");
        let made = make(peer, "litesvm", Some(shim), &features, tests).expect("made");
        let made: Table = made.parse().expect("it is TOML");
        let dependencies = made["dependencies"].as_table().expect("a table");
        assert_eq!(dependencies.keys().collect::<Vec<_>>(), ["a-b", "litesvm", "solana-nonce"]);
        assert_eq!(dependencies["litesvm"]["package"].as_str(), Some("selkie-litesvm"));
        assert_eq!(dependencies["a-b"]["version"].as_str(), Some("1.2"));
        assert_eq!(dependencies["solana-nonce"]["features"][0].as_str(), Some("serde"));
        assert_eq!(made["features"]["default"][0].as_str(), Some("precompiles"));
        assert_eq!(made["features"]["precompiles"].as_array(), Some(&Vec::new()));
    }

    #[test]
    fn manifest_may_have_the_peer_itself() {
        let peer = "[package]\nversion = \"0.1.2\"\n[features]\na = []\n";
        let features = ["a".to_owned(), "agave-types".to_owned()];
        let made = make(peer, "litesvm", None, &features, "").expect("made");
        let made: Table = made.parse().expect("it is TOML");
        let litesvm = &made["dependencies"]["litesvm"];
        assert_eq!(litesvm["version"].as_str(), Some("=0.1.2"));
        assert_eq!(litesvm["features"].as_array(), Some(&vec![Value::from("a")]));
    }
}
