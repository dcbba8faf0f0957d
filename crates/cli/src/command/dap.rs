//! `selkie dap`.

use std::{
    io,
    net::{Ipv4Addr, TcpListener},
    sync::{Mutex, PoisonError},
};

use anyhow::{Context as _, Result};
use selkie::{Keypair, Signer as _};
use selkie_debug::dap::{Disk, Ended, Terms, listen, serve};

use crate::{
    args::debug::DapArgs,
    replays,
    ui::{Advise as _, Status, Ui},
};

pub(crate) fn run(ui: &mut Ui, args: &DapArgs) -> Result<Status> {
    match args.port {
        None => {
            let mut input = io::stdin().lock();
            let ended = serve(&mut input, &mut io::stdout(), Box::new(Disk::new(replays::fetcher)));
            Ok(Status::of(ended.context("the editor's messages")? == Ended::Orderly))
        }
        Some(port) => serve_port(ui, port, args),
    }
}

/// Serves editors that connect to a port.
fn serve_port(ui: &mut Ui, port: u16, args: &DapArgs) -> Result<Status> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener
        .with_context(|| format!("cannot listen on port {port}"))
        .advise("choose another port, or 0 for a free one")?;
    ui.aside(&format!("listening on {}\n", listener.local_addr()?))?;
    // The address of a new key is as hard to guess as the key.
    let token = args.token.clone().unwrap_or_else(|| {
        let token = Keypair::new().pubkey().to_string();
        // There is nowhere to report a failure to write.
        let _ = ui.aside(&format!("token for the configuration of a session: {token}\n"));
        token
    });
    let terms = Terms { token, url: args.url.clone(), fetcher: replays::fetcher };
    let ui = Mutex::new(ui);
    listen(&listener, &terms, &|text| {
        // There is nowhere to report a failure to write.
        let _ = ui.lock().unwrap_or_else(PoisonError::into_inner).warning(text);
    });
    Ok(Status::Success)
}
