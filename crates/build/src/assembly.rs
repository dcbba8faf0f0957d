//! Assembly in C projects: assembles sources to objects.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use selkie_asm::{DiskFiles, Files, Object, Output, assemble_object};
use selkie_isa::input;

use crate::{BuildError, Options, Progress};

/// A source and its object or diagnostics.
struct Assembled {
    source: PathBuf,
    output: Output<Object>,
    /// The files that it includes, also missing ones.
    included: Vec<PathBuf>,
}

/// The names and contents of objects, and every file that the assembler looked for.
pub(crate) struct Objects {
    pub(crate) objects: Vec<(String, Vec<u8>)>,
    pub(crate) files: Vec<PathBuf>,
}

/// Assembles sources to objects, except for those that other sources include.
///
/// # Errors
///
/// [`BuildError::Assembler`] for the first source that has errors.
pub(crate) fn assemble(
    sources: &[&PathBuf],
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<Objects, BuildError> {
    let assembled = sources.iter().map(|source| assemble_one(source, options));
    let assembled = assembled.collect::<Result<Vec<Assembled>, BuildError>>()?;
    let mut made = Objects { objects: Vec::new(), files: Vec::new() };
    for it in &assembled {
        made.files.push(it.source.clone());
        made.files.extend(it.included.iter().cloned());
    }
    let is_part = |part: &Assembled| {
        let whole = |it: &Assembled| it.includes(part) && !part.includes(it);
        assembled.iter().any(whole)
    };
    let parts: Vec<bool> = assembled.iter().map(is_part).collect();
    for (it, _) in assembled.into_iter().zip(parts).filter(|(_, is_part)| !is_part) {
        let Some(object) = &it.output.assembly else {
            return Err(BuildError::Assembler(it.output));
        };
        progress.output(&it.output.render(true));
        made.objects.push((it.source.display().to_string(), object.elf.clone()));
    }
    Ok(made)
}

impl Assembled {
    fn includes(&self, other: &Self) -> bool {
        let wanted = fs::canonicalize(&other.source).ok();
        wanted.is_some() && self.included.iter().any(|it| fs::canonicalize(it).ok() == wanted)
    }
}

fn assemble_one(source: &Path, options: &Options) -> Result<Assembled, BuildError> {
    let bytes = input::read(source, input::FILE_BYTES_MAX)
        .map_err(|error| BuildError::file(source, &error))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let message = format!("{} is not text", source.display());
        BuildError::setup(message, "sources are UTF-8")
    })?;
    let files = Arc::new(RecordedFiles::default());
    let options = selkie_asm::Options {
        version: options.version,
        name: source.display().to_string(),
        defines: options.defines.clone(),
        include_paths: options.includes.clone(),
        files: Arc::clone(&files) as Arc<dyn Files + Send + Sync>,
        ..selkie_asm::Options::default()
    };
    let output = assemble_object(&text, &options);
    let included = files.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Assembled { source: source.to_owned(), output, included })
}

/// The file system, with a record of the files that were requested.
#[derive(Default)]
struct RecordedFiles(Mutex<Vec<PathBuf>>);

impl Files for RecordedFiles {
    fn read(&self, path: &Path) -> Result<Vec<u8>, selkie_isa::failure::Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
        DiskFiles.read(path)
    }
}
