//! The lock on a cluster's file: commands that run at the same time change it one after the other.
//!
//! The file itself is replaced when it is written, so the lock is on a file beside it.

use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

/// How long and how often to try while another command has the lock.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// A lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits for the lock of a cluster's file. `None` if nothing can be written beside the file, which
    /// therefore cannot be replaced either.
    ///
    /// # Errors
    /// If another command keeps it for long.
    pub(super) fn of(path: &Path) -> Result<Option<Self>> {
        let mut name = target(path).into_os_string();
        name.push(".lock");
        let name = PathBuf::from(name);
        for _ in 0..ATTEMPTS {
            match try_lock(&name) {
                Ok(Some(file)) => return Ok(Some(Self { file, path: name })),
                Ok(None) => thread::sleep(PAUSE),
                Err(error) if has_no_locks(&error) => return Ok(None),
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot lock {}", name.display()));
                }
            }
        }
        Err(Failure::new(format!("another command uses the cluster in {}", path.display())))
            .advise("wait until it ends, or name another file with --state")
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Who waits for it finds that its file is gone, and makes another one. If it is not gone, the
        // lock itself is.
        if cfg!(unix) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

/// Takes the lock on a file. `None` if another process has it.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = File::options().create(true).append(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file).filter(|file| is_at(file, path))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Returns whether a file is still the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |it: fs::Metadata| (it.dev(), it.ino());
    let (opened, there) = (file.metadata().map(identity), fs::metadata(path).map(identity));
    opened.is_ok_and(|opened| there.is_ok_and(|there| opened == there))
}

/// Files that are open stay where they are.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Whether nothing can be written there, or the file system has no locks.
fn has_no_locks(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, Unsupported};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | Unsupported)
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
