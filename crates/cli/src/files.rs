//! Writes the output files of commands.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};
pub(crate) use selkie_isa::input::is_source;

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file, creating its folders.
pub(crate) fn write_with_folders(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    write(path, bytes)
}

/// Whether the extension is that of a program, or of a source that is assembled to one.
pub(crate) fn is_program(path: &Path) -> bool {
    is_source(path) || path.extension().is_some_and(|it| it == "so")
}
