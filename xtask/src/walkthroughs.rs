//! `cargo xtask walkthroughs`: applies each walkthrough of CONTRIBUTING.md to a copy of the
//! repository and runs its commands.
//!
//! A walkthrough is a section (`## …`) with ```` ```diff ```` blocks. All of them are applied, in
//! order; then the `cargo` commands of its ```` ```sh ```` blocks are run. With `--check`, only whether
//! the diffs apply is checked, which takes a moment. Any other word selects the walkthroughs that have
//! it in their heading.

use std::{
    collections::BTreeSet,
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{repository, say};

const DOCUMENT: &str = "CONTRIBUTING.md";

/// A section of the document that changes the repository.
#[derive(Debug, Default, PartialEq, Eq)]
struct Walkthrough {
    /// The heading.
    title: String,
    /// The diffs, one after the other.
    patch: String,
    /// Lines to run once the patch is applied.
    commands: Vec<String>,
}

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (is_check, word) = match arguments[..] {
        [] => (false, ""),
        ["--check"] => (true, ""),
        [word] if !word.starts_with('-') => (false, word),
        _ => bail!("usage: cargo xtask walkthroughs [--check | WORD]"),
    };
    let document = fs::read_to_string(repository().join(DOCUMENT)).context(DOCUMENT)?;
    let mut walkthroughs = parse(&document);
    walkthroughs.retain(|walkthrough| walkthrough.title.contains(word));
    ensure!(!walkthroughs.is_empty(), "{DOCUMENT} has no such walkthroughs");
    for walkthrough in &walkthroughs {
        let result = if is_check {
            apply(&walkthrough.patch, repository(), &["--check"])
        } else {
            follow(walkthrough)
        };
        result.with_context(|| format!("{DOCUMENT}, \"{}\"", walkthrough.title))?;
    }
    Ok(())
}

/// Returns the sections of a document that contain diffs.
fn parse(document: &str) -> Vec<Walkthrough> {
    let mut sections = Vec::new();
    let mut section = Walkthrough::default();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(section);
            section = Walkthrough { title: title.to_owned(), ..Walkthrough::default() };
        }
        let Some(language) = line.strip_prefix("```") else { continue };
        let block = lines.by_ref().take_while(|line| *line != "```");
        match language {
            "diff" => section.patch.extend(block.flat_map(|line| [line, "\n"])),
            "sh" => section.commands.extend(block.map(str::to_owned)),
            _ => block.for_each(drop),
        }
    }
    sections.push(section);
    sections.retain(|section| !section.patch.is_empty());
    sections
}

/// Applies a walkthrough to a fresh copy of the repository and runs its commands there.
fn follow(walkthrough: &Walkthrough) -> Result<()> {
    say(&format!("\n== {}", walkthrough.title));
    ensure!(!walkthrough.commands.is_empty(), "the section has no commands that test it");
    let folder = repository().join("target/walkthroughs");
    copy_repository(&folder)?;
    apply(&walkthrough.patch, &folder, &[])?;
    walkthrough.commands.iter().try_for_each(|command| run_command(command, &folder))
}

/// Applies a patch to the files in `folder`, which need not be a git repository of its own.
fn apply(patch: &str, folder: &Path, options: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    command.arg("apply").args(options).arg("-").current_dir(folder).stdin(Stdio::piped());
    if folder != repository() {
        // Inside another repository, git would leave out all files of the copy.
        command.env("GIT_CEILING_DIRECTORIES", folder.parent().context("a copy has a parent")?);
    }
    let mut git = command.spawn().context("cannot start git")?;
    git.stdin.take().context("standard input is piped")?.write_all(patch.as_bytes())?;
    ensure!(git.wait()?.success(), "the diffs do not apply");
    Ok(())
}

/// Makes `folder` a copy of the tracked files. Files that are the same already are not written, so
/// that cargo compiles only what differs.
fn copy_repository(folder: &Path) -> Result<()> {
    let tracked = tracked_files()?;
    if folder.exists() {
        for path in files_below(folder)? {
            if !tracked.contains(&path) {
                fs::remove_file(folder.join(path))?;
            }
        }
    }
    for path in &tracked {
        let content =
            fs::read(repository().join(path)).with_context(|| path.display().to_string())?;
        let copy = folder.join(path);
        if fs::read(&copy).is_ok_and(|found| found == content) {
            continue;
        }
        fs::create_dir_all(copy.parent().context("a file has a folder")?)?;
        fs::write(&copy, content)?;
    }
    Ok(())
}

/// Returns the tracked files that exist, by their paths in the repository.
fn tracked_files() -> Result<BTreeSet<PathBuf>> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(repository()).output()?;
    ensure!(output.status.success(), "git ls-files: {}", output.status);
    let listed = String::from_utf8(output.stdout)?;
    let paths = listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from);
    Ok(paths.filter(|path| repository().join(path).is_file()).collect())
}

/// Returns all files below a folder, by their paths from there.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(folder)?.to_owned());
            }
        }
    }
    Ok(files)
}

/// The target folder of the copies, which walkthroughs share so that dependencies are compiled once.
/// It must not be the repository's own: cargo takes the crates of a copy for the repository's, and
/// would use what was compiled from changed sources.
const TARGET: &str = "target/walkthroughs-target";

/// Runs a `cargo` command of a walkthrough.
fn run_command(line: &str, folder: &Path) -> Result<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [program @ "cargo", arguments @ ..] = &words[..] else {
        bail!("only cargo is run, not `{line}`")
    };
    say(&format!("$ {line}"));
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| program.into()));
    command.args(arguments).current_dir(folder);
    command.env("CARGO_TARGET_DIR", repository().join(TARGET));
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(status.success(), "`{line}`: {status}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_with_diffs_are_walkthroughs() {
        let document = "# Title\n```sh\ncargo a\n```\n## One\n```diff\n- a\n+ b\n```\n\
                        ```text\n## not a heading\n```\n```sh\ncargo b\n```\n```diff\n+ c\n```\n\
                        ## Two\n```sh\ncargo c\n```\n";
        let one = Walkthrough {
            title: "One".to_owned(),
            patch: "- a\n+ b\n+ c\n".to_owned(),
            commands: vec!["cargo b".to_owned()],
        };
        assert_eq!(parse(document), [one]);
    }

    #[test]
    fn diffs_that_do_not_apply_are_errors() {
        let patch = "--- a/Cargo.toml\n+++ b/Cargo.toml\n@@ -1,2 +1,2 @@\n-no such line\n+x\n y\n";
        assert!(apply(patch, repository(), &["--check"]).is_err());
    }

    #[test]
    fn commands_other_than_cargo_are_refused() {
        let error = run_command("rm -r x", repository()).unwrap_err();
        assert_eq!(error.to_string(), "only cargo is run, not `rm -r x`");
    }
}
