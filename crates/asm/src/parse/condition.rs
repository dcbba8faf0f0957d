//! Conditional assembly: `.if` and its variants.

use std::sync::Arc;

use super::{Parsed, Parser};
use crate::{
    lex::{Tok, Token},
    source::Span,
};

/// An `.if` without its `.endif` yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) span: Span,
    has_else: bool,
}

impl Parser<'_, '_> {
    pub(super) fn condition(&mut self, word: &str, first: Token) -> Parsed {
        let span = self.span_of(first);
        let holds = self.condition_holds(word);
        if holds.is_err() {
            self.skip_line();
        }
        self.conditions.push(Condition { span, has_else: false });
        if matches!(holds, Ok(true)) {
            return Ok(());
        }
        // An invalid condition skips all of its branches.
        self.skip_branches(holds.is_ok())
    }

    fn condition_holds(&mut self, word: &str) -> Parsed<bool> {
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

    /// Skips lines up to the next branch to assemble, or to the `.endif` if `take` is false.
    fn skip_branches(&mut self, take: bool) -> Parsed {
        let mut depth = 0_usize;
        self.lexer.pos = self.token.start;
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
            match &text[token.start..token.end] {
                word if word.starts_with(".if") => depth += 1,
                ".endif" if depth > 0 => depth -= 1,
                word @ (".endif" | ".else" | ".elseif")
                    if depth == 0 && self.branch_starts(word, token, take)? =>
                {
                    return Ok(());
                }
                _ => {}
            }
            self.lexer.pos = self.lexer.pos.max(token.start);
            self.lexer.rest_of_line();
        }
    }

    /// Whether the directive `word` between skipped lines ends the skipping: as the `.endif`, or as
    /// a branch to assemble.
    fn branch_starts(&mut self, word: &str, token: Token, take: bool) -> Parsed<bool> {
        if word == ".elseif" && !take {
            return Ok(false);
        }
        self.bump();
        let starts = match word {
            ".endif" => {
                self.conditions.pop();
                true
            }
            ".else" => {
                self.record_else(token)?;
                take
            }
            _ => self.condition_holds(".if")?,
        };
        if !starts {
            self.lexer.pos = self.token.start;
        }
        Ok(starts)
    }

    fn record_else(&mut self, token: Token) -> Parsed {
        let span = self.span_of(token);
        match self.conditions.last_mut() {
            Some(condition) if !condition.has_else => {
                condition.has_else = true;
                Ok(())
            }
            _ => Err(self.syntax_error(span, "a second `.else` for the same condition")),
        }
    }

    /// Parses an `.else`, `.elseif` or `.endif` that ends an assembled branch.
    pub(super) fn condition_ends(&mut self, word: &str, first: Token) -> Parsed {
        let outer = self.outer_conditions();
        if self.conditions.len() <= outer {
            return Err(
                self.syntax_error(self.span_of(first), format!("`{word}` without an `.if`"))
            );
        }
        if word == ".endif" {
            self.conditions.pop();
            return Ok(());
        }
        if word == ".else" {
            self.record_else(first)?;
        }
        self.skip_branches(false)
    }
}
