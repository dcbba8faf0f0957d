//! `selkie gdb-server`.

use std::{
    io::{self, BufReader, BufWriter},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
};

use anyhow::{Context as _, Result};
use selkie_debug::{console::Console, gdb::serve};

use crate::{
    args::debug::GdbServerArgs,
    debuggee::{Debuggee, source},
    ui::{Advise as _, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &GdbServerArgs) -> Result<Status> {
    let console = open(args)?;
    if args.stdio {
        let mut output = BufWriter::new(io::stdout());
        serve(&mut io::stdin().lock(), &mut output, console).context("gdb's packets")?;
        return Ok(Status::Success);
    }
    listen(ui, args, console)
}

fn open(args: &GdbServerArgs) -> Result<Console> {
    let debuggee = Debuggee {
        path: args.path.as_deref(),
        url: args.node.url.as_deref(),
        transaction: args.transaction,
        test: args.test.as_deref(),
        symbols: &args.symbols,
        source_map: Vec::new(),
        steps_into_libraries: true,
        start_at: args.at.map(Into::into),
    };
    Ok(Console::new(debuggee.open(Path::new(""))?, Box::new(source)))
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
        let console = first.take().map_or_else(|| open(args), Ok)?;
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
