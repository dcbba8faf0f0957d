//! `selkie gdb-server`.

use std::{
    io::{self, BufReader, BufWriter},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
};

use anyhow::{Context as _, Result};
use selkie_debug::debuggee::{Debuggee, source};
use selkie_debug::{console::Console, gdb::serve};

use crate::{
    args::debug::GdbServerArgs,
    recording,
    ui::{Advise as _, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &GdbServerArgs) -> Result<Status> {
    let Some(console) = open(ui, args)? else { return Ok(Status::Failure) };
    if args.stdio {
        let mut output = BufWriter::new(io::stdout());
        serve(&mut io::stdin().lock(), &mut output, console).context("gdb's packets")?;
        return Ok(Status::Success);
    }
    listen(ui, args, console)
}

/// Opens the session; `None` if the program is a source with errors, which were shown.
fn open(ui: &mut Ui, args: &GdbServerArgs) -> Result<Option<Console>> {
    let (path, url) = (args.path.as_deref(), args.node.url.as_deref());
    let opened = recording::open_or_newest(ui, path, args.test.as_deref(), url, &args.call)?;
    let Ok(recordings) = opened else { return Ok(None) };
    let debuggee = Debuggee {
        transaction: args.transaction,
        test: args.test.as_deref(),
        symbols: &args.symbols,
        source_map: Vec::new(),
        steps_into_libraries: true,
        start_at: args.at.map(Into::into),
    };
    let session = debuggee.open(recordings, Path::new(""))?;
    Ok(Some(Console::new(session, Box::new(source))))
}

/// Serves one gdb after the other, each from the beginning.
fn listen(ui: &mut Ui, args: &GdbServerArgs, console: Console) -> Result<Status> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port));
    let listener = listener
        .with_context(|| format!("cannot listen on port {}", args.port))
        .advise("choose another port with --port, or 0 for a free one")?;
    let address = listener.local_addr()?;
    ui.aside(&format!(
        "listening on {address}\nconnect with: gdb-multiarch -ex 'target remote {address}'\n"
    ))?;
    let mut first = Some(console);
    for stream in listener.incoming() {
        let console = match first.take() {
            Some(console) => console,
            None => match open(ui, args)? {
                Some(console) => console,
                None => return Ok(Status::Failure),
            },
        };
        // One gdb's failure does not end the others' sessions.
        if let Err(error) = stream.and_then(|stream| serve_stream(&stream, console)) {
            ui.warning(&format!("a session ended: {error}"))?;
        }
    }
    Ok(Status::Success)
}

fn serve_stream(stream: &TcpStream, console: Console) -> io::Result<()> {
    stream.set_nodelay(true)?;
    serve(&mut BufReader::new(stream), &mut BufWriter::new(stream), console)
}
