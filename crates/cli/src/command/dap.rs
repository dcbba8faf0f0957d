//! `selkie dap`.

mod socket;

use selkie_isa::failure::Failure;
use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use selkie_debug::{
    Session,
    dap::{Ended, LaunchArguments, Surroundings, serve},
};
use selkie_replay::recordings::{Recordings, newest};

use crate::{
    args::debug::DapArgs,
    debuggee::{Debuggee, find_source},
    replays,
    ui::{Status, Ui},
};

/// The files of this machine, for the editor that has started this process.
#[derive(Default)]
struct Disk {
    /// The folder of the session, which relative paths are in.
    folder: PathBuf,
}

impl Disk {
    /// Opens what an editor asks for, with transactions by signature from the node at `url`.
    fn open_from(
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
        let recordings = Recordings::open(&[path?], replays::fetcher(url))?;
        debuggee.open(recordings, &folder).map_err(Failure::of)
    }

    fn find(&self, path: &str) -> Option<String> {
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

pub(crate) fn run(ui: &mut Ui, args: &DapArgs) -> Result<Status> {
    match args.port {
        None => {
            let mut input = io::stdin().lock();
            let ended = serve(&mut input, &mut io::stdout(), Box::new(Disk::default()));
            Ok(Status::of(ended.context("the editor's messages")? == Ended::Orderly))
        }
        Some(port) => socket::listen(ui, port, args),
    }
}
