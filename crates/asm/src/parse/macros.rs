//! Macros and loops.
//!
//! Bodies are stored as text, and parsed after parameters are replaced, so they can contain any
//! lines.

use std::sync::Arc;

use super::{
    Parsed, Parser,
    expand::{EXPANDED_BYTES_MAX, InputKind},
};
use crate::{
    diagnostic::Diagnostic,
    lex::{Tok, Token, is_ident},
    source::{Origin, Span},
};

/// Limit for the parameters of a macro.
const PARAMS_MAX: usize = 100;

/// The definition of a macro.
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

impl Parser<'_, '_> {
    pub(super) fn define_macro(&mut self, first: Token) -> Parsed {
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
            let diagnostic = Diagnostic::error(span, format!("macro `{name}` is defined twice"))
                .label("again here")
                .secondary(before.span, "first defined here")
                .help(format!("`.purgem {name}` removes the first"));
            return Err(self.report(diagnostic));
        }
        self.macros.insert(key, Arc::new(Macro { name, span, params, body }));
        Ok(())
    }

    fn params(&mut self) -> Parsed<Vec<Param>> {
        let mut params: Vec<Param> = Vec::new();
        while !self.at_end() {
            let param = self.param(&params)?;
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

    /// Parses `name`, `name=default`, `name:req` or `name:vararg`.
    fn param(&mut self, before: &[Param]) -> Parsed<Param> {
        if self.token.kind != Tok::Ident {
            return Err(self.expected("the name of a parameter"));
        }
        let name = self.text_of(self.token).to_owned();
        if before.iter().any(|param| param.name == name) {
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
        Ok(param)
    }

    /// Parses an argument: the text up to the next comma outside brackets, or to the end of the
    /// line.
    pub(super) fn argument(&mut self) -> Parsed<String> {
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

    fn arguments(&mut self) -> Parsed<Vec<String>> {
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

    pub(super) fn call_macro(&mut self, called: &Macro, first: Token) -> Parsed {
        let arguments = self.arguments()?;
        let span = self.span_from(first);
        let values = self.bind(called, arguments, span)?;
        let replaced: Vec<(&str, &str)> = called
            .params
            .iter()
            .zip(&values)
            .map(|(param, value)| (param.name.as_str(), value.as_str()))
            .collect();
        let text = substitute(&called.body, &replaced, self.calls);
        self.calls += 1;
        let origin = Origin { call: span, body: None };
        self.push_expansion(&format!("macro {}", called.name), text, origin)
    }

    /// Returns the value of every parameter for one call.
    fn bind(&mut self, called: &Macro, arguments: Vec<String>, span: Span) -> Parsed<Vec<String>> {
        let Ok(values) = assign_arguments(&called.params, arguments) else {
            let message =
                format!("macro `{}` takes {} arguments", called.name, called.params.len());
            let diagnostic = Diagnostic::error(span, message)
                .label("more are given here")
                .secondary(called.span, "defined here");
            return Err(self.report(diagnostic));
        };
        let mut bound = Vec::with_capacity(values.len());
        for (param, value) in called.params.iter().zip(values) {
            match value.or_else(|| param.default.clone()) {
                None if param.required => {
                    let message =
                        format!("macro `{}` needs an argument for `{}`", called.name, param.name);
                    let diagnostic =
                        Diagnostic::error(span, message).secondary(called.span, "defined here");
                    return Err(self.report(diagnostic));
                }
                value => bound.push(value.unwrap_or_default()),
            }
        }
        Ok(bound)
    }

    pub(super) fn purge_macro(&mut self) -> Parsed {
        let span = self.span();
        let name = self.name()?;
        if self.macros.remove(&name).is_none() {
            let message = format!("no macro is named `{}`", self.session.names.text(name));
            return Err(self.fail(span, message));
        }
        Ok(())
    }

    /// Parses `.exitm`, which ends the expansion of the current macro.
    pub(super) fn exit_macro(&mut self, first: Token) -> Parsed {
        if !matches!(self.kind, InputKind::Macro) {
            return Err(self.fail(self.span_of(first), "`.exitm` outside a macro"));
        }
        let outer = self.outer_conditions();
        self.conditions.truncate(outer);
        self.lexer.pos = self.lexer.end;
        self.bump();
        Ok(())
    }

    // Loops.

    pub(super) fn repeat(&mut self, first: Token) -> Parsed {
        let count = self.number();
        if count.is_err() {
            self.skip_line();
        }
        let (start, end) = self.loop_body(first)?;
        let (count, span) = count?;
        let Ok(count) = u32::try_from(count) else {
            return Err(self.fail(span, format!("a loop cannot run {count} times")));
        };
        let Some(remaining) = count.checked_sub(1) else { return Ok(()) };
        if !self.lexer.text[start..end].contains('\\') {
            let mut lexer = self.lexer.clone();
            (lexer.pos, lexer.end) = (start, end);
            self.end_of_line()?;
            return self.push_input(lexer, InputKind::Loop { start, remaining }, span);
        }
        let body = self.lexer.text[start..end].to_owned();
        self.expand_loop(first, start, core::iter::repeat_n(Vec::new(), count as usize), &body)
    }

    fn loop_body(&mut self, first: Token) -> Parsed<(usize, usize)> {
        self.body(first, &[".rept", ".rep", ".irp", ".irpc"], &[".endr"])
    }

    /// Expands `body` once per element of `iterations`, which has the values of its parameters.
    fn expand_loop<'a>(
        &mut self,
        first: Token,
        start: usize,
        iterations: impl Iterator<Item = Vec<(&'a str, String)>>,
        body: &str,
    ) -> Parsed {
        self.end_of_line()?;
        let call = self.span_of(first);
        let mut text = String::new();
        for values in iterations {
            let values: Vec<(&str, &str)> =
                values.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let iteration = substitute(body, &values, self.calls);
            self.calls = self.calls.wrapping_add(1);
            text.push_str(&iteration);
            if text.len() > EXPANDED_BYTES_MAX {
                break;
            }
        }
        let lines = body.bytes().filter(|byte| *byte == b'\n').count();
        let start = self.lexer.base + crate::source::position(start);
        let body = Some((start, crate::source::position(lines)));
        self.push_expansion("loop", text, Origin { call, body })
    }

    pub(super) fn irp(&mut self, first: Token, characters: bool) -> Parsed {
        let head = self.irp_head(characters);
        if head.is_err() {
            self.skip_line();
        }
        let (start, end) = self.loop_body(first)?;
        let (name, values) = head?;
        let body = self.lexer.text[start..end].to_owned();
        let iterations = values.into_iter().map(|value| vec![(name.as_str(), value)]);
        self.expand_loop(first, start, iterations, &body)
    }

    fn irp_head(&mut self, characters: bool) -> Parsed<(String, Vec<String>)> {
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
}

/// More arguments than parameters.
struct TooManyArguments;

/// Assigns arguments to parameters, by name or else in order. The value of a parameter without an
/// argument, or with an empty one in order, is `None`.
fn assign_arguments(
    params: &[Param],
    arguments: Vec<String>,
) -> Result<Vec<Option<String>>, TooManyArguments> {
    let mut values: Vec<Option<String>> = vec![None; params.len()];
    let mut next = 0;
    for argument in arguments {
        let named = argument.split_once('=').and_then(|(name, value)| {
            let index = params.iter().position(|param| param.name == name.trim())?;
            Some((index, value.trim().to_owned()))
        });
        if let Some((index, value)) = named {
            values[index] = Some(value);
            continue;
        }
        let param = params.get(next).ok_or(TooManyArguments)?;
        match &mut values[next] {
            Some(joined) if param.rest => joined.extend([", ", argument.as_str()]),
            value if param.rest => *value = Some(argument),
            value => {
                if !argument.is_empty() {
                    *value = Some(argument);
                }
                next += 1;
            }
        }
    }
    Ok(values)
}

/// Replaces `\name` by the parameter's value, `\@` by the number of the call, and `\()` by nothing.
/// Stops when the text exceeds its limit.
fn substitute(body: &str, values: &[(&str, &str)], call: u32) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('\\')
        && out.len() <= EXPANDED_BYTES_MAX
    {
        out.push_str(before);
        rest = substitute_one(&mut out, after, values, call);
    }
    out.push_str(rest);
    out
}

/// Replaces what follows a backslash, and returns the rest of the text.
fn substitute_one<'a>(
    out: &mut String,
    text: &'a str,
    values: &[(&str, &str)],
    call: u32,
) -> &'a str {
    if let Some(rest) = text.strip_prefix('@') {
        out.push_str(&call.to_string());
        return rest;
    }
    if let Some(rest) = text.strip_prefix("()") {
        return rest;
    }
    let is_name = |byte: u8| is_ident(byte) && !matches!(byte, b'.' | b'$');
    let length = text.bytes().position(|byte| !is_name(byte)).unwrap_or(text.len());
    let (name, rest) = text.split_at(length);
    if let Some((_, value)) = values.iter().find(|(param, _)| *param == name) {
        out.push_str(value);
        return rest;
    }
    // An escape in a string, or a parameter of a macro that the body defines.
    out.push('\\');
    match text.strip_prefix('\\') {
        Some(rest) => {
            out.push('\\');
            rest
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_of_parameters_are_replaced() {
        let check = |body: &str, expected: &str| {
            assert_eq!(substitute(body, &[("a", "1"), ("ab", "2")], 7), expected);
        };
        check(r"\a \ab \abc", r"1 2 \abc");
        check(r"l\@: \a\()b", "l7: 1b");
        check(r#"".\n\\a""#, r#"".\n\\a""#);
    }
}
