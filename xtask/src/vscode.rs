//! `cargo xtask vscode`: bundles and packs the extension for Visual Studio Code, which needs no marketplace.
//!
//! The same sources give the same bytes: `package-lock.json` names the versions of what is bundled, and the
//! archive has neither times nor an order of its own. With `--test`, the extension's tests talk to the
//! command of this workspace. With `--vsce`, Microsoft's own packer packs the same folder, and both
//! packages must have the same files and the same manifest.

mod package;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    files::with_extension,
    npm, output, repository, say,
    steps::{built, succeed},
};

/// Files and folders of the extension that are packed as they are, in `editors/vscode`.
const COPIED: &[&str] = &["icons", "language-configuration.json", "package.json"];

/// The grammar, in `editors`.
const GRAMMAR: &str = "sbpf.tmLanguage.json";

/// The licences, in the repository; the package has one file with both.
const LICENSES: &[&str] = &["LICENSE-APACHE", "LICENSE-MIT"];

/// What packs extensions for the marketplace, from npm.
const VSCE: &str = "@vscode/vsce@4.1.0";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (with_tests, with_vsce) = match arguments[..] {
        [] => (false, false),
        ["--test"] => (true, false),
        ["--vsce"] => (false, true),
        _ => bail!("usage: cargo xtask vscode [--test | --vsce]"),
    };
    if !npm::is_installable() {
        bail!("node or npm is not installed: the extension's sources are bundled with them");
    }
    let staged = stage()?;
    let path = repository().join("target/selkie.vsix");
    let packed = package::pack(&staged)?;
    fs::write(&path, &packed).with_context(|| format!("cannot write {}", path.display()))?;
    if with_tests {
        let mut node = Command::new("node");
        // Versions of node differ in which tests they find in a folder.
        let tests = with_extension(&source().join("test"), "js")?;
        node.arg("--test").args(tests).env("SELKIE", built("selkie")?);
        succeed(node.current_dir(source()))?;
    }
    if with_vsce {
        compare_with_vsce(&staged, &packed)?;
    }
    say("target/selkie.vsix: install it by `code --install-extension`");
    Ok(())
}

fn source() -> PathBuf {
    repository().join("editors/vscode")
}

/// Puts all files of the package into a folder below `target`.
fn stage() -> Result<PathBuf> {
    let staged = repository().join("target/vscode/extension");
    if staged.exists() {
        fs::remove_dir_all(&staged)?;
    }
    fs::create_dir_all(&staged)?;
    for name in COPIED {
        copy(&source().join(name), &staged.join(name))?;
    }
    fs::write(staged.join("README.md"), readme()?)?;
    copy(&repository().join("editors").join(GRAMMAR), &staged.join(GRAMMAR))?;
    let licenses: Result<Vec<String>, _> =
        LICENSES.iter().map(|it| fs::read_to_string(repository().join(it))).collect();
    let text = "Selkie is licensed under the Apache License, version 2.0, or the MIT license, at your option.\n";
    fs::write(staged.join("LICENSE.txt"), format!("{text}\n{}", licenses?.join("\n\n")))?;
    let npm = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    output(Command::new("npm").args(npm).current_dir(source()))?;
    output(Command::new("node").arg("build.mjs").arg(&staged).current_dir(source()))?;
    Ok(staged)
}

/// Returns the README without its pictures. An editor shows only those that have an address with https, and
/// the repository has no public one yet.
fn readme() -> Result<String> {
    let text = fs::read_to_string(source().join("README.md"))?;
    let is_picture = |paragraph: &&str| paragraph.starts_with("![");
    let paragraphs = text.split("\n\n").filter(|it| !is_picture(it));
    Ok(paragraphs.collect::<Vec<_>>().join("\n\n"))
}

/// Copies a file, or a folder of files.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// Lets vsce pack the staged folder, and compares what is in both packages.
fn compare_with_vsce(staged: &Path, packed: &[u8]) -> Result<()> {
    let path = staged.with_file_name("vsce.vsix");
    let mut vsce = Command::new("npm");
    vsce.args(["exec", "--yes", "--package", VSCE, "--", "vsce", "package", "--no-dependencies"]);
    // There is no public repository yet, to whose pages links in the README would lead.
    vsce.args(["--allow-missing-repository", "--no-rewrite-relative-links", "--out"]).arg(&path);
    let printed = output(vsce.current_dir(staged))?;
    let printed = [printed.stdout, printed.stderr].concat();
    let complaints = String::from_utf8_lossy(&printed).into_owned();
    let complaints = complaints.lines().filter(|it| it.contains("WARNING") || it.contains("ERROR"));
    let complaints = complaints.collect::<Vec<_>>().join("\n");
    anyhow::ensure!(complaints.is_empty(), "vsce complains:\n{complaints}");
    package::compare(packed, &fs::read(&path)?)?;
    say("vsce packs the same files with the same manifest");
    Ok(())
}

/// Returns the extension of a file's name, as a text.
fn extension(name: &str) -> &str {
    Path::new(name).extension().and_then(OsStr::to_str).unwrap_or_default()
}
