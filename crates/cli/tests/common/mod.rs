//! Runs the command as its users do.

#![allow(dead_code, reason = "each test binary uses a part of this")]

use std::{
    env,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder of the repository.
pub(crate) fn repository() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    folder.canonicalize().expect("the repository is there")
}

/// A new and empty folder.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It is not there when the test runs for the first time.
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder is writable");
    folder
}

/// What a run of the command gave.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    /// Both outputs.
    pub(crate) fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// The one object that `--json` prints.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs `selkie` in a folder.
pub(crate) fn selkie(folder: &Path, arguments: &[&str]) -> Output {
    selkie_with(folder, arguments, &[])
}

/// Runs `selkie` in a folder, with variables that name paths.
pub(crate) fn selkie_with(
    folder: &Path,
    arguments: &[&str],
    variables: &[(&str, &Path)],
) -> Output {
    let mut command = command(folder, arguments);
    command.envs(variables.iter().copied());
    let output = command.output().expect("the command is built");
    let text = |bytes| String::from_utf8(bytes).expect("output is text");
    Output { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs `selkie` in a folder as on a terminal: both outputs to one place. Gives the exit code.
pub(crate) fn selkie_into(
    folder: &Path,
    arguments: &[&str],
    out: &File,
) -> io::Result<Option<i32>> {
    let mut command = command(folder, arguments);
    command.stdout(out.try_clone()?).stderr(out.try_clone()?);
    Ok(command.status()?.code())
}

/// The emulator in which cargo runs this process; none on other processors. A process in it cannot
/// start another one of its kind.
fn emulator() -> String {
    match cfg!(target_arch = "aarch64") {
        true => env::var("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER").unwrap_or_default(),
        false => String::new(),
    }
}

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let program = env!("CARGO_BIN_EXE_selkie");
    let emulator = emulator();
    let mut words = emulator.split_whitespace().chain([program]);
    let mut command = Command::new(words.next().unwrap_or(program));
    command.args(words);
    command.current_dir(folder).args(arguments).env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    // Of projects that are built, the folder of this one is none.
    command.env_remove("CARGO_TARGET_DIR");
    command
}

/// A program that packages ship.
pub(crate) fn fixture(base: &str) -> String {
    selkie_testdata::elf(base).to_str().expect("the path is text").to_owned()
}

/// Copies a folder with all that is in it, but for what was built there.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is writable");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let from = entry.expect("the folder is readable").path();
        let name = from.file_name().expect("entries have names");
        let to = to.join(name);
        match from.is_dir() {
            true if name == "target" => {}
            true => copy(&from, &to),
            false => drop(fs::copy(from, to).expect("the file is readable")),
        }
    }
}
