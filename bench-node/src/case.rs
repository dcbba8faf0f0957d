//! What all cases share that treat a node badly.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::{client::Client, process::Process};

/// How long a client waits that is treated badly because of others.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What a node may need while it is treated badly, in MB: far above what it does need, and far
/// below what it would if queues had no bound.
pub(crate) const MEMORY_MB_MAX: f64 = 700.0;

/// A name, and what is done to a node.
pub(crate) type Case = (&'static str, fn(&Process) -> Result<()>);

/// Waits until the node has closed the only WebSocket.
pub(crate) fn await_no_sockets(client: &mut Client) -> Result<()> {
    const NAME: &str = "selkie_ws_connections ";
    // The client may take ten seconds to read a message.
    for _ in 0..400 {
        let answer = client.get("/metrics")?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        let count = text.lines().find_map(|line| line.strip_prefix(NAME));
        if count.with_context(|| format!("no {NAME}in the metrics"))? == "0" {
            return Ok(());
        }
        std::thread::sleep(PATIENCE / 100);
    }
    bail!("the connection of a client that does not read stays open")
}
