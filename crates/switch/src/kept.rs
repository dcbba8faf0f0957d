//! The lock file as it was before a switch, which `cargo update` does not bring back: kept below the target folder,
//! beside that of after. It is put back only while the lock file is still that of after.

use std::{
    fs,
    path::{Path, PathBuf},
};

use selkie_isa::{
    failure::{Context as _, Result},
    input,
};

/// The folder of both, seen from that of the lock file.
const FOLDER: &str = "target/selkie-switch";

/// Where the lock files of before and after a switch are.
struct Kept {
    lock: PathBuf,
    before: PathBuf,
    after: PathBuf,
}

impl Kept {
    fn of(lock: &Path) -> Self {
        let folder = lock.with_file_name(FOLDER);
        Self {
            lock: lock.to_owned(),
            before: folder.join("before.lock"),
            after: folder.join("after.lock"),
        }
    }

    /// Whether the lock file is that of after the switch.
    fn is_current(&self) -> Result<bool> {
        Ok(self.after.is_file() && read(&self.after)? == read(&self.lock)?)
    }
}

/// Keeps a lock file that a switch is about to change, unless one was kept that an earlier switch changed into it,
/// or was interrupted while it did.
pub(crate) fn keep_before(lock: &Path) -> Result<()> {
    let kept = Kept::of(lock);
    if kept.before.is_file() && (!kept.after.is_file() || kept.is_current()?) {
        return Ok(());
    }
    let folder = lock.with_file_name(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    remove(&kept.after)?;
    copy(lock, &kept.before)
}

/// Keeps the lock file that a switch has made, if that of before is kept.
pub(crate) fn keep_after(lock: &Path) -> Result<()> {
    let kept = Kept::of(lock);
    if kept.before.is_file() { copy(lock, &kept.after) } else { Ok(()) }
}

/// Puts the lock file of before the switch back, byte for byte, if nothing has changed it since. Returns whether it
/// did.
pub(crate) fn put_back(lock: &Path) -> Result<bool> {
    let kept = Kept::of(lock);
    if !kept.before.is_file() || !kept.is_current()? {
        return Ok(false);
    }
    copy(&kept.before, lock)?;
    let folder = lock.with_file_name(FOLDER);
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    Ok(true)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    input::read(path, input::TEXT_BYTES_MAX)
        .with_context(|| format!("cannot read {}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let text = read(from)?;
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}

fn remove(path: &Path) -> Result<()> {
    if path.is_file() {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(name: &str) -> PathBuf {
        let root =
            std::env::temp_dir().join(format!("selkie-switch-kept-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("Cargo.lock"), "before\r\n").unwrap();
        root.join("Cargo.lock")
    }

    #[test]
    fn a_lock_file_is_put_back_after_two_switches() {
        let lock = lock("twice");
        for text in ["once", "twice"] {
            keep_before(&lock).unwrap();
            fs::write(&lock, text).unwrap();
            keep_after(&lock).unwrap();
        }
        assert!(put_back(&lock).unwrap());
        assert_eq!(fs::read(&lock).unwrap(), b"before\r\n");
        assert!(!lock.with_file_name(FOLDER).exists());
        assert!(!put_back(&lock).unwrap());
        fs::remove_dir_all(lock.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_lock_file_that_was_changed_since_stays() {
        let lock = lock("changed");
        keep_before(&lock).unwrap();
        fs::write(&lock, "after").unwrap();
        keep_after(&lock).unwrap();
        fs::write(&lock, "updated").unwrap();
        assert!(!put_back(&lock).unwrap());
        assert_eq!(fs::read(&lock).unwrap(), b"updated");
        fs::remove_dir_all(lock.parent().unwrap()).unwrap();
    }

    #[test]
    fn an_interrupted_switch_keeps_what_was_first() {
        let lock = lock("interrupted");
        keep_before(&lock).unwrap();
        fs::write(&lock, "half").unwrap();
        keep_before(&lock).unwrap();
        keep_after(&lock).unwrap();
        assert!(put_back(&lock).unwrap());
        assert_eq!(fs::read(&lock).unwrap(), b"before\r\n");
        fs::remove_dir_all(lock.parent().unwrap()).unwrap();
    }
}
