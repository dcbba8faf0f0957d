//! `cargo xtask walk`: what a user does and sees, from a failing test to the line in the debugger.
//!
//! Each file of `testdata/walk` is a project, a change of one line, and commands with what they print.
//! Lines begin so:
//!
//! ```text
//! new NAME …        `selkie new` with these arguments makes the project
//! copy FOLDER       the project is a copy of an example
//! change FILE: OLD -> NEW
//! $ selkie …        a command in the project, whose arguments may be in double quotes
//! ```
//!
//! All other lines must be among those that the command prints, in this order; `[..]` stands for any text.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{repository, say, steps::built};

/// Runs the chore, for the walks that are named, or for all.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let selkie = built("selkie")?;
    let folder = repository().join("testdata/walk");
    let entries = fs::read_dir(&folder)?.map(|it| it.map(|it| it.path()));
    let mut walks = entries.collect::<Result<Vec<_>, _>>()?;
    walks.sort();
    let name = |walk: &Path| walk.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    walks.retain(|it| arguments.is_empty() || arguments.contains(&name(it)));
    ensure!(!walks.is_empty(), "no walk has one of these names");
    for walk in walks {
        let text = fs::read_to_string(&walk)?;
        follow(&selkie, &name(&walk), &text).with_context(|| walk.display().to_string())?;
    }
    Ok(())
}

/// Follows a walk in a folder of its own.
fn follow(selkie: &Path, name: &str, text: &str) -> Result<()> {
    let root = repository().join("target/walk").join(name);
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    fs::create_dir_all(&root)?;
    let mut project = root.clone();
    let mut lines = text.lines().filter(|it| !it.is_empty() && !it.starts_with('#')).peekable();
    while let Some(line) = lines.next() {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match what {
            "new" => {
                let words: Vec<&str> = rest.split(' ').collect();
                printed(Command::new(selkie).arg("new").args(&words).current_dir(&root))?;
                project = root.join(words.first().copied().unwrap_or_default());
            }
            "copy" => {
                project = root.join("project");
                copy(&repository().join(rest), &project)?;
            }
            "change" => change(&project, rest).with_context(|| line.to_owned())?,
            "$" => {
                say(&format!("  {rest}"));
                let mut expected = Vec::new();
                while let Some(it) = lines.next_if(|it| !it.starts_with("$ ")) {
                    expected.push(it);
                }
                let mut command = Command::new(selkie);
                command.args(words(rest).iter().skip(1)).current_dir(&project);
                // Shared with the examples, so that Selkie is compiled once for all.
                command.env("CARGO_TARGET_DIR", repository().join("target/projects"));
                compare(&expected, &printed(&mut command)?)?;
            }
            _ => bail!("{line}: expected new, copy, change or $"),
        }
    }
    Ok(())
}

/// Copies an example without what was built of it; its paths to this repository become absolute.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let (path, name) = entry.map(|it| (it.path(), it.file_name()))?;
        if path.is_dir() && name != "target" {
            copy(&path, &to.join(name))?;
        } else if name == "Cargo.toml" {
            let text = fs::read_to_string(&path)?;
            let crates = format!("path = \"{}/crates/", repository().display());
            fs::write(to.join(name), text.replace("path = \"../../../crates/", &crates))?;
        } else if path.is_file() {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Applies `FILE: OLD -> NEW`, where the old text must be there once.
fn change(project: &Path, text: &str) -> Result<()> {
    let (file, change) = text.split_once(": ").context("expected FILE: OLD -> NEW")?;
    let (old, new) = change.split_once(" -> ").context("expected OLD -> NEW")?;
    let path = project.join(file);
    let source = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    ensure!(source.matches(old).count() == 1, "the old text must be there once");
    Ok(fs::write(&path, source.replace(old, new))?)
}

/// Splits a command line at spaces outside of double quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('"').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let texts = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Ok(texts.concat())
}

/// Looks for lines among those that were printed, in order.
fn compare(expected: &[&str], printed: &str) -> Result<()> {
    let mut lines = printed.lines();
    for line in expected {
        let found = lines.any(|it| fits(line, it.trim_end()));
        ensure!(found, "after the lines before it, no line is\n{line}\nin:\n{printed}");
    }
    Ok(())
}

/// Whether a line is the expected one, in which `[..]` stands for any text.
fn fits(expected: &str, line: &str) -> bool {
    let Some((first, last)) = expected.rsplit_once("[..]") else { return expected == line };
    let mut rest = line;
    for (number, part) in first.split("[..]").enumerate() {
        let found = match number {
            0 => rest.strip_prefix(part),
            _ => rest.split_once(part).map(|(_, after)| after),
        };
        let Some(after) = found else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_stand_for_any_text() {
        assert!(fits("a [..] c", "a b c") && fits("[..]", "") && fits("a[..]b[..]", "axbx"));
        assert!(!fits("a [..] c", "a b") && !fits("a", "ab") && !fits("a[..]b[..]c", "acb"));
    }

    #[test]
    fn words_may_be_in_quotes() {
        assert_eq!(words("selkie debug -x \"until 27\""), ["selkie", "debug", "-x", "until 27"]);
    }
}
