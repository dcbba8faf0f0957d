//! A source as lines of tokens: what formatters and editors look at.
//!
//! Nothing is expanded, evaluated or left out, so this works on any text. [`File`] says of each line
//! what kind of statement it is by the rules that the assembler goes by, as far as one file tells:
//! a word that is none of its own is the call of a macro.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use selkie_isa::Op;

use crate::{
    directives::Directive,
    lex::{Lexer, Tok, Token as LexToken},
    mnemonic,
    parse::register,
};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A word: of an instruction, a directive, a register, a label, a constant…
    Word,
    /// A number or a character.
    Number,
    /// A reference to a local label, `1f` or `1b`.
    LocalLabel,
    /// A text in quotes.
    Text,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// `\`, which begins a parameter of a macro.
    Backslash,
    /// Everything else.
    Other,
}

/// A token: what it is, and the bytes of the text that it covers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub class: Class,
    /// Where it is.
    pub range: Range<usize>,
}

/// What stands on a line behind its labels.
#[derive(Clone, Copy, Debug)]
pub enum Statement {
    /// Nothing.
    None,
    /// An instruction with a mnemonic, or a call.
    Instruction,
    /// An instruction in pseudo-C.
    Pseudo,
    /// `NAME = value`
    Constant,
    /// A directive.
    Directive(&'static Directive),
    /// The call of a macro, or what the assembler would not understand.
    Call,
}

/// A line.
#[derive(Debug)]
pub struct Line {
    /// What stands on it.
    pub statement: Statement,
    /// Where it begins, and where it ends, in front of the line break.
    pub range: Range<usize>,
    /// All tokens of the line.
    tokens: Range<usize>,
    /// How many of them belong to labels.
    labels: usize,
    /// How many of them, behind the labels, are the first word.
    word: usize,
}

/// A source.
#[derive(Debug)]
pub struct File {
    pub(crate) text: Arc<str>,
    tokens: Vec<LexToken>,
    lines: Vec<Line>,
    macros: BTreeSet<String>,
}

impl File {
    /// Takes a text apart.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let mut lexer = Lexer::new(text.into(), 0);
        let text = Arc::clone(&lexer.text);
        let mut file = Self { text, tokens: vec![], lines: vec![], macros: BTreeSet::new() };
        let (mut start, mut first) = (lexer.pos, 0);
        loop {
            let token = lexer.next();
            if !matches!(token.kind, Tok::Newline | Tok::Eof) {
                file.tokens.push(token);
                continue;
            }
            let line = file.line(start..token.start, first..file.tokens.len());
            if let Some(name) = file.defined_macro(&line) {
                file.macros.insert(name.to_owned());
            }
            file.lines.push(line);
            if token.kind == Tok::Eof {
                break;
            }
            (start, first) = (token.end, file.tokens.len());
        }
        file.mark_macro_calls();
        file
    }

    /// The lines, in order; there is one at least.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tokens of the labels of a line, with their colons.
    pub fn labels(&self, line: &Line) -> impl ExactSizeIterator<Item = Token> {
        self.label_tokens(line).iter().map(|it| public(&self.text, *it))
    }

    /// The first word of the statement on a line.
    #[must_use]
    pub fn word(&self, line: &Line) -> Option<Token> {
        let [first, .., last] = self.word_tokens(line) else {
            return self.word_tokens(line).first().map(|it| public(&self.text, *it));
        };
        Some(Token { range: first.start..last.end, ..public(&self.text, *first) })
    }

    /// The tokens behind the first word.
    pub fn operands(&self, line: &Line) -> impl ExactSizeIterator<Item = Token> {
        self.operand_tokens(line).iter().map(|it| public(&self.text, *it))
    }

    /// The text of a token.
    #[must_use]
    pub fn slice(&self, token: &Token) -> &str {
        &self.text[token.range.clone()]
    }

    /// The number of the line that holds a byte of the text, from 0.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> usize {
        self.lines.partition_point(|it| it.range.start <= offset).saturating_sub(1)
    }

    pub(crate) fn label_tokens(&self, line: &Line) -> &[LexToken] {
        &self.tokens[line.tokens.start..line.tokens.start + line.labels]
    }

    pub(crate) fn word_tokens(&self, line: &Line) -> &[LexToken] {
        let start = line.tokens.start + line.labels;
        &self.tokens[start..start + line.word]
    }

    pub(crate) fn operand_tokens(&self, line: &Line) -> &[LexToken] {
        &self.tokens[line.tokens.start + line.labels + line.word..line.tokens.end]
    }

    pub(crate) fn statement_tokens(&self, line: &Line) -> &[LexToken] {
        &self.tokens[line.tokens.start + line.labels..line.tokens.end]
    }

    fn line(&self, range: Range<usize>, tokens: Range<usize>) -> Line {
        let all = &self.tokens[tokens.clone()];
        let labels = labels(&self.text, all);
        let rest = &all[labels..];
        let word = first_word(&self.text, rest);
        let statement = match rest {
            [] => Statement::None,
            [first, ..] if word > 1 || first.kind != Tok::Ident => match first.kind {
                Tok::Star => Statement::Pseudo,
                _ => Statement::Call,
            },
            [first, rest @ ..] => {
                let word = &self.text[first.start..first.end];
                statement(word, rest.first().is_some_and(|it| it.kind == Tok::Eq))
            }
        };
        // The first token of a store, `*`, is no word.
        let word = if rest.first().is_some_and(|it| it.kind == Tok::Star) { 0 } else { word };
        Line { statement, range, tokens, labels, word }
    }

    fn defined_macro(&self, line: &Line) -> Option<&str> {
        let Statement::Directive(directive) = line.statement else { return None };
        if directive.names[0] != ".macro" {
            return None;
        }
        let name = self.operand_tokens(line).first().filter(|it| it.kind == Tok::Ident)?;
        Some(&self.text[name.start..name.end])
    }

    /// A macro goes before everything else that has its name.
    fn mark_macro_calls(&mut self) {
        if self.macros.is_empty() {
            return;
        }
        for line in &mut self.lines {
            let at = line.tokens.start + line.labels;
            if line.word == 1
                && !matches!(line.statement, Statement::Constant)
                && let token = self.tokens[at]
                && self.macros.contains(&self.text[token.start..token.end])
            {
                line.statement = Statement::Call;
            }
        }
    }
}

fn statement(word: &str, assigns: bool) -> Statement {
    let is_register = register(word).is_some();
    if assigns && !is_register {
        return Statement::Constant;
    }
    if word.len() > 1 && word.starts_with('.') {
        return Directive::find(word).map_or(Statement::Call, Statement::Directive);
    }
    match word {
        "call" | "syscall" => Statement::Instruction,
        _ if mnemonic::find(word).is_some() => Statement::Instruction,
        "if" | "goto" => Statement::Pseudo,
        _ if is_register => Statement::Pseudo,
        _ => Statement::Call,
    }
}

/// How many of the tokens of a line are labels and their colons.
fn labels(text: &str, tokens: &[LexToken]) -> usize {
    let mut count = 0;
    loop {
        let rest = &tokens[count..];
        let length = match rest {
            [name, colon, ..]
                if matches!(name.kind, Tok::Ident | Tok::Str | Tok::Int(_))
                    && colon.kind == Tok::Colon =>
            {
                2
            }
            // `ok_\@:`
            _ => match first_word(text, rest) {
                length @ 2.. if rest[length - 1].kind == Tok::Colon => length,
                _ => return count,
            },
        };
        count += length;
    }
}

/// How many tokens the first word has: more than one if a parameter of a macro is part of it.
fn first_word(text: &str, tokens: &[LexToken]) -> usize {
    let glued = tokens.windows(2).take_while(|pair| pair[0].end == pair[1].start).count() + 1;
    let glued = &tokens[..glued.min(tokens.len())];
    // It ends with a colon, behind which another label or the statement may stand.
    let end = glued.iter().position(|it| it.kind == Tok::Colon).map_or(glued.len(), |at| at + 1);
    let word = &glued[..end];
    if word.iter().any(|it| is_backslash(text, it)) { word.len() } else { word.len().min(1) }
}

pub(crate) fn is_backslash(text: &str, token: &LexToken) -> bool {
    token.kind == Tok::Other && text.as_bytes()[token.start] == b'\\'
}

fn public(text: &str, token: LexToken) -> Token {
    let class = match token.kind {
        Tok::Ident => Class::Word,
        Tok::Int(_) | Tok::IntTooLarge | Tok::IntBad | Tok::Char(_) => Class::Number,
        Tok::NumericRef { .. } => Class::LocalLabel,
        Tok::Str => Class::Text,
        Tok::Comma => Class::Comma,
        Tok::Colon => Class::Colon,
        _ if is_backslash(text, &token) => Class::Backslash,
        _ => Class::Other,
    };
    Token { class, range: token.start..token.end }
}

/// Every word that an instruction can begin with, of all versions; those of pseudo-C are others.
#[must_use]
pub fn mnemonics() -> BTreeSet<&'static str> {
    ["call", "syscall"].into_iter().chain(mnemonic::words()).collect()
}

/// The rows of the instruction table that a mnemonic stands for, of all versions and shapes.
#[must_use]
pub fn instructions(mnemonic: &str) -> &'static [Op] {
    mnemonic::find(mnemonic).map_or(&[], mnemonic::Mnemonic::ops)
}

/// The number of the register that a word names, as `r1`, `w1` or `fp`; it may be too large.
#[must_use]
pub fn register_number(word: &str) -> Option<u8> {
    register(word).map(|it| it.number)
}

/// Whether a name can be written without quotes: it is one word, and no register.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    let mut lexer = Lexer::new(name.into(), 0);
    let token = lexer.next();
    token.kind == Tok::Ident
        && token.start == 0
        && token.end == name.len()
        && name != crate::session::HERE
        && register(name).is_none()
}
