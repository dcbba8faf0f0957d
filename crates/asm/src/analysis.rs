//! The names that a source defines, for editors.

use crate::{
    ast::SectionId,
    names::Name,
    session::Session,
    source::Span,
    symbols::Def,
    value::{Base, Value},
};

/// The meaning of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A number.
    Number(i128),
    /// An offset in bytes from the start of the instructions.
    Text(i128),
    /// An offset in bytes from the start of the read-only data.
    Rodata(i128),
}

/// A name that a source defines. Names after an error that ends the assembly are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// Its definition; `None` if it is predefined.
    pub span: Option<Span>,
    /// Its meaning.
    pub meaning: Meaning,
}

impl Session<'_> {
    /// Returns the names that have a value, in the order of their first occurrence.
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
