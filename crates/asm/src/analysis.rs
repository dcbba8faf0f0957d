//! The names that a source defines, for editors.

use crate::{
    ast::SectionId,
    names::Name,
    session::Session,
    source::Span,
    symbols::Def,
    value::{Base, Value},
};

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A number.
    Number(i128),
    /// A place, in bytes from the start of the instructions.
    Text(i128),
    /// A place, in bytes from the start of the read-only data.
    Rodata(i128),
}

/// A name that is defined in a source, as far as the assembler got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// Where it is defined; `None` if it is predefined.
    pub span: Option<Span>,
    /// What it stands for.
    pub meaning: Meaning,
}

impl Session<'_> {
    /// The names that stand for something, in the order in which they were first seen.
    pub(crate) fn definitions(&self) -> Vec<Definition> {
        let place = |section, number| match section {
            SectionId::TEXT => Meaning::Text(number),
            _ => Meaning::Rodata(number),
        };
        let definition = |(name, text): (Name, &str)| {
            let symbol = self.symbols.get(name);
            let meaning = match symbol.def {
                Def::Value(number) => Meaning::Number(number),
                Def::Label(Some((section, offset))) => place(section, offset.into()),
                Def::Address(Value { base: Some(Base::Section(section)), number }) => {
                    place(section, number)
                }
                Def::Address(Value { base: None, number }) => Meaning::Number(number),
                Def::Address(Value { base: Some(Base::Symbol(_)), .. })
                | Def::None
                | Def::Label(None)
                | Def::Expr(_) => return None,
            };
            let span = (symbol.span != Span::default()).then_some(symbol.span);
            self.is_source_name(name).then(|| Definition { name: text.to_owned(), span, meaning })
        };
        self.names.all().filter_map(definition).collect()
    }
}
