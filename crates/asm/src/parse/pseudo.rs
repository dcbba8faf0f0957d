//! Instructions in the pseudo-C of LLVM's BPF back end: `r1 += 2`, `if r1 s> 5 goto L`.
//!
//! Each is converted to its mnemonic and operands, so that later phases handle only one form.

use selkie_isa::Version;

use super::{Parsed, Parser, insn::Register};
use crate::{
    diagnostic::Diagnostic,
    lex::{Tok, Token},
    mnemonic::{self, InsnSource, Operand, OperandKind},
    source::Span,
};

const ATOMIC_HELP: &str =
    "a program runs in one thread: load, compute and store one after the other";

/// Returns the mnemonic of a compound assignment without its width. V2 renamed some.
fn compound(kind: Tok, version: Version) -> Option<&'static str> {
    let v2 = version == Version::V2;
    Some(match kind {
        Tok::PlusEq => "add",
        Tok::MinusEq => "sub",
        Tok::StarEq if v2 => "lmul",
        Tok::SlashEq if v2 => "udiv",
        Tok::PercentEq if v2 => "urem",
        Tok::StarEq => "mul",
        Tok::SlashEq => "div",
        Tok::PercentEq => "mod",
        Tok::AmpEq => "and",
        Tok::PipeEq => "or",
        Tok::CaretEq => "xor",
        Tok::ShlEq => "lsh",
        Tok::ShrEq => "rsh",
        _ => return None,
    })
}

/// Returns the mnemonic of a comparison.
fn comparison(kind: Tok, signed: bool) -> Option<&'static str> {
    Some(match (kind, signed) {
        (Tok::EqEq, false) => "jeq",
        (Tok::Ne, false) => "jne",
        (Tok::Gt, false) => "jgt",
        (Tok::Ge, false) => "jge",
        (Tok::Lt, false) => "jlt",
        (Tok::Le, false) => "jle",
        (Tok::Amp, false) => "jset",
        (Tok::Gt, true) => "jsgt",
        (Tok::Ge, true) => "jsge",
        (Tok::Lt, true) => "jslt",
        (Tok::Le, true) => "jsle",
        _ => return None,
    })
}

/// Returns the suffix of memory instructions for the type `word`.
fn size(word: &str) -> Option<&'static str> {
    Some(match word {
        "u8" => "b",
        "u16" => "h",
        "u32" => "w",
        "u64" => "dw",
        _ => return None,
    })
}

impl Parser<'_, '_> {
    /// Parses the line if it is pseudo-C, after its first word.
    pub(super) fn pseudo(&mut self, word: &str, first: Token) -> Option<Parsed> {
        if let Some(dst) = super::insn::register(word) {
            return Some(self.check_text_section(first).and_then(|()| self.assign(dst, first)));
        }
        if !matches!(word, "if" | "goto" | "lock" | "gotol" | "may_goto") {
            return None;
        }
        Some(self.check_text_section(first).and_then(|()| match word {
            "if" => self.branch(first),
            "goto" => self.goto(first),
            "lock" => self.unsupported(first, "sBPF has no atomic instructions", ATOMIC_HELP),
            _ => {
                let message = format!("sBPF has no `{word}`");
                self.unsupported(first, &message, "use `goto`, or compile with -mcpu=v2")
            }
        }))
    }

    fn unsupported(&mut self, first: Token, message: &str, help: &str) -> Parsed {
        self.skip_line();
        let diagnostic = Diagnostic::error(self.span_from(first), message).help(help);
        Err(self.report(diagnostic))
    }

    fn emit(&mut self, name: &str, first: Token, operands: &[Operand]) -> Parsed {
        let span = self.span_from(first);
        self.end_of_line()?;
        let Some(mnemonic) = mnemonic::find(name) else {
            return Err(self.fail(span, format!("sBPF has no instruction for this (`{name}`)")));
        };
        self.push_selected(mnemonic, InsnSource { name, name_span: span, span }, operands)
    }

    /// Parses an assignment to a register.
    fn assign(&mut self, dst: Register, first: Token) -> Parsed {
        if dst.number > 10 {
            let message = format!("unknown register `{}`", self.text_of(first));
            let diagnostic = Diagnostic::syntax(self.span_of(first), message)
                .help("the registers are r0 to r10");
            return Err(self.report(diagnostic));
        }
        let target = operand(OperandKind::Reg(dst.number), self.span_of(first));
        let signed = self.is_word("s");
        if signed {
            self.bump();
        }
        let stem = match (self.token.kind, signed) {
            (Tok::Eq, false) => {
                self.bump();
                return self.assign_value(dst, target, first);
            }
            (Tok::ShrEq, true) => "arsh",
            (Tok::SlashEq, true) => "sdiv",
            (Tok::PercentEq, true) => "srem",
            (kind, false) => match compound(kind, self.session.options.version) {
                Some(stem) => stem,
                None => return Err(self.expected("`=` or an operator like `+=`")),
            },
            _ => return Err(self.expected("`>>=`, `/=` or `%=` after `s`")),
        };
        self.bump();
        let right = self.value_operand(dst)?;
        self.warn_sign_extension(stem, dst, first);
        self.emit(&with_width(stem, dst), first, &[target, right])
    }

    /// Warns about 32-bit arithmetic whose result sBPF extends differently than LLVM assumes, so
    /// that compiled code would be wrong.
    fn warn_sign_extension(&mut self, stem: &str, dst: Register, first: Token) {
        let differs = dst.half
            && matches!(stem, "add" | "sub" | "mul")
            && self.session.options.version != Version::V2;
        if differs && !self.warned_sign_extension {
            self.warned_sign_extension = true;
            let diagnostic = Diagnostic::warning(
                self.span_from(first),
                "sBPF sign-extends 32-bit sums, differences and products",
            )
            .note("eBPF, which LLVM writes pseudo-C for, zero-extends them; this is reported once")
            .help("compile with -mcpu=v2, or follow each with `w1 = w1`");
            self.report(diagnostic);
        }
    }

    /// Parses the right-hand side of an operator: a register of the same width, or a number.
    fn value_operand(&mut self, dst: Register) -> Parsed<Operand> {
        let first = self.token;
        let kind = match self.register()? {
            Some(src) => {
                self.same_width(dst, src, first)?;
                OperandKind::Reg(src.number)
            }
            None => OperandKind::Expr(self.expr()?),
        };
        Ok(operand(kind, self.span_from(first)))
    }

    fn same_width(&mut self, dst: Register, src: Register, at: Token) -> Parsed {
        if dst.half == src.half {
            return Ok(());
        }
        let diagnostic = Diagnostic::syntax(self.span_of(at), "`r` and `w` registers are mixed")
            .help("`w1` is the lower half of `r1`; write both as `r`, or both as `w`");
        Err(self.report(diagnostic))
    }

    /// Parses the right-hand side of `r1 =`.
    fn assign_value(&mut self, dst: Register, target: Operand, first: Token) -> Parsed {
        let kind = self.token.kind;
        match kind {
            Tok::Star => {
                let (size, _) = self.type_of_access()?;
                let memory = self.memory_operand()?;
                return self.emit(&format!("ldx{size}"), first, &[target, memory]);
            }
            Tok::Minus if self.register_after_minus() => {
                self.bump();
                self.same_register(dst, "-")?;
                return self.emit(&with_width("neg", dst), first, &[target]);
            }
            Tok::ParenL if self.cast_follows() => {
                return self.unsupported(
                    first,
                    "sBPF has no sign-extending moves",
                    "shift left, then `s>>=` back; or compile with -mcpu=v2",
                );
            }
            Tok::Ident => {
                let word = self.text_of(self.token).to_owned();
                if let Some(mnemonic) = byte_swap(&word) {
                    self.bump();
                    self.same_register(dst, &word)?;
                    return self.emit(&mnemonic, first, &[target]);
                }
                if ["atomic_", "cmpxchg", "xchg"].iter().any(|it| word.starts_with(it)) {
                    let message = "sBPF has no atomic instructions";
                    return self.unsupported(first, message, ATOMIC_HELP);
                }
            }
            _ => {}
        }
        self.assign_operand(dst, target, first)
    }

    /// Parses the right-hand side of a move or of an `lddw`.
    fn assign_operand(&mut self, dst: Register, target: Operand, first: Token) -> Parsed {
        let start = self.token;
        if let Some(src) = self.register()? {
            // LLVM writes zero-extension as `r0 = w1`. V2's `mov32` extends the sign instead.
            let zero_extends = src.half && self.session.options.version != Version::V2;
            if !zero_extends {
                self.same_width(dst, src, start)?;
            }
            let right = operand(OperandKind::Reg(src.number), self.span_of(start));
            return self.emit(&with_width("mov", src), first, &[target, right]);
        }
        let expr = self.expr()?;
        let right = operand(OperandKind::Expr(expr), self.span_from(start));
        if self.is_word("ll") {
            self.bump();
            return self.emit("lddw", first, &[target, right]);
        }
        self.emit(&with_width("mov", dst), first, &[target, right])
    }

    fn register_after_minus(&mut self) -> bool {
        let checkpoint = self.checkpoint();
        self.bump();
        let follows = self.is_register(self.token);
        self.rewind(checkpoint);
        follows
    }

    /// Whether a cast `(s8)`, `(s16)` or `(s32)` follows.
    fn cast_follows(&mut self) -> bool {
        let checkpoint = self.checkpoint();
        self.bump();
        let follows = ["s8", "s16", "s32"].iter().any(|it| self.is_word(it));
        self.rewind(checkpoint);
        follows
    }

    /// Checks that the operand is the destination register: unary operations work in place.
    fn same_register(&mut self, dst: Register, operation: &str) -> Parsed {
        let at = self.token;
        let src = self.register()?;
        if src.is_some_and(|src| src.number == dst.number) {
            return Ok(());
        }
        let message = format!("`{operation}` works in place: both registers must be the same");
        Err(self.fail(self.span_of(at), message))
    }

    /// Parses `*(u64 *)` and returns the suffix of its mnemonic.
    fn type_of_access(&mut self) -> Parsed<(&'static str, Span)> {
        self.bump();
        self.expect(Tok::ParenL, "`(`")?;
        let at = self.token;
        let word = self.text_of(at).to_owned();
        let Some(size) = size(&word) else {
            let diagnostic = if matches!(word.as_str(), "s8" | "s16" | "s32") {
                Diagnostic::error(self.span(), "sBPF has no sign-extending loads")
                    .help("load unsigned, shift left and `s>>=` back; or compile with -mcpu=v2")
            } else {
                let message =
                    format!("expected `u8`, `u16`, `u32` or `u64`, found {}", self.token_text());
                Diagnostic::syntax(self.span(), message)
            };
            return Err(self.report(diagnostic));
        };
        self.bump();
        self.expect(Tok::Star, "`*`")?;
        self.expect(Tok::ParenR, "`)`")?;
        Ok((size, self.span_of(at)))
    }

    fn memory_operand(&mut self) -> Parsed<Operand> {
        let first = self.token;
        if first.kind != Tok::ParenL {
            return Err(self.expected("`(`"));
        }
        let kind = self.memory(Tok::ParenR, "`)`")?;
        Ok(operand(kind, self.span_from(first)))
    }

    /// Parses `*(u64 *)(r1 + 8) = …`.
    pub(super) fn store(&mut self) -> Parsed {
        let first = self.token;
        self.check_text_section(first)?;
        let (size, _) = self.type_of_access()?;
        let memory = self.memory_operand()?;
        self.expect(Tok::Eq, "`=`")?;
        let at = self.token;
        let (stem, kind) = match self.register()? {
            Some(src) => ("stx", OperandKind::Reg(src.number)),
            None => ("st", OperandKind::Expr(self.expr()?)),
        };
        let value = operand(kind, self.span_from(at));
        self.emit(&format!("{stem}{size}"), first, &[memory, value])
    }

    /// Parses `if r1 > 5 goto L`, after `if`.
    fn branch(&mut self, first: Token) -> Parsed {
        let at = self.token;
        let Some(left) = self.register()? else { return Err(self.expected("a register")) };
        let target = operand(OperandKind::Reg(left.number), self.span_of(at));
        let signed = self.is_word("s");
        if signed {
            self.bump();
        }
        let Some(stem) = comparison(self.token.kind, signed) else {
            return Err(self.expected("a comparison"));
        };
        self.bump();
        let right = self.value_operand(left)?;
        if !self.is_word("goto") {
            return Err(self.expected("`goto`"));
        }
        self.bump();
        let at = self.token;
        let expr = self.expr()?;
        let destination = operand(OperandKind::Expr(expr), self.span_from(at));
        let name = if left.half { format!("{stem}32") } else { stem.to_owned() };
        self.emit(&name, first, &[target, right, destination])
    }

    fn goto(&mut self, first: Token) -> Parsed {
        let at = self.token;
        let expr = self.expr()?;
        let destination = operand(OperandKind::Expr(expr), self.span_from(at));
        self.emit("ja", first, &[destination])
    }
}

fn operand(kind: OperandKind, span: Span) -> Operand {
    Operand { span, kind }
}

fn with_width(stem: &str, register: Register) -> String {
    format!("{stem}{}", if register.half { "32" } else { "64" })
}

/// Returns the mnemonic of a byte order conversion. Memory is little-endian, so `bswap` is `be`.
fn byte_swap(word: &str) -> Option<String> {
    let bits = ["be", "le", "bswap"].iter().find_map(|stem| word.strip_prefix(stem))?;
    let known = matches!(bits, "16" | "32" | "64");
    known.then(|| word.replace("bswap", "be"))
}
