//! The sBPF assembler: source to loadable program, with diagnostics that teach.
//!
//! ```
//! let source = "
//!     .globl entrypoint
//! entrypoint:
//!     mov64 r0, 0
//!     exit
//! ";
//! let output = selkie_asm::assemble(source, &selkie_asm::Options::default());
//! let program = output.assembly.expect("this source has no errors");
//! assert_eq!(program.text.len(), 16);
//! let elf: Vec<u8> = program.to_elf();
//! ```
//!
//! It reads the union of the dialects in use, told apart line by line: mnemonics with and without
//! their width, and the pseudo-C that LLVM writes. All errors of a source are found at once.
//!
//! | module | what it owns |
//! |---|---|
//! | [`source`] | texts, and where in them something stands |
//! | `lex` | text to tokens |
//! | `read` | lines to statements: dialects, directives, macros |
//! | `mnemonic` | a mnemonic and its operands to a row of the instruction table |
//! | `names`, `symbols` | names as numbers, and what they stand for |
//! | `ast` | statements and expressions |
//! | `value`, `eval` | values, and the evaluation of expressions |
//! | `layout` | sizes and addresses |
//! | `emit` | statements to bytes, with every range checked |
//! | `finish` | the entry, symbols, and checks of the whole program |
//! | `object` | objects for the linker |
//! | `dwarf` | debug information |
//! | [`diagnostic`], `render` | findings, and their text for people |
//! | [`directives`] | the directives, one row each |
//! | [`syntax`] | a source as lines of tokens, for formatters and editors |
//! | `format` | the formatter |

#![forbid(unsafe_code)]

mod ast;
pub mod diagnostic;
pub mod directives;
mod dwarf;
mod emit;
mod eval;
mod finish;
mod format;
mod layout;
mod lex;
mod mnemonic;
mod names;
mod object;
mod read;
mod render;
mod session;
pub mod source;
pub mod suggest;
mod symbols;
pub mod syntax;
mod value;

use std::{path::PathBuf, sync::Arc};

use selkie_elf::write;
use selkie_isa::Version;

use crate::session::Product;

pub use crate::{
    diagnostic::{Diagnostic, Fix, Label, Severity},
    format::format,
    object::Object,
    source::{DiskFiles, Files, Location, NoFiles, Sources, Span},
};

/// How to assemble.
#[derive(Clone)]
pub struct Options {
    /// The sBPF version to assemble for.
    pub version: Version,
    /// The name of the source, for messages and line tables; what it includes is looked for
    /// beside it.
    pub name: String,
    /// Emit DWARF line tables, and a symbol for every label.
    pub debug_info: bool,
    /// Leave out everything that only tools read.
    pub strip: bool,
    /// Constants that the source may use as if it had defined them.
    pub defines: Vec<(String, i64)>,
    /// Where included files are looked for, after the folder of the file that includes them.
    pub include_paths: Vec<PathBuf>,
    /// Reads included files.
    pub files: Arc<dyn Files + Send + Sync>,
}

impl Default for Options {
    /// V0, unstripped, without debug information and without files to include.
    fn default() -> Self {
        Self {
            version: Version::V0,
            name: "program.s".to_owned(),
            debug_info: false,
            strip: false,
            defines: Vec::new(),
            include_paths: Vec::new(),
            files: Arc::new(NoFiles),
        }
    }
}

impl core::fmt::Debug for Options {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Options")
            .field("version", &self.version)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

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

/// A name in an assembled program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub kind: write::SymbolKind,
    /// Offset in [`Assembly::text`], or of an object in [`Assembly::rodata`].
    pub offset: u32,
    /// Bytes of a function; else 0.
    pub size: u32,
    /// Whether `.globl` named it.
    pub global: bool,
}

/// The place in the source that an instruction was written at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// The slot.
    pub pc: u32,
    /// The file, as an index into [`Assembly::files`].
    pub file: u32,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// An assembled program.
#[derive(Clone, Debug)]
pub struct Assembly {
    /// The sBPF version.
    pub version: Version,
    /// The instructions. Until V2, calls are as the loader wants them: of functions relative with
    /// source nibble 1, of syscalls with immediate -1 and an entry in [`Assembly::syscalls`].
    pub text: Vec<u8>,
    /// Until V2: where in the file, and from the start of their window, the instructions start.
    pub text_offset: u64,
    /// The read-only data.
    pub rodata: Vec<u8>,
    /// The slot at which the program starts.
    pub entry_pc: u32,
    /// Until V2: the slots of calls of syscalls, ascending, and the names of the syscalls.
    pub syscalls: Vec<(u32, String)>,
    /// Labels that have a name, by kind of section and offset.
    pub symbols: Vec<Symbol>,
    /// Where instructions were written, by slot; a slot without an entry belongs to the one before.
    pub lines: Vec<Line>,
    /// Names of the source files.
    pub files: Vec<String>,
    /// As [`Options::strip`] said.
    pub strip: bool,
    /// As [`Options::debug_info`] said.
    pub debug_info: bool,
}

impl Assembly {
    /// Guest addresses of the instructions and the read-only data.
    #[must_use]
    pub fn addresses(&self) -> write::Addresses {
        write::addresses(self.version, self.text.len(), self.text_offset)
    }

    /// The bytes of the `.so`.
    #[must_use]
    pub fn to_elf(&self) -> Vec<u8> {
        let syscalls: Vec<(u32, &str)> =
            self.syscalls.iter().map(|(pc, name)| (*pc, name.as_str())).collect();
        let symbols: Vec<write::Symbol<'_>> = self
            .symbols
            .iter()
            .filter(|symbol| self.debug_info || !symbol.name.starts_with(".L"))
            .map(|symbol| write::Symbol {
                name: &symbol.name,
                kind: symbol.kind,
                offset: symbol.offset.into(),
                size: symbol.size.into(),
                global: symbol.global,
            })
            .collect();
        let debug =
            if self.debug_info && !self.strip { dwarf::of_program(self) } else { Vec::new() };
        write::write(&write::Image {
            version: self.version,
            text: &self.text,
            text_offset: self.text_offset,
            rodata: &self.rodata,
            entry_pc: self.entry_pc,
            syscalls: &syscalls,
            symbols: &symbols,
            debug: &debug,
            strip: self.strip,
        })
    }
}

/// Assembles a source. The program is there if no finding is an error.
#[must_use]
pub fn assemble(source: &str, options: &Options) -> Output {
    run(source, options, |_| ()).0
}

/// Assembles a source to an object, which is linked with others, of this assembler and of compilers.
/// What it refers to without defining it is left to the linker. Debug information is there unless
/// [`Options::strip`] says otherwise.
///
/// ```
/// let source = "
///     .globl twice
/// twice:
///     mov64 r0, r1
///     call double
///     exit
/// ";
/// let output = selkie_asm::assemble_object(source, &selkie_asm::Options::default());
/// let object = output.assembly.expect("`double` is left to the linker");
/// assert_eq!(object.slots, 3);
/// assert!(object.elf.starts_with(b"\x7fELF"));
/// ```
#[must_use]
pub fn assemble_object(source: &str, options: &Options) -> Output<Object> {
    let mut session = session::Session::new(options, Product::Object);
    let mut ast = read::read(&mut session, &options.name, source);
    let assembly = finish::finish_object(&mut session, &mut ast);
    let session::Session { sources, diagnostics, .. } = session;
    Output { assembly, diagnostics: diagnostics.into_sorted(), sources }
}

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

/// Assembles a source, and tells what its names stand for, for editors. A name that `.set` defines
/// several times is there as often.
#[must_use]
pub fn analyze(source: &str, options: &Options) -> (Output, Vec<Definition>) {
    run(source, options, |session| session.definitions())
}

fn run<T>(
    source: &str,
    options: &Options,
    look: impl FnOnce(&session::Session<'_>) -> T,
) -> (Output, T) {
    let mut session = session::Session::new(options, Product::Program);
    let mut ast = read::read(&mut session, &options.name, source);
    let assembly = finish::finish(&mut session, &mut ast);
    let seen = look(&session);
    let session::Session { sources, diagnostics, .. } = session;
    (Output { assembly, diagnostics: diagnostics.into_sorted(), sources }, seen)
}
