//! The official toolchain: drives `cargo build-sbf`, which compiles and links by itself.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use selkie_isa::{Version, input};

use crate::{
    BuildError, Options, Progress, Project,
    metadata::{library, metadata},
    project::Language,
    system::{in_path, typed},
};

/// The name by which users choose this toolchain.
pub const NAME: &str = "official";

/// The subcommand of cargo, as a program.
const PROGRAM: &str = "cargo-build-sbf";

/// A program that the official toolchain built.
#[derive(Debug)]
pub struct Official {
    /// The name of the program's file without `.so`.
    pub name: String,
    /// The program to deploy.
    pub program: Vec<u8>,
    /// The same program with symbols, if the toolchain left it.
    pub unstripped: Vec<u8>,
    /// The versions of the tools.
    pub toolchain: String,
    /// The `target` folder of the project.
    pub target: PathBuf,
}

/// Builds a Rust project.
///
/// # Errors
///
/// [`BuildError::Setup`] if the toolchain is not installed or the project is not in Rust,
/// [`BuildError::Compiler`] if it fails.
pub fn build(
    project: &Project,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Official, BuildError> {
    let Language::Rust(manifest) = &project.language else {
        let message = "the official toolchain is for programs in Rust";
        return Err(BuildError::setup(message, "leave out `--toolchain official`"));
    };
    let toolchain = versions()?;
    progress.toolchain(&toolchain);
    let metadata = metadata(Command::new("cargo"), manifest)?;
    let name = library(&metadata, manifest)?;
    let target = PathBuf::from(metadata["target_directory"].as_str().unwrap_or("target"));
    let target = options.target.clone().unwrap_or(target);
    let folder = target.join("selkie").join("official").join(options.version.to_string());
    let mut command = Command::new("cargo");
    command.args(["build-sbf", "--arch", &options.version.to_string(), "--manifest-path"]);
    command.arg(manifest).arg("--sbf-out-dir").arg(&folder);
    if options.target.is_some() || !options.arguments.is_empty() {
        command.arg("--").args(&options.arguments);
    }
    if options.target.is_some() {
        command.arg("--target-dir").arg(&target);
    }
    run(&mut command, progress)?;
    let path = folder.join(&name).with_extension("so");
    let program = input::read(&path, input::FILE_BYTES_MAX)
        .map_err(|error| BuildError::file(&path, &error))?;
    let whole = target.join(triple(options.version)).join("release").join(format!("{name}.so"));
    let unstripped = input::read(&whole, input::FILE_BYTES_MAX).unwrap_or_else(|_| program.clone());
    Ok(Official { name, program, unstripped, toolchain, target })
}

/// Returns the name of the toolchain's target for a version of sBPF. Below the target folder, it is where
/// tools look for the program with symbols and line numbers.
#[must_use]
pub fn triple(version: Version) -> String {
    match version {
        Version::V0 => "sbpf-solana-solana".to_owned(),
        other => format!("sbpf{other}-solana-solana"),
    }
}

/// Returns the versions that the toolchain states.
fn versions() -> Result<String, BuildError> {
    let missing = || {
        let help = "install it (https://solana.com/docs/intro/installation), or leave out \
                    `--toolchain official` to build with rustc alone";
        BuildError::setup(
            "the official toolchain is not installed: found no `cargo-build-sbf`",
            help,
        )
    };
    let program = in_path(PROGRAM).ok_or_else(missing)?;
    let output = Command::new(program).arg("--version").output().map_err(|_| missing())?;
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|it| !it.is_empty()).collect();
    Ok(if lines.is_empty() { PROGRAM.to_owned() } else { lines.join(", ") })
}

/// Runs the command, whose output is shown.
fn run(command: &mut Command, progress: &mut dyn Progress) -> Result<(), BuildError> {
    let shown = typed(command);
    progress.command(&shown);
    let failed = |error| {
        let message = format!("cannot run {shown}: {error}");
        BuildError::setup(message, "check that cargo is installed")
    };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take().expect("it was asked for");
    for line in BufReader::new(output).lines() {
        progress.output(&(line.map_err(failed)? + "\n"));
    }
    match child.wait().map_err(failed)?.success() {
        true => Ok(()),
        false => Err(BuildError::Compiler(shown)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_the_names_of_the_toolchain() {
        assert_eq!(triple(Version::V0), "sbpf-solana-solana");
        assert_eq!(triple(Version::V3), "sbpfv3-solana-solana");
    }
}
