//! Output: coloured text, or one JSON object. Text that is not ours goes through [`Ui::line`], and all
//! text through a [`Terminal`].

mod terminal;

use std::{
    borrow::Cow,
    io::{self, Write},
};

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use selkie_client::Cluster;
use selkie_isa::{failure::Failure, plain, truncate::truncated};
use serde_json::{Value, json};

use self::terminal::Terminal;
use crate::effects::Given;

/// Whether the command succeeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Success,
    Failure,
    /// Another process has shown the outcome, and ended with this exit code.
    #[cfg(feature = "batch")]
    Shown(u8),
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

/// Standard output and standard error.
pub(crate) struct Ui {
    /// Print one JSON object instead of text.
    pub(crate) json: bool,
    pub(crate) out: Terminal<io::Stdout>,
    /// The object that `--json` prints when the command ends.
    report: Option<Value>,
    err: Terminal<io::Stderr>,
    /// What was given to the command.
    pub(crate) given: Given,
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
            out: Terminal::new(io::stdout(), choice),
            report: None,
            err: Terminal::new(io::stderr(), choice),
            given: Given::default(),
        }
    }

    /// Writes text of programs and servers as it is, control characters included, if `is_raw`.
    pub(crate) fn show_raw(&mut self, is_raw: bool) {
        self.out.is_raw = is_raw;
        self.err.is_raw = is_raw;
    }

    /// Returns a line of a program, file or server as it is shown: one line, without control
    /// characters.
    pub(crate) fn line<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.out.is_raw { Cow::Borrowed(text) } else { plain::line(text) }
    }

    /// Stores the JSON object, which is printed on one line when the command ends.
    pub(crate) fn object(&mut self, value: &Value) -> io::Result<()> {
        self.report = Some(value.clone());
        Ok(())
    }

    /// Prints the JSON object. Every failure has these fields besides those of its command:
    /// `success` (false), `error` (a sentence), and `help` (what to do about it, or null).
    pub(crate) fn finish(&mut self, status: Status) -> io::Result<()> {
        let Some(mut report) = self.report.take() else { return Ok(()) };
        if let (Status::Failure, Some(fields)) = (status, report.as_object_mut()) {
            fields.insert("success".to_owned(), false.into());
            fields.entry("help").or_insert(Value::Null);
            if !fields.get("error").is_some_and(Value::is_string) {
                fields.insert("error".to_owned(), "failed; see the other fields".into());
            }
        }
        writeln!(self.out, "{report}")
    }

    /// Prints text to standard error: progress, warnings.
    pub(crate) fn aside(&mut self, text: &str) -> io::Result<()> {
        write!(self.err, "{text}")
    }

    /// Prints the messages about what a command did to a cluster besides its work.
    pub(crate) fn show_notes(&mut self, cluster: &mut Cluster) -> io::Result<()> {
        cluster.take_notes().iter().try_for_each(|note| self.aside(&format!("{note}\n")))
    }

    /// Prints a warning to standard error.
    pub(crate) fn warning(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.err, "{WARN}warning{WARN:#}{STRONG}: {text}{STRONG:#}")
    }

    /// Warns of options that have no effect beside what else was given.
    pub(crate) fn warn_of_effects(&mut self) -> io::Result<()> {
        self.given.warnings().iter().try_for_each(|it| self.warning(it))
    }

    /// Warns of options that have no effect under a condition that the command has found; `words` are
    /// those of the rule.
    pub(crate) fn warn_of_effects_if(&mut self, words: &str) -> io::Result<()> {
        self.given.warnings_of(words).iter().try_for_each(|it| self.warning(it))
    }

    /// Whether to show progress: standard error is a terminal.
    pub(crate) fn is_watched(&self) -> bool {
        !self.json && io::IsTerminal::is_terminal(&io::stderr())
    }

    /// Prints an error with its causes and its help.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        self.fail(&format!("{error:#}"), help_of(error));
    }

    /// Prints an error and its help.
    pub(crate) fn fail(&mut self, error: &str, help: Option<&str>) {
        // There is nowhere to report a failure to write.
        let error = truncated(error.to_owned());
        let _ = if self.json {
            self.report = Some(json!({ "error": error, "help": help }));
            self.finish(Status::Failure)
        } else {
            self.explain(&error, help)
        };
    }

    /// Prints the help of an error that was printed.
    pub(crate) fn help(&mut self, help: &str) {
        // There is nowhere to report a failure to write.
        let _ = writeln!(self.err, "{NOTE}help{NOTE:#}: {help}");
    }

    fn explain(&mut self, error: &str, help: Option<&str>) -> io::Result<()> {
        writeln!(self.err, "{BAD}error{BAD:#}{STRONG}: {error}{STRONG:#}")?;
        help.iter().try_for_each(|help| writeln!(self.err, "{NOTE}help{NOTE:#}: {help}"))
    }
}

/// Returns the help of an error, if it has one.
pub(crate) fn help_of(error: &anyhow::Error) -> Option<&str> {
    error.chain().find_map(|cause| cause.downcast_ref::<Failure>()?.help())
}

/// Adds help to an error: what to do about it.
pub(crate) trait Advise<T> {
    fn advise(self, help: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Advise<T> for Result<T, E> {
    fn advise(self, help: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| Failure::of(error.into()).with_help(help).into())
    }
}

pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        kind == Some(io::ErrorKind::BrokenPipe)
    })
}
