//! Commands that are disabled in this build by cargo features: each has the arguments and the function of
//! its own module, and says so.

use std::ffi::OsString;

use anyhow::{Result, anyhow};
use clap::Args;

use crate::ui::{Advise as _, Status};

/// Not included in this build
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct AbsentArgs {
    /// The command's arguments, which are not read
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<OsString>,
}

/// Reports that this build does not include `command`, and how to get one that does.
fn refuse(command: &str) -> Result<Status> {
    Err(anyhow!("this build does not include `selkie {command}`"))
        .advise("`cargo install --path crates/cli` includes all commands")
}

macro_rules! absent {
    ($($feature:literal $module:ident $args:ident)*) => {
        $(#[cfg(not(feature = $feature))]
        pub(crate) mod $module {
            pub(crate) use super::AbsentArgs as $args;

            pub(crate) fn run(_: &mut crate::ui::Ui, _: &$args) -> anyhow::Result<crate::ui::Status> {
                super::refuse($feature)
            }
        })*
    };
}

absent! {
    "batch" batch BatchArgs
    "conform" conform ConformArgs
    "lsp" lsp LspArgs
    "node" node NodeArgs
}
