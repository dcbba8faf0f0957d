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
    program::{diagnostics_json, is_source, read, read_stdin},
    render::count,
    ui::{Advise as _, BAD, DIM, GOOD, STRONG, Status, Ui},
};

/// The path that stands for standard input.
const STDIN: &str = "-";

/// Format `.s` files: only white space changes
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  selkie fmt src/*.s                   formats files in place
  selkie fmt src/*.s --check           shows the differences and exits with 1 if there are any
  selkie fmt < program.s               formats standard input to standard output

Labels start at the margin, instructions in column 5; comments after code are aligned.
A source with syntax errors is not changed.")]
pub(crate) struct FmtArgs {
    /// The sources; `-` or none for standard input
    #[arg(value_name = "SOURCE", value_hint = ValueHint::FilePath)]
    sources: Vec<PathBuf>,

    /// Show the differences without writing files
    #[arg(long)]
    check: bool,
}

/// The result of formatting a source.
enum Outcome {
    Unchanged,
    /// The formatted text.
    Changed(String),
    /// The source has syntax errors.
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

/// Whether the extension is that of an included file.
fn is_included(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "inc")
}

fn source(path: &Path) -> Result<String> {
    let bytes = match is_stdin(path) {
        true => read_stdin()?,
        // Formatting could break files in other languages.
        false if !(is_source(path) || is_included(path)) => {
            return Err(anyhow!(
                "{} does not have the extension of an assembly source",
                path.display()
            ))
            .advise("sources end in .s, .S, .asm or .inc; `selkie fmt < FILE` formats any file");
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
        Outcome::Refused(output) => (false, None, diagnostics_json(output)),
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
            ui.aside(&format!("{}, not changed\n", count(output.error_count(), "error")))?;
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

/// Shows removed and added lines, each hunk under its position in the file.
fn show_changes(ui: &mut Ui, path: &Path, source: &str, text: &str) -> Result<()> {
    let old: Vec<&str> = source.lines().collect();
    let new: Vec<&str> = text.lines().collect();
    for Hunk { start, removed, added } in hunks(&old, &new) {
        writeln!(ui.out, "{STRONG}{}:{}{STRONG:#}", path.display(), start + 1)?;
        removed.iter().try_for_each(|line| writeln!(ui.out, "{BAD}-{BAD:#}{}", line.trim_end()))?;
        added.iter().try_for_each(|line| writeln!(ui.out, "{GOOD}+{GOOD:#}{line}"))?;
    }
    if old == new {
        writeln!(ui.out, "{STRONG}{}{STRONG:#}  {DIM}line breaks{DIM:#}", path.display())?;
    }
    Ok(())
}

/// Lines of the old text and the lines that replace them.
struct Hunk<'a> {
    /// Index of the first old line.
    start: usize,
    removed: &'a [&'a str],
    added: &'a [&'a str],
}

/// Returns the differences between two texts that differ in white space only.
///
/// The formatter splits lines but never reorders them, so each hunk ends where both sides have
/// passed the same non-blank characters and continue with equal lines.
fn hunks<'a>(old: &'a [&'a str], new: &'a [&'a str]) -> Vec<Hunk<'a>> {
    let mut hunks = Vec::new();
    let (mut a, mut b) = (0, 0);
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            (a, b) = (a + 1, b + 1);
            continue;
        }
        let (from_a, from_b) = (a, b);
        // Continue until both sides have passed the same characters and the next lines are equal.
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
                push_visible(&mut left, old[a]);
                a += 1;
            } else if b < new.len() {
                push_visible(&mut right, new[b]);
                b += 1;
            } else {
                break;
            }
            let common = left.bytes().zip(right.bytes()).take_while(|(a, b)| a == b).count();
            let common = left.floor_char_boundary(common);
            (left, right) = (left[common..].to_owned(), right[common..].to_owned());
        }
        hunks.push(Hunk { start: from_a, removed: &old[from_a..a], added: &new[from_b..b] });
    }
    hunks
}

/// Appends a line's characters except white space, in lower case as registers are formatted.
fn push_visible(out: &mut String, line: &str) {
    out.extend(line.chars().filter(|it| !it.is_whitespace()).map(|it| it.to_ascii_lowercase()));
}
