//! The signals that stop the node.

use anyhow::{Context as _, Result};

/// The signals, from now on no longer those that end the process.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Listens for SIGINT and SIGTERM. To be called in a Tokio runtime.
    pub(super) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let listen = |kind| signal(kind).context("cannot wait for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Returns when one of them arrives.
    pub(super) async fn received(mut self) -> Result<()> {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        Ok(())
    }
}

/// Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Does nothing yet.
    pub(super) fn listen() -> Result<Self> {
        Ok(Self)
    }

    /// Returns when Ctrl-C is pressed.
    pub(super) async fn received(self) -> Result<()> {
        tokio::signal::ctrl_c().await.context("cannot wait for signals")
    }
}
