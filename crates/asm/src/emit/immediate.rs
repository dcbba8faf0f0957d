//! Immediates and offsets, by the rules of their instructions.

use selkie_isa::{Alu, Cond, Kind, Op, Operand, Size, Width};

use super::{Emitter, RelocationKind};
use crate::{
    ast::ExprId,
    diagnostic::{Diagnostic, Severity},
    source::Span,
    value::{Base, Value},
};

impl Emitter<'_, '_> {
    /// Returns the immediate of an `lddw`: a number or an address.
    pub(super) fn imm64(&mut self, expr: ExprId) -> Option<i64> {
        let span = self.span_of(expr);
        let Value { base, number } = self.session.eval(expr)?;
        let value = match base {
            Some(base) => {
                self.address(expr, (base, number), (RelocationKind::Constant, self.cursor.offset))
            }
            None => self.session.fit(span, number, 8),
        };
        value.map(u64::cast_signed)
    }

    /// Returns the offset of a memory access relative to the register `base`.
    pub(super) fn offset(&mut self, expr: ExprId, base: u8) -> Option<i16> {
        let number = self.session.eval_number(expr)?;
        if let Ok(offset) = i16::try_from(number) {
            return Some(offset);
        }
        let (relation, limit) =
            if number < 0 { ("is below", "-0x8000") } else { ("exceeds", "0x7fff") };
        let hex = hex(number);
        let temporary = if base == 2 { 3 } else { 2 };
        let diagnostic = Diagnostic::error(self.span_of(expr), format!("offset {hex} {relation} {limit}"))
            .note("the offset of a memory access has 16 bits")
            .help(format!(
                "advance a base register first: `mov64 r{temporary}, r{base}` then `add64 r{temporary}, {hex}`"
            ));
        self.report(diagnostic);
        None
    }

    /// Returns a 32-bit immediate.
    pub(super) fn imm(&mut self, op: Op, expr: ExprId) -> Option<i64> {
        let span = self.span_of(expr);
        let number = self.imm_number(expr)?;
        self.check_meaning(op, span, number)?;
        if let Ok(imm) = i32::try_from(number) {
            return Some(imm.into());
        }
        let diagnostic = match u32::try_from(number) {
            Ok(imm) if uses_lower_half(op) => return Some(imm.cast_signed().into()),
            Ok(_) => sign_extended(op, span, number),
            Err(_) => too_large(op, span, number),
        };
        self.report(diagnostic);
        None
    }

    fn imm_number(&mut self, expr: ExprId) -> Option<i128> {
        let span = self.span_of(expr);
        let diagnostic = match self.session.eval(expr)? {
            Value { base: None, number } => return Some(number),
            Value { base: Some(Base::Symbol(name)), .. } if self.session.is_undefined(name) => {
                self.session.undefined(name, span)
            }
            Value { base: Some(_), .. } => {
                Diagnostic::error(span, "an address does not fit an immediate")
                    .help("load it into a register with `lddw`")
            }
        };
        self.report(diagnostic);
        None
    }

    /// Reports immediates that the verifier rejects, and warns about those that are probably
    /// mistakes.
    fn check_meaning(&mut self, op: Op, span: Span, number: i128) -> Option<()> {
        let diagnostic = match op.kind() {
            Kind::Alu(Alu::Lsh | Alu::Rsh | Alu::Arsh, width, _)
                if !(0..i128::from(width.bits())).contains(&number) =>
            {
                let bits = width.bits();
                Diagnostic::error(span, format!("shift of a {bits}-bit value by {number}"))
                    .note(format!("the verifier accepts 0 to {}", bits - 1))
            }
            Kind::Alu(Alu::Div | Alu::Mod | Alu::Sdiv | Alu::Srem, ..) if number == 0 => {
                Diagnostic::error(span, "division by zero")
                    .note("the verifier rejects a constant zero here")
            }
            Kind::Branch(Cond::Set, ..) if number == 0 => {
                Diagnostic::warning(span, "no bit is set in 0: this never jumps")
            }
            Kind::StoreImm(size @ (Size::B | Size::H)) => {
                let bits = size.bytes() * 8;
                if (-(1_i128 << (bits - 1))..1 << bits).contains(&number) {
                    return Some(());
                }
                Diagnostic::warning(
                    span,
                    format!("only the low {bits} bits of {number} are stored"),
                )
            }
            _ => return Some(()),
        };
        let is_error = diagnostic.severity == Severity::Error;
        self.report(diagnostic);
        (!is_error).then_some(())
    }
}

/// Whether only the lower 32 bits of the immediate count, so that unsigned numbers fit as well.
fn uses_lower_half(op: Op) -> bool {
    match op.kind() {
        Kind::Alu(Alu::Hor, ..) | Kind::Alu(_, _, Operand::Uimm) => true,
        Kind::Alu(_, width, _) | Kind::Branch(_, width, _) => width != Width::W64,
        Kind::StoreImm(size) => size != Size::Dw,
        _ => false,
    }
}

fn sign_extended(op: Op, span: Span, number: i128) -> Diagnostic {
    let hex = hex(number);
    let diagnostic = Diagnostic::error(span, format!("immediate {hex} would be sign-extended"))
        .note("a 64-bit operation takes -0x80000000 to 0x7fffffff");
    match op.kind() {
        Kind::Alu(Alu::Mov, ..) => diagnostic
            .help("use `lddw` for all 64 bits, or `mov32`, which does not extend the sign"),
        _ => diagnostic.help("load it into a register with `lddw` first"),
    }
}

fn too_large(op: Op, span: Span, number: i128) -> Diagnostic {
    let message = format!("immediate {} does not fit 32 bits", hex(number));
    Diagnostic::error(span, message).help(match op.kind() {
        Kind::Alu(Alu::Mov, ..) => "use `lddw`, which loads 64 bits",
        _ => "load it into a register with `lddw` first",
    })
}

/// Formats a number in hexadecimal, with its sign.
fn hex(number: i128) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{:#x}", number.unsigned_abs())
}
