//! Folders that belong to the user.

use std::{env, path::PathBuf};

use anyhow::{Result, anyhow};

/// Where Selkie keeps what it can make again.
#[allow(clippy::disallowed_methods, reason = "the user's folders are in the environment")]
pub(crate) fn caches() -> Result<PathBuf> {
    let caches = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(env::home_dir()?.join(".cache")));
    Ok(caches.ok_or_else(|| anyhow!("there is no home folder to keep a cache in"))?.join("selkie"))
}
