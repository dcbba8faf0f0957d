//! Selection of the row of the instruction table for a mnemonic and its operands.
//!
//! Mnemonics are looked up in a map that is built once from the table; the aliases of dialects are
//! further keys for the same rows.

use std::{borrow::Cow, sync::LazyLock};

use selkie_isa::{Kind, Op, Shape, Version, Width, op::Field, syntax};

use crate::{
    ast::{ExprId, ExprKind, InsnStmt},
    diagnostic::Diagnostic,
    names::FastMap,
    session::Session,
    source::Span,
};

/// The rows with a mnemonic, and the width in a mnemonic like `le16`.
#[derive(Debug, Default)]
pub(crate) struct Mnemonic {
    ops: Vec<Op>,
    bits: Option<u64>,
}

static TABLE: LazyLock<FastMap<Cow<'static, str>, Mnemonic>> = LazyLock::new(|| {
    let mut table: FastMap<Cow<'static, str>, Mnemonic> = FastMap::default();
    for &op in Op::ALL.iter().filter(|op| **op != Op::Tail) {
        for (name, bits) in spellings(op) {
            let entry = table.entry(name).or_default();
            entry.ops.push(op);
            entry.bits = bits;
        }
    }
    table
});

/// Returns the aliases of a row's mnemonic: `add` for `add64`, `jeq64` for `jeq`.
fn spellings(op: Op) -> Vec<(Cow<'static, str>, Option<u64>)> {
    let name = op.mnemonic();
    match op.kind() {
        Kind::Endian(_) => {
            [16, 32, 64].map(|bits| (format!("{name}{bits}").into(), Some(bits))).to_vec()
        }
        Kind::Branch(_, Width::W64, _) => {
            vec![(name.into(), None), (format!("{name}64").into(), None)]
        }
        Kind::Alu(_, Width::W64, _) | Kind::Neg(Width::W64) => {
            vec![(name.into(), None), (name.trim_end_matches("64").into(), None)]
        }
        _ => vec![(name.into(), None)],
    }
}

/// Returns the mnemonic that is spelt `text`.
pub(crate) fn find(text: &str) -> Option<&'static Mnemonic> {
    TABLE.get(text)
}

/// Iterates over the spellings of all mnemonics.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    TABLE.keys().map(AsRef::as_ref)
}

/// Returns the mnemonic of `version` of which `text` is probably a misspelling.
pub(crate) fn suggest(text: &str, version: Version) -> Option<String> {
    let all: Vec<_> = syntax::mnemonics(version).collect();
    selkie_isa::suggest::nearest(text, all.iter().map(AsRef::as_ref)).map(str::to_owned)
}

/// An operand as it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) span: Span,
    pub(crate) kind: OperandKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum OperandKind {
    Reg(u8),
    Mem { base: u8, off: Option<ExprId> },
    Expr(ExprId),
}

impl Mnemonic {
    pub(crate) fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Returns the row for these operands in `version`.
    fn row(
        &self,
        version: Version,
        source: InsnSource<'_>,
        operands: &[Operand],
    ) -> Result<Op, Box<Diagnostic>> {
        let shape_matches = |op: &&Op| Self::matches_shape(op.kind().shape(), operands);
        let mut candidates = self.ops.iter().filter(shape_matches).copied();
        let first = candidates.clone().next().ok_or_else(|| wrong_operands(self, source))?;
        // V2 has no `lddw`; emission replaces it by two instructions.
        let in_version = |op: &Op| op.versions().contains(version) || *op == Op::Lddw;
        let row = candidates.find(in_version);
        row.ok_or_else(|| wrong_version(first, version, source).into())
    }

    /// Whether the kinds of `operands` match `shape`.
    fn matches_shape(shape: Shape, operands: &[Operand]) -> bool {
        use OperandKind::{Expr, Mem, Reg};
        let kind = |index: usize| operands.get(index).map(|operand| operand.kind);
        match (kind(0), kind(1), kind(2), operands.len()) {
            (None, ..) => shape == Shape::None,
            (Some(Reg(_)), None, ..) => matches!(shape, Shape::Dst | Shape::CallReg),
            (Some(Expr(_)), None, ..) => matches!(shape, Shape::Target | Shape::Call),
            (Some(Reg(_)), Some(Reg(_)), None, _) => shape == Shape::DstSrc,
            (Some(Reg(_)), Some(Expr(_)), None, _) => {
                matches!(shape, Shape::DstImm | Shape::DstImm64)
            }
            (Some(Reg(_)), Some(Mem { .. }), None, _) => shape == Shape::DstMem,
            (Some(Mem { .. }), Some(Expr(_)), None, _) => shape == Shape::MemImm,
            (Some(Mem { .. }), Some(Reg(_)), None, _) => shape == Shape::MemSrc,
            (Some(Reg(_)), Some(Expr(_)), Some(Expr(_)), 3) => shape == Shape::DstImmTarget,
            (Some(Reg(_)), Some(Reg(_)), Some(Expr(_)), 3) => shape == Shape::DstSrcTarget,
            _ => false,
        }
    }
}

/// An instruction as it was written, for diagnostics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InsnSource<'a> {
    pub(crate) name: &'a str,
    pub(crate) name_span: Span,
    /// The whole instruction.
    pub(crate) span: Span,
}

impl Session<'_> {
    /// Returns the instruction for a mnemonic with these operands; `None` after a report.
    pub(crate) fn select(
        &mut self,
        mnemonic: &Mnemonic,
        source: InsnSource<'_>,
        operands: &[Operand],
    ) -> Option<InsnStmt> {
        let op = match mnemonic.row(self.options.version, source, operands) {
            Ok(op) => op,
            Err(diagnostic) => {
                self.diagnostics.push(*diagnostic);
                return None;
            }
        };
        let mut insn = assign_fields(op, operands);
        if let Some(bits) = mnemonic.bits {
            insn.imm = Some(self.exprs.add(source.span, ExprKind::Int(bits)));
        }
        self.check_registers(insn, operands)?;
        Some(insn)
    }

    /// Reports uses of r10 that the verifier rejects.
    fn check_registers(&mut self, insn: InsnStmt, operands: &[Operand]) -> Option<()> {
        let frame_pointer = selkie_isa::layout::FRAME_POINTER;
        let Some(Operand { span, kind: OperandKind::Reg(register) }) = operands.first().copied()
        else {
            return Some(());
        };
        if register != frame_pointer {
            return Some(());
        }
        let diagnostic = match insn.op.kind() {
            Kind::CallReg(_) => Diagnostic::error(span, "`callx` cannot call the address in r10")
                .note("the verifier accepts r0 to r9 here"),
            Kind::Branch(..) => Diagnostic::error(span, "r10 cannot be compared here")
                .note("the verifier rejects r10 as the first operand of a branch")
                .help("copy it first: `mov64 r2, r10`, or swap the operands"),
            _ if insn.op == Op::Add64Imm => return Some(()),
            _ => Diagnostic::error(span, "cannot write to r10")
                .label("the frame pointer is read-only")
                .help("to point into the frame, copy it: `mov64 r2, r10` then `add64 r2, -8`"),
        };
        self.diagnostics.push(diagnostic);
        None
    }
}

fn assign_fields(op: Op, operands: &[Operand]) -> InsnStmt {
    use OperandKind::{Expr, Mem, Reg};
    let mut insn = InsnStmt { op, dst: 0, src: 0, off: None, imm: None };
    let shape = op.kind().shape();
    for (index, operand) in operands.iter().enumerate() {
        match (operand.kind, index) {
            (Reg(register), 0) => match op.kind() {
                Kind::CallReg(Field::InSrc) => insn.src = register,
                // Emission moves it into the immediate for `Field::InImm`.
                _ => insn.dst = register,
            },
            (Reg(register), _) => insn.src = register,
            (Mem { base, off }, 0) => (insn.dst, insn.off) = (base, off),
            (Mem { base, off }, _) => (insn.src, insn.off) = (base, off),
            (Expr(expr), 0) => insn.off = Some(expr),
            (Expr(expr), 1) => insn.imm = Some(expr),
            (Expr(expr), _) => insn.off = Some(expr),
        }
    }
    debug_assert!(Mnemonic::matches_shape(shape, operands));
    insn
}

fn wrong_operands(mnemonic: &Mnemonic, source: InsnSource<'_>) -> Diagnostic {
    let name = source.name;
    let mut forms: Vec<String> = Vec::new();
    for op in &mnemonic.ops {
        let form = match op.kind().shape() {
            Shape::None => format!("`{name}` alone"),
            shape => format!("`{name} {shape}`"),
        };
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    Diagnostic::syntax(source.span, format!("wrong operands for `{name}`"))
        .help(format!("it is written {}", forms.join(" or ")))
}

fn wrong_version(op: Op, version: Version, source: InsnSource<'_>) -> Diagnostic {
    let name = source.name;
    let versions: Vec<String> = op.versions().iter().map(|it| it.to_string()).collect();
    let diagnostic = Diagnostic::error(source.name_span, format!("{version} has no `{name}`"))
        .note(format!("versions that have it: {}", versions.join(", ")));
    match substitute(op, version) {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// Returns a suggestion for `version`, which lacks `op`.
fn substitute(op: Op, version: Version) -> Option<&'static str> {
    use selkie_isa::Alu;
    let v2 = version == Version::V2;
    Some(match op.kind() {
        Kind::Neg(_) if v2 => "v2 subtracts from zero: `sub64 r1, 0` is `r1 = 0 - r1`",
        Kind::Alu(Alu::Mul, ..) if v2 => "v2 has `lmul32`, `lmul64`, `uhmul64` and `shmul64`",
        Kind::Alu(Alu::Div, ..) if v2 => "v2 has `udiv32`, `udiv64`, `sdiv32` and `sdiv64`",
        Kind::Alu(Alu::Mod, ..) if v2 => "v2 has `urem32`, `urem64`, `srem32` and `srem64`",
        Kind::Alu(Alu::Mul, ..) => "use `mul32` or `mul64`",
        Kind::Alu(Alu::Div, ..) => "use `div32` or `div64`",
        Kind::Alu(Alu::Mod, ..) => "use `mod32` or `mod64`",
        Kind::Alu(Alu::Hor, ..) => "use `lddw`, which loads all 64 bits",
        Kind::Alu(Alu::Sdiv | Alu::Srem, ..) => {
            "divide the absolute values with `div64` or `mod64` and set the sign"
        }
        Kind::Branch(_, Width::Z32, _) => {
            "compare all 64 bits, after `lsh64` and `rsh64` by 32 if the upper half is in use"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_find_the_same_rows() {
        let check = |a: &str, b: &str| assert_eq!(find(a).unwrap().ops, find(b).unwrap().ops);
        check("mov", "mov64");
        check("neg", "neg64");
        check("jeq", "jeq64");
        check("lmul", "lmul64");
        assert_eq!(find("be16").unwrap().bits, Some(16));
        assert!(find("be").is_none());
        assert!(find("hor32").is_none());
    }
}
