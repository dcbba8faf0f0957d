//! The result of an assembly: a program or an object, and the diagnostics.

use crate::{
    assembly::Assembly,
    diagnostic::{Diagnostic, Severity},
    source::Sources,
};

/// The result of assembling a source.
#[derive(Debug)]
pub struct Output<T = Assembly> {
    /// The program or the object; `None` if there are errors.
    pub assembly: Option<T>,
    /// The diagnostics, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the spans of the diagnostics refer to.
    pub sources: Sources,
}

impl<T> Output<T> {
    /// Returns the number of errors.
    #[must_use]
    pub fn error_count(&self) -> usize {
        self.diagnostics.iter().filter(|it| it.severity == Severity::Error).count()
    }

    /// Renders the diagnostics as text, with ANSI colours if `colour` is set.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        self.diagnostics.iter().map(|it| it.render(&self.sources, colour)).collect()
    }
}
