//! What connections share, and who is at their other end.

use core::time::Duration;
use std::sync::Arc;

use selkie_node::Node;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::{
    methods::Addresses,
    options::Options,
    server::{hub::Hub, metrics::Metrics},
};

/// How long connections may take to end when the server stops.
pub(crate) const GRACE: Duration = Duration::from_millis(500);

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) node: Node,
    pub(crate) options: Options,
    pub(crate) addresses: Addresses,
    pub(crate) hub: Hub,
    pub(crate) metrics: Metrics,
    pub(crate) stopping: watch::Receiver<bool>,
}

/// Who sent a request.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Whether the client is on this machine.
    pub(crate) is_local: bool,
    /// The page that sent the request, if it came from a browser.
    pub(crate) origin: Option<String>,
}

/// What lets a connection count towards the limit until its last clone is dropped; `None` where there
/// is no limit.
#[derive(Clone, Debug)]
pub(crate) struct Permit(
    #[expect(dead_code, reason = "it is held until it is dropped")]
    pub(crate)  Option<Arc<OwnedSemaphorePermit>>,
);

impl Peer {
    /// A program on this machine.
    pub(crate) const LOCAL: Self = Self { is_local: true, origin: None };

    /// Returns whether the client may call cheatcodes: it is on this machine, and is no page of
    /// another one.
    pub(crate) fn may_cheat(&self, options: &Options) -> bool {
        let is_own_page = self.origin.as_deref().is_none_or(is_local_origin);
        options.open_cheatcodes || (self.is_local && is_own_page)
    }
}

/// Returns whether a page's origin, `http://host:port`, is on this machine.
fn is_local_origin(origin: &str) -> bool {
    let host = origin.split_once("://").map_or("", |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let address = name.parse::<core::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine_are_told_from_others() {
        for origin in ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:8080"] {
            assert!(is_local_origin(origin), "{origin}");
        }
        for origin in ["null", "https://example.com", "http://localhost.example.com", "file://"] {
            assert!(!is_local_origin(origin), "{origin}");
        }
    }
}
