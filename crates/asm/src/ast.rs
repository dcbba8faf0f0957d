//! The parsed program: a flat list of statements, in which macros and loops are expanded.
//!
//! Expressions are stored in an arena and referred to by index, so a statement is a few words. All
//! dialects parse to the same statements: `add64 r1, 2`, `add r1, 2` and `r1 += 2` are equal.

use core::num::NonZeroU32;

use selkie_isa::Op;

use crate::{names::Name, source::Span};

/// The index of an expression in [`Exprs`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExprId(NonZeroU32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unary {
    Neg,
    Not,
    /// `!x`: 1 if `x` is 0, else 0.
    IsZero,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    AndAnd,
    OrOr,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ExprKind {
    Int(u64),
    Symbol(Name),
    Unary(Unary, ExprId),
    Binary(Binary, ExprId, ExprId),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Expr {
    pub(crate) span: Span,
    pub(crate) kind: ExprKind,
}

/// The arena of expressions. Operands are added before the expressions that use them.
#[derive(Debug, Default)]
pub(crate) struct Exprs(Vec<Expr>);

impl Exprs {
    pub(crate) fn add(&mut self, span: Span, kind: ExprKind) -> ExprId {
        self.0.push(Expr { span, kind });
        let count = u32::try_from(self.0.len()).ok().and_then(NonZeroU32::new);
        ExprId(count.expect("fewer expressions than bytes of source, and one at least"))
    }

    pub(crate) fn reserve(&mut self, count: usize) {
        self.0.reserve(count);
    }

    pub(crate) fn get(&self, id: ExprId) -> Expr {
        self.0[id.0.get() as usize - 1]
    }
}

/// A section, as an index into [`Ast::sections`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SectionId(pub(crate) u32);

impl SectionId {
    /// `.text`; after the layout of a program, all instructions.
    pub(crate) const TEXT: Self = Self(0);
    /// `.rodata`; after the layout of a program, all read-only data.
    pub(crate) const RODATA: Self = Self(1);
}

/// The kind of a section's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SectionKind {
    Text,
    ReadOnly,
    /// Debug information and notes for other tools, which are dropped.
    Dropped,
    /// Writable data. A program with it is reported as an error, and then laid out like the rest to
    /// avoid follow-up errors.
    Writable,
    /// Zero-initialized writable data.
    Zeroed,
}

#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: Name,
    pub(crate) kind: SectionKind,
}

/// An instruction with unevaluated operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InsnStmt {
    pub(crate) op: Op,
    pub(crate) dst: u8,
    pub(crate) src: u8,
    /// Offset of a memory access, or target of a jump.
    pub(crate) off: Option<ExprId>,
    pub(crate) imm: Option<ExprId>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum StmtKind {
    Label(Name),
    Section(SectionId),
    Insn(InsnStmt),
    /// A call; `syscall` if it was written as `syscall name`.
    Call {
        target: ExprId,
        syscall: bool,
    },
    /// Bytes `start..end` of [`Ast::bytes`].
    Bytes {
        start: u32,
        end: u32,
    },
    /// Expressions `start..end` of [`Ast::lists`], each as an integer of `size` bytes.
    Values {
        size: u8,
        start: u32,
        end: u32,
    },
    /// `count` times `value`, as integers of `size` bytes.
    Fill {
        count: ExprId,
        size: u8,
        value: Option<ExprId>,
    },
    /// Alignment to a multiple of `to`, or of 2 to the power `to` if `power` is set.
    Align {
        to: ExprId,
        power: bool,
        fill: u8,
    },
    /// [`StmtKind::Align`] or [`StmtKind::Fill`] after layout: `count` times `value`.
    Repeat {
        count: u32,
        size: u8,
        value: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stmt {
    pub(crate) span: Span,
    pub(crate) kind: StmtKind,
}

/// A parsed program.
#[derive(Debug, Default)]
pub(crate) struct Ast {
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) sections: Vec<Section>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) lists: Vec<ExprId>,
    /// Whether parsing ended early, at a limit.
    pub(crate) is_partial: bool,
}
