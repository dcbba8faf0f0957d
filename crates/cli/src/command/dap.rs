//! `selkie dap`.

use std::{
    io::{self, BufReader},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::PathBuf,
};

use anyhow::{Context as _, Result};
use selkie_debug::{
    Session,
    dap::{Ended, LaunchArguments, Surroundings, serve},
};

use crate::{
    args::debug::DapArgs,
    debuggee::{Debuggee, find_source},
    ui::{Advise as _, Status, Ui},
};

/// The files of this machine.
#[derive(Default)]
struct Disk {
    /// The folder of the session, which relative paths are in.
    folder: PathBuf,
}

impl Surroundings for Disk {
    fn open(&mut self, arguments: &LaunchArguments) -> Result<Session, String> {
        let folder = arguments.cwd.as_ref().map_or_else(PathBuf::new, PathBuf::from);
        let symbols: Vec<PathBuf> = arguments.symbols.iter().map(|it| folder.join(it)).collect();
        if arguments.replay.is_empty() {
            let message = "the configuration has no `replay`: name a replay file, which `selkie run \
                           --save-replay` or SELKIE_RECORD=DIR cargo test writes";
            return Err(message.to_owned());
        }
        let debuggee = Debuggee {
            path: &folder.join(&arguments.replay),
            url: arguments.url.as_deref(),
            transaction: arguments.transaction,
            test: None,
            symbols: &symbols,
            source_map: arguments.source_map.clone().into_iter().collect(),
            steps_into_libraries: arguments.step_into_libraries,
            start_at: arguments.start_at,
        };
        self.folder.clone_from(&folder);
        debuggee.open(&folder).map_err(|error| format!("{error:#}"))
    }

    fn find_source(&self, path: &str) -> Option<String> {
        Some(find_source(&self.folder, path)?.to_string_lossy().into_owned())
    }
}

pub(crate) fn run(ui: &mut Ui, args: &DapArgs) -> Result<Status> {
    match args.port {
        None => {
            let mut input = io::stdin().lock();
            let ended = serve(&mut input, &mut io::stdout(), Box::new(Disk::default()));
            Ok(Status::of(ended.context("the editor's messages")? == Ended::Orderly))
        }
        Some(port) => listen(ui, port),
    }
}

/// Serves one editor after the other.
fn listen(ui: &mut Ui, port: u16) -> Result<Status> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener
        .with_context(|| format!("cannot listen on port {port}"))
        .advise("choose another port, or 0 for a free one")?;
    ui.aside(&format!("listening on {}\n", listener.local_addr()?))?;
    for stream in listener.incoming() {
        // One editor's failure does not end the others' sessions.
        if let Err(error) = stream.and_then(|stream| serve_stream(&stream)) {
            ui.warning(&format!("a session ended: {error}"))?;
        }
    }
    Ok(Status::Success)
}

fn serve_stream(stream: &TcpStream) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    let mut output = stream;
    serve(&mut input, &mut output, Box::new(Disk::default())).map(|_| ())
}
