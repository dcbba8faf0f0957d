//! Folders of the user.

use std::path::PathBuf;

use anyhow::{Result, anyhow};

/// Returns the folder of Selkie's caches.
pub(crate) fn caches() -> Result<PathBuf> {
    selkie_inspect::caches().ok_or_else(|| anyhow!("no home folder for a cache"))
}
