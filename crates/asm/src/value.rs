//! Values of expressions and constants.

use crate::{ast::SectionId, names::Name};

/// What an address counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// The start of a section.
    Section(SectionId),
    /// Of an object: a symbol whose place only the linker knows.
    Symbol(Name),
}

/// A number, or an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    /// What the number counts from; `None` if it is a plain number.
    pub(crate) base: Option<Base>,
    pub(crate) number: i128,
}

impl Value {
    pub(crate) const fn plain(number: i128) -> Self {
        Self { base: None, number }
    }
}
