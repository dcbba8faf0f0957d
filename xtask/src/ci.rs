//! `cargo xtask ci` and `cargo xtask test`: all checks that a change must pass.

use std::{fs, path::PathBuf, process::Command, time::SystemTime};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    clients, codegen,
    files::with_extension,
    fixtures, gdb, npm, peers, ports, readers, repository, say, scale,
    steps::{built, cargo, cargo_command, linting, step, succeed},
    tidy, toolchains, vscode, walk, walkthroughs, web,
};

/// The folder, beside the repository, of Firedancer's and Mollusk's fixtures, which cannot be part of
/// it. It also has vectors with today's results of those fixtures.
const SHARED_FIXTURES: [&str; 2] = ["../shared/vectors/fix", "../shared/pending"];

/// Runs every test: those of cargo, and conformance vectors.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    test_with(arguments, false)
}

/// Like `test`. With `with_compilers`, tests that lack a compiler fail instead of being ignored.
fn test_with(arguments: &[String], with_compilers: bool) -> Result<()> {
    let vectors = vectors(arguments)?;
    step("programs that tests need", || fixtures::run(&[]))?;
    step("tests", || {
        let arguments = ["test", "--workspace", "--locked", "--no-fail-fast"];
        let mut command = cargo_command();
        command.args(arguments);
        if with_compilers {
            command.env("SELKIE_REQUIRE_TOOLCHAINS", "1");
        }
        succeed(&mut command)
    })?;
    step("conformance vectors", || conform(&vectors, &[]))
}

/// Prints the table of conformance that the README shows, from a run of all vectors.
pub(crate) fn conformance(arguments: &[String]) -> Result<()> {
    let vectors = vectors(arguments)?;
    fixtures::run(&[])?;
    conform(&vectors, &["--table"])
}

/// The vectors to run: the repository's own, and those of the folder that was named, or the shared
/// fixtures if they are here.
fn vectors(arguments: &[String]) -> Result<Vec<PathBuf>> {
    let mut folders = vec![repository().join("testdata/vectors")];
    match arguments {
        [] => {
            let shared = SHARED_FIXTURES.iter().map(|folder| repository().join(folder));
            folders.extend(shared.filter(|folder| folder.exists()));
        }
        [folder] => folders.push(PathBuf::from(folder)),
        _ => bail!("at most one folder of vectors is expected"),
    }
    Ok(folders)
}

fn conform(vectors: &[PathBuf], arguments: &[&str]) -> Result<()> {
    let mut command = Command::new(built("selkie")?);
    command.current_dir(repository()).arg("conform").args(vectors);
    command.arg("--elfs").arg(repository().join("testdata/elfs")).args(arguments);
    succeed(&mut command)
}

/// Runs everything that a change must pass before it lands.
pub(crate) fn ci(arguments: &[String]) -> Result<()> {
    check_sources()?;
    let mut with_compilers = false;
    step("compilers for C and Rust", || {
        with_compilers = toolchains::install();
        Ok(())
    })?;
    test_with(arguments, with_compilers)?;
    step("the host's stack without optimisation", host_stack)?;
    ports::run(&[])?;
    // README's first command builds it so. To run that would compile everything once more.
    step("the command line without default features", || {
        let chosen = ["--package", "selkie-cli", "--no-default-features", "--features", "zk"];
        let lint = ["--locked", "--", "-D", "warnings"];
        cargo(&[&["clippy", "--quiet"], &chosen[..], &lint].concat())
    })?;
    step("examples", examples)?;
    step("tests of example projects", || match with_compilers {
        true => PROJECTS.iter().try_for_each(test_project).and_then(|()| walk::run(&[])),
        false => skip_without_compilers(),
    })?;
    step("gdb", || match with_compilers && gdb::install() {
        true => gdb::run(&[]),
        false => {
            say("skipped: gdb-multiarch or the compilers cannot be installed");
            Ok(())
        }
    })?;
    step("LiteSVM's and Mollusk's interfaces", compat)?;
    step("Solana's clients", || match clients::are_installable() {
        true => clients::test(&built("selkie")?),
        false => {
            say("skipped: node, npm or python3 is not installed");
            Ok(())
        }
    })?;
    step("the package for JavaScript", || match npm::is_installable() {
        true => npm::run(&["--quick".to_owned()]),
        false => {
            say("skipped: node or npm is not installed");
            Ok(())
        }
    })?;
    step("the extension for Visual Studio Code", || match npm::is_installable() {
        true => vscode::run(&["--test".to_owned()]),
        false => {
            say("skipped: node or npm is not installed");
            Ok(())
        }
    })?;
    step("the explorer", || web::in_ci(with_compilers))?;
    step("readers of profiles, and a debug adapter's client", || {
        match with_compilers && npm::is_installable() {
            true => readers::run(&["--ci".to_owned()]),
            false => {
                say("skipped: node, npm or the compilers are not installed");
                Ok(())
            }
        }
    })?;
    scale::run(&["--ci".to_owned()])?;
    step("comparison with anza's engine", oracle)?;
    step("comparison with agave's processor", oracle_svm)?;
    step("linked programs on agave's processor", || match with_compilers {
        true => linked(),
        false => skip_without_compilers(),
    })
}

/// A peer's suite that needs no programs of the peer's repository, which could not be cloned everywhere,
/// and compiles in three minutes: `cargo xtask peers` runs the others.
const SUITE: &str = "litesvm-token-0.18.1";

/// Tests the crates of `compat`, runs a suite of a peer on them, and compares the table of public items
/// with the peers' packages.
fn compat() -> Result<()> {
    let (folder, target) = (repository().join("compat"), peers::target());
    let features = "selkie-mollusk/inner-instructions,selkie-mollusk-bencher/cpi-compute-units";
    let of_token_2022 = ["--package", "selkie-litesvm-token", "--features", "token-2022"];
    for chosen in [&["--workspace", "--features", features][..], &of_token_2022] {
        let test = [&["test", "--locked", "--ignore-rust-version"], chosen].concat();
        let mut command = cargo_command();
        command.args(test).current_dir(&folder).env("CARGO_TARGET_DIR", &target);
        succeed(linting(&mut command))?;
    }
    peers::run(&[SUITE.to_owned()])?;
    peers::run(&["--api".to_owned()])
}

/// Runs the test of how much of the host's stack the interpreter uses, without what hides it: the
/// optimisation of these crates.
fn host_stack() -> Result<()> {
    let mut command = cargo_command();
    command.args(["test", "--workspace", "--locked", "--test", "host_stack"]);
    for package in ["isa", "elf", "vm"] {
        for setting in ["opt-level=0", "debug-assertions=false"] {
            command.arg("--config").arg(format!("profile.dev.package.selkie-{package}.{setting}"));
        }
    }
    succeed(&mut command)
}

/// Runs the checks that execute nothing of the product.
fn check_sources() -> Result<()> {
    step("format", || cargo(&["fmt", "--all", "--check"]))?;
    step("tidy", || tidy::run(&[]))?;
    step("generated documentation", || codegen::run(&["--check".to_owned()]))?;
    step("dependencies", dependencies)?;
    step("lints", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
    })?;
    step("clock, environment and randomness", || {
        let product = ["--lib", "--bins", "--exclude", "xtask", "--exclude", "selkie-testdata"];
        let lint = ["--locked", "--", "-D", "clippy::disallowed_methods"];
        cargo(&[&["clippy", "--workspace"], &product[..], &lint].concat())
    })?;
    step("format of other workspaces", || COMPILED.iter().chain(TOOLS).try_for_each(is_formatted))?;
    step("walkthroughs", || walkthroughs::run(&["--check".to_owned()]))?;
    step("documentation", || {
        let arguments = ["doc", "--workspace", "--no-deps", "--locked"];
        succeed(cargo_command().args(arguments).env("RUSTDOCFLAGS", "-D warnings"))
    })
}

fn skip_without_compilers() -> Result<()> {
    say("skipped: `cargo xtask toolchains` installs the compilers that are missing");
    Ok(())
}

/// Other workspaces that are linted while they are compiled (see [`linting`]).
const COMPILED: &[&str] = &["bindings/js", "bindings/python", "compat", "oracle", "oracle-svm"];

/// Checks the format of a workspace.
fn is_formatted(folder: &&str) -> Result<()> {
    let mut format = cargo_command();
    succeed(format.args(["fmt", "--check"]).current_dir(repository().join(folder)))
}

/// Workspaces that measure, fuzz and try clients, most of them with others' crates, whose check takes minutes.
const TOOLS: &[&str] = &["bench", "bench-node", "bench-svm", "fuzz", "tests/clients/rust"];

/// Lints the workspaces that `cargo xtask ci` does not compile.
pub(crate) fn lint_tools(arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "usage: cargo xtask lint-tools");
    TOOLS.iter().try_for_each(lint_workspace)
}

/// Peers' crates state a newer compiler than the one they need.
fn lint_workspace(folder: &&str) -> Result<()> {
    is_formatted(folder)?;
    let mut command = cargo_command();
    command.args(["clippy", "--workspace", "--all-targets", "--locked", "--ignore-rust-version"]);
    command.args(["--", "-D", "warnings"]);
    // They share most of what they depend on, with the same settings.
    command.env("CARGO_TARGET_DIR", repository().join("target/lints"));
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    succeed(command.current_dir(repository().join(folder)))
}

/// Checks licences, sources and advisories of dependencies.
fn dependencies() -> Result<()> {
    let is_there = cargo_command().args(["deny", "--version"]).output()?.status.success();
    if !is_there {
        say("skipped: cargo-deny is not installed");
        return Ok(());
    }
    cargo(&["deny", "check", "licenses", "bans", "sources"])
}

/// Checks that every example assembles, may be deployed and succeeds with its input.
fn examples() -> Result<()> {
    let program = built("selkie")?;
    let selkie = |arguments: &[&str]| {
        succeed(Command::new(&program).args(arguments).current_dir(repository()))
    };
    let folder = repository().join("examples");
    let mut sources = with_extension(&folder, "s")?;
    sources.extend(with_extension(&folder.join("counter"), "s")?);
    sources.extend(with_extension(&folder.join("pay"), "s")?);
    for source in sources {
        let source = source.to_str().context("names are text")?;
        selkie(&["build", source, "--out-dir", "target/examples"])?;
        selkie(&["check", source])?;
    }
    selkie(&["run", "examples/hello.s"])?;
    selkie(&["run", "examples/counter/counter.s", "--input", "examples/counter/input.json"])?;
    selkie(&["run", "examples/pay/pay.s", "--input", "examples/pay/input.json"])
}

/// Runs random programs and files on both engines for a limited time. The seed is fixed, so that
/// failures can be reproduced.
fn oracle() -> Result<()> {
    let arguments = ["run", "--release", "--locked", "--", "all", "--seconds", "60"];
    let folder = repository().join("oracle");
    let mut run = cargo_command();
    succeed(linting(run.args(arguments).current_dir(folder)))
}

/// Runs the transaction oracle's tests, random transactions for a limited time, and some of them traced.
fn oracle_svm() -> Result<()> {
    succeed(linting(&mut agave("test")))?;
    succeed(agave("run").args(["--", "run", "--seconds", "45", "--threads", "2"]))?;
    succeed(agave("run").args(["--", "traces", "--count", "300", "--threads", "2"]))
}

/// Cargo in the folder `oracle-svm`. Agave's crates declare a newer compiler than they need.
fn agave(command: &str) -> Command {
    let arguments = [command, "--release", "--locked", "--ignore-rust-version"];
    let mut cargo = cargo_command();
    cargo.args(arguments).current_dir(repository().join("oracle-svm"));
    // Agave would compile OpenSSL as well.
    if toolchains::succeeds(Command::new("pkg-config").args(["--exists", "openssl"])) {
        cargo.env("OPENSSL_NO_VENDOR", "1");
    }
    cargo
}

/// Example projects with tests.
const PROJECTS: &[&str] = &["rust/vault", "rust/payout", "anchor/tally"];

/// Builds an example and runs its tests, as a user would.
fn test_project(project: &&str) -> Result<()> {
    let folder = repository().join("examples").join(project);
    // Another project of this name, as of a walk, may have been built last in the shared folder: cargo would
    // take that for this one.
    let source = folder.join("src/lib.rs");
    fs::OpenOptions::new().append(true).open(&source)?.set_modified(SystemTime::now())?;
    // Shared by the projects, so that Selkie is compiled once for all.
    let target = repository().join("target/projects");
    let mut build = Command::new(built("selkie")?);
    build.arg("build").env("CARGO_TARGET_DIR", &target);
    succeed(build.current_dir(&folder))?;
    let mut test = cargo_command();
    test.args(["test", "--locked"]).env("CARGO_TARGET_DIR", &target);
    succeed(test.current_dir(&folder))
}

/// The examples that are linked: sources and folders of projects.
const LINKED: &[&str] = &[
    "counter/counter.s",
    "c/counter.c",
    "c/hello.c",
    "exchange",
    "rust/counter",
    "rust/heap",
    "rust/hello",
];

/// Runs programs linked from every language on the interpreters and JITs of agave and Selkie.
fn linked() -> Result<()> {
    let folder = repository().join("target/linked");
    fs::create_dir_all(&folder)?;
    let selkie = built("selkie")?;
    let mut programs = Vec::new();
    for version in ["v0", "v3"] {
        for source in LINKED {
            let name = source.replace(['/', '.'], "-");
            let program = folder.join(format!("{name}.{version}.so"));
            let mut command = Command::new(&selkie);
            command.args(["build", "--arch", version, "--output"]).arg(&program).arg(source);
            // All share the compiled standard library of Rust.
            command.current_dir(repository().join("examples"));
            succeed(command.env("CARGO_TARGET_DIR", folder.join("cargo")))?;
            programs.push(program);
        }
    }
    succeed(agave("run").args(["--", "programs"]).args(programs))
}
