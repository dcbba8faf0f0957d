//! The inputs and outputs of compilation: options, progress, objects.

use std::path::PathBuf;

use selkie_isa::Version;
use selkie_link::Icf;

/// The options of a build.
#[derive(Clone, Debug)]
pub struct Options {
    /// The sBPF version to build for.
    pub version: Version,
    /// The name or path of the compiler; `None` for the best one that is installed.
    pub toolchain: Option<String>,
    /// A folder for files that all projects share: headers, the standard library's source.
    pub cache: PathBuf,
    /// The program that cargo runs as rustc's wrapper and rustc as its linker. It must pass its
    /// arguments to [`run_for_cargo`](crate::run_for_cargo).
    pub linker: PathBuf,
    /// Include folders for C and assembly.
    pub includes: Vec<PathBuf>,
    /// Constants that C and assembly can use.
    pub defines: Vec<(String, i64)>,
    /// Additional arguments of what compiles: cargo's, as `--locked`, or those of the compiler for C, as
    /// `-O1`, which follow our own.
    pub arguments: Vec<String>,
    /// Cargo's target folder; `None` for the one that variables and cargo's configuration name.
    pub target: Option<PathBuf>,
    /// How the linker treats writable variables.
    pub statics: selkie_link::Statics,
}

impl Options {
    /// Returns options by which the program's own crate in Rust gets along with less stack: rustc inlines
    /// nothing itself, and leaves it to LLVM.
    ///
    /// What rustc inlines lives to the end of a function, where optimisations of the MIR remove its markers of
    /// lifetimes, so that LLVM cannot put several values at one place of the frame. The warnings were shown
    /// when the crate was compiled first.
    #[must_use]
    pub fn with_smaller_frames(&self) -> Self {
        const FLAGS: [&str; 3] = ["-Zinline-mir=no", "--cap-lints", "allow"];
        let separator = (!self.arguments.iter().any(|it| it == "--")).then_some("--");
        let added = separator.into_iter().chain(FLAGS).map(str::to_owned);
        let arguments = self.arguments.iter().cloned().chain(added).collect();
        Self { arguments, ..self.clone() }
    }
}

/// A receiver of progress and compiler output.
pub trait Progress {
    /// Receives the name of the compiler that was chosen.
    fn toolchain(&mut self, toolchain: &str);
    /// Receives a command before it runs.
    fn command(&mut self, command: &str);
    /// Receives output of a compiler, in whole lines.
    fn output(&mut self, text: &str);
}

/// A compiled project, ready to link.
#[derive(Debug)]
pub struct Compiled {
    /// The name of the program's file without `.so`. In Rust, it is the name of the library.
    pub name: String,
    /// The names and contents of objects and archives.
    pub objects: Vec<(String, Vec<u8>)>,
    /// The files on which the objects depend.
    pub sources: Vec<PathBuf>,
    /// The name and version of the compiler.
    pub toolchain: String,
    /// The `target` folder of the project.
    pub target: PathBuf,
    /// Why the layout of 128-bit integers is not that of the official toolchain; `None` if it is.
    pub has_other_layout: Option<String>,
    /// Which equal functions the linker may fold into one.
    pub icf: Icf,
}
