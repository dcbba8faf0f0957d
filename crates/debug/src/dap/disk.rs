//! What an adapter reads: the files of this machine, and transactions of nodes.

use std::path::{Path, PathBuf};

use selkie_isa::failure::Failure;
use selkie_replay::{
    files::Fetch,
    recordings::{Recordings, newest},
};

use super::{arguments::LaunchArguments, server::Surroundings};
use crate::{
    debuggee::{Debuggee, find_source},
    session::Session,
};

/// Returns how transactions are taken from the node at an address, if there is one.
pub type Fetcher = fn(Option<&str>) -> Option<Fetch>;

/// The files of this machine, for the editor that has started this process.
#[derive(Debug)]
pub struct Disk {
    /// Returns how transactions are taken from the node at an address, if there is one.
    fetcher: Fetcher,
    /// The folder of the session, which relative paths are in.
    folder: PathBuf,
}

impl Disk {
    /// Creates them; `fetcher` returns how transactions are taken from the node at an address.
    #[must_use]
    pub fn new(fetcher: Fetcher) -> Self {
        Self { fetcher, folder: PathBuf::new() }
    }

    /// Opens what an editor asks for, with transactions by signature from the node at `url`.
    pub(super) fn open_from(
        &mut self,
        arguments: &LaunchArguments,
        url: Option<&str>,
    ) -> Result<Session, Failure> {
        let folder = arguments.cwd.as_ref().map_or_else(PathBuf::new, PathBuf::from);
        let symbols: Vec<PathBuf> = arguments.symbols.iter().map(|it| folder.join(it)).collect();
        let replay = Some(&arguments.replay).filter(|it| !it.is_empty());
        let replay = replay.map(|it| folder.join(it));
        if replay.is_none() && arguments.url.is_some() {
            let message = "the configuration has a `url` and no `replay`: that names the transaction of the \
                           node, by its signature";
            return Err(message.into());
        }
        let debuggee = Debuggee {
            transaction: arguments.transaction,
            test: arguments.test.as_deref(),
            symbols: &symbols,
            source_map: arguments.source_map.clone().into_iter().collect(),
            steps_into_libraries: arguments.step_into_libraries,
            start_at: arguments.start_at,
        };
        self.folder.clone_from(&folder);
        let path = replay.map_or_else(|| newest(&folder, debuggee.test), Ok);
        let recordings = Recordings::open(&[path?], (self.fetcher)(url))?;
        debuggee.open(recordings, &folder)
    }

    pub(super) fn find(&self, path: &str) -> Option<String> {
        let folder: &Path = &self.folder;
        Some(find_source(folder, path)?.to_string_lossy().into_owned())
    }
}

impl Surroundings for Disk {
    fn open(&mut self, arguments: &LaunchArguments) -> Result<Session, Failure> {
        self.open_from(arguments, arguments.url.as_deref())
    }

    fn find_source(&self, path: &str) -> Option<String> {
        self.find(path)
    }
}
