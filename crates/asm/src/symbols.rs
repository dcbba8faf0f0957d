//! Symbols: the definitions of labels and constants, and their attributes.

use crate::{
    ast::{ExprId, SectionId},
    names::Name,
    source::Span,
    value::Value,
};

/// The definition of a name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Def {
    #[default]
    None,
    /// A label; its section and offset are known after layout.
    Label(Option<(SectionId, u32)>),
    /// A constant whose value is known.
    Value(i128),
    /// A constant that depends on later definitions.
    Expr(ExprId),
    /// A constant whose value is an address.
    Address(Value),
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Symbol {
    pub(crate) def: Def,
    pub(crate) span: Span,
    /// The operand of `.globl` that names it.
    pub(crate) global: Option<Span>,
    /// `.type name, @function`
    pub(crate) function: bool,
    /// `.extern name` or `.syscall name`
    pub(crate) external: bool,
    /// `.weak name`: a definition in another object overrides this one.
    pub(crate) weak: bool,
    /// `.comm name, size`
    pub(crate) common: bool,
    /// ELF visibility: `.hidden name` and others.
    pub(crate) visibility: u8,
    /// `.size name, value`
    pub(crate) size: Option<ExprId>,
    /// Whether it can be redefined (`.set`).
    pub(crate) variable: bool,
}

/// All symbols, by name.
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
