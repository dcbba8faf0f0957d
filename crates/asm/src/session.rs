//! The state that all phases of an assembly share: sources, names, symbols, expressions,
//! diagnostics.

use selkie_protocol::syscalls::SYSCALLS;

use crate::{
    ast::{ExprId, Exprs},
    diagnostic::{Diagnostic, Diagnostics},
    names::{Name, Names},
    options::Options,
    source::{Sources, Span},
    symbols::{Def, Symbols},
};

/// Separates number and count in the internal name of a numeric label. Names in sources cannot
/// contain it.
pub(crate) const NUMERIC: char = '\0';

/// The name of the internal label that a `.` in an expression defines.
pub(crate) const HERE: &str = ".";

/// The kind of output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Product {
    /// A program: all names are defined in the source, and all addresses are final.
    Program,
    /// An object: names that the source does not define are defined in other objects.
    Object,
}

/// A common symbol (`.comm`): one variable for all objects that declare the name.
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
    /// Whether undefined names evaluate to symbols for the linker to resolve: in objects, after
    /// layout.
    pub(crate) resolves_at_link_time: bool,
    pub(crate) sources: Sources,
    pub(crate) names: Names,
    pub(crate) exprs: Exprs,
    pub(crate) symbols: Symbols,
    pub(crate) diagnostics: Diagnostics,
    /// The operands of `.globl`, in order.
    pub(crate) globals: Vec<Name>,
    /// The declarations of `.comm`, in order.
    pub(crate) commons: Vec<Common>,
    /// The operand of `.text_offset`.
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

    /// Whether a name is from the source, rather than an internal one.
    pub(crate) fn is_source_name(&self, name: Name) -> bool {
        let text = self.names.text(name);
        !text.contains(NUMERIC) && text != HERE
    }

    /// Whether the output is an object.
    pub(crate) fn is_object(&self) -> bool {
        self.product == Product::Object
    }

    /// Whether other objects can refer to a name: not to internal ones, and not to those that begin
    /// with `.L`.
    pub(crate) fn is_linkable(&self, name: Name) -> bool {
        self.is_source_name(name) && !self.names.text(name).starts_with(".L")
    }

    /// Returns the defined name of which `text` is probably a misspelling.
    pub(crate) fn suggest_symbol(&self, text: &str) -> Option<String> {
        let defined = self.names.all().filter(|(name, _)| {
            !matches!(self.symbols.get(*name).def, Def::None) && self.is_source_name(*name)
        });
        self.suggestion(text, defined.map(|(_, text)| text))
    }

    /// Returns the label or syscall of which `text` is probably a misspelling.
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
        selkie_isa::suggest::nearest(text, all).map(str::to_owned)
    }

    /// Whether to search for a suggestion: only for the first diagnostics, since each search takes
    /// time; fewer if there are very many names.
    pub(crate) fn may_suggest(&self) -> bool {
        let searches = if self.names.len() < 10_000 { 32 } else { 2 };
        self.diagnostics.len() < searches
    }
}
