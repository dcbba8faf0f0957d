//! Folders of the user.

use std::{env, path::PathBuf};

use anyhow::{Result, anyhow};

/// Returns the folder of Selkie's caches.
#[allow(clippy::disallowed_methods, reason = "the user's folders are in the environment")]
pub(crate) fn caches() -> Result<PathBuf> {
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(env::home_dir()?.join(".cache")));
    Ok(caches.ok_or_else(|| anyhow!("no home folder for a cache"))?.join("selkie"))
}
