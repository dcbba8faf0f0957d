//! The explorer's pages about recorded transactions, without a node.

use std::path::PathBuf;

use anyhow::Result;
use selkie_replay::Recordings;

use crate::ui::{Status, Ui};

/// What is served.
#[cfg_attr(not(feature = "node"), expect(dead_code, reason = "nothing is served"))]
pub(crate) struct Pages<'a> {
    /// The path of the page to begin with.
    pub(crate) path: &'a str,
    /// Where debug information is, besides the usual folders.
    pub(crate) symbols: &'a [PathBuf],
    /// The port; a free one if there is none.
    pub(crate) port: Option<u16>,
    /// Whether a browser is opened.
    pub(crate) opens: bool,
}

/// Serves the pages until the process is ended.
#[cfg(feature = "node")]
pub(crate) fn serve(ui: &mut Ui, recordings: Recordings, pages: &Pages<'_>) -> Result<Status> {
    use std::{io::Write as _, sync::Arc, thread};

    use anyhow::anyhow;
    use serde_json::json;

    use crate::{explorer::Explorer, render::count, ui::STRONG};

    let transactions = recordings.len();
    let explorer = Explorer::of(recordings, pages.symbols);
    let options = selkie_rpc::Options {
        rpc_port: pages.port.unwrap_or(0),
        quic_port: None,
        explainer: Some(Arc::new(explorer)),
        ..selkie_rpc::Options::default()
    };
    let node = selkie_node::Node::start(selkie_node::Options::default())?;
    let server =
        selkie_rpc::LocalNode::start_with(node, options).map_err(|error| anyhow!("{error}"))?;
    let url = format!("{}/{}", server.rpc_url(), pages.path);
    if ui.json {
        // Before the command ends, which is when others tell theirs.
        let told = json!({ "success": true, "transactions": transactions, "url": url });
        writeln!(ui.out, "{told}")?;
    } else {
        let transactions = count(transactions, "transaction");
        let ask = if pages.opens { "opening" } else { "open" };
        writeln!(ui.out, "{transactions}: {ask} {STRONG}{url}{STRONG:#} in a browser")?;
    }
    ui.out.flush()?;
    if pages.opens && !open(&url) {
        ui.warning("no browser could be started: open the address above")?;
    }
    loop {
        thread::park();
    }
}

#[cfg(not(feature = "node"))]
pub(crate) fn serve(_: &mut Ui, _: Recordings, _: &Pages<'_>) -> Result<Status> {
    Err(anyhow::anyhow!(
        "this command was built without the feature `node`, which serves the pages"
    ))
}

/// Opens an address in the user's browser. Returns whether the system's command for that could do so.
#[cfg(feature = "node")]
fn open(url: &str) -> bool {
    use std::process::{Command, Stdio};

    let (program, arguments): (_, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}
