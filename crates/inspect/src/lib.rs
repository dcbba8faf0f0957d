//! Analyses of programs: disassembly, control-flow graph, symbols, source lines and stack use. The
//! results are data and text, without terminal output.
//!
//! Every analysis accepts any input: files that the loader refuses, stripped files, and code that
//! the verifier refuses. Results that cannot be determined are left out.
//!
//! | module | what it owns |
//! |---|---|
//! | [`program`] | a program, its function names, its instructions |
//! | [`listing`] | disassembly as data, as text that assembles again, and as anza sbpf prints it |
//! | [`cfg`](mod@cfg) | basic blocks, edges, dominators, functions; Graphviz output |
//! | [`source`] | source lines and inlined functions of instructions |
//! | [`backtrace`] | the frames around an instruction, from the user's own code on |
//! | `own` | which source files are the user's own, and which a library's |
//! | [`dwarf`] | the DWARF sections of a file, if they can be read in linear time |
//! | `error_enums` | the enumerations of errors that own code defines |
//! | [`symbols`] | the functions of a symbol table; demangling |
//! | [`stack`] | the stack use of each function |
//! | [`frame`] | tracking of the frame pointer through instructions |
//! | `debug_files` | where debug information of programs is looked for |
//! | `names` | names of jump targets, functions and syscalls for listings and traces |
//! | `image` | read-only data, and the addresses in it |
//! | `salvage` | instructions of files that the loader refuses |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod backtrace;
pub mod cfg;
mod debug_files;
pub mod dwarf;
mod error_enums;
pub mod frame;
mod image;
pub mod listing;
mod names;
mod own;
pub mod program;
mod salvage;
pub mod source;
pub mod stack;
pub mod symbols;

pub use crate::{
    backtrace::{Backtrace, BacktraceFrame},
    cfg::{Block, DotOptions, Graph},
    debug_files::{
        DebugFile, built_elsewhere, caches, debug_file, debug_folders, has_lines, keep_newest,
        program_files, remember_built, target_folders,
    },
    error_enums::{ErrorEnum, error_enums},
    listing::{Line, Listing, TextOptions},
    names::Labels,
    own::{OwnCode, is_library, is_source_file},
    program::{Instruction, NamedProgram, instruction_text},
    salvage::code,
    source::{CodeLocation, Location, SourceFrame, SourceMap},
    stack::{StackUse, stack_use},
    symbols::{Symbols, demangle, item_name},
};

/// The conventions of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Selkie's: the true control flow, and text that assembles to the same bytes.
    #[default]
    Selkie,
    /// Those of anza sbpf's tools, byte for byte.
    Anza,
}
