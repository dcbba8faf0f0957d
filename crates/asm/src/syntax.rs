//! A source as lines of tokens, for the formatter and editors.
//!
//! Nothing is expanded or evaluated, so this works on any text. [`File`] classifies each line by
//! the rules of the assembler, as far as a single file allows: an unknown word is assumed to call a
//! macro.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use selkie_isa::Op;

use crate::{
    directives::Directive,
    lex::{Lexer, Tok, Token as LexToken},
    mnemonic,
    parse::register,
};

/// The class of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A word: a mnemonic, directive, register, label, constant…
    Word,
    /// A number or a character.
    Number,
    /// A reference to a local label, `1f` or `1b`.
    LocalLabel,
    /// A string in quotes.
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

/// A token: its class and its range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    /// The class.
    pub class: Class,
    /// The range of bytes in the text.
    pub range: Range<usize>,
}

/// The statement on a line, after its labels.
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
    /// The call of a macro, or an error.
    Call,
}

/// A line of a [`File`].
#[derive(Debug)]
pub struct Line {
    /// The statement on it.
    pub statement: Statement,
    /// The range of bytes in the text, without the line break.
    pub range: Range<usize>,
    /// All tokens of the line.
    tokens: Range<usize>,
    /// The number of tokens that belong to labels.
    labels: usize,
    /// The number of tokens after the labels that belong to the first word.
    word: usize,
}

/// A source as lines of tokens.
#[derive(Debug)]
pub struct File {
    pub(crate) text: Arc<str>,
    tokens: Vec<LexToken>,
    lines: Vec<Line>,
    macros: BTreeSet<String>,
}

impl File {
    /// Splits a text into lines of tokens.
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

    /// Returns the lines, in order; there is at least one.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Iterates over the tokens of the labels of a line, including their colons.
    pub fn labels(&self, line: &Line) -> impl ExactSizeIterator<Item = Token> {
        self.label_tokens(line).iter().map(|it| public(&self.text, *it))
    }

    /// Returns the first word of the statement on a line.
    #[must_use]
    pub fn word(&self, line: &Line) -> Option<Token> {
        let [first, .., last] = self.word_tokens(line) else {
            return self.word_tokens(line).first().map(|it| public(&self.text, *it));
        };
        Some(Token { range: first.start..last.end, ..public(&self.text, *first) })
    }

    /// Iterates over the tokens after the first word.
    pub fn operands(&self, line: &Line) -> impl ExactSizeIterator<Item = Token> {
        self.operand_tokens(line).iter().map(|it| public(&self.text, *it))
    }

    /// Returns the text of a token.
    #[must_use]
    pub fn slice(&self, token: &Token) -> &str {
        &self.text[token.range.clone()]
    }

    /// Returns the number of the line that contains the byte at `offset`, from 0.
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
        // A store begins with `*`, which is not a word.
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

    /// Classifies calls of macros, which take precedence over everything else with their name.
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

/// Returns the number of tokens at the start of a line that are labels and their colons.
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

/// Returns the number of tokens of the first word: more than one if it contains a parameter of a
/// macro.
fn first_word(text: &str, tokens: &[LexToken]) -> usize {
    let glued = tokens.windows(2).take_while(|pair| pair[0].end == pair[1].start).count() + 1;
    let glued = &tokens[..glued.min(tokens.len())];
    // A colon ends it; another label or the statement may follow without white space.
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

/// Returns the mnemonics of all versions, with their aliases. Pseudo-C is not included.
#[must_use]
pub fn mnemonics() -> BTreeSet<&'static str> {
    ["call", "syscall"].into_iter().chain(mnemonic::words()).collect()
}

/// Returns the rows of the instruction table with a mnemonic, of all versions and shapes.
#[must_use]
pub fn instructions(mnemonic: &str) -> &'static [Op] {
    mnemonic::find(mnemonic).map_or(&[], mnemonic::Mnemonic::ops)
}

/// Returns the number of a register like `r1`, `w1` or `fp`; it may be too large.
#[must_use]
pub fn register_number(word: &str) -> Option<u8> {
    register(word).map(|it| it.number)
}

/// Whether a name can be written without quotes: it is a single word and not a register.
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
