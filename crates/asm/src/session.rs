//! What all phases of one assembly share: the texts, the names and what they stand for, the
//! expressions, the findings.

use selkie_isa::syscalls::SYSCALLS;

use crate::{
    ast::{ExprId, Exprs},
    diagnostic::{Diagnostic, Diagnostics},
    names::{Name, Names},
    options::Options,
    source::{Sources, Span},
    suggest,
    symbols::{Def, Symbols},
};

/// Stands between number and count in the name of a numeric label: no source can spell it.
pub(crate) const NUMERIC: char = '\0';

/// The name of the label that a `.` in an expression makes.
pub(crate) const HERE: &str = ".";

/// What is made of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Product {
    /// Everything is in the source, and every address is final.
    Program,
    /// Other objects are linked to it: what is not defined here is defined there.
    Object,
}

/// A variable that is one with those of the same name in other objects: `.comm`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common {
    pub(crate) name: Name,
    pub(crate) size: ExprId,
    pub(crate) align: Option<ExprId>,
}

#[derive(Debug)]
pub(crate) struct Session<'o> {
    pub(crate) options: &'o Options,
    pub(crate) product: Product,
    /// From now on a name without a meaning is left to the linker: of an object, once everything
    /// has its place.
    pub(crate) resolves_at_link_time: bool,
    pub(crate) sources: Sources,
    pub(crate) names: Names,
    pub(crate) exprs: Exprs,
    pub(crate) symbols: Symbols,
    pub(crate) diagnostics: Diagnostics,
    /// What `.globl` named, in order.
    pub(crate) globals: Vec<Name>,
    /// What `.comm` declared, in order.
    pub(crate) commons: Vec<Common>,
    /// What `.text_offset` said.
    pub(crate) text_offset: Option<ExprId>,
}

impl<'o> Session<'o> {
    pub(crate) fn new(options: &'o Options, product: Product) -> Self {
        Self {
            options,
            product,
            resolves_at_link_time: false,
            sources: Sources::default(),
            names: Names::default(),
            exprs: Exprs::default(),
            symbols: Symbols::default(),
            diagnostics: Diagnostics::default(),
            globals: Vec::new(),
            commons: Vec::new(),
            text_offset: None,
        }
    }

    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message));
    }

    /// Whether a name can be shown to people and tools.
    pub(crate) fn is_source_name(&self, name: Name) -> bool {
        let text = self.names.text(name);
        !text.contains(NUMERIC) && text != HERE
    }

    /// Whether this is an object.
    pub(crate) fn is_object(&self) -> bool {
        self.product == Product::Object
    }

    /// Whether other objects could know a name: those of compilers and of single lines are a
    /// source's own.
    pub(crate) fn is_linkable(&self, name: Name) -> bool {
        self.is_source_name(name) && !self.names.text(name).starts_with(".L")
    }

    /// The defined name that `text` was probably meant to be.
    pub(crate) fn suggest_symbol(&self, text: &str) -> Option<String> {
        let defined = self.names.all().filter(|(name, _)| {
            !matches!(self.symbols.get(*name).def, Def::None) && self.is_source_name(*name)
        });
        self.suggestion(text, defined.map(|(_, text)| text))
    }

    /// The label or syscall that `text` was probably meant to be.
    pub(crate) fn suggest_callable(&self, text: &str) -> Option<String> {
        let defined = self.names.all().filter(|(name, _)| {
            let symbol = self.symbols.get(*name);
            (matches!(symbol.def, Def::Label(_)) || symbol.external) && self.is_source_name(*name)
        });
        let syscalls = SYSCALLS.iter().map(|syscall| syscall.name);
        self.suggestion(text, defined.map(|(_, text)| text).chain(syscalls))
    }

    fn suggestion<'a>(&self, text: &str, all: impl Iterator<Item = &'a str>) -> Option<String> {
        if !self.may_suggest() {
            return None;
        }
        suggest::nearest(text, all).map(str::to_owned)
    }

    /// Whether the search for a near name is still worth its time: not for the hundredth error, and
    /// among very many names only for the first.
    pub(crate) fn may_suggest(&self) -> bool {
        let searches = if self.names.len() < 10_000 { 32 } else { 2 };
        self.diagnostics.len() < searches
    }
}
