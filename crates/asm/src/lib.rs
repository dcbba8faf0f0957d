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
//! | `parse` | lines to statements: dialects, directives, macros |
//! | `mnemonic` | a mnemonic and its operands to a row of the instruction table |
//! | `names`, `symbols` | names as numbers, and what they stand for |
//! | `ast` | statements and expressions |
//! | `value`, `eval` | values, and the evaluation of expressions |
//! | `layout` | sizes and addresses |
//! | `emit` | statements to bytes, with every range checked |
//! | `program` | programs: layout, emission, the entry |
//! | `object` | objects for the linker |
//! | `labels`, `checks` | symbols of labels, checks of the whole |
//! | `file` | the ELF file of a program |
//! | `dwarf` | debug information |
//! | [`diagnostic`], `render` | findings, and their text for people |
//! | [`directives`] | the directives, one row each |
//! | [`syntax`] | a source as lines of tokens, for formatters and editors |
//! | `format` | the formatter |

#![forbid(unsafe_code)]

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
pub mod suggest;
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
    let mut ast = parse::parse(&mut session, &options.name, source);
    let assembly = object::object(&mut session, &mut ast);
    let session::Session { sources, diagnostics, .. } = session;
    Output { assembly, diagnostics: diagnostics.into_sorted(), sources }
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
    let mut ast = parse::parse(&mut session, &options.name, source);
    let assembly = program::program(&mut session, &mut ast);
    let seen = look(&session);
    let session::Session { sources, diagnostics, .. } = session;
    (Output { assembly, diagnostics: diagnostics.into_sorted(), sources }, seen)
}
