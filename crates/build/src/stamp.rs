//! Whether anything changed since the last build.
//!
//! A stamp lists what a program was made of, with sizes and times, and how. Where all of it is as
//! it was, and what came out is still there, there is nothing to do: no compiler is started to find
//! out.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

/// A build as it was.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Stamp {
    /// How it was built: everything but files that a change of it asks for another build.
    pub how: String,
    /// The compiler, as people know it.
    pub toolchain: String,
    /// What was read and what was written.
    pub files: Vec<Seen>,
    /// What must be there if nothing changed, and what came of it.
    pub outputs: Vec<PathBuf>,
}

/// A file as it was: `None` if there was none.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Seen {
    path: PathBuf,
    size_and_time: Option<(u64, u128)>,
}

impl Seen {
    fn now(path: &Path) -> Self {
        let metadata = fs::metadata(path).ok();
        let size_and_time = metadata.and_then(|it| {
            let time = it.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            // The size of a folder says nothing; its time says that something came or went.
            Some((if it.is_dir() { 0 } else { it.len() }, time.as_nanos()))
        });
        Self { path: path.to_owned(), size_and_time }
    }
}

impl Stamp {
    /// What is there now that a build has ended which began at `begun`; `sources` may be files or
    /// folders. A source that changed in the meantime counts as changed since.
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
            let seen = Seen::now(path);
            let is_older = seen.size_and_time.is_none_or(|(_, time)| time < begun);
            if is_older { seen } else { Seen { size_and_time: Some((0, 0)), ..seen } }
        };
        let written = outputs.iter().map(|path| Seen::now(path));
        let files = sources.iter().map(source).chain(written).collect();
        Self { how, toolchain, files, outputs }
    }

    /// The stamp of an earlier build, if nothing changed since.
    #[must_use]
    pub fn fresh(path: &Path, how: &str) -> Option<Self> {
        let stamp: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let unchanged = stamp.files.iter().all(|seen| *seen == Seen::now(&seen.path));
        let there = stamp.outputs.iter().all(|path| path.is_file());
        (stamp.how == how && unchanged && there).then_some(stamp)
    }

    /// Keeps the stamp for the next build.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        crate::write_if_changed(path, &serde_json::to_vec(self)?)
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
    fn what_changed_since_is_not_fresh() {
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
