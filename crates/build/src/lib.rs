//! Builds Solana programs in C, Rust and assembly with stock compilers and `selkie-link`.
//!
//! [`Project::find`] finds the programs of a folder, and [`build`] compiles and links one: by [`c::compile`] or
//! [`rust::compile`], and [`link()`].
//!
//! | module | what it owns |
//! |---|---|
//! | [`project`] | the programs in a folder |
//! | [`c`] | C: finding and running clang or zig |
//! | `assembly` | assembly in C projects |
//! | [`rust`] | Rust: running cargo, and collecting its objects |
//! | `toolchain` | finding a Rust toolchain with LLVM 23 and the standard library's source |
//! | `target` | the target specification for rustc |
//! | `inline_asm` | inline assembly that LLVM does not read |
//! | [`layout`] | types that the official toolchain lays out otherwise |
//! | `llvm` | the toolchain's LLVM with the official alignment of 128-bit integers |
//! | `flags` | the user's flags of rustc |
//! | `overlay` | the standard library's source, patched for Solana |
//! | `collect` | the stand-in for rustc's linker, which keeps its inputs |
//! | `wrapper` | the stand-in for rustc, which adjusts its arguments |
//! | `view` | a manifest without dependencies that only tests need |
//! | `metadata` | `cargo metadata` |
//! | `options` | options, progress and compiled objects |
//! | [`official`] | Rust with the official toolchain: `cargo build-sbf` |
//! | [`sizes`] | which crates and functions take how many bytes, and why |
//! | [`idl`] | Anchor's IDL |
//! | [`template`] | new projects |
//! | [`stamp`] | whether anything changed since the last build |
//! | `system` | commands and files |
//! | [`failure`] | build failures |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod assembly;
pub mod c;
mod collect;
mod dependency;
pub mod failure;
mod flags;
pub mod idl;
mod inline_asm;
pub mod layout;
mod llvm;
mod metadata;
pub mod official;
mod options;
mod overlay;
pub mod project;
pub mod rust;
pub mod sizes;
pub mod stamp;
mod system;
mod target;
pub mod template;
mod toolchain;
mod view;
mod wrapper;

use std::{ffi::OsString, io, path::Path};

use selkie_link::{LinkError, Linked};

use crate::project::Language;

pub use crate::{
    failure::BuildError,
    layout::Difference,
    metadata::{Tested, target_folder, tested},
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
    /// Types that the official toolchain lays out otherwise, and that cannot lie over accounts' bytes.
    pub differences: Vec<Difference>,
}

/// Runs as the linker or the compiler that cargo was given, and returns the exit code; `None` if
/// the arguments, without the program's name, are not those of either.
#[must_use]
pub fn run_for_cargo(arguments: Vec<OsString>) -> Option<io::Result<u8>> {
    if wrapper::is_started_by_cargo(&arguments) {
        return Some(wrapper::run(&arguments));
    }
    let is_collector = arguments.iter().any(|it| it == collect::ARGUMENT);
    is_collector.then(|| collect::run(arguments.into_iter()).map(|()| 0))
}

/// Compiles and links a project in C or Rust. One in Rust whose stack frames are too large is built once more,
/// with less inlining. Objects of C go to a folder below `target`.
///
/// # Errors
///
/// Those of [`c::compile`], [`rust::compile`] and [`link()`]. If the frames are too large in both builds, the errors
/// are those of the first.
pub fn build(
    project: &Project,
    target: &Path,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<(Compiled, Built), BuildError> {
    let Language::Rust(_) = &project.language else {
        let compiled = c::compile(project, target, options, progress)?;
        let built = link(&compiled, options)?;
        return Ok((compiled, built));
    };
    let built = build_rust(project, options, progress);
    if let Err(BuildError::Link(errors)) = &built
        && errors.iter().all(LinkError::is_about_frame)
    {
        progress.output("stack frames are too large: trying again with less inlining\n");
        return build_rust(project, &options.with_smaller_frames(), progress).or(built);
    }
    built
}

fn build_rust(
    project: &Project,
    options: &Options,
    progress: &mut dyn Progress,
) -> Result<(Compiled, Built), BuildError> {
    let compiled = rust::compile(project, options, progress)?;
    let built = link(&compiled, options)?;
    Ok((compiled, built))
}

/// Links compiled objects.
///
/// # Errors
///
/// [`BuildError::Link`] with all errors of the linker, [`BuildError::Layout`] if types that may lie over the bytes
/// of accounts have another layout than with the official toolchain.
pub fn link(compiled: &Compiled, options: &Options) -> Result<Built, BuildError> {
    let inputs: Vec<selkie_link::Input<'_>> =
        compiled.objects.iter().map(|(name, bytes)| selkie_link::Input { name, bytes }).collect();
    let link = |strip| {
        let options = selkie_link::Options {
            version: options.version,
            strip,
            statics: options.statics,
            icf: compiled.icf,
            ..selkie_link::Options::default()
        };
        selkie_link::link(&inputs, &options).map_err(BuildError::Link)
    };
    let (whole, stripped) = (link(false)?, link(true)?);
    let Some(reason) = &compiled.has_other_layout else {
        return Ok(Built { whole, stripped, differences: Vec::new() });
    };
    let (refused, differences): (Vec<_>, Vec<_>) =
        layout::differences(whole.debug_elf.as_ref().unwrap_or(&whole.elf))
            .into_iter()
            .partition(|it| it.is_pointed_to);
    match refused.is_empty() {
        true => Ok(Built { whole, stripped, differences }),
        false => Err(BuildError::Layout { differences: refused, reason: reason.clone() }),
    }
}
