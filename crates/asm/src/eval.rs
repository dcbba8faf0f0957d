//! Evaluation of expressions.
//!
//! A value is a number, or an offset from a section or from a symbol of another object. Arithmetic
//! is exact within 128 bits and never wraps; the users of a value check its range.

use crate::{
    ast::{Binary, Expr, ExprId, ExprKind, Unary},
    diagnostic::Diagnostic,
    names::Name,
    session::Session,
    source::Span,
    symbols::Def,
    value::{Base, Value},
};

/// The reason why an expression has no value. Until all sources are parsed and laid out, only
/// `Wrong` is final.
#[derive(Debug)]
pub(crate) enum NoValue {
    /// The name is not defined yet.
    Undefined(Name, Span),
    /// The label has no offset yet.
    Unplaced(Span),
    /// The expression is invalid.
    Wrong(Box<Diagnostic>),
}

/// Limit for constants that are defined by each other; a deeper nesting is probably a cycle.
const DEPTH_MAX: usize = 128;
/// Limit for the operands of one expression, including those of the constants in it.
const STEPS_MAX: u32 = 1 << 12;

impl Session<'_> {
    /// Returns the value of an expression, from the names that are defined so far.
    pub(crate) fn value(&self, expr: ExprId) -> Result<Value, NoValue> {
        Evaluator { session: self, constants: Vec::new(), steps: STEPS_MAX }.value(expr)
    }

    /// Returns the value of an expression; `None` after a report.
    pub(crate) fn eval(&mut self, expr: ExprId) -> Option<Value> {
        match self.value(expr) {
            Ok(value) => Some(value),
            Err(why) => {
                let diagnostic = self.explain(why);
                self.diagnostics.push(diagnostic);
                None
            }
        }
    }

    /// Returns the value of an expression that must be a plain number; `None` after a report.
    pub(crate) fn eval_number(&mut self, expr: ExprId) -> Option<i128> {
        let value = self.eval(expr)?;
        match value.base {
            None => return Some(value.number),
            Some(Base::Symbol(name)) if self.is_undefined(name) => {
                let diagnostic = self.undefined(name, self.exprs.get(expr).span);
                self.diagnostics.push(diagnostic);
                return None;
            }
            Some(_) => {}
        }
        let message = "expected a number, found an address";
        let diagnostic = Diagnostic::error(self.exprs.get(expr).span, message)
            .help("`lddw` loads an address, `.quad` stores one; `a - b` is their distance");
        self.diagnostics.push(diagnostic);
        None
    }

    /// Returns `number` as an integer of `size` bytes, signed or unsigned; `None` after a report.
    pub(crate) fn fit(&mut self, span: Span, number: i128, size: u8) -> Option<u64> {
        let bits = u32::from(size) * 8;
        let (min, max) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
        if (min..=max).contains(&number) {
            let bytes = number.to_le_bytes();
            let low = bytes.first_chunk::<8>().expect("sixteen bytes");
            return Some(u64::from_le_bytes(*low));
        }
        let (plural, hold) = if size == 1 { ("byte", "holds") } else { ("bytes", "hold") };
        let diagnostic = Diagnostic::error(span, format!("{number} does not fit {size} {plural}"))
            .note(format!("{size} {plural} {hold} {min} to {max}"));
        self.diagnostics.push(diagnostic);
        None
    }

    pub(crate) fn explain(&self, why: NoValue) -> Diagnostic {
        match why {
            NoValue::Wrong(diagnostic) => *diagnostic,
            NoValue::Undefined(name, span) => self.undefined(name, span),
            NoValue::Unplaced(span) => {
                Diagnostic::error(span, "the address of this label is not known yet")
            }
        }
    }

    /// Evaluates the constants that depend on later definitions. After layout (`all_placed`) it
    /// reports those that still have no value.
    pub(crate) fn resolve_constants(&mut self, all_placed: bool) {
        // In reverse: such constants are defined before the ones they depend on, whose values are
        // therefore known by then.
        for name in self.names.reversed() {
            let Def::Expr(expr) = self.symbols.get(name).def else { continue };
            let def = match self.value(expr) {
                Ok(Value { base: None, number }) => Def::Value(number),
                Ok(address) => Def::Address(address),
                Err(_) if !all_placed => continue,
                Err(why) => {
                    let diagnostic = self.explain(why);
                    self.diagnostics.push(diagnostic);
                    Def::Value(0)
                }
            };
            self.symbols.entry(name).def = def;
        }
    }

    /// Whether nothing in the source defines `name`.
    pub(crate) fn is_undefined(&self, name: Name) -> bool {
        let symbol = self.symbols.get(name);
        matches!(symbol.def, Def::None) && !symbol.common
    }

    /// Returns the diagnostic that `name` is not defined.
    pub(crate) fn undefined(&self, name: Name, span: Span) -> Diagnostic {
        let text = self.names.text(name);
        if let Some((number, _)) = text.split_once(crate::session::NUMERIC) {
            let message = format!("no label `{number}:` on that side");
            let help = format!("`{number}f` looks forward, `{number}b` backward");
            return Diagnostic::error(span, message).help(help);
        }
        let suggestion = self.suggest_symbol(text);
        let diagnostic = Diagnostic::error(span, format!("undefined symbol `{text}`"))
            .label("not a label, not a constant")
            .did_you_mean(suggestion);
        match self.resolves_at_link_time {
            true => diagnostic
                .note("only `lddw`, `.quad` and `call` can refer to symbols of other objects"),
            false => diagnostic,
        }
    }
}

struct Evaluator<'s, 'o> {
    session: &'s Session<'o>,
    /// The constants that are being evaluated.
    constants: Vec<Name>,
    /// The number of operands that may still be evaluated.
    steps: u32,
}

impl Evaluator<'_, '_> {
    fn value(&mut self, id: ExprId) -> Result<Value, NoValue> {
        let expr = self.session.exprs.get(id);
        let Some(steps) = self.steps.checked_sub(1) else {
            return Err(wrong(
                expr.span,
                "the constants in this expression have too many operands",
            ));
        };
        self.steps = steps;
        match expr.kind {
            ExprKind::Int(number) => Ok(Value::plain(number.into())),
            ExprKind::Symbol(name) => self.symbol(name, expr.span),
            ExprKind::Unary(operator, operand) => {
                let value = self.value(operand)?;
                unary(operator, value, expr.span)
                    .map_err(|why| self.find_cause(why, &[(operand, value)]))
            }
            ExprKind::Binary(operator, left, right) => {
                let operands = [(left, self.value(left)?), (right, self.value(right)?)];
                binary(operator, operands[0].1, operands[1].1, expr)
                    .map_err(|why| self.find_cause(why, &operands))
            }
        }
    }

    /// Replaces an error by that of an undefined name among the operands, which is its cause.
    fn find_cause(&self, why: NoValue, operands: &[(ExprId, Value)]) -> NoValue {
        let undefined = operands.iter().find_map(|(expr, value)| match value.base {
            Some(Base::Symbol(name)) if self.session.is_undefined(name) => Some((name, *expr)),
            _ => None,
        });
        undefined
            .map_or(why, |(name, expr)| NoValue::Undefined(name, self.session.exprs.get(expr).span))
    }

    fn symbol(&mut self, name: Name, span: Span) -> Result<Value, NoValue> {
        let symbol = self.session.symbols.get(name);
        match symbol.def {
            Def::Value(number) => Ok(Value::plain(number)),
            // Another object may override it.
            Def::Label(Some(_)) if symbol.weak && self.session.resolves_at_link_time => {
                Ok(Value { base: Some(Base::Symbol(name)), number: 0 })
            }
            Def::Label(Some((section, offset))) => {
                Ok(Value { base: Some(Base::Section(section)), number: offset.into() })
            }
            Def::Address(address) => Ok(address),
            Def::Label(None) => Err(NoValue::Unplaced(span)),
            Def::None if self.session.resolves_at_link_time && self.session.is_linkable(name) => {
                Ok(Value { base: Some(Base::Symbol(name)), number: 0 })
            }
            Def::None => Err(NoValue::Undefined(name, span)),
            Def::Expr(expr) => {
                if self.constants.contains(&name) || self.constants.len() > DEPTH_MAX {
                    let text = self.session.names.text(name);
                    return Err(wrong(span, &format!("constant `{text}` depends on itself")));
                }
                self.constants.push(name);
                let value = self.value(expr);
                self.constants.pop();
                value
            }
        }
    }
}

fn wrong(span: Span, message: &str) -> NoValue {
    NoValue::Wrong(Diagnostic::error(span, message).into())
}

fn unary(operator: Unary, operand: Value, span: Span) -> Result<Value, NoValue> {
    if operand.base.is_some() {
        return Err(wrong(span, "an address cannot be negated"));
    }
    Ok(Value::plain(match operator {
        Unary::Neg => operand.number.checked_neg().ok_or_else(|| overflow(span))?,
        Unary::Not => !operand.number,
        Unary::IsZero => i128::from(operand.number == 0),
    }))
}

fn overflow(span: Span) -> NoValue {
    wrong(span, "the value of this expression does not fit 128 bits")
}

fn binary(operator: Binary, left: Value, right: Value, expr: Expr) -> Result<Value, NoValue> {
    let base = base_of(operator, left.base, right.base, expr.span)?;
    let number = number_of(operator, left.number, right.number, expr.span)?;
    Ok(Value { base, number })
}

/// Returns the base of the result of an operation.
fn base_of(
    operator: Binary,
    left: Option<Base>,
    right: Option<Base>,
    span: Span,
) -> Result<Option<Base>, NoValue> {
    let diagnostic = match (operator, left, right) {
        (_, None, None) => return Ok(None),
        (_, Some(left), Some(right)) if left == right && compares(operator) => return Ok(None),
        (Binary::Add | Binary::Sub, Some(base), None) | (Binary::Add, None, Some(base)) => {
            return Ok(Some(base));
        }
        (Binary::Sub, Some(Base::Symbol(_)), _) | (Binary::Sub, _, Some(Base::Symbol(_))) => {
            Diagnostic::error(span, "only the linker knows this distance")
                .note("another object may override a weak label")
        }
        (Binary::Sub, Some(_), Some(_)) => {
            Diagnostic::error(span, "labels of different sections cannot be subtracted")
        }
        _ => Diagnostic::error(span, "this operation does not apply to addresses")
            .help("add numbers to addresses, or subtract labels of the same section"),
    };
    Err(NoValue::Wrong(diagnostic.into()))
}

/// Returns the number of the result of an operation.
fn number_of(operator: Binary, a: i128, b: i128, span: Span) -> Result<i128, NoValue> {
    let truth = |it: bool| Some(i128::from(it));
    let shift = u32::try_from(b).ok().filter(|bits| *bits < 64);
    let number = match operator {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div | Binary::Rem if b == 0 => return Err(wrong(span, "division by zero")),
        Binary::Div => a.checked_div(b),
        Binary::Rem => a.checked_rem(b),
        Binary::Shl | Binary::Shr if shift.is_none() => {
            return Err(wrong(span, "shift by less than 0 or more than 63 bits"));
        }
        Binary::Shl => shift.and_then(|bits| a.checked_mul(1 << bits)),
        Binary::Shr => shift.map(|bits| a >> bits),
        Binary::And => Some(a & b),
        Binary::Or => Some(a | b),
        Binary::Xor => Some(a ^ b),
        Binary::Eq => truth(a == b),
        Binary::Ne => truth(a != b),
        Binary::Lt => truth(a < b),
        Binary::Le => truth(a <= b),
        Binary::Gt => truth(a > b),
        Binary::Ge => truth(a >= b),
        Binary::AndAnd => truth(a != 0 && b != 0),
        Binary::OrOr => truth(a != 0 || b != 0),
    };
    number.ok_or_else(|| overflow(span))
}

/// Whether the operator applies to two addresses in one section.
fn compares(operator: Binary) -> bool {
    use Binary::{Eq, Ge, Gt, Le, Lt, Ne, Sub};
    matches!(operator, Sub | Eq | Ne | Lt | Le | Gt | Ge)
}
