//! A test that failed: its message, the transaction that it failed with, and the program's line.

use std::{fmt::Write as _, io::Write as _, path::Path};

use anyhow::Result;
use selkie::{Account, Pubkey};
use selkie_debug::Session;
use selkie_debug::debuggee::{Debuggee, source};
use selkie_replay::recordings::{Recordings, newest};
use selkie_report::test_results::{TestResult, message};
use serde_json::{Value, json};

use crate::{
    changes::AccountChange,
    ui::{BAD, DIM, NOTE, STRONG, Ui},
};

/// The lines that are shown of a message.
const MESSAGE_LINES_MAX: usize = 30;
/// The lines of the source before and after the one that failed.
const LINES_AROUND: u32 = 2;

/// A test that failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) suite: String,
    pub(super) name: String,
    /// Where the test panicked: `tests/vault.rs:32:66`.
    at: Option<String>,
    message: Vec<String>,
    transaction: Option<Transaction>,
}

/// The transaction that a test failed with.
#[derive(Debug)]
struct Transaction {
    /// Which one of the test it is, and how many there are.
    number: Option<u64>,
    of: usize,
    /// `None` if it succeeded.
    error: Option<String>,
    units: u64,
    place: Option<Place>,
    changes: Vec<Change>,
    /// The command that debugs it.
    command: String,
}

/// A line of the program.
#[derive(Debug)]
struct Place {
    /// The position as it is told.
    text: String,
    function: String,
    file: String,
    line: u32,
    column: Option<u32>,
    /// Lines of the source with their numbers.
    excerpt: Vec<(u32, String)>,
}

#[derive(Debug)]
struct Change {
    key: Pubkey,
    title: String,
    /// The names of the owners before and after.
    owners: [String; 2],
    before: Account,
    after: Account,
}

impl Change {
    fn shown(&self) -> AccountChange<'_> {
        let (before, after) = (self.before.clone(), self.after.clone());
        AccountChange { key: &self.key, before, after }
    }
}

impl Failure {
    /// Collects what is known of a failure; without `details` only the message and the command.
    pub(super) fn of(
        test: &TestResult,
        recordings: &mut Recordings,
        details: bool,
    ) -> Result<Self> {
        let (at, message) = message(&test.output);
        let transaction = match recordings.culprit(&test.suite, &test.name) {
            Some(number) => Some(Transaction::of(recordings, number, details)?),
            None => None,
        };
        let (suite, name) = (test.suite.clone(), test.name.clone());
        Ok(Self { suite, name, at, message, transaction })
    }

    /// Returns the first line of the message.
    pub(super) fn summary(&self) -> String {
        let first = self.message.iter().find(|it| !it.trim().is_empty()).cloned();
        let error = || self.transaction.as_ref()?.error.clone();
        first.or_else(error).unwrap_or_else(|| "it failed".to_owned())
    }

    /// Renders everything but the name as plain text.
    pub(super) fn details(&self) -> String {
        let mut text = self.message.join("\n");
        if let Some(at) = &self.at {
            // Writing to a string does not fail.
            let _ = write!(text, "\nat {at}");
        }
        if let Some(transaction) = &self.transaction {
            if let Some(place) = &transaction.place {
                let _ = write!(text, "\nprogram: {} in {}", place.text, place.function);
            }
            let _ = write!(text, "\ndebug it: {}", transaction.command);
        }
        text
    }

    pub(super) fn show(&self, ui: &mut Ui) -> Result<()> {
        let name = ui.line(&self.name).into_owned();
        writeln!(
            ui.out,
            "{BAD}FAILED{BAD:#} {STRONG}{name}{STRONG:#}  {DIM}{}{DIM:#}",
            self.suite
        )?;
        if let Some(at) = &self.at {
            let at = ui.line(at).into_owned();
            writeln!(ui.out, "  {DIM}panicked at {at}{DIM:#}")?;
        }
        for line in self.message.iter().take(MESSAGE_LINES_MAX) {
            let line = ui.line(line).into_owned();
            writeln!(ui.out, "  {line}")?;
        }
        if let Some(hidden) = self.message.len().checked_sub(MESSAGE_LINES_MAX).filter(|it| *it > 0)
        {
            writeln!(ui.out, "  {DIM}... {hidden} more lines{DIM:#}")?;
        }
        self.transaction.as_ref().map_or(Ok(()), |it| it.show(ui))
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "suite": self.suite,
            "name": self.name,
            "panicked_at": self.at,
            "message": self.message.join("\n"),
            "transaction": self.transaction.as_ref().map(Transaction::json),
        })
    }
}

impl Transaction {
    fn of(recordings: &mut Recordings, number: usize, details: bool) -> Result<Self> {
        let timeline = recordings.timeline(number)?;
        let receipt = timeline.receipt();
        let changes = receipt.changes().map(|change| {
            let before = change.before.clone().map(Account::from).unwrap_or_default();
            let after = change.after().cloned().map(Account::from).unwrap_or_default();
            let owners = [&before, &after].map(|it| receipt.show(&it.owner));
            Change { key: change.key, title: receipt.show(&change.key), owners, before, after }
        });
        let (changes, units) = (changes.collect(), receipt.compute_units);
        let failed = receipt.result.as_ref().err().map(|error| match receipt.error_name() {
            Some(name) => format!("{error}, {name}"),
            None => error.to_string(),
        });
        let (number_in_test, of) = recordings.place_in_test(number);
        let mut place = None;
        if failed.is_some() && details {
            let (session, _) = Debuggee::default().session(Path::new(""), timeline)?;
            place = Place::of(&session);
        }
        let command = command(recordings, number);
        Ok(Self { number: number_in_test, of, error: failed, units, place, changes, command })
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        let which = match (self.number, self.of) {
            (Some(number), of) if of > 1 => format!("transaction {number} of {of}"),
            _ => "the transaction".to_owned(),
        };
        match &self.error {
            Some(error) => {
                let error = ui.line(error).into_owned();
                writeln!(ui.out, "{which} failed: {STRONG}{error}{STRONG:#}  {} CU", self.units)?;
            }
            None => writeln!(ui.out, "{which} succeeded  {} CU", self.units)?,
        }
        if let Some(place) = &self.place {
            place.show(ui)?;
        }
        for change in &self.changes {
            let owner = |key: &Pubkey| match *key == change.before.owner {
                true => change.owners[0].clone(),
                false => change.owners[1].clone(),
            };
            change.shown().show(ui, &change.title, &owner)?;
        }
        writeln!(ui.out, "{NOTE}debug it{NOTE:#}: {STRONG}{}{STRONG:#}", self.command)?;
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "number": self.number,
            "of": self.of,
            "error": self.error,
            "compute_units": self.units,
            "place": self.place.as_ref().map(Place::json),
            "changed": self.changes.iter().map(|it| it.shown().json()).collect::<Vec<_>>(),
            "debug": self.command,
        })
    }
}

impl Place {
    /// Returns the place at which a session begins.
    fn of(session: &Session) -> Option<Self> {
        let frame = session.frames().into_iter().nth(session.selected_frame())?;
        let location = frame.location.as_ref()?;
        let lines = location.line.saturating_sub(LINES_AROUND)..=location.line + LINES_AROUND;
        let excerpt = source(&location.file).map(|text| {
            let numbered = (1..).zip(text.lines()).filter(|(number, _)| lines.contains(number));
            numbered.map(|(number, line)| (number, line.to_owned())).collect()
        });
        let text = frame.place.clone().unwrap_or_else(|| location.to_string());
        let here = std::env::current_dir().unwrap_or_default();
        let inside =
            Path::new(&text).strip_prefix(&here).or_else(|_| Path::new(&text).strip_prefix("."));
        Some(Self {
            text: inside.map_or_else(|_| text.clone(), |it| it.display().to_string()),
            function: frame.name.clone(),
            file: location.file.clone(),
            line: location.line,
            column: location.column,
            excerpt: excerpt.unwrap_or_default(),
        })
    }

    fn show(&self, ui: &mut Ui) -> Result<()> {
        let function = ui.line(&self.function).into_owned();
        writeln!(ui.out, "  {NOTE}-->{NOTE:#} {} in {STRONG}{function}{STRONG:#}", self.text)?;
        for (number, line) in &self.excerpt {
            let line = ui.line(line).into_owned();
            match *number == self.line {
                true => writeln!(ui.out, "  {BAD}>{BAD:#} {STRONG}{number:>4} │ {line}{STRONG:#}")?,
                false => writeln!(ui.out, "    {DIM}{number:>4} │{DIM:#} {line}")?,
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "function": self.function,
            "file": self.file,
            "line": self.line,
            "column": self.column,
        })
    }
}

/// Returns the command that debugs a transaction: by the name of its test, if that leads to it.
fn command(recordings: &Recordings, number: usize) -> String {
    let by_name = recordings.names_of(number).into_iter().find(|name| {
        let leads = recordings.choose(None, Some(name)).is_ok_and(|it| it == number);
        leads && newest(Path::new(""), Some(name)).is_ok_and(|it| recordings.is_in(number, &it))
    });
    match by_name {
        Some(name) => format!("selkie debug --test {name}"),
        None => format!("selkie debug {}", recordings.file_of(number)),
    }
}
