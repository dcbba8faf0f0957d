//! The command line, read; what is wrong with it is told in the form that was asked for.

use std::{ffi::OsString, process::ExitCode};

use clap::{ColorChoice, Error, Parser as _};

use super::{Cli, habits};
use crate::ui::Ui;

/// Reads the command line. Help, versions and errors have been shown, and the exit code says which.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Cli, ExitCode> {
    Cli::try_parse_from(&arguments).map_err(|error| show(&error, &arguments))
}

fn show(error: &Error, arguments: &[OsString]) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let help = habits::meant(error, arguments);
    if error.use_stderr() && asks_for_json(arguments) {
        let (message, tip) = parts(error);
        let help = help.or(tip).unwrap_or_else(|| "`--help` says more".to_owned());
        Ui::new(true, ColorChoice::Never).fail(&message, Some(&help));
        return ExitCode::from(code);
    }
    // Nothing can be done if this cannot be written.
    let _ = error.print();
    if let Some(help) = help {
        Ui::new(false, ColorChoice::Auto).help(&help);
    }
    ExitCode::from(code)
}

/// Whether `--json` is said, to this command and not to one that it starts.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != "--").any(|it| it == "--json")
}

/// What clap says, on one line, and its advice.
fn parts(error: &Error) -> (String, Option<String>) {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    let tip = paragraphs.find_map(|it| it.trim().strip_prefix("tip: "));
    (message, tip.map(str::to_owned))
}
