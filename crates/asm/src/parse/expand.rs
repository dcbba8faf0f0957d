//! The stack of inputs: files, and the expansions of macros and loops.
//!
//! All expansion is limited in depth, in lines and in bytes.

use std::sync::Arc;

use super::{Parsed, Parser};
use crate::{
    diagnostic::Diagnostic,
    lex::{Lexer, Tok, Token},
    source::{Origin, Span, candidate_paths},
};

/// Limit for the nesting of includes, macros and loops.
const DEPTH_MAX: usize = 64;
/// Limit for the lines that includes, macros and loops add to a source.
const EXPANDED_LINES_MAX: usize = 250_000;
/// Limit for the text that macros and loops expand to.
pub(super) const EXPANDED_BYTES_MAX: usize = 16 << 20;
/// Bytes that one iteration of a loop counts at least. Otherwise a loop with an empty body could
/// iterate far more often than one with a line.
const ITERATION_BYTES_MIN: usize = EXPANDED_BYTES_MAX / EXPANDED_LINES_MAX;

/// An input that is suspended until another one ends.
#[derive(Debug)]
pub(super) struct SuspendedInput {
    lexer: Lexer,
    token: Token,
    kind: InputKind,
    /// The number of conditions that were open when it was suspended.
    conditions: usize,
}

/// The kind of an input.
#[derive(Debug)]
pub(super) enum InputKind {
    File {
        path: String,
    },
    Macro,
    /// A loop whose body is the same in every iteration.
    Loop {
        start: usize,
        remaining: u32,
    },
}

impl Parser<'_, '_> {
    /// Suspends the current input, which must be at the end of a line, and starts another one.
    pub(super) fn push_input(&mut self, lexer: Lexer, kind: InputKind, span: Span) -> Parsed {
        if self.suspended.len() >= DEPTH_MAX {
            self.stopped = true;
            let diagnostic =
                Diagnostic::error(span, "includes, macros or loops are nested too deeply").note(
                    format!("the limit is {DEPTH_MAX}; a macro that calls itself needs an `.if`"),
                );
            return Err(self.report(diagnostic));
        }
        self.suspended.push(SuspendedInput {
            lexer: core::mem::replace(&mut self.lexer, lexer),
            token: self.token,
            kind: core::mem::replace(&mut self.kind, kind),
            conditions: self.conditions.len(),
        });
        // The new input starts on a line of its own.
        self.token = Token { kind: Tok::Newline, start: self.lexer.pos, end: self.lexer.pos };
        Ok(())
    }

    /// Returns the number of conditions that were open before the current input, which cannot close
    /// them.
    pub(super) fn outer_conditions(&self) -> usize {
        self.suspended.last().map_or(0, |outer| outer.conditions)
    }

    /// Ends the current input, or starts the next iteration of a loop. Returns whether there is an
    /// input to continue.
    pub(super) fn pop_input(&mut self) -> bool {
        while self.conditions.len() > self.outer_conditions() {
            let open = self.conditions.pop().expect("there are more than the outer ones");
            self.syntax_error(open.span, "this condition has no `.endif`");
        }
        if let InputKind::Loop { start, remaining } = self.kind
            && remaining > 0
        {
            self.kind = InputKind::Loop { start, remaining: remaining - 1 };
            let length = self.lexer.end - start;
            self.lexer.pos = start;
            self.bump();
            // On failure the limit was exceeded, and parsing ends.
            return self.count_expanded_bytes(length.max(ITERATION_BYTES_MIN), self.span()).is_ok();
        }
        let Some(outer) = self.suspended.pop() else { return false };
        (self.lexer, self.token, self.kind) = (outer.lexer, outer.token, outer.kind);
        true
    }

    /// Counts a line, and ends parsing if there are too many.
    pub(super) fn count_line(&mut self) {
        if self.suspended.is_empty() {
            return;
        }
        self.expanded_lines += 1;
        if self.expanded_lines > EXPANDED_LINES_MAX {
            self.stopped = true;
            let span = self.span();
            let diagnostic =
                Diagnostic::error(span, "includes, macros and loops expand to too many lines")
                    .note(format!("the limit is {EXPANDED_LINES_MAX}"));
            self.report(diagnostic);
        }
    }

    /// Starts an input that is an expansion.
    pub(super) fn push_expansion(&mut self, name: &str, text: String, origin: Origin) -> Parsed {
        let span = origin.call;
        self.count_expanded_bytes(text.len(), span)?;
        let text: Arc<str> = text.into();
        let added = self.session.sources.add(format!("<{name}>"), Arc::clone(&text), Some(origin));
        let Some(base) = added else {
            self.stopped = true;
            return Err(self.fail(span, "macros and loops expand to too much text"));
        };
        self.push_input(Lexer::new(text, base), InputKind::Macro, span)
    }

    fn count_expanded_bytes(&mut self, length: usize, span: Span) -> Parsed {
        self.expanded_bytes = self.expanded_bytes.saturating_add(length);
        if self.expanded_bytes <= EXPANDED_BYTES_MAX {
            return Ok(());
        }
        self.stopped = true;
        let diagnostic = Diagnostic::error(span, "macros and loops expand to too much text here")
            .note(format!("the limit is {} MiB", EXPANDED_BYTES_MAX >> 20));
        Err(self.report(diagnostic))
    }

    // Includes.

    /// Reads the file that a string operand names. Returns its bytes and its path.
    pub(super) fn read_file(&mut self) -> Parsed<(Vec<u8>, String)> {
        if self.token.kind != Tok::Str {
            return Err(self.expected("the name of a file in quotes"));
        }
        let (token, span) = (self.token, self.span());
        let bytes = self.unescape(token)?;
        self.bump();
        let Ok(name) = String::from_utf8(bytes) else {
            return Err(self.fail(span, "the name of the file is not UTF-8"));
        };
        let from = self.open_files().last().unwrap_or_default().to_owned();
        let options = self.session.options;
        let mut reason = String::new();
        for path in candidate_paths(&name, &from, &options.include_paths) {
            match options.files.read(&path) {
                Ok(bytes) => return Ok((bytes, path.to_string_lossy().into_owned())),
                Err(error) => reason = format!("{}: {error}", path.display()),
            }
        }
        let diagnostic = Diagnostic::error(span, format!("cannot read `{name}`")).note(reason);
        Err(self.report(diagnostic))
    }

    /// Iterates over the paths of the files that are being parsed, the innermost last.
    fn open_files(&self) -> impl Iterator<Item = &str> {
        let kinds = self.suspended.iter().map(|outer| &outer.kind).chain(Some(&self.kind));
        kinds.filter_map(|kind| match kind {
            InputKind::File { path } => Some(path.as_str()),
            _ => None,
        })
    }

    pub(super) fn include(&mut self, first: Token) -> Parsed {
        let (bytes, path) = self.read_file()?;
        let span = self.span_from(first);
        self.end_of_line()?;
        if self.open_files().any(|open| open == path) {
            return Err(self.fail(span, format!("`{path}` includes itself")));
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Err(self.fail(span, format!("`{path}` is not UTF-8 text")));
        };
        let text: Arc<str> = text.into();
        let Some(base) = self.session.sources.add(path.clone(), Arc::clone(&text), None) else {
            return Err(self.fail(span, "the sources are too large"));
        };
        self.push_input(Lexer::new(text, base), InputKind::File { path }, span)
    }

    // Bodies.

    /// Returns the range of the body of a macro or loop: the lines up to a word of `close`, where
    /// words of `open` start nested bodies. Parses the closing word too.
    pub(super) fn body(
        &mut self,
        first: Token,
        open: &[&str],
        close: &[&str],
    ) -> Parsed<(usize, usize)> {
        let opener = self.span_from(first);
        self.end_of_line()?;
        self.lexer.pos = self.token.end;
        let start = self.lexer.pos;
        let mut depth = 0_usize;
        loop {
            let line = self.lexer.pos;
            let token = self.lexer.next();
            match token.kind {
                Tok::Newline => continue,
                Tok::Eof => {
                    self.token = token;
                    let message = format!("this block has no `{}`", close[0]);
                    return Err(self.syntax_error(opener, message));
                }
                Tok::Ident if close.contains(&self.text_of(token)) && depth == 0 => {
                    self.bump();
                    return Ok((start, line));
                }
                Tok::Ident if close.contains(&self.text_of(token)) => depth -= 1,
                Tok::Ident if open.contains(&self.text_of(token)) => depth += 1,
                _ => {}
            }
            self.lexer.pos = token.start;
            self.lexer.rest_of_line();
        }
    }
}
