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
//! The assembler accepts the dialects in use, even mixed line by line: mnemonics with and without
//! their width, and the pseudo-C that LLVM emits. One run reports all errors of a source.
//!
//! | module | what it owns |
//! |---|---|
//! | [`source`] | source texts, spans and lines |
//! | `lex` | text to tokens |
//! | `parse` | tokens to statements: dialects, directives, macros |
//! | `mnemonic` | mnemonics and operands to rows of the instruction table |
//! | `names`, `symbols` | interned names, and their definitions |
//! | `ast` | statements and expressions |
//! | `value`, `eval` | values, and the evaluation of expressions |
//! | `layout` | sizes and offsets |
//! | `emit` | statements to bytes, with all range checks |
//! | `program`, `file` | programs, and their ELF files |
//! | `object` | objects for the linker |
//! | `labels`, `checks` | symbols of labels; checks of a whole program or object |
//! | `dwarf` | debug information |
//! | [`diagnostic`], `render` | diagnostics, and their rendering |
//! | [`directives`] | the directives, one row each |
//! | [`syntax`], `analysis` | a source as lines of tokens, and its definitions, for editors |
//! | `format` | the formatter |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod analysis;
mod assembly;
mod ast;
mod checks;
pub mod diagnostic;
pub mod directives;
mod dwarf;
mod emit;
mod eval;
mod file;
mod format;
mod labels;
mod layout;
mod lex;
mod mnemonic;
mod names;
mod object;
mod options;
mod output;
mod parse;
mod program;
mod render;
mod session;
pub mod source;
mod symbols;
pub mod syntax;
mod value;

use crate::session::Product;

pub use crate::{
    analysis::{Definition, Meaning},
    assembly::{Assembly, Symbol},
    diagnostic::{Diagnostic, Fix, Label, Severity},
    format::format,
    object::Object,
    options::Options,
    output::Output,
    source::{DiskFiles, Files, Line, Location, NoFiles, Sources, Span},
};

/// Assembles a source to a program.
#[must_use]
pub fn assemble(source: &str, options: &Options) -> Output {
    run(source, options, |_| ()).0
}

/// Assembles a source to an object, which the linker combines with others, of this assembler and of
/// compilers.
///
/// The linker resolves names that the source does not define. The object has debug information
/// unless [`Options::strip`] is set.
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
    let mut ast = parse::parse(&mut session, &options.name, source);
    let assembly = object::object(&mut session, &mut ast);
    let session::Session { sources, diagnostics, .. } = session;
    Output { assembly, diagnostics: diagnostics.into_sorted(), sources }
}

/// Assembles a source and also returns the names that it defines, for editors. A name that `.set`
/// defines several times has several entries.
#[must_use]
pub fn analyze(source: &str, options: &Options) -> (Output, Vec<Definition>) {
    run(source, options, |session| session.definitions())
}

fn run<T>(
    source: &str,
    options: &Options,
    inspect: impl FnOnce(&session::Session<'_>) -> T,
) -> (Output, T) {
    let mut session = session::Session::new(options, Product::Program);
    let mut ast = parse::parse(&mut session, &options.name, source);
    let assembly = program::program(&mut session, &mut ast);
    let inspected = inspect(&session);
    let session::Session { sources, diagnostics, .. } = session;
    (Output { assembly, diagnostics: diagnostics.into_sorted(), sources }, inspected)
}
