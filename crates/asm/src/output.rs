//! The result of an assembly: a program or an object, and the diagnostics.

use crate::{
    assembly::Assembly,
    diagnostic::{Diagnostic, Severity},
    source::Sources,
};

/// Everything that came of a source.
#[derive(Debug)]
pub struct Output<T = Assembly> {
    /// The program or the object; `None` if there are errors.
    pub assembly: Option<T>,
    /// The findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the findings speak of.
    pub sources: Sources,
}

impl<T> Output<T> {
    /// How many findings are errors.
    #[must_use]
    pub fn error_count(&self) -> usize {
        self.diagnostics.iter().filter(|it| it.severity == Severity::Error).count()
    }

    /// The findings as text for people, with ANSI colours if asked for.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        self.diagnostics.iter().map(|it| it.render(&self.sources, colour)).collect()
    }
}
