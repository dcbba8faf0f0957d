//! `cargo xtask npm`: the package for JavaScript (`bindings/js`), built, tested and packed. The packed
//! file is installed in an empty folder, where the first example of its README runs without Rust.

use std::{
    env::{
        self,
        consts::{DLL_PREFIX, DLL_SUFFIX},
    },
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{
    cross::{self, Platform, Product},
    dist, output, peers, repository, say,
    steps::{cargo_command, linting, step, succeed},
};

/// The name of the native library.
const LIBRARY: &str = "selkie_node_api";
/// The package of the native part.
const PACKAGE: [&str; 2] = ["--package", "selkie-node-api"];
/// The example of the README begins and ends with these lines.
const EXAMPLE: (&str, &str) = ("```js\n", "\n```");

const USAGE: &str = "usage: cargo xtask npm [--quick] [--platforms [TARGET...]]";

/// Runs the chore: for this machine, or for others. With `--quick`, it is built without optimisation, and
/// linted.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (is_quick, rest) = match arguments {
        [flag, rest @ ..] if flag == "--quick" => (true, rest),
        rest => (false, rest),
    };
    let folder = repository().join("bindings/js");
    match rest {
        [] => for_this_machine(&folder, is_quick),
        [flag, names @ ..] if flag == "--platforms" => for_platforms(&folder, is_quick, names),
        _ => bail!(USAGE),
    }
}

fn for_this_machine(folder: &Path, is_quick: bool) -> Result<()> {
    build(folder, is_quick)?;
    compile(folder)?;
    succeed(command("node", folder).arg("scripts/tests.mjs"))?;
    let packed = pack(folder, &repository().join("target/npm"))?;
    run_example(folder, &[&packed])?;
    say(&format!("packed: {}", packed.display()));
    Ok(())
}

/// Builds what is written in TypeScript.
fn compile(folder: &Path) -> Result<()> {
    let npm = |arguments: &[&str]| succeed(command("npm", folder).args(arguments));
    npm(&["install", "--no-audit", "--no-fund", "--loglevel=error"])?;
    npm(&["run", "build"])
}

/// Packs the package without a native part, and one package with only that for each platform, as a
/// registry has them: npm installs the one that fits.
fn for_platforms(folder: &Path, is_quick: bool, names: &[String]) -> Result<()> {
    let packages = repository().join("target/npm/platforms");
    if packages.exists() {
        fs::remove_dir_all(&packages)?;
    }
    compile(folder)?;
    let mut own = None;
    for platform in cross::named(names, |_| true)? {
        step(platform.target, || {
            let packed = native_package(&platform, is_quick, folder, &packages)?;
            say(&format!("packed: {}", packed.display()));
            if platform.npm == cross::this() {
                own = Some(packed);
            }
            Ok(())
        })?;
    }
    let main = main_package(folder, &packages)?;
    say(&format!("packed: {}", main.display()));
    match own {
        Some(own) => step("the example of the README", || run_example(folder, &[&main, &own])),
        None => Ok(()),
    }
}

/// The name of the package with a platform's native part. `lib/native.ts` knows it.
fn package_name(platform: &Platform) -> String {
    let [os, cpu, libc] = platform.npm;
    let libc = match libc {
        "" => "",
        "glibc" => "-gnu",
        _ => "-musl",
    };
    format!("selkie-svm-{os}-{cpu}{libc}")
}

/// Builds and packs a platform's native part.
fn native_package(
    platform: &Platform,
    is_quick: bool,
    folder: &Path,
    packages: &Path,
) -> Result<PathBuf> {
    let (profile, built) = if is_quick { ("dev", "debug") } else { ("release", "release") };
    let workspace = repository().join("compat");
    let mut cargo = platform.cargo(&workspace, Product::Library)?;
    if platform.is_windows() {
        cargo.env("LIBNODE_PATH", empty_node_library()?);
    }
    cargo.args(["--locked", "--ignore-rust-version", "--profile", profile]).args(PACKAGE);
    let strip = format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase());
    succeed(cargo.env("CARGO_TARGET_DIR", peers::target()).env(strip, "symbols"))?;
    let library = peers::target().join(platform.target).join(built).join(platform.library(LIBRARY));

    let name = package_name(platform);
    let target = packages.join(&name);
    fs::create_dir_all(&target)?;
    let [os, cpu, libc] = platform.npm;
    let mut manifest = manifest(folder)?;
    let version = manifest["version"].take();
    let mut of_platform = serde_json::json!({
        "name": name,
        "version": version,
        "description": format!("The native part of selkie-svm for {}", platform.target),
        "license": manifest["license"],
        "main": "selkie.node",
        "os": [os],
        "cpu": [cpu],
        "engines": manifest["engines"],
    });
    if !libc.is_empty() {
        of_platform["libc"] = serde_json::json!([libc]);
    }
    write_manifest(&target, &of_platform)?;
    fs::copy(&library, target.join("selkie.node")).context(library.display().to_string())?;
    let licences = dist::licences(&workspace, "selkie-node-api", platform.target)?;
    fs::write(target.join("LICENSES-OF-LIBRARIES.txt"), licences)?;
    let title =
        format!("The native part of `selkie-svm` for {}, which loads it.\n", platform.target);
    fs::write(target.join("README.md"), title)?;
    copy_licences(&target)?;
    pack(&target, packages)
}

/// Returns a folder with a library of node without any functions. With GCC for Windows, napi's build scripts
/// ask for one, although the functions are looked up when node loads the module.
fn empty_node_library() -> Result<PathBuf> {
    let folder = repository().join("target/npm/libnode");
    fs::create_dir_all(&folder)?;
    // The scripts look for the first, the linker takes the second: an archive without members.
    fs::write(folder.join("libnode.dll"), "")?;
    fs::write(folder.join("libnode.dll.a"), "!<arch>\n")?;
    Ok(folder)
}

/// Packs the package without a native part. It names those of all platforms.
fn main_package(folder: &Path, packages: &Path) -> Result<PathBuf> {
    let target = packages.join("selkie-svm");
    fs::create_dir_all(target.join("dist"))?;
    for entry in fs::read_dir(folder.join("dist"))? {
        let entry = entry?;
        fs::copy(entry.path(), target.join("dist").join(entry.file_name()))?;
    }
    fs::copy(folder.join("README.md"), target.join("README.md"))?;
    copy_licences(&target)?;
    let mut manifest = manifest(folder)?;
    let version = manifest["version"].clone();
    let names = cross::PLATFORMS.iter().map(|it| (package_name(it), version.clone()));
    manifest["optionalDependencies"] = names.collect::<serde_json::Map<_, _>>().into();
    write_manifest(&target, &manifest)?;
    pack(&target, packages)
}

fn manifest(folder: &Path) -> Result<Value> {
    let path = folder.join("package.json");
    Ok(serde_json::from_slice(&fs::read(&path).context(path.display().to_string())?)?)
}

fn write_manifest(folder: &Path, manifest: &Value) -> Result<()> {
    let text = serde_json::to_string_pretty(manifest)? + "\n";
    Ok(fs::write(folder.join("package.json"), text)?)
}

fn copy_licences(folder: &Path) -> Result<()> {
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(repository().join(name), folder.join(name))?;
    }
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
    let [system, processor, _] = cross::this();
    place(folder, &library, &format!("{system}-{processor}"))
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

/// Packs a package into a folder.
fn pack(folder: &Path, packages: &Path) -> Result<PathBuf> {
    fs::create_dir_all(packages)?;
    let packing = output(
        command("npm", folder)
            .args(["pack", "--loglevel=error", "--pack-destination"])
            .arg(packages),
    )?;
    let name = String::from_utf8_lossy(&packing.stdout);
    Ok(packages.join(name.trim()))
}

/// Installs packed packages in an empty folder and runs the first example of the README there,
/// without Rust in the path.
fn run_example(folder: &Path, packed: &[&PathBuf]) -> Result<()> {
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
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).args(packed);
    output(&mut npm)?;
    let path = env::split_paths(&env::var_os("PATH").unwrap_or_default())
        .filter(|it| !it.join("cargo").exists())
        .collect::<Vec<_>>();
    succeed(command("node", &clean).arg("example.mjs").env("PATH", env::join_paths(path)?))
}
