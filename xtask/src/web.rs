//! `cargo xtask web`: builds the explorer in `web/` into `crates/rpc/web`, from where `selkie node` serves it.
//!
//! The built files are committed, so that `cargo build` needs no Node.js. The same sources give the same
//! bytes: `package-lock.json` names the versions of what is bundled, and the archives have no times. With
//! `--check`, the committed files are compared with what the sources give. With `--test`, a browser opens
//! every view of a node that this workspace's command runs. `--figures` measures it there, and `--pictures` makes the
//! pictures of the documentation.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use flate2::{Compression, GzBuilder};

use crate::{
    gdb, npm, output, repository, say,
    steps::{built, skip, succeed},
    toolchains::provide,
};

/// What is built, as the node serves it.
const FILES: &[&str] =
    &["index.html", "assets/explorer.js", "assets/explorer.css", "assets/icon.svg"];

/// The most bytes of all files together, compressed.
const BYTES_MAX: usize = 150 << 10;

/// Where the pictures of the documentation are, and the most bytes of one of them.
const IMAGES: &str = "docs/images";
const PICTURE_BYTES_MAX: u64 = 170 << 10;

/// The program of the browser, and Debian's package of it.
pub(crate) const BROWSER: &str = "chromium";

/// Runs the chore.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if !npm::is_installable() {
        bail!("node or npm is not installed: the explorer's sources are bundled with them");
    }
    match arguments[..] {
        [] => write(),
        ["--check"] => check(),
        ["--test"] => test(&built("selkie")?),
        ["--test", selkie] => test(&Path::new(selkie).canonicalize()?),
        ["--figures"] => play(&built("selkie")?, &["test/figures.mjs"]),
        ["--figures", selkie] => play(&Path::new(selkie).canonicalize()?, &["test/figures.mjs"]),
        ["--pictures"] => pictures(),
        _ => bail!(
            "usage: cargo xtask web [--check | --test [SELKIE] | --figures [SELKIE] | --pictures]"
        ),
    }
}

/// Checks the committed files, and tests them in a browser, as far as the machine can.
pub(crate) fn in_ci(with_compilers: bool) -> Result<()> {
    if !npm::is_installable() {
        return skip("node or npm is not installed");
    }
    check()?;
    if !with_compilers || !provide(BROWSER, BROWSER) {
        return skip("tests in a browser: chromium or the compilers are not installed");
    }
    test(&built("selkie")?)
}

pub(crate) fn source() -> PathBuf {
    repository().join("web")
}

fn committed(name: &str) -> PathBuf {
    let name = name.rsplit('/').next().unwrap_or(name);
    repository().join("crates/rpc/web").join(format!("{name}.gz"))
}

/// Installs what the sources are bundled and tested with.
pub(crate) fn install() -> Result<()> {
    let npm = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
    output(Command::new("npm").args(npm).current_dir(source())).map(drop)
}

/// Builds the files, and returns them compressed.
fn bundle() -> Result<Vec<(&'static str, Vec<u8>)>> {
    install()?;
    output(Command::new("npm").args(["run", "build"]).current_dir(source()))?;
    let files = FILES.iter().map(|&name| {
        let path = source().join("dist").join(name);
        let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
        let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
        packed.write_all(&bytes)?;
        Ok((name, packed.finish()?))
    });
    let files = files.collect::<Result<Vec<_>>>()?;
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    ensure!(total <= BYTES_MAX, "the explorer has {total} bytes, and {BYTES_MAX} are the maximum");
    say(&format!("the explorer has {total} bytes"));
    Ok(files)
}

fn write() -> Result<()> {
    for (name, bytes) in bundle()? {
        let path = committed(name);
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn check() -> Result<()> {
    for (name, bytes) in bundle()? {
        let path = committed(name);
        let is_same = fs::read(&path).is_ok_and(|it| it == bytes);
        ensure!(is_same, "{} is not what `web` gives: run `cargo xtask web`", path.display());
    }
    Ok(())
}

/// Runs the tests in a browser.
fn test(selkie: &Path) -> Result<()> {
    play(selkie, &["--test", "test/explorer.mjs"])
}

/// Makes the pictures of the documentation.
fn pictures() -> Result<()> {
    play(&built("selkie")?, &["test/pictures.mjs"])?;
    for entry in fs::read_dir(repository().join(IMAGES))? {
        let (path, bytes) = entry.and_then(|it| Ok((it.path(), it.metadata()?.len())))?;
        ensure!(bytes <= PICTURE_BYTES_MAX, "{} has {bytes} bytes", path.display());
    }
    Ok(())
}

/// Runs a script with a browser, for a node with a program that fails and its debug information, and one made
/// with Anchor.
fn play(selkie: &Path, script: &[&str]) -> Result<()> {
    ensure!(provide(BROWSER, BROWSER), "chromium is not installed");
    if !source().join("node_modules").exists() {
        install()?;
    }
    let folder = repository().join("target/web");
    fs::create_dir_all(&folder)?;
    gdb::record(selkie, &folder)?;
    let anchor = repository().join("examples/anchor/tally");
    output(Command::new(selkie).arg("build").current_dir(&anchor))?;
    fs::copy(anchor.join("target/deploy/tally.so"), folder.join("tally.so"))?;
    // The description that `selkie build --idl` writes, which takes minutes to build.
    fs::create_dir_all(folder.join("target/idl"))?;
    fs::copy(source().join("test/tally.json"), folder.join("target/idl/tally.json"))?;
    let mut node = Command::new("node");
    node.args(script).current_dir(source()).env("IMAGES", repository().join(IMAGES));
    node.env("BUILT", repository().join("crates/rpc/web"));
    succeed(node.env("SELKIE", selkie).env("FOLDER", folder))
}
