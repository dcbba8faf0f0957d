//! Instructions written as `mnemonic operand, operand`.

use super::{Failed, Parsed, Parser};
use crate::{
    ast::StmtKind,
    diagnostic::Diagnostic,
    lex::{Tok, Token},
    mnemonic::{self, InsnSource, Operand, OperandKind},
};

/// A register: its number, and whether it was written as its lower half, like `w1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register {
    pub(crate) number: u8,
    pub(crate) half: bool,
}

/// Parses a register: `r`, `R`, `w` or `W` and one or two digits, or `fp`. The number may be too
/// large.
pub(crate) fn register(word: &str) -> Option<Register> {
    let (letter, digits) = word.as_bytes().split_first()?;
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| byte - b'0');
    let number = match (letter, digits) {
        (b'f', b"p") => return Some(Register { number: 10, half: false }),
        (b'r' | b'R' | b'w' | b'W', [one]) => digit(one)?,
        (b'r' | b'R' | b'w' | b'W', [ten @ b'1'..=b'9', one]) => digit(ten)? * 10 + digit(one)?,
        _ => return None,
    };
    Some(Register { number, half: matches!(letter, b'w' | b'W') })
}

impl Parser<'_, '_> {
    pub(super) fn is_register(&self, token: Token) -> bool {
        token.kind == Tok::Ident && register(self.text_of(token)).is_some()
    }

    /// Parses a register if the next token is one; reports one that does not exist.
    pub(super) fn register(&mut self) -> Parsed<Option<Register>> {
        if self.token.kind != Tok::Ident {
            return Ok(None);
        }
        let Some(register) = register(self.text_of(self.token)) else { return Ok(None) };
        if register.number > 10 {
            let message = format!("unknown register {}", self.token_text());
            let diagnostic =
                Diagnostic::syntax(self.span(), message).help("the registers are r0 to r10");
            return Err(self.report(diagnostic));
        }
        self.bump();
        Ok(Some(register))
    }

    /// Parses a line that starts with a word that is not a directive.
    pub(super) fn instruction(&mut self, word: &str, first: Token) -> Parsed {
        if word == "call" || word == "syscall" {
            return self.call(word == "syscall", first);
        }
        if let Some(mnemonic) = mnemonic::find(word) {
            self.check_text_section(first)?;
            let (operands, count) = self.operands()?;
            let source = InsnSource {
                name: word,
                name_span: self.span_of(first),
                span: self.span_from(first),
            };
            return self.push_selected(mnemonic, source, &operands[..count]);
        }
        if let Some(result) = self.pseudo(word, first) {
            return result;
        }
        Err(self.unknown_instruction(word, first))
    }

    pub(super) fn push_selected(
        &mut self,
        mnemonic: &mnemonic::Mnemonic,
        source: InsnSource<'_>,
        operands: &[Operand],
    ) -> Parsed {
        let insn = self.session.select(mnemonic, source, operands).ok_or(Failed)?;
        self.push(source.span, StmtKind::Insn(insn));
        Ok(())
    }

    fn unknown_instruction(&mut self, word: &str, first: Token) -> Failed {
        let near = if self.session.may_suggest() {
            let by_macro = self.macro_names();
            mnemonic::suggest(word, self.session.options.version).or_else(|| {
                selkie_isa::suggest::nearest(word, by_macro.iter().map(AsRef::as_ref))
                    .map(str::to_owned)
            })
        } else {
            None
        };
        let diagnostic =
            Diagnostic::error(self.span_of(first), format!("unknown instruction `{word}`"))
                .did_you_mean(near);
        self.report(diagnostic)
    }

    fn call(&mut self, syscall: bool, first: Token) -> Parsed {
        self.check_text_section(first)?;
        if !syscall && self.is_register(self.token) {
            let diagnostic =
                Diagnostic::error(self.span(), "`call` takes a name, not a register").help(
                    format!("`callx {}` calls the address in a register", self.text_of(self.token)),
                );
            return Err(self.report(diagnostic));
        }
        if self.at_end() {
            return Err(self.expected("a function or syscall to call"));
        }
        let target = self.expr()?;
        self.push(self.span_from(first), StmtKind::Call { target, syscall });
        Ok(())
    }

    pub(super) fn check_text_section(&mut self, first: Token) -> Parsed {
        use crate::ast::SectionKind;
        if self.section_kind() == SectionKind::Text {
            return Ok(());
        }
        let section = self.ast.sections[self.section.0 as usize].name;
        let message = format!("an instruction in `{}`", self.session.names.text(section));
        let diagnostic = Diagnostic::error(self.span_of(first), message)
            .help("put `.text` before the instructions");
        Err(self.report(diagnostic))
    }

    fn operands(&mut self) -> Parsed<([Operand; 3], usize)> {
        let none = Operand { span: self.span(), kind: OperandKind::Reg(0) };
        let mut operands = [none; 3];
        let mut count = 0;
        if self.at_end() {
            return Ok((operands, count));
        }
        loop {
            if count == operands.len() {
                return Err(self.syntax_error(self.span(), "more than three operands"));
            }
            operands[count] = self.operand()?;
            count += 1;
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        if !self.at_end() {
            let message =
                format!("expected `,` or the end of the line, found {}", self.token_text());
            return Err(self.syntax_error(self.span(), message));
        }
        Ok((operands, count))
    }

    fn operand(&mut self) -> Parsed<Operand> {
        let first = self.token;
        let kind = match first.kind {
            Tok::BracketL => self.memory(Tok::BracketR, "`]`")?,
            Tok::ParenL if self.register_follows() => self.memory(Tok::ParenR, "`)`")?,
            _ => match self.register()? {
                Some(register) => OperandKind::Reg(register.number),
                None => OperandKind::Expr(self.expr()?),
            },
        };
        Ok(Operand { span: self.span_from(first), kind })
    }

    fn register_follows(&mut self) -> bool {
        let checkpoint = self.checkpoint();
        self.bump();
        let follows = self.is_register(self.token);
        self.rewind(checkpoint);
        follows
    }

    /// Parses `[r1 + 8]`; the next token is the opening bracket.
    pub(super) fn memory(&mut self, close: Tok, closing: &str) -> Parsed<OperandKind> {
        self.bump();
        let Some(base) = self.register()? else {
            let message = format!("expected a register, found {}", self.token_text());
            let diagnostic = Diagnostic::syntax(self.span(), message)
                .help("an address is written `[r1 + offset]`, the register first");
            return Err(self.report(diagnostic));
        };
        let off = match self.token.kind {
            Tok::Plus => {
                self.bump();
                Some(self.expr()?)
            }
            Tok::Minus => Some(self.expr()?),
            _ => None,
        };
        if self.token.kind != close {
            return Err(self.expected(&format!("`+`, `-` or {closing}")));
        }
        self.bump();
        Ok(OperandKind::Mem { base: base.number, off })
    }
}
