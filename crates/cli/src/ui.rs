//! What people and machines get to see: text with colours, or one JSON object.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use selkie_isa::shown::shorten;

/// Whether what was asked for worked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Success,
    Failure,
}

impl Status {
    pub(crate) fn of(success: bool) -> Self {
        if success { Self::Success } else { Self::Failure }
    }
}

pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// The terminal, or what stands in for it.
pub(crate) struct Ui {
    /// Print one JSON object instead of text.
    pub(crate) json: bool,
    pub(crate) out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
}

impl Ui {
    pub(crate) fn new(json: bool, color: clap::ColorChoice) -> Self {
        let choice = match color {
            clap::ColorChoice::Auto => ColorChoice::Auto,
            clap::ColorChoice::Always => ColorChoice::Always,
            clap::ColorChoice::Never => ColorChoice::Never,
        };
        Self {
            json,
            out: AutoStream::new(io::stdout(), choice),
            err: AutoStream::new(io::stderr(), choice),
        }
    }

    /// Prints an object for machines: on one line, and the only one.
    pub(crate) fn object(&mut self, value: &serde_json::Value) -> io::Result<()> {
        writeln!(self.out, "{value}")
    }

    /// Prints a line beside the output: progress, warnings.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        write!(self.err, "{text}")
    }

    /// Prints a warning beside the output.
    pub(crate) fn warning(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "{WARN}warning{WARN:#}{STRONG}: {text}{STRONG:#}")
    }

    /// Whether somebody watches progress.
    pub(crate) fn is_watched(&self) -> bool {
        !self.json && io::stderr().is_terminal()
    }

    /// Prints an error with its causes and what to do about it.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let help = error.chain().find_map(|cause| cause.downcast_ref::<Advised>());
        let help = help.map(|it| it.help.as_str());
        // Nothing can be done if even this cannot be written.
        let error = shorten(format!("{error:#}"));
        let _ = if self.json {
            self.object(&serde_json::json!({ "error": error, "help": help }))
        } else {
            self.explain(&error, help)
        };
    }

    fn explain(&mut self, error: &str, help: Option<&str>) -> io::Result<()> {
        writeln!(self.err, "{BAD}error{BAD:#}{STRONG}: {error}{STRONG:#}")?;
        help.iter().try_for_each(|help| writeln!(self.err, "{NOTE}help{NOTE:#}: {help}"))
    }
}

/// An error with what to do about it.
#[derive(Debug)]
struct Advised {
    error: anyhow::Error,
    help: String,
}

impl std::fmt::Display for Advised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl std::error::Error for Advised {}

/// Adds what to do about an error.
pub(crate) trait Advise<T> {
    fn advise(self, help: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Advise<T> for Result<T, E> {
    fn advise(self, help: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| Advised { error: error.into(), help: help.into() }.into())
    }
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::BrokenPipe)
    })
}
