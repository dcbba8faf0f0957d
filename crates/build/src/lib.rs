//! Builds Solana programs in C, Rust and assembly with stock compilers and `selkie-link`.
//!
//! [`Project::find`] finds the programs of a folder, [`c::compile`] and [`rust::compile`] compile
//! one, and [`link()`] links it.
//!
//! | module | what it owns |
//! |---|---|
//! | [`project`] | the programs in a folder |
//! | [`c`] | C: finding and running clang or zig |
//! | `assembly` | assembly in C projects |
//! | [`rust`] | Rust: running cargo, and collecting its objects |
//! | `toolchain` | finding a Rust toolchain with LLVM 23 and the standard library's source |
//! | `target` | the target specification for rustc |
//! | `overlay` | the standard library's source, patched for Solana |
//! | [`collect`] | the stand-in for rustc's linker, which keeps its inputs |
//! | `view` | a manifest without dependencies that only tests need |
//! | `metadata` | `cargo metadata` |
//! | `options` | options, progress and compiled objects |
//! | [`stamp`] | whether anything changed since the last build |
//! | `system` | commands and files |
//! | [`failure`] | build failures |

#![forbid(unsafe_code)]

mod assembly;
pub mod c;
pub mod collect;
pub mod failure;
mod metadata;
mod options;
mod overlay;
pub mod project;
pub mod rust;
pub mod stamp;
mod system;
mod target;
mod toolchain;
mod view;

use selkie_link::Linked;

pub use crate::{
    failure::Failure,
    options::{Compiled, Options, Progress},
    project::Project,
    system::in_path,
};

/// A linked program, with and without debug information.
#[derive(Debug)]
pub struct Built {
    /// The program to deploy: without symbols and debug information, which would cost rent.
    pub stripped: Linked,
    /// The same program with symbols and debug information, for tools.
    pub whole: Linked,
}

/// Links compiled objects.
///
/// # Errors
///
/// [`Failure::Link`] with all errors of the linker.
pub fn link(compiled: &Compiled, options: &Options) -> Result<Built, Failure> {
    let inputs: Vec<selkie_link::Input<'_>> =
        compiled.objects.iter().map(|(name, bytes)| selkie_link::Input { name, bytes }).collect();
    let link = |strip| {
        let options = selkie_link::Options {
            version: options.version,
            strip,
            statics: options.statics,
            ..selkie_link::Options::default()
        };
        selkie_link::link(&inputs, &options).map_err(Failure::Link)
    };
    Ok(Built { whole: link(false)?, stripped: link(true)? })
}
