//! Files that commands write.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file, and makes the folders that it is in.
pub(crate) fn write_with_folders(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    write(path, bytes)
}
