//! The names of other tools, under which `selkie` takes their command lines: `selkie-switch` reads
//! them, and the commands do the work.

use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anstream::adapter::strip_str;
use anyhow::{Context as _, Result};
use selkie_build::official;
use selkie_inspect::{Listing, NamedProgram, TextOptions};
use selkie_isa::{Version, input};
use selkie_svm::{FeatureSet, Purpose, elf_environment};
use selkie_switch::{
    sbf::{self, Asked, Build},
    surfpool::{self, Surroundings},
};
use serde_json::Value;

use crate::{args::feature, command, files, ui::Ui};

/// Names that stand for a command: compilers start the linker as `selkie-link`, and scripts that
/// were written for the other tool start the node as `solana-test-validator`.
const ALIASES: &[(&str, &str)] = &[("selkie-link", "link"), ("solana-test-validator", "node")];

/// The arguments of `selkie`, or the code with which the process ends: the work is done.
pub(crate) fn arguments() -> Result<Vec<OsString>, ExitCode> {
    let all: Vec<OsString> = env::args_os().collect();
    let name = all.first().and_then(|it| Path::new(it).file_stem()?.to_str()).unwrap_or_default();
    if let Some((_, command)) = ALIASES.iter().find(|(it, _)| *it == name) {
        let [name, rest @ ..] = &all[..] else { return Ok(all) };
        return Ok([&[name.clone(), (*command).into()], rest].concat());
    }
    let given = || all.iter().skip(1).map(|it| it.to_string_lossy().into_owned()).collect();
    let mut ui = Ui::new(false, clap::ColorChoice::Auto);
    let outcome = match name {
        "surfpool" => match node(&mut ui, given()) {
            Ok(Ok(arguments)) => return Ok(arguments),
            Ok(Err(code)) => Ok(code),
            Err(error) => Err(error),
        },
        "cargo-build-sbf" => build(&mut ui, &given()),
        "cargo-test-sbf" => test(&mut ui, &given()),
        _ => return Ok(all),
    };
    Err(outcome.unwrap_or_else(|error| {
        ui.error(&error);
        ExitCode::from(1)
    }))
}

/// What a tool finds in its environment.
#[allow(clippy::disallowed_methods, reason = "the variables of the tools whose names these are")]
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|it| !it.is_empty())
}

/// `surfpool start`, as `selkie node`.
fn node(ui: &mut Ui, arguments: Vec<String>) -> Result<Result<Vec<OsString>, ExitCode>> {
    let around = Surroundings {
        folder: env::current_dir().context("the current folder is gone")?,
        home: env::home_dir(),
        source: variable("SURFPOOL_DATASOURCE_RPC_URL"),
        host: variable("SURFPOOL_NETWORK_HOST"),
    };
    let start = match surfpool::start(&arguments, &around)? {
        Asked::Text(text) => return print(ui, &text).map(Err),
        Asked::Work(start) => start,
    };
    for note in &start.notes {
        ui.warning(note)?;
    }
    let mut made: Vec<OsString> = vec!["surfpool".into(), "node".into()];
    let mut rest = start.arguments.into_iter();
    while let Some(argument) = rest.next() {
        if argument == "--feature" {
            let name = rest.next().unwrap_or_default();
            match feature::parse_name(&name) {
                Ok(None) => {}
                Ok(Some(_)) => made.extend([argument.into(), name.into()]),
                Err(error) => ui.warning(&format!("--feature {name} is left out: {error}"))?,
            }
            continue;
        }
        made.push(argument.into());
    }
    Ok(Ok(made))
}

fn print(ui: &mut Ui, text: &str) -> Result<ExitCode> {
    use std::io::Write as _;
    write!(ui.out, "{text}")?;
    Ok(ExitCode::SUCCESS)
}

/// `cargo build-sbf`.
fn build(ui: &mut Ui, arguments: &[String]) -> Result<ExitCode> {
    match sbf::build(arguments, variable("SBF_OUT_PATH"))? {
        Asked::Text(text) => print(ui, &text),
        Asked::Work(build) => {
            let built = work(ui, &build)?;
            Ok(if built { ExitCode::SUCCESS } else { ExitCode::from(1) })
        }
    }
}

/// Builds, and leaves files where tools look for them. Returns whether all programs were built.
fn work(ui: &mut Ui, build: &Build) -> Result<bool> {
    let built = command::build::by_arguments(ui, &build.arguments)?;
    let target = match &build.target {
        Some(target) => target.clone(),
        None => selkie_build::target_folder(&build.manifest)?,
    };
    let programs: Vec<PathBuf> =
        built.iter().filter_map(|it| it["program"].as_str().map(PathBuf::from)).collect();
    for program in &programs {
        place(program, build, &target)?;
    }
    Ok(built.iter().all(|it: &Value| it["program"].is_string()))
}

/// Copies a program with its symbols to the folders of the official tool (`post_processing.rs`).
fn place(program: &Path, build: &Build, target: &Path) -> Result<()> {
    let name = program.file_name().unwrap_or_default();
    let debug = program.with_extension("so.debug");
    let read = |path: &Path| {
        input::read(path, input::FILE_BYTES_MAX)
            .with_context(|| format!("cannot read {}", path.display()))
    };
    let whole = read(&debug)?;
    let version = build.arch.parse().map_err(anyhow::Error::msg)?;
    // Anchor 2's coverage, profile and debugger look in the folder of V0 alone (`flamegraph/trace.rs`).
    for triple in BTreeSet::from([version, Version::V0].map(official::triple)) {
        files::write_with_folders(&target.join(triple).join("release").join(name), &whole)?;
    }
    if build.dump {
        let environment = elf_environment(FeatureSet::all(), Purpose::Execution);
        let listed = NamedProgram::open_any(&whole, &environment)
            .with_context(|| format!("{}: no instructions found", debug.display()))?;
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        let options = TextOptions { addresses: true, bytes: false };
        let text = strip_str(&Listing::new(&listed).text(&options)).to_string();
        files::write(&program.with_file_name(format!("{stem}-dump.txt")), text)?;
    }
    if build.debug {
        let folder = program.parent().unwrap_or(Path::new(".")).join("debug");
        let copy = folder.join(name);
        files::write_with_folders(&copy, &whole)?;
        files::write_with_folders(&copy.with_extension("so.debug"), &whole)?;
        let key = program.with_file_name(format!(
            "{}-keypair.json",
            program.file_stem().unwrap_or_default().to_string_lossy()
        ));
        if let Ok(bytes) = read(&key) {
            files::write_with_folders(&folder.join(key.file_name().unwrap_or_default()), bytes)?;
        }
    }
    Ok(())
}

/// `cargo test-sbf`.
fn test(ui: &mut Ui, arguments: &[String]) -> Result<ExitCode> {
    let test = match sbf::test(arguments)? {
        Asked::Text(text) => return print(ui, &text),
        Asked::Work(test) => test,
    };
    let target = selkie_build::target_folder(&test.manifest)?;
    let cargo = variable("CARGO").unwrap_or_else(|| "cargo".to_owned());
    for package in selkie_build::tested(&test.manifest, test.workspace, &test.packages)? {
        let commands = test.commands(&package.manifest, &package.features, &target);
        if !work(ui, &commands.build)? {
            return Ok(ExitCode::from(1));
        }
        let folder = commands.build.out_dir.as_ref().map(std::path::absolute).transpose()?;
        let mut command = Command::new(&cargo);
        command.args(&commands.cargo).env("SBF_OUT_DIR", folder.unwrap_or_default());
        let status = command.status().with_context(|| format!("cannot run {cargo}"))?;
        if !status.success() {
            return Ok(ExitCode::from(
                status.code().and_then(|it| u8::try_from(it).ok()).unwrap_or(1),
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
