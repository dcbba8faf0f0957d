//! The programs of a transaction: their functions, lines and listings.

use core::fmt;
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use selkie::{
    ErrorSources, FeatureSet, Pubkey, custom_error,
    programs::errors::ErrorName,
    runtime::{Purpose, elf_environment},
};
use selkie_inspect::{
    Graph, Labels, NamedProgram, SourceMap, Style, built_elsewhere, code, debug_folders, demangle,
    has_lines, instruction_text, program_files,
};
use selkie_isa::{input, layout::SLOT_BYTES};

/// Files with debug information. A program's is the one with the same code, whatever its name.
#[derive(Default, Debug)]
pub struct DebugFiles {
    files: Vec<DebugFile>,
    /// The paths that replays have named.
    named: BTreeSet<PathBuf>,
    /// The files and folders in which debug information was looked for, for messages.
    searched: Vec<PathBuf>,
}

#[derive(Debug)]
struct DebugFile {
    path: PathBuf,
    bytes: Vec<u8>,
    text: Vec<u8>,
}

impl DebugFiles {
    /// Adds a file, or the programs and debug files in a folder: those that end in `.so`,
    /// `.so.debug` or `.debug`. What cannot be read or is no program is passed over.
    pub fn add(&mut self, path: &Path) {
        self.searched.push(path.to_owned());
        match path.is_dir() {
            true => program_files(path).iter().for_each(|file| self.add_file(file)),
            false => self.add_file(path),
        }
    }

    /// Adds the files in all folders in which programs are built, for a command that runs in the folder
    /// `here`: those of [`debug_folders`].
    pub fn add_usual(&mut self, here: &Path) {
        debug_folders(here).iter().for_each(|folder| self.add(folder));
    }

    /// Returns the files and folders that were added, other than those that replays name.
    #[must_use]
    pub fn searched(&self) -> &[PathBuf] {
        &self.searched
    }

    /// Adds files that a replay names: as [`DebugFiles::add`], but no folders, and each file once.
    pub fn add_named(&mut self, paths: &[PathBuf]) {
        for path in paths {
            if self.named.insert(path.clone()) {
                self.add_file(path);
            }
        }
    }

    fn add_file(&mut self, path: &Path) {
        let Ok(bytes) = input::read(path, input::FILE_BYTES_MAX) else { return };
        if let Some(text) = code(&bytes).filter(|it| !it.is_empty()).map(<[u8]>::to_vec) {
            self.files.push(DebugFile { path: path.to_owned(), bytes, text });
        }
    }

    /// Returns the path of the file that has a program's code and the most to tell. `None` if none was
    /// added that has it.
    #[must_use]
    pub fn path_of(&self, elf: &[u8]) -> Option<&Path> {
        Some(self.best(elf)?.path.as_path())
    }

    /// Returns the file with a program's code that has the most to tell, unless that is the program itself.
    fn find(&self, elf: &[u8]) -> Option<&DebugFile> {
        self.best(elf).filter(|best| telling(&best.bytes) >= telling(elf))
    }

    /// Returns the file with a program's code that `selkie build` has written to another folder, if none was
    /// added that has lines and the program has none itself.
    fn elsewhere(&self, elf: &[u8]) -> Option<DebugFile> {
        let is_told = has_lines(elf) || self.best(elf).is_some_and(|it| has_lines(&it.bytes));
        let path = built_elsewhere(elf).filter(|_| !is_told)?;
        let bytes = input::read(&path, input::FILE_BYTES_MAX).ok()?;
        let text = code(&bytes).filter(|it| Some(*it) == code(elf))?.to_vec();
        Some(DebugFile { path, bytes, text })
    }

    fn best(&self, elf: &[u8]) -> Option<&DebugFile> {
        let text = code(elf)?;
        let same = self.files.iter().filter(|file| file.text == text);
        same.max_by_key(|file| telling(&file.bytes))
    }
}

/// How much a file tells of its code: lines more than all else, and then the longer one more.
fn telling(elf: &[u8]) -> (bool, usize) {
    (has_lines(elf), elf.len())
}

/// A program with its functions and lines.
pub struct ProgramView {
    /// The program's address.
    pub id: Pubkey,
    /// Its name for people: the well-known one, else that of the file its symbols are from, else the one
    /// that the transaction gives.
    pub name: Option<String>,
    /// The program, with symbols if there are any.
    pub program: NamedProgram,
    /// Its control-flow graph, which has its functions: those without a name under their
    /// [`offset_name`].
    pub graph: Graph,
    /// Its lines and inlined functions.
    pub map: SourceMap,
    /// The file that the symbols are from, if it is not the program's own.
    pub debug_file: Option<PathBuf>,
    /// The ELF file as it was deployed.
    pub elf: Vec<u8>,
}

impl fmt::Debug for ProgramView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, debug_file, .. } = self;
        f.debug_struct("ProgramView").field("id", id).field("debug_file", debug_file).finish()
    }
}

impl ProgramView {
    /// Opens a program, with the name that the transaction gives to its address. `None` if the file has no
    /// instructions.
    #[must_use]
    pub fn open(
        id: Pubkey,
        elf: Vec<u8>,
        files: &DebugFiles,
        given: Option<String>,
    ) -> Option<Self> {
        let elsewhere = files.elsewhere(&elf);
        let file = elsewhere.as_ref().or_else(|| files.find(&elf));
        let bytes = file.map_or(&elf, |file| &file.bytes);
        let program = open(&elf)?.with_names_of(bytes);
        let map = SourceMap::load(bytes.as_slice());
        let mut graph = Graph::new(&program, Style::Selkie);
        let debug_file = file.map(|file| file.path.clone());
        let name = name(&id, debug_file.as_deref()).or(given);
        let called = name.clone().unwrap_or_else(|| id.to_string());
        for (start, name) in &mut graph.functions {
            if *name == format!("function_{start}") {
                *name = offset_name(&called, *start);
            }
        }
        Some(Self { id, name, program, graph, map, debug_file, elf })
    }

    /// Returns the first slot and the demangled name of the function that contains a slot: of one without
    /// a name the [`offset_name`].
    #[must_use]
    pub fn function_at(&self, pc: usize) -> Option<(u32, String)> {
        let (start, name) = self.program.function_at(u32::try_from(pc).ok()?)?;
        let name = self.graph.functions.get(&start).map_or(name, String::as_str);
        Some((start, demangle(name)))
    }

    /// Returns what a custom error of the program means; `None` if nothing tells. The description of the
    /// program's interface is looked for beside the file that the symbols are from.
    #[must_use]
    pub fn error_name(&self, code: u32, logs: &[String]) -> Option<ErrorName> {
        // Beside a program `vault.so` is `vault.so.debug`.
        let path = self.debug_file.as_deref().map(|file| match file.extension() {
            Some(it) if it == "debug" => file.with_extension(""),
            _ => file.to_owned(),
        });
        let (path, elf) = (path.as_deref(), Some(self.elf.as_slice()));
        custom_error(&self.id, code, &ErrorSources { logs, path, elf })
    }

    /// Returns the text of the instruction at a slot, with the names of what it refers to.
    #[must_use]
    pub fn instruction(&self, pc: usize) -> String {
        let labels = Labels::new(&self.program, &self.graph);
        instruction_text(self.program.executable(), &labels, pc)
    }
}

/// Returns the name of a function without one: the program's with the offset in its code in bytes,
/// `token+0x39a8`.
#[must_use]
pub fn offset_name(program: &str, pc: u32) -> String {
    format!("{program}+{:#x}", u64::from(pc) * SLOT_BYTES as u64)
}

/// Returns the name of a program for people: that of a well-known program, or of the file with its debug
/// information.
fn name(id: &Pubkey, debug_file: Option<&Path>) -> Option<String> {
    let known = selkie::programs::by_id(id).map(|it| it.name);
    let file = || debug_file?.file_name()?.to_str();
    let stem = || file().map(|it| it.trim_end_matches(".debug").trim_end_matches(".so"));
    known.or_else(stem).map(str::to_owned)
}

fn open(elf: &[u8]) -> Option<NamedProgram> {
    NamedProgram::open_any(elf, &elf_environment(FeatureSet::all(), Purpose::Execution)).ok()
}
