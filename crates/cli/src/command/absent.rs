//! Commands that are disabled in this build by cargo features.

use std::ffi::OsString;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::ui::{Advise as _, Status};

/// Not included in this build
#[derive(Args, Debug)]
pub(crate) struct AbsentArgs {
    /// The command's arguments, which are not read
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// Reports that this build does not include `command`, and how to get one that does.
pub(crate) fn run(command: &str) -> Result<Status> {
    Err(anyhow!("this build does not include `selkie {command}`"))
        .advise("`cargo install --path crates/cli` includes all commands")
}
