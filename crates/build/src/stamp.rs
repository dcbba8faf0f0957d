//! Stamps: whether anything changed since the last build.
//!
//! A stamp records the options of a build, and sizes and modification times of its sources and
//! outputs. If all of them are unchanged, the build is skipped without running a compiler.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use selkie_isa::input;
use serde::{Deserialize, Serialize};

/// A record of a build.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Stamp {
    /// A description of everything except files that affects the build, such as options.
    pub how: String,
    /// The name and version of the compiler.
    pub toolchain: String,
    /// The sources and outputs.
    pub files: Vec<FileState>,
    /// The outputs, which must exist for the build to be skipped.
    pub outputs: Vec<PathBuf>,
}

/// The state of a file or folder at the time of a build.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct FileState {
    path: PathBuf,
    /// Size in bytes and modification time in nanoseconds; `None` if the file did not exist.
    size_and_time: Option<(u64, u128)>,
}

impl FileState {
    fn now(path: &Path) -> Self {
        let metadata = fs::metadata(path).ok();
        let size_and_time = metadata.and_then(|it| {
            let time = it.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            // The time of a folder changes when an entry is added or removed. Its size is irrelevant.
            Some((if it.is_dir() { 0 } else { it.len() }, time.as_nanos()))
        });
        Self { path: path.to_owned(), size_and_time }
    }
}

impl Stamp {
    /// Makes the stamp of a build that started at `begun` and has just ended. `sources` are files or
    /// folders. A source that changed during the build counts as changed after it.
    #[must_use]
    pub fn now(
        how: String,
        toolchain: String,
        sources: &[PathBuf],
        outputs: Vec<PathBuf>,
        begun: SystemTime,
    ) -> Self {
        let begun = begun.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let source = |path: &PathBuf| {
            let state = FileState::now(path);
            let is_older = state.size_and_time.is_none_or(|(_, time)| time < begun);
            if is_older { state } else { FileState { size_and_time: Some((0, 0)), ..state } }
        };
        let written = outputs.iter().map(|path| FileState::now(path));
        let files = sources.iter().map(source).chain(written).collect();
        Self { how, toolchain, files, outputs }
    }

    /// Reads the stamp of an earlier build; `None` if anything changed since.
    #[must_use]
    pub fn fresh(path: &Path, how: &str) -> Option<Self> {
        let stamp: Self =
            serde_json::from_slice(&input::read(path, input::FILE_BYTES_MAX).ok()?).ok()?;
        let unchanged = stamp.files.iter().all(|state| *state == FileState::now(&state.path));
        let there = stamp.outputs.iter().all(|path| path.is_file());
        (stamp.how == how && unchanged && there).then_some(stamp)
    }

    /// Writes the stamp to a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        crate::system::write_if_changed(path, &serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("selkie-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("there is room for it");
        folder
    }

    #[test]
    fn stamp_is_stale_after_a_change_of_options_sources_or_outputs() {
        let folder = folder("stamp");
        let [source, program, stamp] = ["a.c", "a.so", "stamp"].map(|it| folder.join(it));
        fs::write(&source, "1").expect("the folder is writable");
        fs::write(&program, "2").expect("the folder is writable");
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        let now = |how: &str, begun| {
            let sources = [source.clone(), folder.join("missing.h")];
            let outputs = vec![program.clone()];
            Stamp::now(how.to_owned(), "cc".to_owned(), &sources, outputs, begun)
        };
        now("v3", later).write(&stamp).expect("the folder is writable");
        assert_eq!(Stamp::fresh(&stamp, "v3"), Some(now("v3", later)));
        assert_eq!(Stamp::fresh(&stamp, "v0"), None, "it was built in another way");

        now("v3", UNIX_EPOCH).write(&stamp).expect("the folder is writable");
        assert_eq!(Stamp::fresh(&stamp, "v3"), None, "the source changed during the build");

        for (name, text) in [("a.c", Some("other")), ("a.so", None), ("missing.h", Some(""))] {
            fs::write(&program, "2").expect("the folder is writable");
            now("v3", later).write(&stamp).expect("the folder is writable");
            let path = folder.join(name);
            let changed = text.map_or_else(|| fs::remove_file(&path), |it| fs::write(&path, it));
            changed.expect("the folder is writable");
            assert_eq!(Stamp::fresh(&stamp, "v3"), None, "{name}");
        }
        fs::remove_dir_all(folder).expect("it is there");
    }
}
