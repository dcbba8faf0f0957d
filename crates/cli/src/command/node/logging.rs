//! Where the events of `tracing` go.

use std::io;

use anyhow::{Context as _, Result};
use tracing_subscriber::{Layer as _, filter::Targets, fmt, prelude::*, registry};

use crate::{
    args::node::{LogFormatArg, NodeArgs},
    ui::Advise as _,
};

/// The level unless another one is asked for.
const LEVEL: &str = "info";

/// Begins to log: as JSON to standard output, or to standard error if a level is asked for, since
/// transactions have lines of their own.
pub(super) fn start(args: &NodeArgs) -> Result<()> {
    let level = args.log_level.as_deref();
    let filter: Targets = level
        .unwrap_or(LEVEL)
        .parse()
        .with_context(|| format!("--log-level {}", level.unwrap_or_default()))
        .advise("give a level such as debug, or TARGET=LEVEL, separated by commas")?;
    let layer = match (args.log_format, level) {
        (Some(LogFormatArg::Json), _) => {
            fmt::layer().json().flatten_event(true).with_writer(io::stdout).boxed()
        }
        (_, Some(_)) => fmt::layer().with_writer(io::stderr).boxed(),
        (_, None) => return Ok(()),
    };
    // It fails if there is a logger already: this command has started none.
    Ok(registry().with(layer.with_filter(filter)).try_init()?)
}
