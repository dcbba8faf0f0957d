//! Rendering of diagnostics as text, in the style of rustc.

use core::fmt::Write;

use crate::{
    diagnostic::{Diagnostic, Severity},
    source::{Sources, Span},
};

/// The role of a text, which selects its colour.
#[derive(Clone, Copy)]
enum Style {
    Error,
    Warning,
    Strong,
    Margin,
}

/// A text to render at a span.
struct Remark<'a> {
    span: Span,
    text: &'a str,
    primary: bool,
}

/// A remark under a line of source.
struct Underline<'a> {
    line: u32,
    /// Column, from 0.
    start: usize,
    length: usize,
    text: &'a str,
    primary: bool,
    /// The text of the line.
    source: &'a str,
}

impl Diagnostic {
    /// Renders the diagnostic as text that ends with an empty line, with ANSI colours if `colour`
    /// is set.
    #[must_use]
    pub fn render(&self, sources: &Sources, colour: bool) -> String {
        let mut out = String::new();
        Renderer { sources, colour, out: &mut out }.diagnostic(self);
        out
    }
}

struct Renderer<'a> {
    sources: &'a Sources,
    colour: bool,
    out: &'a mut String,
}

impl Renderer<'_> {
    fn paint(&mut self, style: Style, text: &str) {
        if !self.colour {
            self.out.push_str(text);
            return;
        }
        let code = match style {
            Style::Error => "1;31",
            Style::Warning => "1;33",
            Style::Strong => "1",
            Style::Margin => "1;34",
        };
        let _ = write!(self.out, "\x1b[{code}m{text}\x1b[0m");
    }

    fn diagnostic(&mut self, diagnostic: &Diagnostic) {
        let (style, word) = match diagnostic.severity {
            Severity::Error => (Style::Error, "error"),
            Severity::Warning => (Style::Warning, "warning"),
        };
        self.paint(style, word);
        self.paint(Style::Strong, &format!(": {}\n", printable(&diagnostic.message)));

        let sources = self.sources;
        let remarks = remarks(sources, diagnostic);
        let widest = remarks.iter().map(|it| sources.locate(it.span).line).max();
        let margin = widest.unwrap_or(1).to_string().len();
        let mut rendered: Vec<&str> = Vec::new();
        for remark in &remarks {
            let file = sources.file(remark.span).0;
            if !rendered.contains(&file) {
                let inside: Vec<_> =
                    remarks.iter().filter(|other| sources.file(other.span).0 == file).collect();
                self.file(&inside, margin, style, rendered.is_empty());
                rendered.push(file);
            }
        }
        let notes = diagnostic.notes.iter().map(|text| ("note", text));
        for (word, text) in notes.chain(diagnostic.help.iter().map(|text| ("help", text))) {
            self.paint(Style::Margin, &format!("{:margin$} = ", ""));
            self.paint(Style::Strong, &format!("{word}: "));
            self.out.push_str(&printable(text));
            self.out.push('\n');
        }
        self.out.push('\n');
    }

    /// Renders the underlined lines of one file.
    fn file(&mut self, remarks: &[&Remark<'_>], margin: usize, style: Style, first: bool) {
        let sources = self.sources;
        let location = sources.locate(remarks[0].span);
        let arrow = if first { "-->" } else { ":::" };
        self.paint(Style::Margin, &format!("{:margin$}{arrow} ", ""));
        let _ = writeln!(self.out, "{}:{}:{}", location.file, location.line, location.column);
        self.paint(Style::Margin, &format!("{:margin$} |\n", ""));

        let mut underlines: Vec<Underline<'_>> =
            remarks.iter().map(|it| underline(sources, it)).collect();
        underlines.sort_by_key(|underline| (underline.line, !underline.primary, underline.start));
        let mut last = None;
        for underline in &underlines {
            if last != Some(underline.line) {
                if last.is_some_and(|last| underline.line > last + 1) {
                    self.paint(Style::Margin, "...\n");
                }
                self.paint(Style::Margin, &format!("{:>margin$} | ", underline.line));
                self.out.push_str(&displayed(underline.source));
                self.out.push('\n');
                last = Some(underline.line);
            }
            self.underline(underline, margin, style);
        }
    }

    /// Renders the line below a line of source.
    fn underline(&mut self, underline: &Underline<'_>, margin: usize, style: Style) {
        self.paint(Style::Margin, &format!("{:margin$} | ", ""));
        let (sign, style) = if underline.primary { ("^", style) } else { ("-", Style::Margin) };
        let _ = write!(self.out, "{:1$}", "", underline.start);
        let space = if underline.text.is_empty() { "" } else { " " };
        let signs = sign.repeat(underline.length);
        self.paint(style, &format!("{signs}{space}{}", printable(underline.text)));
        self.out.push('\n');
    }
}

/// The remarks of a diagnostic, with the calls of the macros that its primary span is in.
fn remarks<'a>(sources: &Sources, diagnostic: &'a Diagnostic) -> Vec<Remark<'a>> {
    let secondary = |span, text| Remark { span, text, primary: false };
    let mut remarks =
        vec![Remark { span: diagnostic.span, text: &diagnostic.label, primary: true }];
    remarks.extend(diagnostic.labels.iter().map(|it| secondary(it.span, &it.text)));
    let expansions = sources.expansions(diagnostic.span);
    if let Some((innermost, outer)) = expansions.split_first() {
        remarks.push(secondary(*innermost, "expanded from here"));
        remarks.extend(outer.last().map(|call| secondary(*call, "which came from here")));
    }
    remarks
}

fn underline<'a>(sources: &'a Sources, remark: &Remark<'a>) -> Underline<'a> {
    let Remark { span, text, primary } = *remark;
    let (_, file) = sources.file(span);
    let range = sources.range(span);
    let line_start = file[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let source = file[line_start..].lines().next().unwrap_or_default();
    let underlined = file[range.clone()].lines().next().unwrap_or_default();
    Underline {
        line: sources.locate(span).line,
        start: width(&file[line_start..range.start]),
        length: width(underlined.trim_end()).max(1),
        text,
        primary,
        source,
    }
}

/// Columns after which a line is cut: longer lines are data.
const COLUMNS_MAX: usize = 200;

/// Returns a line of source as it is rendered.
fn displayed(line: &str) -> String {
    match line.char_indices().nth(COLUMNS_MAX) {
        Some((cut, _)) => printable(&line[..cut]) + "…",
        None => printable(line),
    }
}

/// Returns the number of columns that text takes when it is rendered.
fn width(text: &str) -> usize {
    displayed(text).chars().count().min(COLUMNS_MAX)
}

/// Replaces tabs by four spaces, and control characters, which could drive a terminal.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push_str("    "),
            _ if character.is_control() => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}
