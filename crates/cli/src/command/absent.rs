//! Commands that a build without some cargo features leaves out.

use std::ffi::OsString;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::ui::{Advise as _, Status};

/// Left out of this build
#[derive(Args, Debug)]
pub(crate) struct AbsentArgs {
    /// The command's arguments, which are not read
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// Reports that this build has no `command`, and how to get one that has.
pub(crate) fn run(command: &str) -> Result<Status> {
    Err(anyhow!("this build of selkie leaves out `selkie {command}`"))
        .advise("`cargo install --path crates/cli` builds all of selkie")
}
