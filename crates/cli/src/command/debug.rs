//! `selkie debug`.

use std::{
    cell::RefCell,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    rc::Rc,
};

use anyhow::Result;
use rustyline::{
    Completer, Context, Editor, Helper, Highlighter, Hinter, Validator, completion::Completer,
    error::ReadlineError, history::FileHistory,
};
use selkie_debug::console::{CommandError, Console, Outcome};
use selkie_debug::debuggee::{Debuggee, source};
use selkie_replay::Recordings;
use serde_json::{Value, json};

use crate::{
    args::debug::DebugArgs,
    folders,
    program::read,
    recording,
    ui::{BAD, DIM, NOTE, STRONG, Status, Ui},
};

/// What a line of commands begins with.
const PROMPT: &str = "(selkie) ";

/// The commands that are remembered for the next session.
const HISTORY_MAX: usize = 1000;

pub(crate) fn run(ui: &mut Ui, args: &DebugArgs) -> Result<Status> {
    ui.show_raw(args.raw);
    let (path, url) = (args.path.as_deref(), args.node.url.as_deref());
    let opened = recording::open_or_newest(ui, path, args.test.as_deref(), url, &args.call)?;
    let Ok(recordings) = opened else { return Ok(Status::Failure) };
    if args.list {
        list(ui, recordings, args.test.as_deref())?;
        return Ok(Status::Success);
    }
    let debuggee = Debuggee {
        transaction: args.transaction,
        test: args.test.as_deref(),
        symbols: &args.symbols,
        source_map: args.source_map.clone(),
        steps_into_libraries: args.libraries,
        start_at: args.at.map(Into::into),
    };
    let (mut session, listing) = debuggee.open_listed(recordings, Path::new(""))?;
    session.show_raw(args.raw);
    if !ui.json && args.transaction.is_none() {
        for line in &listing.lines {
            writeln!(ui.out, "{DIM}{line}{DIM:#}")?;
        }
    }
    for (program, refusal) in session.refusals() {
        ui.warning(&refusal.of(program))?;
    }
    if let Some(text) = listing.without_lines.as_deref().filter(|_| !ui.json) {
        ui.warning(text)?;
    }
    let mut console = Console::new(session, Box::new(source));
    let mut commands = args.commands.clone();
    if let Some(path) = &args.script {
        let script = read(path)?;
        let script = String::from_utf8_lossy(&script);
        commands.extend(script.lines().filter(|it| !it.trim().is_empty()).map(str::to_owned));
    }
    if !commands.is_empty() {
        return execute(ui, &mut console, &commands);
    }
    if let Outcome::Text(text) = console.begin() {
        writeln!(ui.out, "{text}")?;
    }
    match io::stdin().is_terminal() {
        true => converse(ui, console),
        false => read_all(ui, &mut console),
    }
}

/// Does the commands of the command line, up to the first one that cannot be done.
fn execute(ui: &mut Ui, console: &mut Console, commands: &[String]) -> Result<Status> {
    let mut results: Vec<Value> = Vec::new();
    for command in commands {
        let result = console.execute(command);
        if ui.json {
            results.push(match &result {
                Ok(Outcome::Text(text)) => json!({ "command": command, "text": text }),
                Ok(Outcome::Quit) => json!({ "command": command, "text": "" }),
                Err(error) => json!({ "command": command, "error": error.to_string() }),
            });
        } else {
            writeln!(ui.out, "{NOTE}{PROMPT}{NOTE:#}{command}")?;
            show(ui, &result)?;
        }
        if let Err(error) = result {
            if ui.json {
                let error = format!("`{command}`: {error}");
                ui.object(&json!({ "results": results, "error": error }))?;
            }
            return Ok(Status::Failure);
        }
    }
    if ui.json {
        ui.object(&json!({ "success": true, "results": results }))?;
    }
    Ok(Status::Success)
}

fn show(ui: &mut Ui, result: &Result<Outcome, CommandError>) -> Result<()> {
    match result {
        Ok(Outcome::Text(text)) if text.is_empty() => {}
        Ok(Outcome::Text(text)) => writeln!(ui.out, "{text}")?,
        Ok(Outcome::Quit) => {}
        Err(error) => {
            let text = error.to_string();
            // The mark below an expression stays below its part.
            let space = if text.contains('\n') { '\n' } else { ' ' };
            writeln!(ui.out, "{BAD}error{BAD:#}:{space}{text}")?;
        }
    }
    Ok(())
}

/// Reads commands from a file or pipe.
fn read_all(ui: &mut Ui, console: &mut Console) -> Result<Status> {
    for line in io::stdin().lock().lines() {
        let result = console.execute(&line?);
        show(ui, &result)?;
        if result == Ok(Outcome::Quit) {
            break;
        }
    }
    Ok(Status::Success)
}

/// Completes words.
#[derive(Helper, Completer, Hinter, Highlighter, Validator)]
struct Words {
    #[rustyline(Completer)]
    completer: ConsoleCompleter,
}

struct ConsoleCompleter(Rc<RefCell<Console>>);

impl Completer for ConsoleCompleter {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..position).unwrap_or(line);
        Ok(self.0.borrow_mut().complete(typed))
    }
}

/// Reads commands from a terminal.
fn converse(ui: &mut Ui, console: Console) -> Result<Status> {
    let console = Rc::new(RefCell::new(console));
    let config = rustyline::Config::builder().max_history_size(HISTORY_MAX)?.build();
    let mut editor: Editor<Words, FileHistory> = Editor::with_config(config)?;
    editor.set_helper(Some(Words { completer: ConsoleCompleter(Rc::clone(&console)) }));
    let history = history_file();
    if let Some(path) = &history {
        // The first session has none.
        let _ = editor.load_history(path);
    }
    writeln!(ui.out, "{NOTE}help{NOTE:#} lists the commands")?;
    loop {
        let line = match editor.readline(PROMPT) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(error.into()),
        };
        if !line.trim().is_empty() {
            editor.add_history_entry(&line)?;
        }
        let result = console.borrow_mut().execute(&line);
        show(ui, &result)?;
        if result == Ok(Outcome::Quit) {
            break;
        }
    }
    if let Some(path) = &history {
        // A session is worth no less without its history.
        let _ = editor.save_history(path);
    }
    Ok(Status::Success)
}

fn history_file() -> Option<PathBuf> {
    let folder = folders::caches().ok()?;
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("debug-history"))
}

/// Lists all transactions, or those of the tests that a name means.
fn list(ui: &mut Ui, recordings: Recordings, test: Option<&str>) -> Result<()> {
    let recordings = match test {
        Some(test) => recordings.of_tests(test)?,
        None => recordings,
    };
    if ui.json {
        let transactions = recordings.json();
        return Ok(ui.object(&json!({ "success": true, "transactions": transactions }))?);
    }
    for (line, is_failure) in recordings.rows() {
        match is_failure {
            true => writeln!(ui.out, "{STRONG}{line}{STRONG:#}")?,
            false => writeln!(ui.out, "{DIM}{line}{DIM:#}")?,
        }
    }
    Ok(())
}
