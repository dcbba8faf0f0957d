//! What names stand for: labels, constants, and what was said about them.

use crate::{
    ast::{ExprId, SectionId},
    names::Name,
    source::Span,
    value::Value,
};

/// What a name stands for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Def {
    #[default]
    None,
    /// A place; without an offset until it is laid out.
    Label(Option<(SectionId, u32)>),
    /// A constant that was known where it was defined.
    Value(i128),
    /// A constant that refers to what comes later.
    Expr(ExprId),
    /// A constant that turned out to be an address.
    Address(Value),
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Symbol {
    pub(crate) def: Def,
    pub(crate) span: Span,
    /// Where `.globl` named it.
    pub(crate) global: Option<Span>,
    /// `.type name, @function`
    pub(crate) function: bool,
    /// `.extern name` or `.syscall name`
    pub(crate) external: bool,
    /// `.weak name`: a definition elsewhere counts before this one.
    pub(crate) weak: bool,
    /// `.comm name, size`
    pub(crate) common: bool,
    /// `.hidden name` and the like: what ELF calls visibility.
    pub(crate) visibility: u8,
    /// `.size name, value`
    pub(crate) size: Option<ExprId>,
    /// Redefinition is allowed: `.set`.
    pub(crate) variable: bool,
}

/// The symbols, by name.
#[derive(Debug, Default)]
pub(crate) struct Symbols(Vec<Symbol>);

impl Symbols {
    pub(crate) fn get(&self, name: Name) -> Symbol {
        self.0.get(name.index()).copied().unwrap_or_default()
    }

    pub(crate) fn entry(&mut self, name: Name) -> &mut Symbol {
        if self.0.len() <= name.index() {
            self.0.resize(name.index() + 1, Symbol::default());
        }
        &mut self.0[name.index()]
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Symbol> {
        self.0.iter_mut()
    }
}
