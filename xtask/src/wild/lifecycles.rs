//! `cargo xtask wild --run`: tests of the programs in `testdata/wild`, on both engines and on LiteSVM.
//!
//! The tests are written for LiteSVM and say what programs have to do. Each also writes what its
//! transactions did, to the unit and with the hashes of all accounts, which has to be the same
//! everywhere.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{
    build, provide_selkie,
    rows::{Keeper, Row},
};
use crate::{
    repository, say,
    steps::{cargo_command, succeed},
};

/// What runs the tests: a name, the folder of its package below that of the tests, and its arguments.
type Engine = (&'static str, &'static str, &'static [&'static str]);

const ENGINES: [Engine; 3] = [
    ("machine code", "", &[]),
    ("interpreter", "", &["--features", "interpreter"]),
    ("LiteSVM", "litesvm", &[]),
];

/// SPL programs: their addresses, and their files in LiteSVM's package.
const SPL: [(&str, &str); 3] = [
    ("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA", "pinocchio_token_program.so"),
    ("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb", "spl_token_2022-11.0.0.so"),
    ("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL", "spl_associated_token_account-1.1.1.so"),
];

/// Runs the chore for all programs of `testdata/wild`, or for those in the named folders.
pub(super) fn run(rows: &[Row], folder: &Path, named: &[String]) -> Result<()> {
    let is_named = |row: &Row| named.is_empty() || named.iter().any(|it| it == row.folder());
    let is_chosen = |row: &&Row| row.keeper() == Keeper::Ours && is_named(row);
    let chosen: Vec<&Row> = rows.iter().filter(is_chosen).collect();
    ensure!(!chosen.is_empty(), "usage: cargo xtask wild --run [FOLDER...], of testdata/wild");
    provide_selkie(folder)?;
    let programs = folder.join("programs");
    fs::create_dir_all(&programs)?;
    for row in &chosen {
        build_both(row, folder, &programs)?;
    }
    let mut filters: Vec<String> =
        chosen.iter().map(|row| format!("{}::", row.folder().replace('-', "_"))).collect();
    filters.dedup();
    copy_spl(&programs)?;
    for engine in &ENGINES {
        for arch in ["v3", "v0"] {
            say(&format!("{arch} on {}", engine.0));
            test(engine, arch, folder, &filters)?;
        }
    }
    compare(folder)
}

/// Builds a program for V3 and V0, to where the tests look for it.
fn build_both(row: &Row, folder: &Path, programs: &Path) -> Result<()> {
    let source = row.source(folder, None)?;
    for arch in ["v3", "v0"] {
        let built = build(row, &source, arch, folder)?;
        let program = built["program"].as_str();
        let program = program.with_context(|| format!("{}: {}", row.package, built["error"]))?;
        let name = format!("{}.{arch}.so", row.package.replace('/', "-"));
        fs::copy(repository().join(program), programs.join(&name)).with_context(|| name.clone())?;
        say(&format!("{name}: {} bytes", built["bytes"]));
    }
    Ok(())
}

/// Copies the SPL programs that LiteSVM carries, so that the tests call the same ones everywhere.
/// Selkie's own are those of mainnet, whose versions differ.
fn copy_spl(programs: &Path) -> Result<()> {
    let mut metadata = cargo_command();
    metadata.args(["metadata", "--format-version", "1", "--locked"]);
    metadata.current_dir(repository().join("testdata/wild/lifecycles/litesvm"));
    let metadata = metadata.output().context("cargo metadata")?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout).context("cargo metadata")?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let manifest = packages.iter().find(|it| it["name"] == "litesvm");
    let manifest = manifest.and_then(|it| it["manifest_path"].as_str()).context("LiteSVM")?;
    for (id, file) in SPL {
        let from = Path::new(manifest).with_file_name("src/programs/elf").join(file);
        let to = programs.join(format!("{id}.so"));
        fs::copy(&from, to).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Where an engine's transcripts are.
fn transcripts((name, ..): &Engine, folder: &Path) -> PathBuf {
    folder.join("transcripts").join(name.replace(' ', "-").to_lowercase())
}

fn test(engine: &Engine, arch: &str, folder: &Path, filters: &[String]) -> Result<()> {
    let (_, package, arguments) = engine;
    let transcripts = transcripts(engine, folder);
    if arch == "v3" && transcripts.exists() {
        fs::remove_dir_all(&transcripts)?;
    }
    fs::create_dir_all(&transcripts)?;
    // Both packages have a target folder of their own, since their dependencies differ.
    let target =
        folder.join(format!("lifecycles-{}", if package.is_empty() { "selkie" } else { package }));
    let mut command = cargo_command();
    command.args(["test", "--quiet", "--locked", "--ignore-rust-version"]).args(*arguments);
    command.args(["--test", "lifecycles", "--"]).args(filters);
    command.current_dir(repository().join("testdata/wild/lifecycles").join(package));
    command.env("CARGO_TARGET_DIR", target);
    command.env("WILD_PROGRAMS", folder.join("programs")).env("WILD_ARCH", arch);
    succeed(command.env("WILD_TRANSCRIPTS", transcripts))
}

/// Checks that all engines wrote the same transcripts.
fn compare(folder: &Path) -> Result<()> {
    let [first, others @ ..] = &ENGINES;
    let (mut count, mut differences) = (0_usize, Vec::new());
    for entry in fs::read_dir(transcripts(first, folder))? {
        let path = entry?.path();
        let name = path.file_name().context("a file has a name")?;
        let expected = fs::read_to_string(&path)?;
        count += expected.lines().filter(|it| !it.starts_with(' ')).count();
        for other in others {
            let got = fs::read_to_string(transcripts(other, folder).join(name))?;
            let mut lines = expected.lines().zip(got.lines());
            if let Some((expected, got)) = lines.find(|(expected, got)| expected != got) {
                let (name, first, other) = (name.display(), first.0, other.0);
                differences.push(format!("{name}\n  {first}: {expected}\n  {other}: {got}"));
            } else if expected != got {
                differences.push(format!("{}: {} ends early", name.display(), other.0));
            }
        }
    }
    if !differences.is_empty() {
        bail!("the engines disagree:\n{}", differences.join("\n"));
    }
    say(&format!("{count} transactions did the same on {} engines", ENGINES.len()));
    Ok(())
}
