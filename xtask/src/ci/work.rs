//! What the checks do.

use std::{fs, process::Command, time::SystemTime};

use anyhow::{Context as _, Result, bail};

use super::{binaries, setting::Setting, vectors};
use crate::{
    clients, codegen,
    files::with_extension,
    fixtures, fuzz, gdb, instructions, node_torture, npm, peers, playground, ports, readers,
    repository, scale,
    steps::{built, cargo, cargo_command, compiler, linting, skip, succeed},
    tidy, toolchains, upstream, vscode, walk, walkthroughs, web, wheel,
    workspaces::{Row, WORKSPACES},
};

pub(super) fn format(_: &Setting) -> Result<()> {
    WORKSPACES.iter().try_for_each(is_formatted)
}

/// Checks the format of the packages of a workspace, with the compiler of the root: that of its folder may
/// have no formatter.
fn is_formatted(workspace: &Row) -> Result<()> {
    let manifest = repository().join(workspace.folder).join("Cargo.toml");
    succeed(cargo_command().args(["fmt", "--all", "--check", "--manifest-path"]).arg(manifest))
}

pub(super) fn tidy(_: &Setting) -> Result<()> {
    tidy::run(&[])
}

pub(super) fn codegen(_: &Setting) -> Result<()> {
    codegen::run(&words("--check"))
}

pub(super) fn walkthroughs(_: &Setting) -> Result<()> {
    walkthroughs::run(&words("--check"))
}

pub(super) fn apply_walkthroughs(_: &Setting) -> Result<()> {
    walkthroughs::run(&[])
}

/// Checks licences and sources of dependencies.
pub(super) fn deny(_: &Setting) -> Result<()> {
    if !cargo_command().args(["deny", "--version"]).output()?.status.success() {
        cargo(&["install", "--locked", "cargo-deny"])?;
    }
    cargo(&["deny", "check", "licenses", "bans", "sources"])
}

/// Compiles and lints the workspace with everything that its tests need.
pub(super) fn build(_: &Setting) -> Result<()> {
    succeed(compiler().args(["build", "--workspace", "--all-targets", "--locked"]))
}

pub(super) fn tests(setting: &Setting) -> Result<()> {
    fixtures::run(&[])?;
    binaries::test(setting)
}

pub(super) fn conform(_: &Setting) -> Result<()> {
    fixtures::run(&[])?;
    vectors::run(&vectors::folders(&[])?, &[])
}

/// Checks that every example assembles, may be deployed and succeeds with its input.
pub(super) fn examples(_: &Setting) -> Result<()> {
    let program = built("selkie")?;
    let selkie = |arguments: &str| {
        succeed(Command::new(&program).args(arguments.split(' ')).current_dir(repository()))
    };
    let folder = repository().join("examples");
    let mut sources = with_extension(&folder, "s")?;
    for folder in ["counter", "pay", "registers"].map(|it| folder.join(it)) {
        sources.extend(with_extension(&folder, "s")?);
    }
    for source in sources {
        let source = source.strip_prefix(repository())?.to_str().context("names are text")?;
        selkie(&format!("build {source} --out-dir target/examples"))?;
        selkie(&format!("check {source}"))?;
    }
    selkie("run examples/hello.s")?;
    selkie("run examples/counter/counter.s --input examples/counter/input.json")?;
    selkie("run examples/pay/pay.s --input examples/pay/input.json")
}

/// One example project of each kind: a program in Rust, and one for Anchor.
pub(super) fn projects(setting: &Setting) -> Result<()> {
    match setting.with_compilers {
        true => ["rust/vault", "anchor/tally"].iter().try_for_each(test_project),
        false => skip_without_compilers(),
    }
}

pub(super) fn payout(setting: &Setting) -> Result<()> {
    match setting.with_compilers {
        true => test_project(&"rust/payout"),
        false => skip_without_compilers(),
    }
}

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

/// A peer's suite that needs no programs of the peer's repository, which could not be cloned everywhere:
/// `cargo xtask peers` runs the others.
const SUITE: &str = "litesvm-token-0.18.1";

/// Tests the crates of `compat`, runs a suite of a peer on them, and compares the table of public items
/// with the peers' packages.
pub(super) fn compat(_: &Setting) -> Result<()> {
    let (folder, target) = (repository().join("compat"), peers::target());
    let of_token_2022 = ["--package", "selkie-litesvm-token", "--features", "token-2022"];
    for chosen in [&["--workspace", "--features", peers::FEATURES][..], &of_token_2022] {
        let test = [&["test", "--locked", "--ignore-rust-version"], chosen].concat();
        let mut command = cargo_command();
        command.args(test).current_dir(&folder).env("CARGO_TARGET_DIR", &target);
        succeed(linting(&mut command))?;
    }
    peers::run(&words(SUITE))?;
    peers::run(&words("--api"))
}

pub(super) fn javascript(_: &Setting) -> Result<()> {
    with_npm(npm::is_installable(), || npm::run(&words("--quick")))
}

pub(super) fn npm(_: &Setting) -> Result<()> {
    with_npm(npm::is_installable(), || npm::run(&[]))
}

/// The packages for JavaScript and Python, for all systems.
pub(super) fn platforms(_: &Setting) -> Result<()> {
    let quick = ["--quick", "--platforms"].map(str::to_owned);
    with_npm(npm::is_installable(), || npm::run(&quick))?;
    wheel::run(&quick)
}

pub(super) fn clients(_: &Setting) -> Result<()> {
    with_npm(clients::are_installable(), || clients::test(&built("selkie")?))
}

pub(super) fn vscode(_: &Setting) -> Result<()> {
    with_npm(npm::is_installable(), || vscode::run(&words("--test")))
}

pub(super) fn web(setting: &Setting) -> Result<()> {
    web::in_ci(setting.with_compilers)
}

pub(super) fn playground(_: &Setting) -> Result<()> {
    playground::run(&[])
}

pub(super) fn readers(setting: &Setting) -> Result<()> {
    let is_possible = setting.with_compilers && npm::is_installable();
    with_npm(is_possible, || readers::run(&words("--ci")))
}

pub(super) fn all_readers(_: &Setting) -> Result<()> {
    readers::run(&[])
}

pub(super) fn python(_: &Setting) -> Result<()> {
    scale::run(&words("--ci"))
}

pub(super) fn scale(_: &Setting) -> Result<()> {
    scale::run(&[])
}

pub(super) fn oracle(_: &Setting) -> Result<()> {
    oracle_for("60")
}

pub(super) fn oracle_long(_: &Setting) -> Result<()> {
    oracle_for("600")
}

/// Runs random programs and files on both engines for some seconds. The seed is fixed, so that failures can
/// be reproduced.
fn oracle_for(seconds: &str) -> Result<()> {
    let mut run = cargo_command();
    run.args(["run", "--profile", "oracle", "--locked", "--package", "selkie-oracle", "--", "all"]);
    run.args(["--seconds", seconds]).current_dir(repository().join("bench"));
    succeed(linting(&mut run))
}

/// Runs the transaction oracle's tests, random transactions for a limited time, some of them traced, and
/// linked programs.
pub(super) fn oracle_svm(setting: &Setting) -> Result<()> {
    succeed(&mut agave("test"))?;
    succeed(agave("run").args(["--", "run", "--seconds", "45", "--threads", "2"]))?;
    succeed(agave("run").args(["--", "traces", "--count", "300", "--threads", "2"]))?;
    match setting.with_compilers {
        true => linked(),
        false => skip_without_compilers(),
    }
}

pub(super) fn oracle_svm_long(_: &Setting) -> Result<()> {
    succeed(agave("run").args(["--", "run", "--seconds", "600", "--threads", "2"]))
}

/// Random transactions beside the processor of the next release, with mainnet's features and with others, and
/// some of them traced. Most of the crates are the same, so the target folder is too.
pub(super) fn oracle_svm_next(_: &Setting) -> Result<()> {
    let next = || {
        let mut run = agave("run");
        run.args(["--manifest-path", "next/Cargo.toml", "--target-dir", "target"]);
        run
    };
    for features in ["mainnet", "any"] {
        let mut run = next();
        run.args(["--", "run", "--features", features]);
        succeed(run.args(["--seconds", "300", "--threads", "2"]))?;
    }
    // The engine is compiled once more, with its tracer.
    let mut traces = next();
    traces.args(["--features", "traces", "--", "traces", "--count", "300", "--threads", "2"]);
    succeed(&mut traces)
}

pub(super) fn oracle_bank(_: &Setting) -> Result<()> {
    clusters("Cargo.toml")
}

pub(super) fn oracle_bank_next(_: &Setting) -> Result<()> {
    clusters("next/Cargo.toml")
}

/// Steps clusters of 300 slots. The folder's own toolchain file names the compiler that agave's crates need;
/// those of the next release declare a newer one. Most crates of the manifests are the same, so the target
/// folder is too.
fn clusters(manifest: &str) -> Result<()> {
    // Not the cargo that runs this, which is of the repository's toolchain.
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--locked", "--ignore-rust-version", "--target-dir", "target"]);
    cargo.args(["--manifest-path", manifest, "--", "100", "300"]);
    cargo.current_dir(repository().join("oracle-bank")).env_remove("RUSTUP_TOOLCHAIN");
    succeed(&mut cargo)
}

/// Compares the tables with the release that mainnet runs, and with the newest that the registry has.
pub(super) fn upstream(_: &Setting) -> Result<()> {
    upstream::run(&words("4.4.0"))?;
    upstream::run(&[])
}

/// Cargo in the folder `oracle-svm`. Agave's crates declare a newer compiler than they need.
fn agave(command: &str) -> Command {
    let arguments = [command, "--release", "--locked", "--ignore-rust-version"];
    let mut cargo = cargo_command();
    cargo.args(arguments).current_dir(repository().join("oracle-svm"));
    linting(&mut cargo);
    // Agave would compile OpenSSL as well.
    if toolchains::succeeds(Command::new("pkg-config").args(["--exists", "openssl"])) {
        cargo.env("OPENSSL_NO_VENDOR", "1");
    }
    cargo
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

pub(super) fn instructions(_: &Setting) -> Result<()> {
    instructions::run(&words("--check"))
}

pub(super) fn all_instructions(_: &Setting) -> Result<()> {
    instructions::run(&words("--check --all"))
}

pub(super) fn documentation(_: &Setting) -> Result<()> {
    let arguments = ["doc", "--workspace", "--no-deps", "--locked", "--keep-going"];
    succeed(cargo_command().args(arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

/// README's first command builds it so. To run that would compile everything once more.
pub(super) fn no_features(_: &Setting) -> Result<()> {
    let chosen = ["--package", "selkie-cli", "--no-default-features", "--features", "zk"];
    let lint = ["--locked", "--", "-D", "warnings"];
    cargo(&[&["clippy", "--quiet"], &chosen[..], &lint].concat())
}

/// Runs the interpreter's tests as projects of users build it: without optimisation, which has a loop of its
/// own, and could take more of the host's stack.
pub(super) fn unoptimized(_: &Setting) -> Result<()> {
    let mut command = cargo_command();
    command.args(["test", "--workspace", "--locked", "--test", "exec", "--test", "host_stack"]);
    command.env("SELKIE_SMALLER_BUDGETS", "4");
    for package in ["isa", "elf", "vm"] {
        for setting in ["opt-level=0", "debug-assertions=false"] {
            command.arg("--config").arg(format!("profile.dev.package.selkie-{package}.{setting}"));
        }
    }
    succeed(&mut command)
}

pub(super) fn ports(_: &Setting) -> Result<()> {
    ports::run(&words("--full"))
}

pub(super) fn walk(setting: &Setting) -> Result<()> {
    match setting.with_compilers {
        true => walk::run(&[]),
        false => skip_without_compilers(),
    }
}

pub(super) fn gdb(setting: &Setting) -> Result<()> {
    match setting.with_compilers && gdb::install() {
        true => gdb::run(&[]),
        false => skip("gdb-multiarch or the compilers cannot be installed"),
    }
}

pub(super) fn node_torture(_: &Setting) -> Result<()> {
    node_torture::run(&[])
}

/// Lints the workspaces that the daily checks do not compile, each whether or not another one has failed.
pub(super) fn lint_tools(_: &Setting) -> Result<()> {
    let tools = WORKSPACES.iter().filter(|it| it.is_tool);
    let failed: Vec<String> = tools
        .filter_map(|it| lint_workspace(it).err().map(|error| format!("{}: {error:#}", it.folder)))
        .collect();
    match failed.is_empty() {
        true => Ok(()),
        false => bail!("{}", failed.join("\n")),
    }
}

/// Peers' crates state a newer compiler than the one they need.
fn lint_workspace(workspace: &Row) -> Result<()> {
    let mut command = cargo_command();
    command.args(["clippy", "--workspace", "--all-targets", "--keep-going"]);
    command.args(["--locked", "--ignore-rust-version", "--", "-D", "warnings"]);
    // They share most of what they depend on, with the same settings.
    command.env("CARGO_TARGET_DIR", repository().join("target/lints"));
    command.env("CARGO_PROFILE_DEV_DEBUG", "false");
    succeed(command.current_dir(repository().join(workspace.folder)))
}

/// Runs each fuzz target for twenty seconds.
pub(super) fn fuzz(_: &Setting) -> Result<()> {
    fuzz::run(&words("20"))
}

fn words(arguments: &str) -> Vec<String> {
    arguments.split(' ').map(str::to_owned).collect()
}

fn with_npm(is_possible: bool, work: impl FnOnce() -> Result<()>) -> Result<()> {
    match is_possible {
        true => work(),
        false => skip("node, npm, python3 or the compilers for programs are not installed"),
    }
}

fn skip_without_compilers() -> Result<()> {
    skip("`cargo xtask toolchains` installs the compilers that are missing")
}
