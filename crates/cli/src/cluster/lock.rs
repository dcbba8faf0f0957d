//! The lock on a cluster's file: commands that run at the same time change it one after the other.
//!
//! The file itself is replaced when it is written, so the lock is on a file beside it, which stays.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow};

use crate::ui::Advise as _;

/// How long and how often to try while another command has the lock.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// A lock, held until it is dropped or the process ends.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock of a cluster's file. `None` if nothing can be written beside the file, which
    /// therefore cannot be replaced either.
    ///
    /// # Errors
    /// If another command keeps it for long.
    pub(super) fn of(path: &Path) -> Result<Option<Self>> {
        let target = target(path);
        let mut name = target.as_os_str().to_owned();
        name.push(".lock");
        let name = PathBuf::from(name);
        let file = match File::options().create(true).append(true).open(&name) {
            Ok(file) => file,
            Err(error) if is_denied(&error) => return Ok(None),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot lock {}", name.display()));
            }
        };
        for _ in 0..ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Self { _file: file })),
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
                // File systems without locks keep none.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
                    return Ok(None);
                }
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("cannot lock {}", name.display()));
                }
            }
        }
        Err(anyhow!("another command uses the cluster in {}", path.display()))
            .advise("wait until it ends, or name another file with --state")
    }
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// Returns the file that a path leads to, through links. It need not exist.
pub(super) fn target(path: &Path) -> PathBuf {
    if let Ok(target) = path.canonicalize() {
        return target;
    }
    match fs::read_link(path) {
        Ok(link) => path.parent().unwrap_or(Path::new("")).join(link),
        Err(_) => path.to_owned(),
    }
}
