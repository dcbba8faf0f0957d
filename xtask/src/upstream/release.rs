//! The crates of a release, fetched from the registry, and the facts in their sources.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{
    Fact,
    read::{Found, constants, defaults, gates, named, strings, variants},
};
use crate::{output, repository};

/// The crates that a release is asked for. The SDK's crates, which have other versions, are among their
/// dependencies.
const CRATES: [&str; 9] = [
    "agave-feature-set",
    "solana-bpf-loader-program",
    "solana-compute-budget",
    "solana-cost-model",
    "solana-program-runtime",
    "solana-rpc",
    "solana-rpc-client-api",
    "solana-syscalls",
    "solana-vote-program",
];

/// A reader of one source file.
type Reader = fn(&str) -> Vec<Found>;

/// What is read: the kind of the facts, the package, the file in it, and the reader.
#[rustfmt::skip]
const SOURCES: &[(&str, &str, &str, Reader)] = &[
    ("gate", "agave-feature-set", "src/lib.rs", gates),
    ("constant", "solana-program-runtime", "src/execution_budget.rs", constants),
    ("constant", "solana-program-runtime", "src/cpi.rs", constants),
    ("constant", "solana-transaction-context", "src/lib.rs", constants),
    ("constant", "solana-cost-model", "src/block_cost_limits.rs", constants),
    ("constant", "solana-runtime", "src/slot_params.rs", constants),
    ("cost", "solana-program-runtime", "src/execution_budget.rs", defaults),
    ("syscall", "solana-syscalls", "src/lib.rs", |text| strings(text, is_syscall)),
    ("method", "solana-rpc", "src/rpc.rs", named),
    ("method", "solana-rpc", "src/rpc_pubsub.rs", named),
    ("error", "solana-rpc-client-api", "src/custom_error.rs", error_numbers),
    ("variant", "solana-instruction-error", "src/lib.rs", |text| variants(text, "InstructionError")),
    ("variant", "solana-transaction-error", "src/lib.rs", |text| variants(text, "TransactionError")),
    ("variant", "solana-system-interface", "src/instruction.rs", |text| variants(text, "SystemInstruction")),
    ("variant", "solana-vote-interface", "src/instruction.rs", |text| variants(text, "VoteInstruction")),
    ("variant", "solana-loader-v3-interface", "src/instruction.rs", |text| variants(text, "UpgradeableLoaderInstruction")),
    ("variant", "solana-compute-budget-interface", "src/lib.rs", |text| variants(text, "ComputeBudgetInstruction")),
];

fn is_syscall(text: &str) -> bool {
    let is_name = |it: &str| it.bytes().all(|it| it == b'_' || it.is_ascii_alphanumeric());
    text == "abort" || (text.starts_with("sol_") && is_name(text))
}

/// Constants with negative numbers.
fn error_numbers(text: &str) -> Vec<Found> {
    let mut numbers = constants(text);
    numbers.retain(|it| it.value.starts_with("- "));
    for it in &mut numbers {
        it.value = it.value.replacen("- ", "-", 1);
    }
    numbers
}

/// A release whose sources are on this machine.
pub(super) struct Release {
    pub(super) version: String,
    /// The folders of the packages that the lock file names, by name; of several versions the newest
    /// that the crates of the release ask for.
    folders: BTreeMap<String, PathBuf>,
}

/// Returns the newest version in the registry, alphas too.
pub(super) fn newest() -> Result<String> {
    let mut info = Command::new("cargo");
    info.args(["info", "--color=never", "--registry=crates-io", CRATES[0]]);
    let printed = output(info.current_dir(std::env::temp_dir()))?.stdout;
    let printed = String::from_utf8(printed)?;
    let version = printed.lines().find_map(|line| line.strip_prefix("version: "));
    let version = version.context("`cargo info` names no version")?;
    // `4.4.0 (latest 4.5.0)`, if the newest is not the one that it chose.
    let latest = version.split_once("(latest ").map(|(_, latest)| latest.trim_end_matches(')'));
    Ok(latest.unwrap_or(version).trim().to_owned())
}

impl Release {
    /// Fetches a release with a package of its own below `target/upstream`.
    pub(super) fn fetch(version: &str) -> Result<Self> {
        let folder = repository().join("target/upstream").join(version);
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("src/lib.rs"), "")?;
        fs::write(folder.join("Cargo.toml"), manifest(version))?;
        let cargo = |command: &str| {
            let mut cargo = Command::new("cargo");
            cargo.arg(command).current_dir(&folder);
            cargo
        };
        let help = || format!("agave {version} cannot be fetched from the registry");
        output(&mut cargo("fetch")).with_context(help)?;
        let mut metadata = cargo("metadata");
        let metadata =
            output(metadata.args(["--format-version=1", "--offline", "--locked"]))?.stdout;
        let folders = folders(&serde_json::from_slice(&metadata)?)?;
        Ok(Self { version: version.to_owned(), folders })
    }

    /// Reads the facts of all sources.
    ///
    /// # Errors
    /// A source that is not there, or in which there is nothing: agave has moved it.
    pub(super) fn facts(&self) -> Result<Vec<Fact>> {
        let mut facts = Vec::new();
        for (kind, package, file, reader) in SOURCES {
            let path = self.folders.get(*package).map(|it| it.join(file));
            let path = path.with_context(|| format!("no package {package} in the release"))?;
            let text = fs::read_to_string(&path);
            let moved = || {
                format!("no {kind} in {}\nhelp: has agave moved it? See SOURCES", path.display())
            };
            let found = reader(&text.with_context(moved)?);
            ensure!(!found.is_empty(), moved());
            let place = place(&path);
            let is_new = |it: &Found| {
                !facts.iter().any(|known: &Fact| known.kind == *kind && known.name == it.name)
            };
            let found: Vec<Found> = found.into_iter().filter(is_new).collect();
            facts.extend(found.into_iter().map(|it| {
                let place = format!("{place}:{}", it.line);
                Fact { kind, name: it.name, value: it.value, note: it.note, place }
            }));
        }
        Ok(facts)
    }
}

/// The path below the folder of all packages: `solana-rpc-4.4.0/src/rpc.rs`.
fn place(path: &Path) -> String {
    let package = |it: &&Path| it.join("Cargo.toml").is_file();
    let folder = path.ancestors().find(package).and_then(Path::parent);
    folder.and_then(|it| path.strip_prefix(it).ok()).unwrap_or(path).display().to_string()
}

fn manifest(version: &str) -> String {
    let dependencies = CRATES.map(|name| format!("{name} = \"={version}\"\n"));
    format!(
        "[package]\nname = \"upstream\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n\
         [workspace]\n\n[dependencies]\n{}",
        dependencies.concat()
    )
}

/// Returns the folder of each package in what `cargo metadata` prints.
fn folders(metadata: &Value) -> Result<BTreeMap<String, PathBuf>> {
    let packages = metadata["packages"].as_array().context("the metadata has no packages")?;
    let mut newest: BTreeMap<String, (Vec<u64>, PathBuf)> = BTreeMap::new();
    for package in packages {
        let text = |key: &str| package[key].as_str().with_context(|| format!("no {key}"));
        let numbers = text("version")?.split(['.', '-', '+']).map(|it| it.parse().unwrap_or(0));
        let folder = Path::new(text("manifest_path")?).parent().context("no folder")?;
        let this = (numbers.collect(), folder.to_owned());
        let known = newest.entry(text("name")?.to_owned()).or_insert_with(|| this.clone());
        if known.0 < this.0 {
            *known = this;
        }
    }
    Ok(newest.into_iter().map(|(name, (_, folder))| (name, folder)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_versions_the_newest_is_read() {
        let package = |version: &str| {
            serde_json::json!({
                "name": "a", "version": version, "manifest_path": format!("/r/a-{version}/Cargo.toml"),
            })
        };
        let metadata = serde_json::json!({"packages": [package("2.10.0"), package("2.9.1")]});
        assert_eq!(folders(&metadata).unwrap()["a"], Path::new("/r/a-2.10.0"));
    }

    #[test]
    fn numbers_of_errors_are_negative() {
        let found = error_numbers("const A: i64 = -32001;\nconst B: usize = 5;");
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].name, &*found[0].value), ("A", "-32001"));
    }

    #[test]
    fn names_of_syscalls_are_told_from_other_strings() {
        let names = ["abort", "sol_log_", "sol_sha512", "sol_x is not", "Sha256"].map(is_syscall);
        assert_eq!(names, [true, true, true, false, false]);
    }
}
