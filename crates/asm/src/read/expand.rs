//! What changes which text is read next: includes, macros, loops, conditions.
//!
//! Bodies are kept as text and read when they are used, with parameters replaced; so a body may
//! hold whatever a line may hold. Every way to make more text out of less is limited.

use std::sync::Arc;

use super::{Read, Reader};
use crate::{
    diagnostic::Diagnostic,
    lex::{Lexer, Tok, Token, is_ident},
    source::{Origin, Span, candidates},
};

/// Includes, macros and loops inside each other.
const DEPTH_MAX: usize = 64;
/// Lines that macros and loops may make of a source.
const EXPANDED_LINES_MAX: usize = 500_000;
/// Text that macros and loops may make of a source.
const EXPANDED_BYTES_MAX: usize = 16 << 20;

/// Parameters of one macro.
const PARAMS_MAX: usize = 100;

/// A text that waits for another to end.
#[derive(Debug)]
pub(super) struct Frame {
    lexer: Lexer,
    token: Token,
    kind: FrameKind,
    /// How many conditions were open when the other text was put in front.
    conditions: usize,
}

/// What the text that is being read is.
#[derive(Debug)]
pub(super) enum FrameKind {
    File {
        path: String,
    },
    Macro,
    /// A loop whose body is the same every time.
    Loop {
        start: usize,
        left: u32,
    },
}

/// A macro as it was defined.
#[derive(Debug)]
pub(super) struct Macro {
    name: String,
    span: Span,
    params: Vec<Param>,
    body: String,
}

#[derive(Debug)]
struct Param {
    name: String,
    default: Option<String>,
    required: bool,
    rest: bool,
}

/// An `.if` whose `.endif` was not met yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    span: Span,
    has_else: bool,
}

impl Reader<'_, '_> {
    /// Puts a text in front of what is left to read. The current line must be read to its end.
    fn push_frame(&mut self, lexer: Lexer, kind: FrameKind, span: Span) -> Read {
        if self.frames.len() >= DEPTH_MAX {
            self.stopped = true;
            let found = Diagnostic::error(span, "includes, macros or loops nest too deep").note(
                format!("the limit is {DEPTH_MAX}; a macro that calls itself needs an `.if`"),
            );
            return Err(self.report(found));
        }
        self.frames.push(Frame {
            lexer: core::mem::replace(&mut self.lexer, lexer),
            token: self.token,
            kind: core::mem::replace(&mut self.kind, kind),
            conditions: self.conditions.len(),
        });
        // What is in front is read as a line of its own.
        self.token = Token { kind: Tok::Newline, start: self.lexer.at, end: self.lexer.at };
        Ok(())
    }

    /// Goes back to the text that waited; false if there is none.
    pub(super) fn pop_frame(&mut self) -> bool {
        let inner = self.frames.last().map_or(0, |frame| frame.conditions);
        while self.conditions.len() > inner {
            let open = self.conditions.pop().expect("there are more than `inner`");
            self.fail(open.span, "this condition has no `.endif`");
        }
        if let FrameKind::Loop { start, left } = self.kind
            && left > 0
        {
            self.kind = FrameKind::Loop { start, left: left - 1 };
            let length = self.lexer.end - start;
            self.lexer.at = start;
            self.bump();
            // A loop that makes too much has stopped the reader by this.
            return self.expanded_bytes_check(length, self.span()).is_ok();
        }
        let Some(frame) = self.frames.pop() else { return false };
        (self.lexer, self.token, self.kind) = (frame.lexer, frame.token, frame.kind);
        true
    }

    /// Counts a line, and stops a source that makes too many.
    pub(super) fn count_line(&mut self) {
        if self.frames.is_empty() {
            return;
        }
        self.expanded_lines += 1;
        if self.expanded_lines > EXPANDED_LINES_MAX {
            self.stopped = true;
            let span = self.span();
            let found = Diagnostic::error(span, "macros and loops make too many lines of this")
                .note(format!("the limit is {EXPANDED_LINES_MAX}"));
            self.report(found);
        }
    }

    /// Reads a text that was made of another.
    fn push_expansion(&mut self, name: &str, text: String, origin: Origin) -> Read {
        let span = origin.call;
        self.expanded_bytes_check(text.len(), span)?;
        let text: Arc<str> = text.into();
        let added = self.session.sources.add(format!("<{name}>"), Arc::clone(&text), Some(origin));
        let Some(base) = added else {
            self.stopped = true;
            return Err(self.fail(span, "macros and loops make too much text"));
        };
        self.push_frame(Lexer::new(text, base), FrameKind::Macro, span)
    }

    fn expanded_bytes_check(&mut self, length: usize, span: Span) -> Read {
        self.expanded_bytes = self.expanded_bytes.saturating_add(length);
        if self.expanded_bytes <= EXPANDED_BYTES_MAX {
            return Ok(());
        }
        self.stopped = true;
        let found = Diagnostic::error(span, "macros and loops make too much text of this")
            .note(format!("the limit is {} MiB", EXPANDED_BYTES_MAX >> 20));
        Err(self.report(found))
    }

    // Includes.

    /// The bytes of the file that a string operand names, and the path it was found at.
    pub(super) fn read_file(&mut self) -> Read<(Vec<u8>, String)> {
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
        for path in candidates(&name, &from, &options.include_paths) {
            match options.files.read(&path) {
                Ok(bytes) => return Ok((bytes, path.to_string_lossy().into_owned())),
                Err(error) => reason = format!("{}: {error}", path.display()),
            }
        }
        let found = Diagnostic::error(span, format!("cannot read `{name}`")).note(reason);
        Err(self.report(found))
    }

    /// The files that are being read, the innermost last.
    fn open_files(&self) -> impl Iterator<Item = &str> {
        let kinds = self.frames.iter().map(|frame| &frame.kind).chain(Some(&self.kind));
        kinds.filter_map(|kind| match kind {
            FrameKind::File { path } => Some(path.as_str()),
            _ => None,
        })
    }

    pub(super) fn include(&mut self, first: Token) -> Read {
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
        self.push_frame(Lexer::new(text, base), FrameKind::File { path }, span)
    }

    // Bodies.

    /// Takes the lines up to the one that starts with a word of `close`, which is read too. Words
    /// of `open` start bodies inside.
    fn body(&mut self, first: Token, open: &[&str], close: &[&str]) -> Read<(usize, usize)> {
        let opener = self.span_from(first);
        self.end_of_line()?;
        self.lexer.at = self.token.end;
        let start = self.lexer.at;
        let mut depth = 0_usize;
        loop {
            let line = self.lexer.at;
            let token = self.lexer.next();
            match token.kind {
                Tok::Newline => continue,
                Tok::Eof => {
                    let name = close[0];
                    self.token = token;
                    return Err(self.fail(opener, format!("the `{name}` for this is missing")));
                }
                Tok::Ident => {
                    let word = self.text_of(token);
                    if close.contains(&word) {
                        if depth == 0 {
                            self.bump();
                            return Ok((start, line));
                        }
                        depth -= 1;
                    } else if open.contains(&word) {
                        depth += 1;
                    }
                }
                _ => {}
            }
            self.lexer.at = token.start;
            self.lexer.rest_of_line();
        }
    }

    // Macros.

    pub(super) fn define_macro(&mut self, first: Token) -> Read {
        if self.token.kind != Tok::Ident {
            return Err(self.expected("the name of the macro"));
        }
        let name = self.text_of(self.token).to_owned();
        let span = self.span();
        self.bump();
        self.eat(Tok::Comma);
        let params = self.params()?;
        let (start, end) = self.body(first, &[".macro"], &[".endm", ".endmacro"])?;
        let body = self.lexer.text[start..end].to_owned();
        let key = self.session.names.intern(&name);
        if let Some(before) = self.macros.get(&key) {
            let found = Diagnostic::error(span, format!("macro `{name}` is defined twice"))
                .label("again here")
                .secondary(before.span, "first defined here")
                .help(format!("`.purgem {name}` forgets the first"));
            return Err(self.report(found));
        }
        self.macros.insert(key, Arc::new(Macro { name, span, params, body }));
        Ok(())
    }

    fn params(&mut self) -> Read<Vec<Param>> {
        let mut params: Vec<Param> = Vec::new();
        while !self.at_end() {
            if self.token.kind != Tok::Ident {
                return Err(self.expected("the name of a parameter"));
            }
            let name = self.text_of(self.token).to_owned();
            if params.iter().any(|param| param.name == name) {
                return Err(self.fail(self.span(), format!("two parameters are named `{name}`")));
            }
            self.bump();
            let mut param = Param { name, default: None, required: false, rest: false };
            if self.eat(Tok::Colon) {
                match self.text_of(self.token) {
                    "req" => param.required = true,
                    "vararg" => param.rest = true,
                    _ => return Err(self.expected("`req` or `vararg`")),
                }
                self.bump();
            }
            if self.eat(Tok::Eq) {
                param.default = Some(self.argument()?);
            }
            if params.len() >= PARAMS_MAX {
                return Err(self.fail(self.span(), "a macro has at most 100 parameters"));
            }
            if params.last().is_some_and(|last| last.rest) {
                return Err(self.fail(self.span(), "the `vararg` parameter must be the last"));
            }
            params.push(param);
            self.eat(Tok::Comma);
        }
        Ok(params)
    }

    /// The text up to the next comma outside brackets, or to the end of the line.
    fn argument(&mut self) -> Read<String> {
        let (start, mut end) = (self.token.start, self.token.start);
        let mut depth = 0_usize;
        loop {
            match self.token.kind {
                Tok::Newline | Tok::Eof => break,
                Tok::Comma if depth == 0 => break,
                Tok::ParenL | Tok::BracketL => depth += 1,
                Tok::ParenR | Tok::BracketR => depth = depth.saturating_sub(1),
                Tok::StrOpen => return Err(self.expected("an argument")),
                _ => {}
            }
            end = self.token.end;
            self.bump();
        }
        Ok(self.lexer.text[start..end].to_owned())
    }

    fn arguments(&mut self) -> Read<Vec<String>> {
        let mut arguments = Vec::new();
        if self.at_end() {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.argument()?);
            if !self.eat(Tok::Comma) {
                return Ok(arguments);
            }
        }
    }

    pub(super) fn macro_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .session
            .names
            .all()
            .filter(|(name, _)| self.macros.contains_key(name))
            .map(|(_, text)| text.to_owned())
            .collect();
        names.sort_unstable();
        names
    }

    pub(super) fn call_macro(&mut self, found: &Macro, first: Token) -> Read {
        let arguments = self.arguments()?;
        let span = self.span_from(first);
        let values = self.bind(found, arguments, span)?;
        let replaced: Vec<(&str, &str)> = found
            .params
            .iter()
            .zip(&values)
            .map(|(param, value)| (param.name.as_str(), value.as_str()))
            .collect();
        let text = substitute(&found.body, &replaced, self.calls);
        self.calls += 1;
        let origin = Origin { call: span, body: None };
        self.push_expansion(&format!("macro {}", found.name), text, origin)
    }

    /// The value of every parameter for one call.
    fn bind(&mut self, found: &Macro, arguments: Vec<String>, span: Span) -> Read<Vec<String>> {
        let params = &found.params;
        let mut values: Vec<Option<String>> = vec![None; params.len()];
        let mut next = 0;
        for argument in arguments {
            let named = argument.split_once('=').and_then(|(name, value)| {
                let at = params.iter().position(|param| param.name == name.trim())?;
                Some((at, value.trim().to_owned()))
            });
            if let Some((at, value)) = named {
                values[at] = Some(value);
                continue;
            }
            match (params.get(next), values.get_mut(next)) {
                (Some(param), Some(value)) if param.rest => match value {
                    Some(joined) => joined.extend([", ", argument.as_str()]),
                    None => *value = Some(argument),
                },
                (Some(_), Some(value)) => {
                    if !argument.is_empty() {
                        *value = Some(argument);
                    }
                    next += 1;
                }
                _ => {
                    let message =
                        format!("macro `{}` takes {} arguments", found.name, params.len());
                    let found = Diagnostic::error(span, message)
                        .label("more are given here")
                        .secondary(found.span, "defined here");
                    return Err(self.report(found));
                }
            }
        }
        let mut bound = Vec::with_capacity(params.len());
        for (param, value) in params.iter().zip(values) {
            match value.or_else(|| param.default.clone()) {
                None if param.required => {
                    let message =
                        format!("macro `{}` needs an argument for `{}`", found.name, param.name);
                    let found =
                        Diagnostic::error(span, message).secondary(found.span, "defined here");
                    return Err(self.report(found));
                }
                value => bound.push(value.unwrap_or_default()),
            }
        }
        Ok(bound)
    }

    pub(super) fn purge_macro(&mut self) -> Read {
        let span = self.span();
        let name = self.name()?;
        if self.macros.remove(&name).is_none() {
            let message = format!("no macro is named `{}`", self.session.names.text(name));
            return Err(self.fail(span, message));
        }
        Ok(())
    }

    /// `.exitm`: leaves the macro that is being expanded.
    pub(super) fn exit_macro(&mut self, first: Token) -> Read {
        if !matches!(self.kind, FrameKind::Macro) {
            return Err(self.fail(self.span_of(first), "`.exitm` outside a macro"));
        }
        let inner = self.frames.last().map_or(0, |frame| frame.conditions);
        self.conditions.truncate(inner);
        self.lexer.at = self.lexer.end;
        self.bump();
        Ok(())
    }

    // Loops.

    pub(super) fn repeat(&mut self, first: Token) -> Read {
        let count = self.number();
        if count.is_err() {
            self.skip_line();
        }
        let (start, end) = self.loop_body(first)?;
        let (count, span) = count?;
        let Ok(count) = u32::try_from(count) else {
            return Err(self.fail(span, format!("a loop cannot run {count} times")));
        };
        let Some(left) = count.checked_sub(1) else { return Ok(()) };
        if !self.lexer.text[start..end].contains('\\') {
            let mut lexer = self.lexer.clone();
            (lexer.at, lexer.end) = (start, end);
            self.end_of_line()?;
            return self.push_frame(lexer, FrameKind::Loop { start, left }, span);
        }
        let body = self.lexer.text[start..end].to_owned();
        self.expand_loop(first, start, core::iter::repeat_n(Vec::new(), count as usize), &body)
    }

    fn loop_body(&mut self, first: Token) -> Read<(usize, usize)> {
        self.body(first, &[".rept", ".rep", ".irp", ".irpc"], &[".endr"])
    }

    /// Reads `body` once for each element of `rounds`, which says what its parameters are.
    fn expand_loop<'a>(
        &mut self,
        first: Token,
        start: usize,
        rounds: impl Iterator<Item = Vec<(&'a str, String)>>,
        body: &str,
    ) -> Read {
        self.end_of_line()?;
        let call = self.span_of(first);
        let mut text = String::new();
        for values in rounds {
            let values: Vec<(&str, &str)> =
                values.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let round = substitute(body, &values, self.calls);
            self.calls = self.calls.wrapping_add(1);
            text.push_str(&round);
            if text.len() > EXPANDED_BYTES_MAX {
                break;
            }
        }
        let lines = body.bytes().filter(|byte| *byte == b'\n').count();
        let start = self.lexer.base + crate::source::position(start);
        let body = Some((start, crate::source::position(lines)));
        self.push_expansion("loop", text, Origin { call, body })
    }

    pub(super) fn irp(&mut self, first: Token, characters: bool) -> Read {
        let head = self.irp_head(characters);
        if head.is_err() {
            self.skip_line();
        }
        let (start, end) = self.loop_body(first)?;
        let (name, values) = head?;
        let body = self.lexer.text[start..end].to_owned();
        let rounds = values.into_iter().map(|value| vec![(name.as_str(), value)]);
        self.expand_loop(first, start, rounds, &body)
    }

    fn irp_head(&mut self, characters: bool) -> Read<(String, Vec<String>)> {
        if self.token.kind != Tok::Ident {
            return Err(self.expected("the name of a parameter"));
        }
        let name = self.text_of(self.token).to_owned();
        self.bump();
        self.eat(Tok::Comma);
        let mut values = self.arguments()?;
        if characters {
            values = values.concat().chars().map(String::from).collect();
        }
        Ok((name, values))
    }

    // Conditions.

    pub(super) fn condition(&mut self, word: &str, first: Token) -> Read {
        let span = self.span_of(first);
        let holds = self.condition_holds(word);
        if holds.is_err() {
            self.skip_line();
        }
        self.conditions.push(Condition { span, has_else: false });
        if matches!(holds, Ok(true)) {
            return Ok(());
        }
        // A condition that cannot be read skips all of its branches.
        self.skip_branches(holds.is_ok())
    }

    fn condition_holds(&mut self, word: &str) -> Read<bool> {
        match word {
            ".ifdef" | ".ifndef" | ".ifnotdef" => {
                let name = self.name()?;
                let name = self.current(name);
                let defined =
                    !matches!(self.session.symbols.get(name).def, crate::symbols::Def::None)
                        || self.macros.contains_key(&name);
                Ok(defined == (word == ".ifdef"))
            }
            ".ifb" | ".ifnb" => {
                let text = self.argument()?;
                Ok(text.trim().is_empty() == (word == ".ifb"))
            }
            ".ifc" | ".ifnc" => {
                let left = self.argument()?;
                self.expect(Tok::Comma, "`,`")?;
                let right = self.argument()?;
                Ok((left.trim() == right.trim()) == (word == ".ifc"))
            }
            _ => {
                let (number, _) = self.number()?;
                Ok(match word {
                    ".ifeq" => number == 0,
                    ".ifgt" => number > 0,
                    ".ifge" => number >= 0,
                    ".iflt" => number < 0,
                    ".ifle" => number <= 0,
                    _ => number != 0,
                })
            }
        }
    }

    /// Passes over branches until one is to be read (if `take`), or the `.endif`.
    fn skip_branches(&mut self, take: bool) -> Read {
        let mut depth = 0_usize;
        self.lexer.at = self.token.start;
        self.lexer.rest_of_line();
        loop {
            let token = self.lexer.next();
            match token.kind {
                Tok::Newline => continue,
                Tok::Eof => {
                    self.token = token;
                    return Ok(());
                }
                _ => {}
            }
            let text = Arc::clone(&self.lexer.text);
            let word = &text[token.start..token.end];
            match word {
                _ if word.starts_with(".if") => depth += 1,
                ".endif" if depth > 0 => depth -= 1,
                ".endif" => {
                    self.bump();
                    self.conditions.pop();
                    return Ok(());
                }
                ".else" if depth == 0 => {
                    self.bump();
                    self.note_else(token)?;
                    if take {
                        return Ok(());
                    }
                    self.lexer.at = self.token.start;
                }
                ".elseif" if depth == 0 && take => {
                    self.bump();
                    if self.condition_holds(".if")? {
                        return Ok(());
                    }
                    self.lexer.at = self.token.start;
                }
                _ => {}
            }
            self.lexer.at = self.lexer.at.max(token.start);
            self.lexer.rest_of_line();
        }
    }

    fn note_else(&mut self, token: Token) -> Read {
        let span = self.span_of(token);
        match self.conditions.last_mut() {
            Some(condition) if !condition.has_else => {
                condition.has_else = true;
                Ok(())
            }
            _ => Err(self.fail(span, "a second `.else` for the same condition")),
        }
    }

    /// `.else`, `.elseif` and `.endif` where the branch before was read.
    pub(super) fn condition_ends(&mut self, word: &str, first: Token) -> Read {
        let inner = self.frames.last().map_or(0, |frame| frame.conditions);
        if self.conditions.len() <= inner {
            return Err(self.fail(self.span_of(first), format!("`{word}` without an `.if`")));
        }
        if word == ".endif" {
            self.conditions.pop();
            return Ok(());
        }
        if word == ".else" {
            self.note_else(first)?;
        }
        self.skip_branches(false)
    }
}

/// `body` with `\name` replaced, `\@` by the number of the call, and `\()` by nothing. Stops
/// when there is more than may be.
fn substitute(body: &str, values: &[(&str, &str)], call: u32) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\')
        && out.len() <= EXPANDED_BYTES_MAX
    {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('@') {
            out.push_str(&call.to_string());
            rest = after;
        } else if let Some(after) = rest.strip_prefix("()") {
            rest = after;
        } else {
            let is_name = |byte: u8| is_ident(byte) && !matches!(byte, b'.' | b'$');
            let length = rest.bytes().position(|byte| !is_name(byte)).unwrap_or(rest.len());
            let name = &rest[..length];
            match values.iter().find(|(param, _)| *param == name) {
                Some((_, value)) => {
                    out.push_str(value);
                    rest = &rest[length..];
                }
                // An escape in a string, or a parameter of a macro that the body defines.
                None => {
                    out.push('\\');
                    if let Some(after) = rest.strip_prefix('\\') {
                        out.push('\\');
                        rest = after;
                    }
                }
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_replaced_by_whole_names() {
        let check = |body: &str, expected: &str| {
            assert_eq!(substitute(body, &[("a", "1"), ("ab", "2")], 7), expected);
        };
        check(r"\a \ab \abc", r"1 2 \abc");
        check(r"l\@: \a\()b", "l7: 1b");
        check(r#"".\n\\a""#, r#"".\n\\a""#);
    }
}
