//! From a project to a program: what there is to build, which compiler builds it, and how it is
//! driven. Compilers are stock ones; what they write is linked by `selkie-link`.
//!
//! | module | what it owns |
//! |---|---|
//! | [`project`] | what there is to build in a folder |
//! | [`c`] | C: clang or zig, found and driven |
//! | `assembly` | assembly beside C |
//! | [`rust`] | Rust: a toolchain with the standard library's source, found and driven |
//! | `target` | the target that rustc compiles for, and what it says to its linker |
//! | `overlay` | the standard library's source, with Solana as one of its systems |
//! | [`collect`] | what rustc gave to its linker, kept for ours |
//! | `view` | a package without what only its tests need |
//! | [`stamp`] | whether anything changed since the last build |
//! | [`failure`] | why there is no program |

#![forbid(unsafe_code)]

mod assembly;
pub mod c;
pub mod collect;
pub mod failure;
mod overlay;
pub mod project;
pub mod rust;
pub mod stamp;
mod target;
mod view;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use selkie_isa::Version;
use selkie_link::Linked;

pub use crate::{failure::Failure, project::Project};

/// How to build.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sBPF version to build for.
    pub version: Version,
    /// The compiler to use, by its name or path; the best that is found otherwise.
    pub toolchain: Option<String>,
    /// A folder for what is the same for all projects: headers, the standard library's source.
    pub cache: PathBuf,
    /// The program that rustc starts as its linker: it hands its arguments to [`collect::run`].
    pub linker: PathBuf,
    /// Folders of headers for C, and of what assembly includes.
    pub includes: Vec<PathBuf>,
    /// Constants, for C and assembly.
    pub defines: Vec<(String, i64)>,
    /// What to say to cargo in addition: features, `--locked`, `--offline`.
    pub cargo: Vec<String>,
    /// What may be written by a program that has variables, and the rest of linking.
    pub statics: selkie_link::Statics,
}

/// Who is told what goes on.
pub trait Watch {
    /// This compiler was chosen.
    fn chose(&mut self, toolchain: &str);
    /// This command is run.
    fn runs(&mut self, command: &str);
    /// A compiler said this, as it is meant for people: whole lines.
    fn said(&mut self, text: &str);
}

/// What compilers made of a project, before it is linked.
#[derive(Debug)]
pub struct Compiled {
    /// What the program's file is called, without `.so`: as its library, in Rust.
    pub name: String,
    /// Objects and archives: names for people, and bytes.
    pub objects: Vec<(String, Vec<u8>)>,
    /// The files that this was made of.
    pub sources: Vec<PathBuf>,
    /// The compiler, as people know it.
    pub toolchain: String,
    /// The folder where cargo, or whoever drives it, keeps what it builds: `target`.
    pub target: PathBuf,
}

/// A program in both of its forms.
#[derive(Debug)]
pub struct Built {
    /// What is deployed: without names and lines, which take room that is paid for.
    pub stripped: Linked,
    /// The same with names and lines, for tools.
    pub whole: Linked,
}

/// Links what compilers wrote.
///
/// # Errors
///
/// [`Failure::Link`] says everything that is wrong.
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

/// A command as it would be typed.
fn typed(command: &Command) -> String {
    let environment = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    environment.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./=:,+@%".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Writes a file if it does not hold these bytes already, so that who looks at its time sees that
/// nothing changed.
fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|held| held == bytes) {
        return Ok(());
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, bytes)
}

/// Where a program of this name is, of those that the user can start.
#[must_use]
pub fn in_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_would_be_typed() {
        let mut command = Command::new("clang");
        command.args(["-c", "a b.c", "-DX='1'"]).env("LANG", "C");
        assert_eq!(typed(&command), r"LANG=C clang -c 'a b.c' '-DX='\''1'\'''");
    }
}
