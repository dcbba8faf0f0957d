//! The sBPF linker: links eBPF objects of stock compilers, and sBPF objects of our assembler, to
//! programs that Solana loads.
//!
//! ```no_run
//! use selkie_link::{Input, Options, link};
//! let bytes = std::fs::read("counter.o")?;
//! let linked = link(&[Input { name: "counter.o", bytes: &bytes }], &Options::default());
//! match linked {
//!     Ok(linked) => std::fs::write("counter.so", linked.elf)?,
//!     Err(errors) => errors.iter().for_each(|error| eprintln!("error: {error}")),
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! eBPF instructions that sBPF lacks are expanded to sBPF instructions that compute the same; those
//! that cannot be expressed are errors that name the instruction. Objects of `selkie-asm` contain
//! sBPF of a version that they state, and link unchanged into programs of that version.
//!
//! | module | what it owns |
//! |---|---|
//! | `link` | [`link()`]: the steps from files to a program |
//! | `input` | objects, and members of archives that are pulled in on demand |
//! | `object` | an object's sections, symbols and relocations, bounds-checked |
//! | `program` | atoms (functions and data), and symbol resolution |
//! | `split` | code sections split into functions |
//! | `trace` | which atoms are reachable from the entry |
//! | `icf` | equal functions and constants linked once |
//! | `decode`, `item` | functions as instructions with resolved references |
//! | `opcode` | decoding of single instructions |
//! | `legal` | expansion of eBPF instructions that sBPF lacks |
//! | `layout` | addresses, and the bytes of code and read-only data |
//! | `routines` | functions that compilers call implicitly, such as `memcpy` and `__multi3` |
//! | `symbols` | the symbols of the program |
//! | `stack` | how much of its frame a function uses |
//! | `describe` | functions and data of the result, and why they are linked |
//! | `debug` | relocated debug information, and source lines for errors |
//! | [`report`] | the result: the file, its functions and data, the link map |
//! | [`error`] | errors with location, cause and help |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(clippy::result_large_err, reason = "an error ends the linking, so its size costs nothing")]

mod debug;
mod decode;
mod describe;
pub mod error;
mod icf;
mod input;
mod item;
mod layout;
mod legal;
mod link;
mod object;
mod opcode;
mod program;
pub mod report;
mod routines;
mod split;
mod stack;
mod symbols;
mod trace;

use selkie_isa::Version;

pub use crate::{
    error::LinkError,
    input::Input,
    link::link,
    report::{Datum, Function, Linked, User},
};

/// How the linker treats writable variables. The loader has no writable data segment.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Statics {
    /// They are placed at the start of the heap, from its ninth byte on: Solana's allocators keep
    /// their position in the first eight bytes and allocate from the top. An allocator that allocates
    /// from the bottom has to start at `__heap_start`.
    #[default]
    Heap,
    /// They are errors.
    Refuse,
}

/// Which equal functions the linker folds into one: identical code folding.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Icf {
    /// None.
    None,
    /// Those that are only called, so that no two functions whose addresses can be compared have the
    /// same one. C requires that.
    #[default]
    Safe,
    /// All. Rust promises no address of its own to any function.
    All,
}

/// The options of [`link()`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The sBPF version to link for.
    pub version: Version,
    /// The name of the entry function.
    pub entry: String,
    /// Leave out symbols and debug information.
    pub strip: bool,
    /// How writable variables are treated.
    pub statics: Statics,
    /// Which equal functions are folded into one.
    pub icf: Icf,
}

impl Default for Options {
    /// Links for V3 with the entry `entrypoint`, unstripped, with statics in the heap and safe folding.
    fn default() -> Self {
        Self {
            version: Version::V3,
            entry: selkie_isa::symbol::ENTRYPOINT.to_owned(),
            strip: false,
            statics: Statics::Heap,
            icf: Icf::Safe,
        }
    }
}
