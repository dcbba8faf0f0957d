//! The sBPF linker: what stock compilers make for eBPF, and what is assembled for sBPF, to programs
//! that Solana loads.
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
//! eBPF and sBPF are near relatives, and the linker makes up for the difference: what eBPF has and
//! sBPF has not is expressed, and what cannot be expressed is refused by name. Nothing is passed on
//! in the hope that it means the same. Objects of `selkie-asm` are sBPF already: they say of which
//! version, and programs of that version take their instructions as they are.
//!
//! | module | what it owns |
//! |---|---|
//! | `input` | files: objects, and members of archives on demand |
//! | `object` | an object's sections, symbols and relocations, in bounds |
//! | `program` | atoms, and what names mean |
//! | `support` | the routines that compilers take for granted |
//! | `trace` | what can be reached from the entry |
//! | `decode`, `item` | instructions, and what they refer to |
//! | `legal` | eBPF's meaning in sBPF's instructions |
//! | `stack` | how deep functions go into their frames |
//! | `layout` | addresses, and the bytes that hold them |
//! | `debug` | debug information for where things went, and the lines of errors |
//! | [`report`] | what was linked: functions, data, the link map |
//! | [`error`] | why there is no program |

#![forbid(unsafe_code)]
#![allow(clippy::result_large_err, reason = "errors end the linking: what they weigh is no cost")]

mod debug;
mod decode;
pub mod error;
mod input;
mod item;
mod layout;
mod legal;
mod link;
mod object;
mod program;
pub mod report;
mod stack;
mod support;
mod trace;

use selkie_isa::Version;

pub use crate::{
    error::LinkError,
    input::Input,
    link::link,
    report::{Datum, Function, Linked},
};

/// What becomes of variables that the program may write.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Statics {
    /// They take the first bytes of the heap, from the ninth on: Solana's allocators keep their
    /// position in the first eight and hand out memory from the top. An allocator that hands out
    /// from the bottom has to begin at `__heap_start`.
    #[default]
    Heap,
    /// They are refused.
    Refuse,
}

/// How to link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The sBPF version to link for.
    pub version: Version,
    /// The function that the program starts at.
    pub entry: String,
    /// Leave out everything that only tools read.
    pub strip: bool,
    /// What becomes of variables that the program may write.
    pub statics: Statics,
}

impl Default for Options {
    /// V3, starting at `entrypoint`, unstripped, with statics in the heap.
    fn default() -> Self {
        Self {
            version: Version::V3,
            entry: selkie_isa::symbol::ENTRYPOINT.to_owned(),
            strip: false,
            statics: Statics::Heap,
        }
    }
}
