//! Diagnostics: errors and warnings for the author of a program, collected as plain data.

use selkie_isa::truncate::truncated;

use crate::source::Span;

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// No program is assembled.
    Error,
    /// The program is assembled, but is probably not what the author meant.
    Warning,
}

/// A remark on a secondary span.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The span.
    pub span: Span,
    /// The remark.
    pub text: String,
}

/// A suggested replacement of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// The span to replace.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// An error or warning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The primary span.
    pub span: Span,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// A remark on the primary span; may be empty.
    pub label: String,
    /// Remarks on related spans.
    pub labels: Vec<Label>,
    /// Explanations.
    pub notes: Vec<String>,
    /// Suggestions.
    pub help: Vec<String>,
    /// The replacement that probably fixes it.
    pub fix: Option<Fix>,
    /// Whether it is a syntax error, independent of the rest of the program and of the version.
    pub syntax: bool,
}

impl Diagnostic {
    pub(crate) fn error(span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            span,
            message: message.into(),
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fix: None,
            syntax: false,
        }
    }

    pub(crate) fn warning(span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(span, message) }
    }

    /// Returns a syntax error.
    pub(crate) fn syntax(span: Span, message: impl Into<String>) -> Self {
        Self { syntax: true, ..Self::error(span, message) }
    }

    pub(crate) fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    pub(crate) fn secondary(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    pub(crate) fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Truncates long names in the texts.
    fn with_truncated_names(self) -> Self {
        let all = |texts: Vec<String>| texts.into_iter().map(truncated).collect();
        let labels = self.labels.into_iter();
        Self {
            message: truncated(self.message),
            label: truncated(self.label),
            labels: labels.map(|it| Label { text: truncated(it.text), ..it }).collect(),
            notes: all(self.notes),
            help: all(self.help),
            ..self
        }
    }

    /// Adds `did you mean …?` with a fix of the primary span, if there is a suggestion.
    pub(crate) fn did_you_mean(mut self, suggestion: Option<impl AsRef<str>>) -> Self {
        let Some(suggestion) = suggestion else { return self };
        let text = suggestion.as_ref().to_owned();
        let help = format!("did you mean `{text}`?");
        self.fix = Some(Fix { span: self.span, text });
        self.help(help)
    }
}

/// The diagnostics reported so far.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

/// How many errors, and how many warnings, are kept: invalid input must not fill the memory.
const KEPT_MAX: usize = 1000;

impl Diagnostics {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= KEPT_MAX {
            self.list.push(diagnostic.with_truncated_names());
        }
    }

    pub(crate) fn error_count(&self) -> usize {
        self.errors
    }

    /// Returns the number of diagnostics kept.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the diagnostics in the order of the text, without duplicates.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|it| (it.span.start, it.severity));
        self.list.dedup();
        let hidden = self.errors.saturating_sub(KEPT_MAX) + self.warnings.saturating_sub(KEPT_MAX);
        if let (Some(last), 1..) = (self.list.last_mut(), hidden) {
            last.notes.push(format!("{hidden} more diagnostics are not shown"));
        }
        self.list
    }
}
