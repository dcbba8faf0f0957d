//! The documents that the editor has open, and the sources that they include.

use core::cell::OnceCell;
use selkie_isa::failure::{Failure, OrFailure as _};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
};

use lsp_types::{TextDocumentContentChangeEvent, Uri};
use selkie_asm::Files;
use selkie_isa::input;

use crate::{
    Settings,
    analysis::Analysis,
    source::Source,
    text::{Encoding, Lines},
    uri,
};

/// The most files that are read for one source, including indirectly included ones.
const INCLUDES_MAX: usize = 64;
/// The most bytes of an included file.
const INCLUDED_BYTES_MAX: u64 = 16 << 20;

/// A source that an editor has open.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) source: Rc<Source>,
    pub(crate) version: i32,
    analysis: OnceCell<Rc<Analysis>>,
    /// The last analysis that has a program: while text is typed, it seldom assembles.
    last_program: Option<Rc<Analysis>>,
}

impl Document {
    fn invalidate(&mut self) {
        let program = self.analysis.take().filter(|it| it.assembly.is_some());
        self.last_program = program.or(self.last_program.take());
    }
}

/// The open documents, by URI.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    open: BTreeMap<Uri, Document>,
}

/// The files that the assembler includes: open documents come before the files on disk.
struct Overlay(BTreeMap<PathBuf, Arc<str>>);

impl Files for Overlay {
    fn read(&self, path: &Path) -> Result<Vec<u8>, Failure> {
        match self.0.get(path) {
            Some(text) => Ok(text.as_bytes().to_vec()),
            None => read_file(path),
        }
    }
}

/// Reads a regular file. Reading anything else could block for ever.
fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    input::read(path, INCLUDED_BYTES_MAX).or_failure()
}

impl Documents {
    pub(crate) fn get(&self, uri: &Uri) -> Option<&Document> {
        self.open.get(uri)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Document> {
        self.open.values()
    }

    pub(crate) fn open(&mut self, uri: Uri, version: i32, text: &str, encoding: Encoding) {
        let source = Rc::new(Source::new(uri.clone(), text, encoding));
        let last_program = self.open.remove(&uri).and_then(|mut it| {
            it.invalidate();
            it.last_program
        });
        let document = Document { source, version, analysis: OnceCell::new(), last_program };
        self.open.insert(uri, document);
    }

    pub(crate) fn close(&mut self, uri: &Uri) {
        self.open.remove(uri);
    }

    /// Applies changes in order, each to the result of the one before.
    pub(crate) fn change(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) {
        let Some(document) = self.open.get(uri) else { return };
        let mut text = document.source.text().to_owned();
        for change in changes {
            match change.range {
                Some(range) => {
                    let lines = Lines::new(&text, encoding);
                    let start = lines.offset(&text, range.start);
                    let end = lines.offset(&text, range.end).max(start);
                    text.replace_range(start..end, &change.text);
                }
                None => text = change.text,
            }
        }
        self.open(uri.clone(), version, &text, encoding);
    }

    pub(crate) fn invalidate_analysis(&mut self, uri: &Uri) {
        if let Some(document) = self.open.get_mut(uri) {
            document.invalidate();
        }
    }

    pub(crate) fn invalidate_analyses(&mut self) {
        self.open.values_mut().for_each(Document::invalidate);
    }

    /// Returns the analysis of a document.
    pub(crate) fn analysis(&self, document: &Document, settings: &Settings) -> Rc<Analysis> {
        let analysis = document.analysis.get_or_init(|| {
            let texts = self.open.values().filter(|it| it.source.uri != document.source.uri);
            let texts = texts.map(|it| (it.source.path.clone(), it.source.text().into()));
            let files = Arc::new(Overlay(texts.collect()));
            let uri_of = |path: &Path| self.uri_of(path);
            Rc::new(Analysis::new(&document.source, settings, files, &uri_of))
        });
        Rc::clone(analysis)
    }

    /// Returns the analysis of a document, or the last one that has a program.
    pub(crate) fn program(&self, document: &Document, settings: &Settings) -> Rc<Analysis> {
        let analysis = self.analysis(document, settings);
        match (&analysis.assembly, &document.last_program) {
            (None, Some(last)) => Rc::clone(last),
            _ => analysis,
        }
    }

    fn by_path(&self, path: &Path) -> Option<&Document> {
        self.open.values().find(|it| it.source.path == path)
    }

    /// Returns the URI of a file: the editor's, if it is open.
    pub(crate) fn uri_of(&self, path: &Path) -> Option<Uri> {
        let open = self.by_path(path).map(|it| it.source.uri.clone());
        open.or_else(|| uri::from_path(path))
    }

    /// Returns the source at a path: the open document, or else the file on disk.
    fn load(&self, path: &Path, encoding: Encoding) -> Option<Rc<Source>> {
        if let Some(open) = self.by_path(path) {
            return Some(Rc::clone(&open.source));
        }
        let text = String::from_utf8(read_file(path).ok()?).ok()?;
        Some(Rc::new(Source::new(uri::from_path(path)?, &text, encoding)))
    }

    /// Finds the path of a file that a source includes.
    pub(crate) fn included(
        &self,
        name: &str,
        from: &Source,
        settings: &Settings,
    ) -> Option<PathBuf> {
        let beside = from.path.parent().unwrap_or(Path::new("")).join(name);
        let others = settings.include_paths.iter().map(|folder| folder.join(name));
        core::iter::once(beside)
            .chain(others)
            .find(|path| self.by_path(path).is_some() || path.is_file())
    }

    /// Returns a source and all sources that it includes.
    fn with_includes(
        &self,
        source: &Rc<Source>,
        settings: &Settings,
        encoding: Encoding,
    ) -> Vec<Rc<Source>> {
        let mut found = vec![Rc::clone(source)];
        let mut next = 0;
        while let Some(source) = found.get(next).cloned() {
            next += 1;
            for (name, _) in &source.index.includes {
                let Some(path) = self.included(name, &source, settings) else { continue };
                let is_new = found.iter().all(|it| it.path != path);
                if is_new
                    && found.len() < INCLUDES_MAX
                    && let Some(source) = self.load(&path, encoding)
                {
                    found.push(source);
                }
            }
        }
        found
    }

    /// Returns the open documents that include `source`, directly or not.
    pub(crate) fn includers(
        &self,
        source: &Source,
        settings: &Settings,
        encoding: Encoding,
    ) -> Vec<&Document> {
        let others = self.open.values().filter(|it| it.source.uri != source.uri);
        others
            .filter(|it| !it.source.index.includes.is_empty())
            .filter(|it| {
                let all = self.with_includes(&it.source, settings, encoding);
                all.iter().any(|it| it.uri == source.uri)
            })
            .collect()
    }

    /// Returns the sources that share names with `source`, itself first: those that it includes, those
    /// that include it, and those that these include.
    pub(crate) fn unit(
        &self,
        source: &Rc<Source>,
        settings: &Settings,
        encoding: Encoding,
    ) -> Vec<Rc<Source>> {
        let mut unit = self.with_includes(source, settings, encoding);
        for includer in self.includers(source, settings, encoding) {
            for source in self.with_includes(&includer.source, settings, encoding) {
                if unit.iter().all(|it| it.uri != source.uri) {
                    unit.push(source);
                }
            }
        }
        unit
    }
}
