//! Looking into programs: listing, control-flow graph, symbols and source lines. Plain data and
//! text out; no terminal.
//!
//! Everything here takes whatever it is given: files that the loader refuses, stripped ones, code
//! that no verifier would pass. What cannot be found out is left out.
//!
//! | module | what it owns |
//! |---|---|
//! | [`program`] | a program, its names, its instructions in order |
//! | [`listing`] | disassembly: as data, as text that assembles again, as anza sbpf prints it |
//! | [`cfg`](mod@cfg) | basic blocks, edges, dominators, functions; Graphviz |
//! | [`symbols`] | the functions of a symbol table; demangling |
//! | [`source`] | from an instruction to its line of source |
//! | `shared` | whether debug information can be read in time and memory in proportion to it |
//! | [`frame`] | the frame pointer, followed through instructions |
//! | [`stack`] | how much stack each function uses |

#![forbid(unsafe_code)]

pub mod cfg;
pub mod frame;
mod image;
pub mod listing;
mod names;
pub mod program;
mod salvage;
mod shared;
pub mod source;
pub mod stack;
pub mod symbols;

pub use crate::{
    cfg::{Block, DotOptions, Graph},
    listing::{Line, Listing, TextOptions},
    names::Labels,
    program::{Instruction, Program, instruction_text},
    source::{Frame, Location, Place, SourceMap},
    stack::{StackUse, stack_use},
    symbols::{Symbols, demangle},
};

/// Whose conventions to follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// Our own: what the program does, in text that assembles to the same bytes.
    #[default]
    Selkie,
    /// Those of anza sbpf's tools, to the byte.
    Anza,
}
