//! Options of an assembly.

use std::{path::PathBuf, sync::Arc};

use selkie_isa::Version;

use crate::source::{Files, NoFiles};

/// Options of an assembly.
#[derive(Clone)]
pub struct Options {
    /// The sBPF version to assemble for.
    pub version: Version,
    /// The name of the source, for messages and line tables. Included files are looked up relative
    /// to its folder.
    pub name: String,
    /// Whether to emit DWARF line tables and a symbol for every label. Objects have line tables
    /// unless they are stripped.
    pub debug_info: bool,
    /// Whether to leave out what only tools use, such as symbols and debug information.
    pub strip: bool,
    /// Predefined constants.
    pub defines: Vec<(String, i64)>,
    /// Folders in which included files are looked up, after the folder of the including file.
    pub include_paths: Vec<PathBuf>,
    /// Reads included files.
    pub files: Arc<dyn Files + Send + Sync>,
}

impl Default for Options {
    /// V0, not stripped, without debug information and without access to files.
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
