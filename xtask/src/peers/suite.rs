//! One suite: its package made, its programs built, its tests run.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use selkie_switch::project;

use super::{manifest, timed::timed};
use crate::{checkouts, output, repository, say};

/// A row of `xtask/peers/suites.tsv`.
pub(super) struct Suite {
    pub(super) package: String,
    pub(super) version: String,
    /// The folder of ours in `compat`.
    shim: String,
    features: Vec<String>,
    /// The name of the peer's repository.
    pub(super) checkout: String,
    /// The folder in that repository with the programs that the tests need; none if it is empty.
    pub(super) programs: String,
    /// The folder, seen from that of the tests, in which they look for programs.
    found_in: String,
}

/// What a suite runs on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Peer,
    Selkie,
}

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Peer => "peer",
            Self::Selkie => "selkie",
        }
    }
}

/// What is taken from the peer's package.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Tests,
    Benches,
}

impl Part {
    fn folder(self) -> &'static str {
        match self {
            Self::Tests => "tests",
            Self::Benches => "benches",
        }
    }
}

/// What the tests of a suite did, each named `FILE::TEST`.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) passed: Vec<String>,
    pub(super) failed: Vec<String>,
    pub(super) ignored: Vec<String>,
    /// Files whose test program ended before all of its tests had a result.
    pub(super) aborted: Vec<String>,
    pub(super) compiled: Duration,
    pub(super) run: Duration,
}

impl Suite {
    pub(super) fn of(row: Vec<String>) -> Self {
        let column = |index: usize| row.get(index).cloned().unwrap_or_default();
        let [package, version, shim, features] = [0, 1, 2, 3].map(column);
        let [checkout, programs, found_in] = [4, 5, 6].map(column);
        let features = features.split_whitespace().map(str::to_owned).collect();
        Self { package, version, shim, features, checkout, programs, found_in }
    }

    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }

    /// The address of the peer's repository, from its manifest.
    pub(super) fn repository(&self) -> Result<String> {
        let text = fs::read_to_string(self.source()?.join("Cargo.toml"))?;
        let value = text.lines().find_map(|line| line.strip_prefix("repository = "));
        Ok(value.context("the package names no repository")?.trim_matches('"').to_owned())
    }

    fn source(&self) -> Result<PathBuf> {
        selkie_testdata::package(&self.package, &self.version, &say)
    }

    /// Makes the package, builds the programs, and runs the tests except those of some files.
    pub(super) fn run(&self, checkout: &Path, left_out: &[&str]) -> Result<Outcome> {
        let folder = repository().join("target/peers").join(self.name());
        self.make(&folder, Part::Tests, left_out, Side::Selkie)?;
        self.build_programs(&folder, checkout)?;
        let target = super::target();
        let package = Package { name: self.name(), folder, target, programs: None };
        let ((), compiled) = timed(|| package.compile())?;
        let (outcome, run) = timed(|| package.test())?;
        Ok(Outcome { compiled: compiled.wall, run: run.wall, ..outcome })
    }

    /// Makes a package for one side, with a target folder of its own.
    pub(super) fn package_of(
        &self,
        side: Side,
        part: Part,
        checkout: &Path,
        left_out: &[&str],
    ) -> Result<Package> {
        let name = format!("{}-{}-{}", self.name(), part.folder(), side.name());
        let folder = repository().join("target/peers/figures").join(&name);
        self.make(&folder, part, left_out, side)?;
        self.build_programs(&folder, checkout)?;
        Ok(Package { name, target: folder.join("target"), folder, programs: None })
    }

    /// Returns whether the peer has benchmarks of itself.
    pub(super) fn has_benches(&self) -> Result<bool> {
        Ok(self.source()?.join(Part::Benches.folder()).exists())
    }

    /// Copies the tests or benchmarks beside a manifest of our own.
    fn make(&self, folder: &Path, part: Part, left_out: &[&str], side: Side) -> Result<()> {
        let source = self.source()?;
        fs::create_dir_all(folder.join("src"))?;
        fs::write(folder.join("src/lib.rs"), "")?;
        let copies = folder.join(part.folder());
        if copies.exists() {
            fs::remove_dir_all(&copies)?;
        }
        output(Command::new("cp").arg("-r").arg(source.join(part.folder())).arg(&copies))?;
        let peer = fs::read_to_string(source.join("Cargo.toml"))?;
        let unused = match part {
            Part::Tests => manifest::without_features(&peer, &self.features)?,
            Part::Benches => manifest::about_others(&copies, &self.package)?,
        };
        for file in left_out.iter().copied().chain(unused.iter().map(String::as_str)) {
            fs::remove_file(copies.join(file).with_extension("rs")).context(file.to_owned())?;
        }
        let shim = repository().join("compat").join(&self.shim);
        let shim = (side == Side::Selkie).then_some(shim.as_path());
        let sources = sources(&copies)?;
        let mut manifest = manifest::make(&peer, &self.package, shim, &self.features, &sources)?;
        if part == Part::Benches {
            manifest += &manifest::benches(&copies)?;
        }
        fs::write(folder.join("Cargo.toml"), manifest)?;
        // The versions with which the peer was published, as far as ours allow.
        let lock = folder.join("Cargo.lock");
        if !lock.exists() {
            fs::copy(source.join("Cargo.lock"), lock)?;
        }
        if side == Side::Selkie { bring_up_to_date(folder) } else { Ok(()) }
    }

    /// Builds the test programs, once, and copies them to where the tests look for them.
    fn build_programs(&self, folder: &Path, checkout: &Path) -> Result<()> {
        if self.programs.is_empty() {
            return Ok(());
        }
        let programs = checkout.join(&self.programs);
        let built = repository().join("target/peers/programs").join(&self.checkout);
        if !built.exists() {
            say(&format!("building {}", programs.display()));
            let mut command = Command::new("cargo");
            command.args(["run", "--quiet", "--package", "selkie-cli", "--", "build"]);
            let unfinished = checkouts::unfinished(&built)?;
            command.arg(&programs).arg("--out-dir").arg(&unfinished);
            // Tests whose programs cannot be built, such as those with syscalls of their own, fail or
            // are left out. The others go on.
            if let Err(error) = output(command.current_dir(repository())) {
                say(&format!("not all programs were built: {error:#}"));
            }
            fs::rename(unfinished, &built)?;
        }
        let target = folder.join(&self.found_in);
        fs::create_dir_all(&target)?;
        for file in fs::read_dir(&built)?.chain(fs::read_dir(&programs)?) {
            let path = file?.path();
            if path.extension().is_some_and(|it| it == "so") {
                let name = path.file_name().context("a file has a name")?;
                fs::copy(&path, target.join(name))?;
                // Programs that the peer keeps beside the sources are looked for there.
                fs::copy(&path, target.join("../..").join(name))?;
            }
        }
        Ok(())
    }
}

/// A package with the tests or benchmarks of a suite.
pub(super) struct Package {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// Where cargo compiles it.
    pub(super) target: PathBuf,
    /// The folder with programs that `SBF_OUT_DIR` names.
    pub(super) programs: Option<PathBuf>,
}

impl Package {
    /// Downloads the dependencies, and removes all that was compiled before.
    pub(super) fn fetch_anew(&self) -> Result<()> {
        if self.target.exists() {
            fs::remove_dir_all(&self.target)?;
        }
        self.cargo(&["fetch"]).map(drop)
    }

    /// Compiles the tests.
    pub(super) fn compile(&self) -> Result<()> {
        self.cargo(&["test", "--tests", IGNORE, "--no-run", "--quiet"]).map(drop)
    }

    /// Runs the tests.
    pub(super) fn test(&self) -> Result<Outcome> {
        let arguments = ["test", "--tests", IGNORE, "--no-fail-fast"];
        let (succeeded, text) = self.start(&arguments)?;
        let outcome = read(&text);
        let is_explained = !outcome.failed.is_empty() || !outcome.aborted.is_empty();
        ensure!(succeeded || is_explained, "cargo fails, but no test of {}\n{text}", self.name);
        Ok(outcome)
    }

    /// Runs the benchmarks; returns the folder with criterion's results.
    pub(super) fn bench(&self) -> Result<PathBuf> {
        let options = ["--noplot", "--warm-up-time", "1", "--measurement-time", "3"];
        self.cargo(&[&["bench", "--benches", IGNORE, "--quiet", "--"], &options[..]].concat())?;
        Ok(self.target.join("criterion"))
    }

    /// The number of crates that are compiled.
    pub(super) fn crates(&self) -> Result<usize> {
        let arguments = ["tree", "--edges", "normal,build", "--prefix", "none", "--no-dedupe"];
        let text = self.cargo(&arguments)?;
        let names = text.lines().filter_map(|it| it.split_once(" v"));
        Ok(names.collect::<BTreeSet<_>>().len().saturating_sub(1))
    }

    fn cargo(&self, arguments: &[&str]) -> Result<String> {
        let (succeeded, text) = self.start(arguments)?;
        ensure!(succeeded, "cargo {} fails for {}\n{text}", arguments.join(" "), self.name);
        Ok(text)
    }

    /// Runs cargo; returns whether it succeeded, and what it printed.
    fn start(&self, arguments: &[&str]) -> Result<(bool, String)> {
        let mut command = Command::new("cargo");
        command.args(arguments).current_dir(&self.folder).env("RUST_BACKTRACE", "0");
        command.env("CARGO_TARGET_DIR", &self.target);
        command.envs(self.programs.as_ref().map(|it| ("SBF_OUT_DIR", it)));
        let output = command.output().context("cannot start cargo")?;
        let text = [output.stderr, output.stdout];
        let text = text.map(|it| String::from_utf8_lossy(&it).into_owned());
        Ok((output.status.success(), text.concat()))
    }
}

/// Brings ours into a lock file, and then what they need, as `selkie switch` does.
fn bring_up_to_date(folder: &Path) -> Result<()> {
    let update = |arguments: &[String]| {
        output(Command::new("cargo").args(arguments).current_dir(folder)).map(drop)
    };
    update(&["update", "--workspace", "--quiet"].map(str::to_owned))?;
    match project::last_update(folder)?.as_deref() {
        Some([_, arguments @ ..]) => update(arguments),
        _ => Ok(()),
    }
}

/// All sources of the tests in one text.
fn sources(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        text += &if path.is_dir() { sources(&path)? } else { fs::read_to_string(&path)? };
    }
    Ok(text)
}

/// Peers' crates state a newer compiler than the one they need.
const IGNORE: &str = "--ignore-rust-version";

/// Reads the results of tests. Their files are those of the lines `Running tests/FILE.rs`, which cargo
/// prints to the standard error in the order in which test programs print theirs.
fn read(text: &str) -> Outcome {
    let file = |line: &str| {
        let (_, rest) = line.trim().split_once("Running tests/")?;
        Some(rest.split_once(".rs")?.0.to_owned())
    };
    // The first program is that of the library, which is empty.
    let mut files = std::iter::once("lib".to_owned()).chain(text.lines().filter_map(file));
    let mut outcome = Outcome::default();
    let (mut current, mut left) = (String::new(), 0);
    for line in text.lines() {
        if let Some(tests) = announced(line) {
            outcome.aborted.extend((left > 0).then_some(current));
            (current, left) = (files.next().unwrap_or_default(), tests);
        }
        let Some((name, result)) = line.strip_prefix("test ").and_then(|it| it.split_once(" ... "))
        else {
            continue;
        };
        left = left.saturating_sub(1);
        let name = format!("{current}::{}", name.trim_end_matches(" - should panic"));
        match result {
            "FAILED" => outcome.failed.push(name),
            result if result.starts_with("ignored") => outcome.ignored.push(name),
            _ => outcome.passed.push(name),
        }
    }
    outcome.aborted.extend((left > 0).then_some(current));
    outcome
}

/// The number of tests that a test program says that it runs.
fn announced(line: &str) -> Option<usize> {
    let count = line.strip_prefix("running ")?.trim_end_matches('s').strip_suffix(" test")?;
    count.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_with_their_files() {
        let text = "     Running unittests src/lib.rs (x)\n     Running tests/a.rs (x)\n     \
                    Running tests/b.rs (x)\nrunning 0 tests\nrunning 1 test\ntest one ... ok\n\
                    running 4 tests\ntest two ... FAILED\ntest three ... ok\n\
                    test four ... ignored, slow\ntest five - should panic ... ok\n";
        let outcome = read(text);
        assert_eq!(outcome.passed, ["a::one", "b::three", "b::five"]);
        assert_eq!(outcome.failed, ["b::two"]);
        assert_eq!(outcome.ignored, ["b::four"]);
        assert!(outcome.aborted.is_empty());
    }

    #[test]
    fn programs_that_abort_are_noticed() {
        let text = "     Running unittests src/lib.rs (x)\n     Running tests/a.rs (x)\n     \
                    Running tests/b.rs (x)\nrunning 0 tests\nrunning 2 tests\ntest one ... ok\n\
                    running 1 test\n";
        assert_eq!(read(text).aborted, ["a", "b"]);
    }
}
