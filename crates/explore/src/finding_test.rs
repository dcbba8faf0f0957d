//! The tests that findings become: each is a file for the folder `tests` of the program's package.

use core::fmt::Write as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use selkie::{Pubkey, built};
use selkie_isa::input::{self, is_source};

use crate::{
    finding::Finding,
    target::{DefectKind, FailsOn},
};

/// The folder of a package's tests.
const TESTS: &str = "tests";
/// The file that makes a folder a package.
const MANIFEST: &str = "Cargo.toml";

/// A finding as a test: a source that takes the replay beside it.
#[derive(Clone, Debug)]
pub struct FindingTest {
    name: String,
    what: String,
    /// What must hold of the receipt of each call.
    check: String,
    /// The programs that the test takes as they are built now, and the Rust expressions of their files.
    programs: Vec<(Pubkey, String)>,
    /// Where the source was written.
    folder: PathBuf,
    /// The folder of the package that the test is for.
    package: PathBuf,
}

impl FindingTest {
    /// Makes the test of a finding of a search for `fails_on`, which is written to `folder`. `files` are those
    /// of the programs that are known.
    #[must_use]
    pub fn new(
        finding: &Finding,
        fails_on: &[FailsOn],
        files: &BTreeMap<Pubkey, PathBuf>,
        folder: &Path,
    ) -> Self {
        let called = called(finding);
        let files: Vec<_> = files.iter().filter(|(id, _)| called.contains(*id)).collect();
        let package = package(files.first().map(|(_, path)| path.as_path()));
        let programs = files.iter().filter_map(|(id, path)| Some((**id, file(path, &package)?)));
        Self {
            name: finding.name.clone(),
            what: finding.what.replace('\n', " "),
            check: check(fails_on, finding),
            programs: programs.collect(),
            folder: folder.to_owned(),
            package,
        }
    }

    /// Returns the source.
    #[must_use]
    pub fn source(&self) -> String {
        let Self { name, what, check, programs, .. } = self;
        let uses_built = programs.iter().any(|(_, file)| file.starts_with("built("));
        let (uses, calls) = match (uses_built, programs.is_empty()) {
            (true, _) => ("{Sequence, built}", "mut calls"),
            (false, false) => ("Sequence", "mut calls"),
            (false, true) => ("Sequence", "calls"),
        };
        let mut added = String::new();
        for (id, file) in programs {
            let _ = writeln!(
                added,
                "    let program = \"{id}\".parse().unwrap();\n    \
                     calls.svm.add_program(program, {file}).unwrap();"
            );
        }
        if programs.is_empty() {
            added.push_str(
                "    // This runs the program that was recorded. To run another one, make `calls` \
                 mutable and add it:\n    \
                     // calls.svm.add_program(id, selkie::built(\"program\")).unwrap();\n",
            );
        }
        format!(
            "//! Found by `selkie fuzz`: {what}.\n\
             //!\n\
             //! Runs the calls that led there, on the accounts before the first of them.\n\
             \n\
             use selkie::{uses};\n\
             \n\
             #[test]\n\
             fn {name}() {{\n    \
                 let {calls} = Sequence::parse(include_str!(\"{name}.replay\")).unwrap();\n\
             {added}    \
                 for receipt in calls.run() {{\n        \
                     {check}\n    \
                 }}\n\
             }}\n"
        )
    }

    /// Returns the command that puts the test in its place and runs it.
    #[must_use]
    pub fn command(&self) -> String {
        let (folder, name) = (shell(&self.folder), &self.name);
        let tests = self.package.join(TESTS);
        let make =
            if tests.is_dir() { String::new() } else { format!("mkdir {} && ", shell(&tests)) };
        let manifest = match self.package.as_os_str().is_empty() {
            true => String::new(),
            false => format!(" --manifest-path {}", shell(&self.package.join(MANIFEST))),
        };
        format!(
            "{make}cp {folder}/{name}.r* {tests}/ && cargo test{manifest} --test {name}",
            tests = shell(&tests)
        )
    }

    /// Returns what the package lacks that the test is for, if it lacks something.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        let manifest = self.package.join(MANIFEST);
        let Ok(text) = input::text(&manifest, input::TEXT_BYTES_MAX) else {
            return Some(format!(
                "there is no {} here: the test belongs into the package of the program, with the \
                 dev-dependency `selkie`",
                manifest.display()
            ));
        };
        let uses = |line: &str| line.trim_start().starts_with("selkie");
        let has = text.lines().any(|line| uses(line) || line.contains("dependencies.selkie"));
        (!has).then(|| {
            format!("the test needs the dev-dependency `selkie` in {}", manifest.display())
        })
    }
}

/// Returns the programs that the calls of a finding may invoke: all of their accounts.
fn called(finding: &Finding) -> BTreeSet<Pubkey> {
    let cases = finding.transactions.iter().filter_map(|it| it.case(&|_| None).ok());
    let instructions = cases.flat_map(|it| it.instructions().unwrap_or_default());
    let keys = instructions.flat_map(|it| {
        let accounts = it.accounts.into_iter().map(|meta| meta.pubkey);
        accounts.chain([it.program_id]).collect::<Vec<_>>()
    });
    keys.collect()
}

/// Returns the folder of the package that a program is of, from the current folder: that one, or in a
/// workspace of Anchor the one with the program's name.
fn package(program: Option<&Path>) -> PathBuf {
    let here = PathBuf::new();
    let manifest = input::text(Path::new(MANIFEST), input::TEXT_BYTES_MAX).unwrap_or_default();
    let is_package = manifest.lines().any(|line| line.trim() == "[package]");
    let stem = program.and_then(|it| it.file_stem()?.to_str());
    let Some(stem) = stem.filter(|_| !is_package && !manifest.is_empty()) else { return here };
    let named = [stem.to_owned(), stem.replace('_', "-")].map(|it| Path::new("programs").join(it));
    named.into_iter().find(|it| it.join(MANIFEST).is_file()).unwrap_or(here)
}

/// Returns the Rust expression of a program's file for a test of a package: by its name if it is built
/// there, else by its path. `None` of a source that is not built.
fn file(path: &Path, package: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let found = built(stem);
    if is_source(path) {
        let is_project = package.join(MANIFEST).is_file();
        return (found.file().is_some() || is_project).then(|| format!("built({stem:?})"));
    }
    let whole = path.canonicalize().ok()?;
    if found.file().and_then(|it| it.canonicalize().ok()).is_some_and(|it| it == whole) {
        return Some(format!("built({stem:?})"));
    }
    // Tests run in the folder of their package.
    let from = std::path::absolute(package).ok()?.canonicalize().ok()?;
    let path = whole.strip_prefix(from).unwrap_or(&whole);
    Some(format!("{:?}", path.display().to_string()))
}

/// Returns the statement that fails as long as the finding does.
fn check(fails_on: &[FailsOn], finding: &Finding) -> String {
    match finding.kind {
        DefectKind::Error => {
            let code = finding.what.rsplit(' ').next().unwrap_or_default();
            format!(
                "let error = receipt.failed_instruction.as_ref().map(|it| &it.error);\n        \
                 assert_ne!(error, Some(&selkie::InstructionError::Custom({code})), \"{{receipt}}\");"
            )
        }
        DefectKind::Log => {
            let texts = fails_on.iter().filter_map(|it| match it {
                FailsOn::Log(text) if finding.what.contains(text.as_str()) => Some(text),
                _ => None,
            });
            let text = texts.max_by_key(|it| it.len()).cloned().unwrap_or_default();
            format!(
                "assert!(!receipt.logs.iter().any(|line| line.contains({text:?})), \"{{receipt}}\");"
            )
        }
        _ => "assert_eq!(receipt.crash(), None, \"{receipt}\");".to_owned(),
    }
}

/// Returns a path as a word for a shell.
fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "/._-+=@,:\\".contains(it);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
