//! Expressions, with the operator precedence of C.

use super::{Failed, Parsed, Parser, numeric_name};
use crate::{
    ast::{Binary, ExprId, ExprKind, StmtKind, Unary},
    diagnostic::Diagnostic,
    eval::NoValue,
    lex::{Tok, Token},
    names::Name,
    session::HERE,
    source::Span,
    symbols::Def,
};

/// Limit for the operators and parentheses of one expression, over which evaluation recurses.
const OPERATORS_MAX: u32 = 400;

/// Returns the operator of a token, and its precedence.
fn operator(kind: Tok) -> Option<(Binary, u8)> {
    Some(match kind {
        Tok::OrOr => (Binary::OrOr, 1),
        Tok::AndAnd => (Binary::AndAnd, 2),
        Tok::Pipe => (Binary::Or, 3),
        Tok::Caret => (Binary::Xor, 4),
        Tok::Amp => (Binary::And, 5),
        Tok::EqEq => (Binary::Eq, 6),
        Tok::Ne => (Binary::Ne, 6),
        Tok::Lt => (Binary::Lt, 7),
        Tok::Le => (Binary::Le, 7),
        Tok::Gt => (Binary::Gt, 7),
        Tok::Ge => (Binary::Ge, 7),
        Tok::Shl => (Binary::Shl, 8),
        Tok::Shr => (Binary::Shr, 8),
        Tok::Plus => (Binary::Add, 9),
        Tok::Minus => (Binary::Sub, 9),
        Tok::Star => (Binary::Mul, 10),
        Tok::Slash => (Binary::Div, 10),
        Tok::Percent => (Binary::Rem, 10),
        _ => return None,
    })
}

impl Parser<'_, '_> {
    /// Parses an expression.
    pub(super) fn expr(&mut self) -> Parsed<ExprId> {
        let mut budget = OPERATORS_MAX;
        self.binary(0, &mut budget)
    }

    /// Parses an expression whose value must be a number that is known at this line.
    pub(super) fn number(&mut self) -> Parsed<(i128, Span)> {
        let first = self.token;
        let expr = self.expr()?;
        let span = self.span_from(first);
        if let Err(why @ (NoValue::Undefined(..) | NoValue::Unplaced(_))) = self.session.value(expr)
        {
            let diagnostic = self.session.explain(why).note("its value must be known at this line");
            return Err(self.report(diagnostic));
        }
        self.session.eval_number(expr).map(|number| (number, span)).ok_or(Failed)
    }

    fn spend(&mut self, budget: &mut u32) -> Parsed {
        match budget.checked_sub(1) {
            Some(left) => {
                *budget = left;
                Ok(())
            }
            None => Err(self.syntax_error(self.span(), "this expression has too many operators")),
        }
    }

    fn binary(&mut self, precedence_min: u8, budget: &mut u32) -> Parsed<ExprId> {
        let mut left = self.unary(budget)?;
        while let Some((operator, precedence)) = operator(self.token.kind)
            && precedence > precedence_min
        {
            self.spend(budget)?;
            self.bump();
            let right = self.binary(precedence, budget)?;
            let span = self.session.exprs.get(left).span.to(self.session.exprs.get(right).span);
            left = self.session.exprs.add(span, ExprKind::Binary(operator, left, right));
        }
        Ok(left)
    }

    fn unary(&mut self, budget: &mut u32) -> Parsed<ExprId> {
        let operator = match self.token.kind {
            Tok::Minus => Some(Unary::Neg),
            Tok::Tilde => Some(Unary::Not),
            Tok::Bang => Some(Unary::IsZero),
            Tok::Plus => None,
            _ => return self.primary(budget),
        };
        let start = self.span();
        self.spend(budget)?;
        self.bump();
        let operand = self.unary(budget)?;
        let Some(operator) = operator else { return Ok(operand) };
        let span = start.to(self.session.exprs.get(operand).span);
        Ok(self.session.exprs.add(span, ExprKind::Unary(operator, operand)))
    }

    fn primary(&mut self, budget: &mut u32) -> Parsed<ExprId> {
        let (token, span) = (self.token, self.span());
        let kind = match token.kind {
            Tok::Int(number) => {
                self.warn_octal(token, number);
                ExprKind::Int(number)
            }
            Tok::Char(character) => ExprKind::Int(character),
            Tok::Ident | Tok::Str => return self.symbol(),
            Tok::NumericRef { number, forward } => {
                ExprKind::Symbol(self.numeric_reference(number, forward))
            }
            Tok::ParenL => {
                self.spend(budget)?;
                self.bump();
                let inner = self.binary(0, budget)?;
                self.expect(Tok::ParenR, "`)`")?;
                return Ok(inner);
            }
            Tok::IntTooLarge => {
                return Err(self.syntax_error(span, "the number does not fit 64 bits"));
            }
            Tok::IntBad => return Err(self.bad_number(span)),
            _ => return Err(self.expected("a number, a name or `(`")),
        };
        self.bump();
        Ok(self.session.exprs.add(span, kind))
    }

    /// Returns the internal name of the numeric label that `1f` or `1b` refers to.
    fn numeric_reference(&mut self, number: u32, forward: bool) -> Name {
        let defined = self.numeric.get(&number).copied().unwrap_or_default();
        let index = if forward { Some(defined) } else { defined.checked_sub(1) };
        // No label has the last index, so a reference to it is undefined.
        let text = numeric_name(number, index.unwrap_or(u32::MAX));
        self.session.names.intern(&text)
    }

    fn bad_number(&mut self, span: Span) -> Failed {
        let message = format!("{} is not a number", self.token_text());
        let diagnostic = Diagnostic::syntax(span, message)
            .help("numbers are written 10, 0xff, 0o17, 0b101 or 'A', with `_` between digits");
        self.report(diagnostic)
    }

    /// Warns about `010`, which some assemblers parse as 8.
    fn warn_octal(&mut self, token: Token, number: u64) {
        let text = self.text_of(token);
        let octal = text.len() > 1 && text.starts_with('0') && text.as_bytes()[1].is_ascii_digit();
        if octal && number > 7 {
            let digits = text.trim_start_matches('0').to_owned();
            let diagnostic = Diagnostic::warning(
                self.span_of(token),
                format!("parsed as decimal {number}, not as octal"),
            )
            .help(format!("write `{number}`, or `0o{digits}` for octal"));
            self.report(diagnostic);
        }
    }

    fn symbol(&mut self) -> Parsed<ExprId> {
        let (token, span) = (self.token, self.span());
        if self.is_register(token) {
            let message =
                format!("expected a number or a name, found register {}", self.token_text());
            return Err(self.syntax_error(span, message));
        }
        let name = if self.is_word(HERE) {
            self.here(span)
        } else {
            let name = self.name_of(token)?;
            self.current(name)
        };
        self.bump();
        Ok(self.session.exprs.add(span, ExprKind::Symbol(name)))
    }

    /// Defines an internal label at the current statement, for `.`.
    fn here(&mut self, span: Span) -> Name {
        let name = self.session.names.fresh(HERE.into());
        let symbol = self.session.symbols.entry(name);
        symbol.def = Def::Label(None);
        symbol.span = span;
        self.push(span, StmtKind::Label(name));
        name
    }
}
