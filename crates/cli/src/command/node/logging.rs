//! Where the events of `tracing` go.

use std::io::{self, Write};

use anyhow::{Context as _, Result};
use selkie_isa::plain;
use tracing_subscriber::{Layer as _, filter::Targets, fmt, prelude::*, registry};

use crate::{
    args::node::{LogFormatArg, NodeArgs},
    ui::Advise as _,
};

/// The level unless another one is asked for.
const LEVEL: &str = "info";

/// Writes events, each of which comes as a whole: as one line without control characters.
struct Lines<W>(W);

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        self.0.write_all(format!("{}\n", plain::line(line)).as_bytes())?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

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
        (_, Some(_)) if args.raw => fmt::layer().with_writer(io::stderr).boxed(),
        (_, Some(_)) => fmt::layer().with_ansi(false).with_writer(|| Lines(io::stderr())).boxed(),
        (_, None) => return Ok(()),
    };
    // It fails if there is a logger already: this command has started none.
    Ok(registry().with(layer.with_filter(filter)).try_init()?)
}
