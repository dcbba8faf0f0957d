//! Parses the command line and reports its errors as text or JSON.

use std::{ffi::OsString, process::ExitCode};

use clap::{ColorChoice, CommandFactory as _, Error, FromArgMatches as _};

use super::{Cli, groups, suggestions};
use crate::{effects::Given, ui::Ui};

/// Parses the command line. On `Err`, help, the version or an error was printed, and the process
/// should exit with this code.
pub(crate) fn parse(arguments: Vec<OsString>) -> Result<(Cli, Given), ExitCode> {
    try_parse(&arguments).map_err(|error| show(&error, &arguments))
}

/// Parses the command line, and tells which arguments it has.
pub(super) fn try_parse(arguments: &[OsString]) -> Result<(Cli, Given), Error> {
    let mut command = groups::with_groups(Cli::command());
    let matches = command.try_get_matches_from_mut(arguments)?;
    let given = Given::new(&command, &matches);
    let cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((cli, given))
}

fn show(error: &Error, arguments: &[OsString]) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(2);
    let help = suggestions::suggestion(error, arguments);
    if error.use_stderr() && asks_for_json(arguments) {
        let (message, tip) = parts(error);
        let help = help.or(tip).unwrap_or_else(|| "see `--help`".to_owned());
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

/// Whether `--json` is given before `--`, that is, to this command and not to one that it starts.
fn asks_for_json(arguments: &[OsString]) -> bool {
    arguments.iter().take_while(|it| *it != "--").any(|it| it == "--json")
}

/// Splits a clap error into its message, on one line, and its tip.
fn parts(error: &Error) -> (String, Option<String>) {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    let tip = paragraphs.find_map(|it| it.trim().strip_prefix("tip: "));
    (message, tip.map(str::to_owned))
}
