//! A project of others that pins a peer: `selkie switch --write` in a clone of it, its program built by
//! `selkie build`, its tests run.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};

use super::{
    suite::{Outcome, Package},
    timed::timed,
};
use crate::{checkouts, output, repository};

/// A row of `xtask/peers/projects.tsv`.
pub(super) struct Project {
    /// The repository: its owner's name and its own.
    repository: String,
    pub(super) commit: String,
    /// The folder of the program, whose package has the tests.
    program: String,
    /// Members of the workspace that are taken out of it: what they need excludes the packages of ours.
    left_out: Vec<String>,
    /// Crates of the lock file with the version that they get, as `NAME@VERSION=VERSION`.
    updates: Vec<String>,
}

impl Project {
    pub(super) fn of(row: Vec<String>) -> Self {
        let column = |index: usize| row.get(index).cloned().unwrap_or_default();
        let words = |index| column(index).split_whitespace().map(str::to_owned).collect();
        let [repository, commit, program] = [0, 1, 2].map(column);
        Self { repository, commit, program, left_out: words(3), updates: words(4) }
    }

    /// The repository's own name.
    pub(super) fn name(&self) -> &str {
        checkouts::own_name(&self.repository)
    }

    /// Makes a clone, puts Selkie behind the names that it uses, and runs its tests. `checkouts` has
    /// repositories by their names; without it they are those of GitHub.
    pub(super) fn run(&self, checkouts: Option<&Path>) -> Result<Outcome> {
        let folder = repository().join("target/peers/projects").join(self.name());
        checkouts::at_commit(&self.repository, &self.commit, &folder, checkouts)?;
        self.leave_out_members(&folder)?;
        let (program, deploy) = (folder.join(&self.program), folder.join("target/deploy"));
        selkie(&["switch", "--write"], &[&folder])?;
        self.update(&folder)?;
        selkie(&["build", "--out-dir"], &[&deploy, &program])?;
        let package = Package {
            name: self.name().to_owned(),
            folder: program,
            target: super::target(),
            programs: Some(deploy),
        };
        let ((), compiled) = timed(|| package.compile())?;
        let (outcome, run) = timed(|| package.test())?;
        Ok(Outcome { compiled: compiled.wall, run: run.wall, ..outcome })
    }

    /// Takes members out of the workspace.
    fn leave_out_members(&self, folder: &Path) -> Result<()> {
        let path = folder.join("Cargo.toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(fs::write(&path, without_members(&text, &self.left_out)?)?)
    }

    /// Gives crates of the lock file their versions, as far as it has them.
    fn update(&self, folder: &Path) -> Result<()> {
        for update in &self.updates {
            let (name, version) = update.split_once('=').context("an update is NAME=VERSION")?;
            let lock = fs::read_to_string(folder.join("Cargo.lock"))?;
            if is_locked(&lock, name) {
                let arguments = ["update", "--quiet", name, "--precise", version];
                output(Command::new("cargo").args(arguments).current_dir(folder))?;
            }
        }
        Ok(())
    }
}

/// Whether a lock file has a crate, as `NAME@VERSION`.
fn is_locked(lock: &str, name: &str) -> bool {
    let (name, version) = name.split_once('@').unwrap_or((name, ""));
    lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n"))
}

/// A workspace's manifest without some of its members.
fn without_members(text: &str, members: &[String]) -> Result<String> {
    let mut text = text.to_owned();
    for member in members {
        let quoted = format!("\"{member}\", ");
        ensure!(text.contains(&quoted), "the workspace has no member {member} before another one");
        text = text.replacen(&quoted, "", 1);
    }
    Ok(text)
}

/// Runs the command-line program on folders.
fn selkie(arguments: &[&str], folders: &[&Path]) -> Result<()> {
    let mut command = Command::new("cargo");
    command.args(["run", "--quiet", "--package", "selkie-cli", "--"]).args(arguments);
    output(command.args(folders).current_dir(repository())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_taken_out() {
        let text = "[workspace]\nmembers = [\"clients/cli\", \"program\"]\n";
        let members = ["clients/cli".to_owned()];
        let edited = without_members(text, &members).expect("it is a member");
        assert_eq!(edited, "[workspace]\nmembers = [\"program\"]\n");
        without_members(&edited, &members).expect_err("it is none any more");
    }

    #[test]
    fn locked_crates_are_found() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\nsource = \"x\"\n";
        assert!(is_locked(lock, "a@1.2.3"));
        assert!(!is_locked(lock, "a@1.2"));
    }

    #[test]
    fn rows_have_lists() {
        let columns = ["a/b", "12", "program", "", "x@1=2 y=3"];
        let project = Project::of(columns.map(str::to_owned).to_vec());
        assert_eq!((project.name(), project.left_out.len()), ("b", 0));
        assert_eq!(project.updates, ["x@1=2", "y=3"]);
    }
}
