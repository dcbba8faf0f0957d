//! `selkie fmt`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow};
use clap::{Args, ValueHint};
use serde_json::{Value, json};

use crate::{
    files,
    program::{findings, is_source, read, read_stdin},
    render::count,
    ui::{Advise as _, BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// The name of the source that comes through the standard input.
const STDIN: &str = "-";

/// Format `.s` files: the same program, with the white space that all sources have
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie fmt src/*.s                   rewrite what is not formatted
  selkie fmt src/*.s --check           say what is not formatted, and exit with 1
  selkie fmt < program.s               from the standard input to the standard output

Labels stand at the margin, instructions four columns further, comments behind code in one column.
A source that cannot be read is left alone.")]
pub(crate) struct FmtArgs {
    /// The sources; `-`, or none, for the standard input
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    sources: Vec<PathBuf>,

    /// Write nothing; show what would change
    #[arg(long)]
    check: bool,
}

/// What became of a source.
enum Outcome {
    Unchanged,
    /// The formatted text.
    Changed(String),
    Refused(Box<selkie_asm::Output>),
}

pub(crate) fn run(ui: &mut Ui, args: &FmtArgs) -> Result<Status> {
    let stdin = [PathBuf::from(STDIN)];
    let sources = if args.sources.is_empty() { &stdin[..] } else { &args.sources };
    let (mut reports, mut changed, mut is_good) = (Vec::new(), 0, true);
    for path in sources {
        let source = source(path)?;
        let outcome = format(path, &source);
        is_good &= match &outcome {
            Outcome::Unchanged => true,
            Outcome::Changed(_) => !args.check,
            Outcome::Refused(_) => false,
        };
        changed += usize::from(matches!(outcome, Outcome::Changed(_)));
        if ui.json {
            reports.push(report(path, &outcome));
        } else {
            show(ui, path, &source, &outcome, args.check)?;
        }
        match outcome {
            Outcome::Changed(text) if !args.check && !is_stdin(path) => {
                files::write(path, text)?;
            }
            _ => {}
        }
    }
    if ui.json {
        let mut report = json!({ "success": is_good, "sources": reports });
        if !is_good {
            report["error"] = json!(match changed {
                0 => "a source has errors".to_owned(),
                _ => format!("{} to format", count(changed, "source")),
            });
        }
        ui.object(&report)?;
    } else if args.check && changed > 0 {
        ui.aside(&format!("{} to format\n", count(changed, "source")))?;
    }
    Ok(Status::of(is_good))
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Whether a file is part of a source, by its name.
fn is_included(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "inc")
}

fn source(path: &Path) -> Result<String> {
    let bytes = match is_stdin(path) {
        true => read_stdin()?,
        // Other languages mean something else by the same white space.
        false if !(is_source(path) || is_included(path)) => {
            return Err(anyhow!("{} is no assembler source by its name", path.display())).advise(
                "sources end in .s, .S, .asm or .inc: `selkie fmt < FILE` formats any other",
            );
        }
        false => read(path)?,
    };
    String::from_utf8(bytes)
        .with_context(|| format!("{} is not text", path.display()))
        .advise("sources are UTF-8")
}

fn format(path: &Path, source: &str) -> Outcome {
    let name = if is_stdin(path) { "<stdin>".to_owned() } else { path.display().to_string() };
    match selkie_asm::format(source, &name) {
        Ok(text) if text == source => Outcome::Unchanged,
        Ok(text) => Outcome::Changed(text),
        Err(output) => Outcome::Refused(output),
    }
}

fn report(path: &Path, outcome: &Outcome) -> Value {
    let (changed, text, diagnostics) = match outcome {
        Outcome::Unchanged => (false, None, Vec::new()),
        Outcome::Changed(text) => (true, is_stdin(path).then_some(text), Vec::new()),
        Outcome::Refused(output) => (false, None, findings(output)),
    };
    json!({
        "source": path.display().to_string(),
        "changed": changed,
        "text": text,
        "diagnostics": diagnostics,
    })
}

fn show(ui: &mut Ui, path: &Path, source: &str, outcome: &Outcome, check: bool) -> Result<()> {
    match outcome {
        Outcome::Refused(output) => {
            ui.aside(&output.render(true))?;
            ui.aside(&format!("{}, left alone\n", count(output.error_count(), "error")))?;
        }
        Outcome::Changed(text) if check => show_changes(ui, path, source, text)?,
        Outcome::Changed(text) if is_stdin(path) => write!(ui.out, "{text}")?,
        Outcome::Unchanged if is_stdin(path) && !check => write!(ui.out, "{source}")?,
        Outcome::Changed(_) => {
            writeln!(ui.out, "{GOOD}formatted{GOOD:#} {STRONG}{}{STRONG:#}", path.display())?;
        }
        Outcome::Unchanged => {}
    }
    Ok(())
}

/// The lines that go and the lines that come, each stretch under its place in the file.
fn show_changes(ui: &mut Ui, path: &Path, source: &str, text: &str) -> Result<()> {
    let old: Vec<&str> = source.lines().collect();
    let new: Vec<&str> = text.lines().collect();
    for (at, (gone, come)) in stretches(&old, &new) {
        writeln!(ui.out, "{STRONG}{}:{}{STRONG:#}", path.display(), at + 1)?;
        gone.iter().try_for_each(|line| writeln!(ui.out, "{BAD}-{BAD:#}{}", line.trim_end()))?;
        come.iter().try_for_each(|line| writeln!(ui.out, "{GOOD}+{GOOD:#}{line}"))?;
    }
    if old == new {
        writeln!(ui.out, "{STRONG}{}{STRONG:#}  {DIM}line breaks{DIM:#}", path.display())?;
    }
    Ok(())
}

type Stretch<'a> = (usize, (&'a [&'a str], &'a [&'a str]));

/// Where two texts that differ in white space differ: lines are the same if they have the same
/// characters, and then both go on behind them. The formatter moves lines apart, never around.
fn stretches<'a>(old: &'a [&'a str], new: &'a [&'a str]) -> Vec<Stretch<'a>> {
    let mut found = Vec::new();
    let (mut a, mut b) = (0, 0);
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            (a, b) = (a + 1, b + 1);
            continue;
        }
        let (from_a, from_b) = (a, b);
        // Until both have passed the same characters, and the next lines are the same.
        let (mut left, mut right) = (String::new(), String::new());
        loop {
            let is_even = left == right;
            let is_same = a < old.len() && b < new.len() && old[a] == new[b];
            let is_end = a == old.len() && b == new.len();
            if is_even && (is_same || is_end) && (a, b) != (from_a, from_b) {
                break;
            }
            let takes_old = b == new.len() || (a < old.len() && left.len() <= right.len());
            if takes_old && a < old.len() {
                push_ink(&mut left, old[a]);
                a += 1;
            } else if b < new.len() {
                push_ink(&mut right, new[b]);
                b += 1;
            } else {
                break;
            }
            let common = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
            let common = left.floor_char_boundary(common);
            (left, right) = (left[common..].to_owned(), right[common..].to_owned());
        }
        found.push((from_a, (&old[from_a..a], &new[from_b..b])));
    }
    found
}

/// What of a line is no white space; registers are in lower case.
fn push_ink(out: &mut String, line: &str) {
    out.extend(line.chars().filter(|it| !it.is_whitespace()).map(|it| it.to_ascii_lowercase()));
}
