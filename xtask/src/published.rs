//! Commands of others, built from their packages on crates.io.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};

use crate::say;

/// A command of a package.
pub(crate) struct Published {
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// The name of the command.
    pub(crate) command: &'static str,
    /// What to say if it does not build.
    pub(crate) help: &'static str,
}

impl Published {
    /// Builds the command into `FOLDER/bin`, unless it has been built. Returns its path.
    pub(crate) fn install(&self, folder: &Path) -> Result<PathBuf> {
        let program = folder.join("bin").join(self.command);
        if program.exists() {
            return Ok(program);
        }
        say(&format!("building {} {}", self.package, self.version));
        let build = folder.join("build");
        let mut cargo = Command::new("cargo");
        cargo.args(["install", self.package, "--version", self.version, "--locked", "--no-track"]);
        // Nothing that they do here takes long.
        cargo.arg("--root").arg(folder).env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        cargo.env("CARGO_TARGET_DIR", &build).env("CARGO_PROFILE_RELEASE_LTO", "off");
        cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
        let status = cargo.status().context("cannot start cargo")?;
        ensure!(status.success(), "{} does not build\nhelp: {}", self.package, self.help);
        fs::remove_dir_all(build)?;
        Ok(program)
    }
}
