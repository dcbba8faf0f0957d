//! Values of expressions and constants.

use crate::{ast::SectionId, names::Name};

/// The base of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// The start of a section.
    Section(SectionId),
    /// In objects: a symbol whose address only the linker knows.
    Symbol(Name),
}

/// A number, or an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    /// The base that the number is added to; `None` for a plain number.
    pub(crate) base: Option<Base>,
    pub(crate) number: i128,
}

impl Value {
    pub(crate) const fn plain(number: i128) -> Self {
        Self { base: None, number }
    }
}
