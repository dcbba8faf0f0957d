//! `selkie inspect`: questions about a transaction as JSON, and the explorer's pages without a node.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use anyhow::{Result, anyhow};
use selkie_replay::{Timeline, query};
use serde_json::json;

use crate::{
    args::replay::InspectArgs,
    pages::{self, Pages},
    recording,
    ui::{STRONG, Status, Ui},
};

/// The longest request.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn run(ui: &mut Ui, args: &InspectArgs) -> Result<Status> {
    if args.methods {
        return show_methods(ui);
    }
    let (path, url) = (args.path.as_deref(), args.node.url.as_deref());
    let opened = recording::open_or_newest(ui, path, args.test.as_deref(), url, &args.call)?;
    let Ok(mut recordings) = opened else { return Ok(Status::Failure) };
    // Who types has no questions in JSON.
    if args.port.is_some() || io::stdin().is_terminal() {
        let is_chosen = args.transaction.is_some() || args.test.is_some() || recordings.len() == 1;
        let chosen = recordings.choose(args.transaction, args.test.as_deref())?;
        let path = if is_chosen { format!("replay/{chosen}") } else { String::new() };
        let pages = Pages { path: &path, symbols: &args.symbols, port: args.port, opens: false };
        return pages::serve(ui, recordings, &pages);
    }
    let chosen = recordings.choose(args.transaction, args.test.as_deref())?;
    let timeline = recordings.timeline(chosen)?;
    answer(ui, &timeline)
}

fn show_methods(ui: &mut Ui) -> Result<Status> {
    if ui.json {
        let method = |it: &query::Method| json!({ "name": it.name, "about": it.about });
        ui.object(&json!({ "methods": query::METHODS.iter().map(method).collect::<Vec<_>>() }))?;
        return Ok(Status::Success);
    }
    for method in query::METHODS {
        writeln!(ui.out, "{STRONG}{}{STRONG:#} {}", method.name, method.about)?;
    }
    Ok(Status::Success)
}

/// Answers the requests of the standard input, one for each line.
fn answer(ui: &mut Ui, timeline: &Timeline) -> Result<Status> {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(REQUEST_BYTES_MAX).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(Status::Success);
        }
        if line.len() as u64 == REQUEST_BYTES_MAX {
            return Err(anyhow!("a request has more than {REQUEST_BYTES_MAX} bytes"));
        }
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() {
            writeln!(ui.out, "{}", query::answer(timeline, &line))?;
            ui.out.flush()?;
        }
    }
}
