//! The result of assembling a document, in the protocol's terms.

use core::{cell::OnceCell, ops::Range};
use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use lsp_types::{
    CodeAction, CodeActionKind, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity,
    Location, TextEdit, Uri, WorkspaceEdit,
};
use selkie_asm::{Assembly, Definition, Files, Options, Severity, Sources, Span};

use crate::{Settings, cost::Costs, source::Source, text::Lines};

/// A diagnostic, the file that it is about, and the change that it proposes.
#[derive(Clone, Debug)]
pub(crate) struct FileDiagnostic {
    pub(crate) uri: Uri,
    pub(crate) diagnostic: Diagnostic,
    fix: Option<TextEdit>,
}

impl FileDiagnostic {
    /// Returns the proposed change as a quick fix.
    pub(crate) fn action(&self) -> Option<CodeAction> {
        let edit = self.fix.clone()?;
        let title = format!("Change to `{}`", edit.new_text);
        let changes = std::collections::HashMap::from([(self.uri.clone(), vec![edit])]);
        Some(CodeAction {
            title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![self.diagnostic.clone()]),
            edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
            is_preferred: Some(true),
            ..CodeAction::default()
        })
    }
}

/// The result of assembling a source.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) diagnostics: Vec<FileDiagnostic>,
    pub(crate) assembly: Option<Assembly>,
    /// The definitions of each name, with the range where it is defined.
    pub(crate) definitions: BTreeMap<String, Vec<(Definition, Option<FileRange>)>>,
    costs: OnceCell<Option<Costs>>,
}

/// A range of bytes of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileRange {
    pub(crate) file: String,
    pub(crate) range: Range<usize>,
}

impl Analysis {
    pub(crate) fn new(
        source: &Source,
        settings: &Settings,
        files: Arc<dyn Files + Send + Sync>,
        uri_of: &dyn Fn(&Path) -> Option<Uri>,
    ) -> Self {
        let options = Options {
            version: settings.version,
            name: source.path.to_string_lossy().into_owned(),
            defines: settings.defines.clone(),
            include_paths: settings.include_paths.clone(),
            files,
            // With debug information, all labels are in the program, whatever their names.
            debug_info: true,
            ..Options::default()
        };
        let (output, definitions) = selkie_asm::analyze(source.text(), &options);
        let diagnostics = match is_beside_c(&source.path) {
            true => {
                let output = selkie_asm::assemble_object(source.text(), &options);
                file_diagnostics(&output.diagnostics, &output.sources, source, uri_of)
            }
            false => file_diagnostics(&output.diagnostics, &output.sources, source, uri_of),
        };
        let locator = Locator { sources: &output.sources, source, uri_of, files: BTreeMap::new() };
        let mut by_name: BTreeMap<String, Vec<(Definition, Option<FileRange>)>> = BTreeMap::new();
        for definition in definitions {
            let range = definition.span.map(|span| locator.written_span(span));
            let range = range.map(|span| {
                let file = output.sources.file(span).0.to_owned();
                FileRange { file, range: output.sources.range(span) }
            });
            by_name.entry(definition.name.clone()).or_default().push((definition, range));
        }
        let assembly = output.assembly;
        Self { diagnostics, assembly, definitions: by_name, costs: OnceCell::new() }
    }

    /// Returns the costs of the program, if assembling gave one.
    pub(crate) fn costs(&self) -> Option<&Costs> {
        self.costs.get_or_init(|| self.assembly.as_ref().map(Costs::new)).as_ref()
    }
}

fn file_diagnostics(
    diagnostics: &[selkie_asm::Diagnostic],
    sources: &Sources,
    source: &Source,
    uri_of: &dyn Fn(&Path) -> Option<Uri>,
) -> Vec<FileDiagnostic> {
    // In a file that is only included, syntax errors alone are certain.
    let counts = |it: &&selkie_asm::Diagnostic| {
        is_program(&source.path) || (it.syntax && sources.expansions(it.span).is_empty())
    };
    let mut locator = Locator { sources, source, uri_of, files: BTreeMap::new() };
    diagnostics.iter().filter(counts).filter_map(|it| locator.file_diagnostic(it)).collect()
}

/// Whether a source is assembled to an object: it is in a folder with C sources, which it is built
/// with.
fn is_beside_c(path: &Path) -> bool {
    let folder = path.parent().and_then(|it| fs::read_dir(it).ok());
    let mut names = folder.into_iter().flatten().flatten().map(|it| it.path());
    names.any(|it| it.extension().is_some_and(|it| it == "c"))
}

/// Whether a file is a program by its name; other files are included by programs.
pub(crate) fn is_program(path: &Path) -> bool {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.is_none_or(|it| ["s", "S", "asm"].contains(&it))
}

struct Locator<'a> {
    sources: &'a Sources,
    source: &'a Source,
    uri_of: &'a dyn Fn(&Path) -> Option<Uri>,
    files: BTreeMap<String, (Uri, Lines)>,
}

impl Locator<'_> {
    /// Returns the span in the source: for text from a macro, that of the outermost call.
    fn written_span(&self, span: Span) -> Span {
        self.sources.expansions(span).last().copied().unwrap_or(span)
    }

    fn location(&mut self, span: Span) -> Option<Location> {
        let span = self.written_span(span);
        let (name, text) = self.sources.file(span);
        let range = self.sources.range(span);
        if Path::new(name) == self.source.path {
            return Some(self.source.location(range));
        }
        if !self.files.contains_key(name) {
            let uri = (self.uri_of)(Path::new(name))?;
            let lines = Lines::new(text, self.source.lines.encoding());
            self.files.insert(name.to_owned(), (uri, lines));
        }
        let (uri, lines) = &self.files[name];
        Some(Location { uri: uri.clone(), range: lines.range(text, range) })
    }

    fn file_diagnostic(&mut self, found: &selkie_asm::Diagnostic) -> Option<FileDiagnostic> {
        let Location { uri, range } = self.location(found.span)?;
        let mut message = found.message.clone();
        if !found.label.is_empty() {
            message.push_str(&format!(": {}", found.label));
        }
        found.notes.iter().for_each(|note| message.push_str(&format!("\nnote: {note}")));
        found.help.iter().for_each(|help| message.push_str(&format!("\nhelp: {help}")));
        let related = found.labels.iter().filter_map(|label| {
            let (location, message) = (self.location(label.span)?, label.text.clone());
            Some(DiagnosticRelatedInformation { location, message })
        });
        let related: Vec<_> = related.collect();
        let severity = match found.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        };
        // Text that a macro expanded to cannot be changed.
        let fix = found.fix.as_ref().filter(|fix| self.sources.expansions(fix.span).is_empty());
        let fix = fix.and_then(|fix| {
            let Location { uri: home, range } = self.location(fix.span)?;
            (home == uri).then(|| TextEdit { range, new_text: fix.text.clone() })
        });
        let diagnostic = Diagnostic {
            range,
            severity: Some(severity),
            source: Some("selkie".to_owned()),
            message,
            related_information: (!related.is_empty()).then_some(related),
            ..Diagnostic::default()
        };
        Some(FileDiagnostic { uri, diagnostic, fix })
    }
}

impl Analysis {
    /// Returns the slot that a label in the text section marks.
    pub(crate) fn label_pc(&self, name: &str) -> Option<usize> {
        let (found, _) = self.definitions.get(name)?.first()?;
        match found.meaning {
            selkie_asm::Meaning::Text(offset) if offset % 8 == 0 => {
                usize::try_from(offset / 8).ok()
            }
            _ => None,
        }
    }
}
