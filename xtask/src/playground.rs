//! The playground: the page of `web/src/playground.tsx` with the engine of `bindings/wasm`, as a static site in
//! `target/site/playground`. `cargo xtask site` builds it with the book, and `cargo xtask playground` alone, and
//! then types programs into it in a browser.
//!
//! The engine is compiled with the profile `web` of the workspace, and is compressed: servers of static files
//! need not do that.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail, ensure};
use flate2::{Compression, write::GzEncoder};

use crate::{
    npm, output, ports, repository, say,
    steps::{cargo_command, skip, succeed},
    toolchains::provide,
    web,
};

/// The target of programs for browsers.
const TARGET: &str = "wasm32-unknown-unknown";
/// The crate whose exports the page calls, and the profile that it is built with.
const ENGINE: &str = "selkie-wasm";
const PROFILE: &str = "web";
/// Where the site is.
const SITE: &str = "target/site/playground";
/// The most bytes of the site, compressed.
const BYTES_MAX: u64 = 2_500_000;

/// Builds the site, and types programs into it in a browser.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "usage: cargo xtask playground");
    if let Some(missing) = missing() {
        bail!("the playground cannot be built: {missing}");
    }
    ensure!(provide(web::BROWSER, web::BROWSER), "chromium is not installed");
    let site = build()?;
    let mut node = Command::new("node");
    node.arg("--test").arg("test/playground.mjs").current_dir(web::source());
    succeed(node.env("SITE", site))
}

/// Builds the site if the machine can.
pub(crate) fn build_if_possible() -> Result<()> {
    match missing() {
        Some(missing) => skip(&format!("{SITE}: {missing}")),
        None => {
            say(&format!("{}/index.html: serve the folder", build()?.display()));
            Ok(())
        }
    }
}

/// Says what the machine lacks.
fn missing() -> Option<&'static str> {
    if !npm::is_installable() {
        return Some("node or npm is not installed");
    }
    (!ports::has_target(TARGET)).then_some("rustup cannot install the standard library for wasm32")
}

fn build() -> Result<PathBuf> {
    let mut cargo = cargo_command();
    cargo.args(["rustc", "--locked", "--profile", PROFILE, "--target", TARGET]);
    // A library for Rust otherwise: its tests run on this machine.
    succeed(cargo.args(["--package", ENGINE, "--lib", "--crate-type", "cdylib"]))?;
    web::install()?;
    output(Command::new("npm").args(["run", "playground"]).current_dir(web::source()))?;
    let site = repository().join(SITE);
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    copy(&web::source().join("dist-playground"), &site)?;
    let built = repository().join("target").join(TARGET).join(PROFILE).join("selkie_wasm.wasm");
    let bytes = fs::read(&built).with_context(|| built.display().to_string())?;
    fs::write(site.join("assets/engine.wasm.gz"), gzip(&bytes)?)?;
    let total = compressed_bytes(&site)?;
    ensure!(
        total <= BYTES_MAX,
        "the playground has {total} bytes, and {BYTES_MAX} are the maximum"
    );
    say(&format!("the playground has {total} bytes"));
    Ok(site)
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let to = to.join(path.file_name().context("an entry has a name")?);
        match path.is_dir() {
            true => copy(&path, &to)?,
            false => drop(fs::copy(&path, &to)?),
        }
    }
    Ok(())
}

/// Returns how many bytes a visitor loads, whose browser takes compressed files.
fn compressed_bytes(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        total += match path.is_dir() {
            true => compressed_bytes(&path)?,
            false => gzip(&fs::read(&path)?)?.len() as u64,
        };
    }
    Ok(total)
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    use std::io::Write as _;
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}
