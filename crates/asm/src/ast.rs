//! A program after reading: a flat list of statements, macros and loops expanded.
//!
//! Expressions live in one arena and are referred to by number; a statement is a few words. All
//! dialects give the same statements: `add64 r1, 2`, `add r1, 2` and `r1 += 2` are one thing.

use core::num::NonZeroU32;

use selkie_isa::Op;

use crate::{names::Name, source::Span};

/// An expression in [`Exprs`].
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

/// The arena of expressions. What an expression refers to was added before it.
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

/// A section, by its place in [`Ast::sections`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SectionId(pub(crate) u32);

impl SectionId {
    /// All instructions, once laid out; `.text` before.
    pub(crate) const TEXT: Self = Self(0);
    /// All read-only data, once laid out; `.rodata` before.
    pub(crate) const RODATA: Self = Self(1);
}

/// What becomes of what stands in a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SectionKind {
    Text,
    ReadOnly,
    /// For compilers and linkers, not for the VM: debug information and notes.
    Dropped,
    /// Data that the program may write. In a program it is reported, and then laid out like the
    /// rest so that nothing else is.
    Writable,
    /// The same, all zeros.
    Zeroed,
}

#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: Name,
    pub(crate) kind: SectionKind,
}

/// One instruction, its operands not yet evaluated.
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
    /// A call; `syscall` says that the source used that word.
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
    /// Up to a multiple of `to` (of two to the power of it, if `power`).
    Align {
        to: ExprId,
        power: bool,
        fill: u8,
    },
    /// [`StmtKind::Align`] and [`StmtKind::Fill`] once laid out: `count` times `value`.
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

/// A program as it was read.
#[derive(Debug, Default)]
pub(crate) struct Ast {
    pub(crate) stmts: Vec<Stmt>,
    pub(crate) sections: Vec<Section>,
    pub(crate) bytes: Vec<u8>,
    pub(crate) lists: Vec<ExprId>,
    /// A limit was met, and the rest was not read.
    pub(crate) is_partial: bool,
}
