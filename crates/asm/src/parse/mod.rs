//! The parser, which turns text into a flat list of statements.
//!
//! It parses the main file line by line. Includes, macros and loops suspend the current input and
//! insert another one. A line with an error is reported and skipped, so that one run reports all
//! errors.
//!
//! | module | what it parses |
//! |---|---|
//! | this one | lines: labels, constants, and the dialect of a line |
//! | [`expr`] | expressions |
//! | [`insn`] | `add64 r1, 2` and its operands |
//! | [`pseudo`] | `r1 += 2`, LLVM's pseudo-C |
//! | [`directive`] | sections, symbols, data |
//! | [`generate`] | `.accounts`, `.struct`, `.pubkey` |
//! | [`expand`] | the stack of inputs: includes, and the limits of expansion |
//! | [`macros`], [`condition`] | macros and loops; conditional assembly |

mod condition;
mod directive;
mod expand;
mod expr;
mod generate;
mod insn;
mod macros;
mod pseudo;

use std::sync::Arc;

use crate::{
    ast::{Ast, ExprId, Section, SectionId, SectionKind, Stmt, StmtKind},
    diagnostic::Diagnostic,
    eval::NoValue,
    lex::{Lexer, Tok, Token},
    names::{FastMap, Name},
    session::{NUMERIC, Session},
    source::Span,
    symbols::Def,
};
pub(crate) use insn::register;

use condition::Condition;
use expand::{InputKind, SuspendedInput};
use macros::Macro;

/// The error of a line that was reported; the rest of the line is skipped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed;

pub(crate) type Parsed<T = ()> = Result<T, Failed>;

pub(crate) struct Parser<'s, 'o> {
    session: &'s mut Session<'o>,
    ast: Ast,
    /// The current input.
    lexer: Lexer,
    /// The next token.
    token: Token,
    kind: InputKind,
    /// The suspended inputs, the innermost last.
    suspended: Vec<SuspendedInput>,
    macros: FastMap<Name, Arc<Macro>>,
    conditions: Vec<Condition>,
    sections: FastMap<Name, SectionId>,
    section: SectionId,
    section_previous: SectionId,
    section_stack: Vec<SectionId>,
    /// The number of definitions of each numeric label.
    numeric: FastMap<u32, u32>,
    /// The current definition of names that `.set` defined more than once.
    aliases: FastMap<Name, Name>,
    structure: Option<generate::Structure>,
    /// Lines of includes, macros and loops so far.
    expanded_lines: usize,
    /// Bytes of text that macros and loops expanded to so far.
    expanded_bytes: usize,
    /// The number of macro calls so far: `\@`.
    calls: u32,
    /// Whether a limit was exceeded, which ends parsing.
    stopped: bool,
    warned_sign_extension: bool,
}

/// Parses the main file.
pub(crate) fn parse(session: &mut Session<'_>, name: &str, text: &str) -> Ast {
    let text: Arc<str> = text.into();
    let Some(base) = session.sources.add(name.to_owned(), Arc::clone(&text), None) else {
        session.error(Span::default(), "the source is too large");
        return Ast::default();
    };
    // An instruction takes about twenty bytes of source, and usually has one expression.
    let estimate = text.len() / 20;
    session.exprs.reserve(estimate);
    let mut parser = Parser::new(session, Lexer::new(text, base));
    parser.ast.stmts.reserve(estimate);
    parser.define_predefined();
    parser.bump();
    parser.run();
    parser.ast
}

impl<'s, 'o> Parser<'s, 'o> {
    fn new(session: &'s mut Session<'o>, lexer: Lexer) -> Self {
        let mut parser = Self {
            session,
            ast: Ast::default(),
            lexer,
            token: Token { kind: Tok::Newline, start: 0, end: 0 },
            kind: InputKind::File { path: String::new() },
            suspended: Vec::new(),
            macros: FastMap::default(),
            conditions: Vec::new(),
            sections: FastMap::default(),
            section: SectionId::TEXT,
            section_previous: SectionId::TEXT,
            section_stack: Vec::new(),
            numeric: FastMap::default(),
            aliases: FastMap::default(),
            structure: None,
            expanded_lines: 0,
            expanded_bytes: 0,
            calls: 0,
            stopped: false,
            warned_sign_extension: false,
        };
        parser.kind = InputKind::File { path: parser.session.options.name.clone() };
        parser.add_section(".text", SectionKind::Text);
        parser.add_section(".rodata", SectionKind::ReadOnly);
        parser
    }

    /// Defines the predefined constants.
    fn define_predefined(&mut self) {
        let version = self.session.options.version as u8;
        let name = self.session.names.intern("SBPF_VERSION");
        self.session.symbols.entry(name).def = Def::Value(version.into());
        for (text, value) in &self.session.options.defines {
            let name = self.session.names.intern(text);
            self.session.symbols.entry(name).def = Def::Value((*value).into());
        }
    }

    fn run(&mut self) {
        while !self.stopped {
            match self.token.kind {
                Tok::Newline => self.bump(),
                Tok::Eof => {
                    if !self.pop_input() {
                        break;
                    }
                }
                _ => {
                    self.count_line();
                    if self.line().and_then(|()| self.end_of_line()).is_err() {
                        self.skip_line();
                    }
                }
            }
        }
        self.finish_generated();
        self.ast.is_partial = self.stopped;
    }

    // Tokens.

    fn bump(&mut self) {
        self.token = self.lexer.next();
    }

    fn span_of(&self, token: Token) -> Span {
        self.lexer.span(token.start, token.end)
    }

    fn span(&self) -> Span {
        self.span_of(self.token)
    }

    /// Returns the span from the start of `first` to the end of the last token parsed.
    fn span_from(&self, first: Token) -> Span {
        let text = &self.lexer.text[first.start..self.token.start];
        let end = first.start + text.trim_end().len();
        self.lexer.span(first.start, end.max(first.end))
    }

    fn text_of(&self, token: Token) -> &str {
        &self.lexer.text[token.start..token.end]
    }

    fn eat(&mut self, kind: Tok) -> bool {
        let eaten = self.token.kind == kind;
        if eaten {
            self.bump();
        }
        eaten
    }

    fn at_end(&self) -> bool {
        matches!(self.token.kind, Tok::Newline | Tok::Eof)
    }

    fn is_word(&self, word: &str) -> bool {
        self.token.kind == Tok::Ident && self.text_of(self.token) == word
    }

    /// Returns the position, for [`Self::rewind`].
    fn checkpoint(&self) -> (Token, usize) {
        (self.token, self.lexer.pos)
    }

    fn rewind(&mut self, checkpoint: (Token, usize)) {
        (self.token, self.lexer.pos) = checkpoint;
    }

    /// Returns the next token as messages quote it.
    fn token_text(&self) -> String {
        match self.token.kind {
            Tok::Newline | Tok::Eof => "the end of the line".to_owned(),
            Tok::StrOpen => "a string without its closing `\"`".to_owned(),
            Tok::CharBad => {
                "a character literal that is not closed or not one character".to_owned()
            }
            _ => format!("`{}`", self.text_of(self.token)),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        self.session.diagnostics.push(diagnostic);
        Failed
    }

    fn fail(&mut self, span: Span, message: impl Into<String>) -> Failed {
        self.report(Diagnostic::error(span, message))
    }

    /// Reports a syntax error, which does not depend on other lines or on the version.
    fn syntax_error(&mut self, span: Span, message: impl Into<String>) -> Failed {
        self.report(Diagnostic::syntax(span, message))
    }

    fn expected(&mut self, expected: &str) -> Failed {
        let message = format!("expected {expected}, found {}", self.token_text());
        self.syntax_error(self.span(), message)
    }

    fn expect(&mut self, kind: Tok, expected: &str) -> Parsed {
        if self.eat(kind) { Ok(()) } else { Err(self.expected(expected)) }
    }

    fn end_of_line(&mut self) -> Parsed {
        if self.at_end() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }

    /// Skips the rest of the line, up to the newline.
    fn skip_line(&mut self) {
        if !self.at_end() {
            self.lexer.pos = self.token.start;
            let (_, end) = self.lexer.rest_of_line();
            self.lexer.pos = end;
            self.bump();
        }
    }

    fn push(&mut self, span: Span, kind: StmtKind) {
        self.ast.stmts.push(Stmt { span, kind });
    }

    // Lines.

    fn line(&mut self) -> Parsed {
        let dropped = self.section_kind() == SectionKind::Dropped;
        while matches!(self.token.kind, Tok::Ident | Tok::Str | Tok::Int(_)) {
            let first = self.token;
            self.bump();
            if !self.eat(Tok::Colon) {
                return self.after_word(first, dropped);
            }
            if !dropped {
                self.label(first)?;
            }
        }
        match self.token.kind {
            Tok::Newline | Tok::Eof => Ok(()),
            _ if dropped => {
                self.skip_line();
                Ok(())
            }
            Tok::Star => self.store(),
            _ => Err(self.expected("a label, a directive or an instruction")),
        }
    }

    /// Parses a line whose first word is not a label.
    fn after_word(&mut self, first: Token, dropped: bool) -> Parsed {
        match first.kind {
            _ if dropped && first.kind != Tok::Ident => {
                self.skip_line();
                Ok(())
            }
            Tok::Str => Err(self.expected("`:` after a quoted label")),
            Tok::Int(_) => {
                self.rewind((first, first.end));
                Err(self.expected("a label, a directive or an instruction"))
            }
            _ if self.token.kind == Tok::Eq && !self.is_register(first) => self.assignment(first),
            _ => self.statement(first, dropped),
        }
    }

    fn label(&mut self, first: Token) -> Parsed {
        let span = self.span_of(first);
        let name = match first.kind {
            Tok::Int(number) => self.numeric_label(span, number)?,
            _ if self.is_register(first) => {
                let message = format!("`{}` is a register, not a label", self.text_of(first));
                return Err(self.syntax_error(span, message));
            }
            _ => self.name_of(first)?,
        };
        self.define_label(name, span);
        Ok(())
    }

    fn numeric_label(&mut self, span: Span, number: u64) -> Parsed<Name> {
        let Ok(number) = u32::try_from(number) else {
            return Err(self.fail(span, "numeric labels have at most 32 bits"));
        };
        let count = self.numeric.entry(number).or_default();
        *count += 1;
        let text = numeric_name(number, *count - 1);
        Ok(self.session.names.intern(&text))
    }

    fn define_label(&mut self, name: Name, span: Span) {
        let before = self.session.symbols.get(name);
        if !matches!(before.def, Def::None) {
            self.report_duplicate(name, span, before.span);
            return;
        }
        let symbol = self.session.symbols.entry(name);
        symbol.def = Def::Label(None);
        symbol.span = span;
        self.push(span, StmtKind::Label(name));
    }

    fn report_duplicate(&mut self, name: Name, span: Span, before: Span) {
        let text = self.session.names.text(name);
        let diagnostic = Diagnostic::error(span, format!("`{text}` is defined twice"));
        let diagnostic = if before == Span::default() {
            diagnostic.note("it is predefined")
        } else {
            diagnostic.label("again here").secondary(before, "first defined here")
        };
        self.report(diagnostic);
    }

    /// Parses `NAME = expression`.
    fn assignment(&mut self, first: Token) -> Parsed {
        self.bump();
        let name = self.name_of(first)?;
        let span = self.span_of(first);
        let value = self.expr()?;
        self.define_constant(name, span, value, true);
        Ok(())
    }

    /// Defines a constant. If `variable`, it can be redefined, which applies to the lines below.
    fn define_constant(&mut self, name: Name, span: Span, expr: ExprId, variable: bool) {
        let def = match self.session.value(expr) {
            Ok(value) if value.base.is_none() => Def::Value(value.number),
            Err(NoValue::Wrong(diagnostic)) => {
                self.report(*diagnostic);
                Def::Value(0)
            }
            Ok(_) | Err(NoValue::Undefined(..) | NoValue::Unplaced(_)) => Def::Expr(expr),
        };
        self.define_value(name, span, def, variable);
    }

    fn define_value(&mut self, name: Name, span: Span, def: Def, variable: bool) {
        let current = self.current(name);
        let before = self.session.symbols.get(current);
        let target = match (before.def, def) {
            (Def::None, _) => name,
            (Def::Value(old), Def::Value(new)) if old == new => return,
            _ if variable && before.variable => {
                let fresh = self.session.names.fresh(self.session.names.shared(name));
                self.aliases.insert(name, fresh);
                fresh
            }
            _ => {
                self.report_duplicate(name, span, before.span);
                return;
            }
        };
        let symbol = self.session.symbols.entry(target);
        (symbol.def, symbol.span, symbol.variable) = (def, span, variable);
    }

    /// Returns the current definition of a name that `.set` may have redefined.
    fn current(&self, name: Name) -> Name {
        if self.aliases.is_empty() {
            return name;
        }
        self.aliases.get(&name).copied().unwrap_or(name)
    }

    fn statement(&mut self, first: Token, dropped: bool) -> Parsed {
        let text = Arc::clone(&self.lexer.text);
        let word = &text[first.start..first.end];
        if !self.macros.is_empty() && !dropped {
            let name = self.session.names.intern(word);
            if let Some(called) = self.macros.get(&name).map(Arc::clone) {
                return self.call_macro(&called, first);
            }
        }
        if word.starts_with('.') && word.len() > 1 {
            return self.directive(word, first, dropped);
        }
        if dropped {
            self.skip_line();
            return Ok(());
        }
        if self.structure.is_some() {
            let diagnostic =
                Diagnostic::error(self.span_of(first), "a `.struct` can only contain `.field`")
                    .help("close it with `.ends`");
            return Err(self.report(diagnostic));
        }
        self.instruction(word, first)
    }

    // Names and sections.

    fn name_of(&mut self, token: Token) -> Parsed<Name> {
        if token.kind != Tok::Str {
            let text = &self.lexer.text[token.start..token.end];
            return Ok(self.session.names.intern(text));
        }
        let bytes = self.unescape(token)?;
        match String::from_utf8(bytes) {
            Ok(text) if !text.is_empty() && !text.contains(NUMERIC) => {
                Ok(self.session.names.intern(&text))
            }
            _ => Err(self.syntax_error(self.span_of(token), "invalid name")),
        }
    }

    /// Parses a name, as an operand of a directive.
    fn name(&mut self) -> Parsed<Name> {
        if !matches!(self.token.kind, Tok::Ident | Tok::Str) {
            return Err(self.expected("a name"));
        }
        let name = self.name_of(self.token)?;
        self.bump();
        Ok(name)
    }

    /// Returns the bytes of a string token, without quotes and with escapes replaced.
    fn unescape(&mut self, token: Token) -> Parsed<Vec<u8>> {
        let text = Arc::clone(&self.lexer.text);
        let mut rest = &text[token.start + 1..token.end - 1];
        let mut bytes = Vec::with_capacity(rest.len());
        while let Some(at) = rest.find('\\') {
            bytes.extend_from_slice(&rest.as_bytes()[..at]);
            rest = &rest[at + 1..];
            let Some(length) = crate::lex::unescape_one(rest, &mut bytes) else {
                let start = token.end - 1 - rest.len() - 1;
                let length = rest.chars().next().map_or(0, char::len_utf8);
                let span = self.lexer.span(start, start + 1 + length);
                let diagnostic = Diagnostic::syntax(span, "unknown escape in a string").help(
                    r#"known escapes are \n \t \r \b \f \v \a \e \\ \" \' \xHH and octal \NNN"#,
                );
                return Err(self.report(diagnostic));
            };
            rest = &rest[length..];
        }
        bytes.extend_from_slice(rest.as_bytes());
        Ok(bytes)
    }

    fn section_kind(&self) -> SectionKind {
        self.ast.sections[self.section.0 as usize].kind
    }

    fn add_section(&mut self, text: &str, kind: SectionKind) -> SectionId {
        let name = self.session.names.intern(text);
        if let Some(&id) = self.sections.get(&name) {
            return id;
        }
        let index = u32::try_from(self.ast.sections.len()).expect("a section takes a line");
        let id = SectionId(index);
        self.ast.sections.push(Section { name, kind });
        self.sections.insert(name, id);
        id
    }

    fn enter_section(&mut self, id: SectionId, span: Span) {
        self.section_previous = self.section;
        self.section = id;
        self.push(span, StmtKind::Section(id));
    }
}

/// Returns the internal name of the `count`th definition of a numeric label.
fn numeric_name(number: u32, count: u32) -> String {
    format!("{number}{NUMERIC}{count}")
}
