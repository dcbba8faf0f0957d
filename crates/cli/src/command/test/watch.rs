//! Waits for changes of a project's files.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use anyhow::{Context as _, Result};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::ui::Advise as _;

/// Folders whose changes do not matter: what builds and tests write.
const SKIPPED: &[&str] = &["target", "node_modules", "test-ledger"];
/// The folders that are watched.
const FOLDERS_MAX: usize = 10_000;
/// Changes that follow each other within this time are one: editors write several files.
const QUIET: Duration = Duration::from_millis(150);

pub(super) struct Watcher {
    watcher: RecommendedWatcher,
    events: Receiver<notify::Result<Event>>,
    root: PathBuf,
}

impl Watcher {
    /// Watches the folders below a root.
    pub(super) fn new(root: &Path) -> Result<Self> {
        let root = root.canonicalize().context("there is no current folder")?;
        let (sender, events) = channel();
        let watcher = notify::recommended_watcher(sender);
        let watcher = watcher.context("cannot watch files").advise("run without --watch")?;
        let mut it = Self { watcher, events, root };
        it.watch_folders()?;
        Ok(it)
    }

    /// Watches all folders, also those that are new.
    fn watch_folders(&mut self) -> Result<()> {
        for folder in folders(&self.root) {
            self.watcher
                .watch(&folder, RecursiveMode::NonRecursive)
                .with_context(|| format!("cannot watch {}", folder.display()))
                .advise("run without --watch")?;
        }
        Ok(())
    }

    /// Waits until a file changes, and returns it.
    pub(super) fn wait(&mut self) -> Result<PathBuf> {
        self.watch_folders()?;
        loop {
            let event = self.events.recv().context("the files are no longer watched")?;
            let Some(changed) = event.ok().and_then(|event| self.changed(event)) else { continue };
            while self.events.recv_timeout(QUIET).is_ok() {}
            return Ok(changed);
        }
    }

    /// Returns the file of the project that an event is about.
    fn changed(&self, event: Event) -> Option<PathBuf> {
        if !matches!(event.kind, EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_))
        {
            return None;
        }
        let inside = event.paths.into_iter().filter_map(|path| {
            let inside = path.strip_prefix(&self.root).ok()?.to_owned();
            let is_skipped = inside.iter().any(|part| is_skipped(&part.to_string_lossy()));
            (!is_skipped).then_some(inside)
        });
        inside.into_iter().next()
    }
}

fn is_skipped(name: &str) -> bool {
    name.starts_with('.') || SKIPPED.contains(&name)
}

fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        next += 1;
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let inside = entries.filter(|it| {
            let is_folder = it.file_type().is_ok_and(|kind| kind.is_dir());
            is_folder && !is_skipped(&it.file_name().to_string_lossy())
        });
        let room = FOLDERS_MAX.saturating_sub(found.len());
        found.extend(inside.map(|it| it.path()).take(room));
    }
    found
}
