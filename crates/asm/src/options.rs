//! Options of an assembly.

use std::{path::PathBuf, sync::Arc};

use selkie_isa::Version;

use crate::source::{Files, NoFiles};

/// How to assemble.
#[derive(Clone)]
pub struct Options {
    /// The sBPF version to assemble for.
    pub version: Version,
    /// The name of the source, for messages and line tables; what it includes is looked for
    /// beside it.
    pub name: String,
    /// Emit DWARF line tables, and a symbol for every label.
    pub debug_info: bool,
    /// Leave out everything that only tools read.
    pub strip: bool,
    /// Constants that the source may use as if it had defined them.
    pub defines: Vec<(String, i64)>,
    /// Where included files are looked for, after the folder of the file that includes them.
    pub include_paths: Vec<PathBuf>,
    /// Reads included files.
    pub files: Arc<dyn Files + Send + Sync>,
}

impl Default for Options {
    /// V0, unstripped, without debug information and without files to include.
    fn default() -> Self {
        Self {
            version: Version::V0,
            name: "program.s".to_owned(),
            debug_info: false,
            strip: false,
            defines: Vec::new(),
            include_paths: Vec::new(),
            files: Arc::new(NoFiles),
        }
    }
}

impl core::fmt::Debug for Options {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Options")
            .field("version", &self.version)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
