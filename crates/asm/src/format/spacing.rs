//! White space between the tokens of a statement.

use super::{Statement, is_same, token_text, trim};
use crate::{
    directives::Form,
    lex::{Tok, Token},
    parse::register,
    syntax::{File, Line},
};

/// Appends a token, after the comment that precedes it, if any.
pub(super) fn push(out: &mut String, comment: &str, spaced: bool, text: &str) {
    let space = |out: &mut String, wanted: bool| {
        if wanted && !out.is_empty() {
            out.push(' ');
        }
    };
    if !comment.is_empty() {
        space(out, true);
        out.push_str(comment);
    }
    space(out, spaced || !comment.is_empty());
    out.push_str(text);
}

/// Appends the statement of a line, which begins after `start`.
pub(super) fn statement(out: &mut String, file: &File, line: &Line, start: usize) {
    let (text, tokens) = (&*file.text, file.statement_tokens(line));
    let [first, .., last] = tokens else {
        tokens
            .iter()
            .for_each(|it| push(out, trim(&text[start..it.start]), false, token_text(text, it)));
        return;
    };
    let mut code = String::new();
    if keeps_text(file, line) {
        words(&mut code, file, line);
    } else {
        expressions(&mut code, text, line.statement, tokens);
    }
    let original = &text[first.start..last.end];
    let code = if is_same(&code, text, tokens) { &code } else { original };
    push(out, trim(&text[start..first.start]), false, code);
}

/// Whether white space within operands may be significant: because they are text, or because a
/// macro may replace them.
fn keeps_text(file: &File, line: &Line) -> bool {
    let is_text = match line.statement {
        Statement::Call => true,
        Statement::Directive(it) => matches!(it.form, Form::Text | Form::Ignored),
        _ => false,
    };
    let is_odd = |it: &Token| {
        matches!(it.kind, Tok::Other | Tok::At | Tok::IntBad | Tok::CharBad | Tok::StrOpen)
    };
    is_text || file.statement_tokens(line).iter().any(is_odd)
}

/// Appends the first word and the operands unchanged, except for the white space around commas
/// outside brackets, at which the arguments of macros are split.
fn words(out: &mut String, file: &File, line: &Line) {
    let (text, operands) = (&*file.text, file.operand_tokens(line));
    let word = file.word_tokens(line);
    let mut end = operands.first().map_or(0, |it| it.start);
    if let (Some(first), Some(last)) = (word.first(), word.last()) {
        out.push_str(&text[first.start..last.end]);
        end = last.end;
    }
    let mut depth = 0_usize;
    let mut starts_operand = true;
    // The name of a macro ends at the first white space.
    let names_macro = matches!(line.statement, Statement::Directive(it) if it.names[0] == ".macro");
    for (index, token) in operands.iter().enumerate() {
        let between = &text[end..token.start];
        match token.kind {
            Tok::Comma if depth == 0 => {
                push(out, trim(between), false, ",");
                starts_operand = true;
                end = token.end;
                continue;
            }
            Tok::ParenL | Tok::BracketL => depth += 1,
            Tok::ParenR | Tok::BracketR => depth = depth.saturating_sub(1),
            _ => {}
        }
        if starts_operand || (names_macro && index == 1 && !between.is_empty()) {
            push(out, trim(between), true, token_text(text, token));
        } else {
            out.push_str(between);
            out.push_str(token_text(text, token));
        }
        starts_operand = false;
        end = token.end;
    }
}

/// The role of a token, which determines the white space around it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The first word, or one like it: `goto`.
    Keyword,
    Operand,
    /// `-` of `-1`: no white space follows.
    Prefix,
    Operator,
    Comma,
    Open,
    Close,
}

fn expressions(out: &mut String, text: &str, statement: Statement, tokens: &[Token]) {
    let is_code = matches!(statement, Statement::Instruction | Statement::Pseudo);
    let mut before: Option<(Role, &Token)> = None;
    for token in tokens {
        let mut word = token_text(text, token).to_owned();
        let role = role(text, statement, before, token);
        if is_code && token.kind == Tok::Ident && register(&word).is_some() {
            word.make_ascii_lowercase();
        }
        let comment = before.map_or("", |(_, it)| trim(&text[it.end..token.start]));
        push(out, comment, before.is_some_and(|(it, _)| is_spaced(it, role)), &word);
        before = Some((role, token));
    }
}

/// Returns the role of a token, `before` being the one in front of it.
fn role(text: &str, statement: Statement, before: Option<(Role, &Token)>, token: &Token) -> Role {
    let is_pseudo = matches!(statement, Statement::Pseudo);
    let word = token_text(text, token);
    let after_operand = before.is_some_and(|(role, _)| matches!(role, Role::Operand | Role::Close));
    match token.kind {
        Tok::Comma | Tok::Colon => Role::Comma,
        Tok::ParenL | Tok::BracketL => Role::Open,
        Tok::ParenR | Tok::BracketR => Role::Close,
        Tok::Ident
            if before.is_none()
                && register(word).is_none()
                && !matches!(statement, Statement::Constant) =>
        {
            Role::Keyword
        }
        Tok::Ident if is_pseudo && matches!(word, "goto" | "if") => Role::Keyword,
        // `s>`, `s>>=`: the sign before an operator.
        Tok::Ident if is_pseudo && word == "s" && after_register(text, before) => Role::Prefix,
        Tok::Ident
        | Tok::Int(_)
        | Tok::IntTooLarge
        | Tok::NumericRef { .. }
        | Tok::Str
        | Tok::Char(_) => Role::Operand,
        Tok::Plus | Tok::Minus | Tok::Tilde | Tok::Bang | Tok::Star if !after_operand => {
            Role::Prefix
        }
        _ => Role::Operator,
    }
}

fn after_register(text: &str, before: Option<(Role, &Token)>) -> bool {
    before.is_some_and(|(_, it)| it.kind == Tok::Ident && register(token_text(text, it)).is_some())
}

fn is_spaced(before: Role, role: Role) -> bool {
    match (before, role) {
        (_, Role::Comma | Role::Close) | (Role::Open | Role::Prefix, _) => false,
        // `*(u64 *)(r1 + 8)`
        (Role::Close, Role::Open) => false,
        _ => true,
    }
}
