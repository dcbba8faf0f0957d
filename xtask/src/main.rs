//! The project's development commands: `cargo xtask CHORE`.
//!
//! One module per chore, one row each in [`CHORES`].

mod anchor_cli;
mod checkouts;
mod ci;
mod clients;
mod codegen;
mod cross;
mod dist;
mod figures;
mod files;
mod fixtures;
mod fuzz;
mod gdb;
mod instructions;
mod links;
mod locks;
mod matrix;
mod modules;
mod names;
mod node_torture;
mod npm;
mod peers;
mod playground;
mod ports;
mod published;
mod ratchets;
mod readers;
mod scale;
mod site;
mod solana_cli;
mod source;
mod speed;
mod steps;
mod tidy;
mod toolchains;
mod upstream;
mod venv;
mod vscode;
mod walk;
mod walkthroughs;
mod web;
mod wheel;
mod wild;
mod workspaces;

use std::{
    path::Path,
    process::{Command, ExitCode, Output},
};

use anyhow::{Context, Result, bail, ensure};

/// A chore: its name, its description, and the function that runs it with its arguments.
type Chore = (&'static str, &'static str, fn(&[String]) -> Result<()>);

const CHORES: &[Chore] = &[
    (
        "ci",
        "[--list] [--since REVISION] [CHECK...]  what a change must pass, or what it calls for",
        ci::ci,
    ),
    (
        "nightly",
        "[--list] [CHECK...]  what is heavy and rarely breaks, before a release",
        ci::nightly,
    ),
    ("test", "[VECTORS]       every test, and conformance vectors", ci::test),
    (
        "conformance",
        "[VECTORS] the table of conformance, from a run of all vectors",
        ci::conformance,
    ),
    ("tidy", "[--tighten]     what holds of the repository as a whole", tidy::run),
    (
        "figures",
        "[REPOSITORY] the sizes of functions and files, cycles of modules, documentation",
        figures::run,
    ),
    (
        "codegen",
        "[--check]    write the files that are made from tables and from examples",
        codegen::run,
    ),
    (
        "site",
        "[ADDRESS]       write the book in docs and the playground to target/site; links to sources lead to the address",
        site::run,
    ),
    (
        "fixtures",
        "[SOURCES]   fetch the programs that tests and vectors need into testdata/elfs",
        fixtures::run,
    ),
    (
        "toolchains",
        "          install the compilers that tests build programs with",
        toolchains::run,
    ),
    (
        "ports",
        "[--full | --speed]  check other processors and systems, and test Arm64 in an emulator",
        ports::run,
    ),
    (
        "dist",
        "[--quick] [TARGET...] write release archives for Linux, macOS and Windows",
        dist::run,
    ),
    (
        "instructions",
        "--check [--all] | --accept [ROW...] | BENCHMARK [ROW...]  count what rows of benchmarks execute",
        instructions::run,
    ),
    (
        "walkthroughs",
        "[--check | WORD] apply the walkthroughs of CONTRIBUTING.md to a copy, and test them",
        walkthroughs::run,
    ),
    (
        "clients",
        "[--selkie FILE] [--all | --cli | SUITE...]  Solana's clients against the node; all are many",
        clients::run,
    ),
    ("gdb", "                gdb against its server, backward in time", gdb::run),
    (
        "readers",
        "[--ci]       other people's readers on profiles and coverage, a client on the debug adapter",
        readers::run,
    ),
    (
        "vscode",
        "[--test | --vsce]  pack the extension for Visual Studio Code; compare it with what vsce packs",
        vscode::run,
    ),
    (
        "web",
        "[--check | --test [SELKIE]]  build the explorer that the node serves; compare it; open it in a browser",
        web::run,
    ),
    (
        "playground",
        "          build the playground in target/site, and type programs into it in a browser",
        playground::run,
    ),
    (
        "matrix",
        "[KIND...]     programs of many kinds fail in every way, and the user's own line is named",
        matrix::run,
    ),
    (
        "walk",
        "[NAME...]       from a failing test of a user's to the line in the debugger",
        walk::run,
    ),
    (
        "wild",
        "[--table | --run | [--checkouts FOLDER] PACKAGE...]  build programs of other authors for docs/rust-programs.md; test ours",
        wild::run,
    ),
    (
        "upstream",
        "[VERSION] [--json]  what a release of agave has that Selkie lacks, or has differently",
        upstream::run,
    ),
    (
        "node-torture",
        "[KILLS]  kill a node under load at random moments, and treat others badly",
        node_torture::run,
    ),
    (
        "peers",
        "--api | [--checkouts FOLDER] [--figures | --benches] [SUITE...]  the test suites of LiteSVM and Mollusk, on compat",
        peers::run,
    ),
    (
        "npm",
        "[--quick]        build, test and pack the package for JavaScript; --platforms: for other machines",
        npm::run,
    ),
    (
        "wheel",
        "[FOLDER]       build the Python package; --platforms: for other machines",
        wheel::run,
    ),
    (
        "scale",
        "[--ci | ITEMS]  the Python package, and one digest from Spark, Sail and Ray with kills",
        scale::run,
    ),
    ("fuzz", "[SECONDS]       run every fuzz target with cargo-fuzz", fuzz::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let named = arguments.split_first().and_then(|(name, rest)| {
        let (_, _, run) = CHORES.iter().find(|(chore, ..)| chore == name)?;
        Some((run, rest))
    });
    match named {
        Some((run, rest)) => run(rest),
        None => {
            let lines =
                CHORES.iter().map(|(name, what, _)| format!("\n  cargo xtask {name} {what}"));
            bail!("which chore? There are:{}", lines.collect::<String>())
        }
    }
}

/// The folder of the repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository")
}

#[allow(clippy::print_stderr, reason = "progress is for people who watch")]
fn say(line: &str) {
    eprintln!("{line}");
}

#[allow(clippy::print_stdout, reason = "figures are for pipes and files")]
fn print(line: &str) {
    println!("{line}");
}

/// Runs a command. If it fails, the error contains its standard error.
fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed\n{message}");
    Ok(output)
}
