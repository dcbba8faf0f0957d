//! `cargo xtask npm`: the package for JavaScript (`bindings/js`), built, tested and packed. The packed
//! file is installed in an empty folder, where the first example of its README runs without Rust.

use std::{
    env::{
        self,
        consts::{ARCH, DLL_PREFIX, DLL_SUFFIX, OS},
    },
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};

use crate::{
    output, peers, ports, repository, say,
    steps::{cargo_command, linting, succeed},
};

/// The name of the native library.
const LIBRARY: &str = "selkie_node_api";
/// The package of the native part.
const PACKAGE: [&str; 2] = ["--package", "selkie-node-api"];
/// The example of the README begins and ends with these lines.
const EXAMPLE: (&str, &str) = ("```js\n", "\n```");

/// Runs the chore. With `--quick`, it is built without optimisation, and linted, and not built for
/// Arm64.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let is_quick = match arguments {
        [] => false,
        [flag] if flag == "--quick" => true,
        _ => bail!("usage: cargo xtask npm [--quick]"),
    };
    let folder = repository().join("bindings/js");
    build(&folder, is_quick)?;
    if !is_quick {
        build_for_arm64(&folder)?;
    }
    let npm = |arguments: &[&str]| succeed(command("npm", &folder).args(arguments));
    npm(&["install", "--no-audit", "--no-fund", "--loglevel=error"])?;
    npm(&["run", "build"])?;
    succeed(command("node", &folder).arg("scripts/tests.mjs"))?;
    let packed = pack(&folder)?;
    run_example(&folder, &packed)?;
    say(&format!("packed: {}", packed.display()));
    Ok(())
}

/// Returns whether the machine has what the package runs on.
pub(crate) fn is_installable() -> bool {
    ["node", "npm"].iter().all(|it| selkie_build::in_path(it).is_some())
}

fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder);
    command
}

/// Builds the native part for this machine, and puts it where the package loads it from. The quick build is
/// that of the tests of `compat`, which have compiled all but the library itself.
fn build(folder: &Path, is_quick: bool) -> Result<()> {
    let (profile, built) = if is_quick { ("dev", "debug") } else { ("release", "release") };
    let mut cargo = cargo();
    cargo.args(["build", "--locked", "--ignore-rust-version", "--profile", profile]);
    match is_quick {
        true => {
            linting(cargo.args(["--workspace", "--lib", "--features", peers::FEATURES]));
        }
        false => {
            cargo.args(PACKAGE);
        }
    }
    succeed(&mut cargo)?;
    let library = format!("{built}/{DLL_PREFIX}{LIBRARY}{DLL_SUFFIX}");
    place(folder, &library, &format!("{}-{}", node_system(), node_processor()))
}

fn build_for_arm64(folder: &Path) -> Result<()> {
    if !ports::is_linkable() {
        say("skipped for Arm64: the standard library or the linker cannot be installed");
        return Ok(());
    }
    let mut cargo = cargo();
    cargo.args(["build", "--release", "--locked", "--target", ports::EMULATED]).args(PACKAGE);
    let key = ports::EMULATED.to_uppercase().replace('-', "_");
    succeed(cargo.env(format!("CARGO_TARGET_{key}_LINKER"), ports::LINKER))?;
    place(folder, &format!("{}/release/lib{LIBRARY}.so", ports::EMULATED), "linux-arm64")
}

/// Cargo in the workspace of the native part, which is that of `compat`.
fn cargo() -> Command {
    let mut cargo = cargo_command();
    cargo.current_dir(repository().join("compat")).env("CARGO_TARGET_DIR", peers::target());
    cargo
}

/// Copies a library to the name by which node's platform and processor find it.
fn place(folder: &Path, library: &str, platform: &str) -> Result<()> {
    let (from, to) =
        (peers::target().join(library), folder.join(format!("selkie.{platform}.node")));
    // A process that has the old file loaded keeps it.
    let _ = fs::remove_file(&to);
    fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

/// What `process.platform` is called in node.
fn node_system() -> &'static str {
    match OS {
        "macos" => "darwin",
        "windows" => "win32",
        os => os,
    }
}

/// What `process.arch` is called in node.
fn node_processor() -> &'static str {
    match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        processor => processor,
    }
}

/// Packs the package into the folder `target`.
fn pack(folder: &Path) -> Result<PathBuf> {
    let packages = repository().join("target/npm");
    fs::create_dir_all(&packages)?;
    let packing = output(
        command("npm", folder)
            .args(["pack", "--loglevel=error", "--pack-destination"])
            .arg(&packages),
    )?;
    let name = String::from_utf8_lossy(&packing.stdout);
    Ok(packages.join(name.trim()))
}

/// Installs a packed package in an empty folder and runs the first example of the README there,
/// without Rust in the path.
fn run_example(folder: &Path, packed: &Path) -> Result<()> {
    let clean = repository().join("target/npm/clean");
    if clean.exists() {
        fs::remove_dir_all(&clean)?;
    }
    fs::create_dir_all(&clean)?;
    fs::write(clean.join("package.json"), "{\"private\": true}\n")?;
    let readme = fs::read_to_string(folder.join("README.md"))?;
    let rest = readme.split_once(EXAMPLE.0).context("the README has no example")?.1;
    let example = rest.split_once(EXAMPLE.1).context("the README's example does not end")?.0;
    fs::write(clean.join("example.mjs"), example)?;
    let mut npm = command("npm", &clean);
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).arg(packed);
    output(&mut npm)?;
    let path = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .filter(|it| !it.join("cargo").exists())
        .collect::<Vec<_>>();
    succeed(command("node", &clean).arg("example.mjs").env("PATH", env::join_paths(path)?))
}
