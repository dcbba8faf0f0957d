//! What the assembler has to say to the author of a program: plain data, collected.

use selkie_isa::truncate::truncated;

use crate::source::Span;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// There is no program.
    Error,
    /// There is a program, but hardly the one that was meant.
    Warning,
}

/// A remark at a second place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The remark.
    pub text: String,
}

/// A change to the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// What is replaced.
    pub span: Span,
    /// What stands there instead.
    pub text: String,
}

/// One finding: where, what, why, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub span: Span,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// A remark at the place itself; may be empty.
    pub label: String,
    /// Other places that have to do with it.
    pub labels: Vec<Label>,
    /// Why it is wrong.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<String>,
    /// The change that is probably what to do.
    pub fix: Option<Fix>,
    /// Whether the text cannot be read, whatever the rest of the program and its version are.
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

    /// An error of the text itself.
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

    /// The finding with the names in its texts cut to what can be shown.
    fn shortened(self) -> Self {
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

    /// Adds `did you mean …?` if there is a near name for what the finding points at.
    pub(crate) fn did_you_mean(mut self, near: Option<impl AsRef<str>>) -> Self {
        let Some(near) = near else { return self };
        let text = near.as_ref().to_owned();
        let help = format!("did you mean `{text}`?");
        self.fix = Some(Fix { span: self.span, text });
        self.help(help)
    }
}

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

/// More errors, or more warnings, help nobody; and garbage must not fill the memory.
const SHOWN_MAX: usize = 1000;

impl Diagnostics {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        let count = match diagnostic.severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        };
        *count += 1;
        if *count <= SHOWN_MAX {
            self.list.push(diagnostic.shortened());
        }
    }

    pub(crate) fn error_count(&self) -> usize {
        self.errors
    }

    /// How many findings there are to show.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The findings in the order of the text.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|it| (it.span.start, it.severity));
        self.list.dedup();
        let hidden =
            self.errors.saturating_sub(SHOWN_MAX) + self.warnings.saturating_sub(SHOWN_MAX);
        if let (Some(last), 1..) = (self.list.last_mut(), hidden) {
            last.notes.push(format!("{hidden} more findings are not shown"));
        }
        self.list
    }
}
