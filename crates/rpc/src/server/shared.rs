//! What connections share, and who is at their other end.

use core::{net::IpAddr, time::Duration};
use std::sync::Arc;

use selkie_node::Node;
use tokio::sync::watch;

use crate::{
    budget::{Budget, Text},
    interfaces::Interfaces,
    methods::{self, Addresses, Schedules, Settings},
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
    pub(crate) schedules: Schedules,
    pub(crate) surfnet: Settings,
    pub(crate) interfaces: Interfaces,
    /// The memory of answers.
    pub(crate) answers: Arc<Budget>,
    /// The memory of notifications.
    pub(crate) notifications: Arc<Budget>,
    pub(crate) stopping: watch::Receiver<bool>,
}

impl Shared {
    /// Creates what connections share.
    pub(crate) fn new(
        node: Node,
        options: Options,
        addresses: Addresses,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let limits = &options.limits;
        Self {
            hub: Hub::new(limits.subscriptions_max, limits.all_subscriptions_max),
            metrics: Metrics::default(),
            schedules: Schedules::default(),
            surfnet: Settings::new(methods::surfnet_names()),
            interfaces: Interfaces::default(),
            answers: Budget::new(limits.answers_bytes_max),
            notifications: Budget::new(limits.queues_bytes_max),
            node,
            options,
            addresses,
            stopping,
        }
    }

    /// Creates the text of an answer.
    pub(crate) fn answer(&self) -> Text {
        Text::new(&self.answers, self.options.limits.answer_bytes_max)
    }
}

/// Who sent a request.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// Whether the client is on this machine.
    pub(crate) is_local: bool,
    /// The page that sent the request, if it came from a browser.
    pub(crate) origin: Option<String>,
    /// The name by which the client knows the server, if it says so.
    pub(crate) host: Option<String>,
}

impl Peer {
    /// A program on this machine.
    pub(crate) const LOCAL: Self = Self { is_local: true, origin: None, host: None };

    /// Returns whether the client may call cheatcodes: it is on this machine, is no page of another
    /// one, and knows the server by a name of this machine. A page whose own name resolves to this
    /// machine sends no origin with some requests, but that name.
    pub(crate) fn may_cheat(&self, options: &Options) -> bool {
        let is_own_page = self.origin.as_deref().is_none_or(is_local_origin);
        let is_own_name = self.host.as_deref().is_none_or(|host| is_own_host(host, &options.hosts));
        options.open_cheatcodes || (self.is_local && is_own_page && is_own_name)
    }
}

/// Returns whether a page's origin, `http://host:port`, is on this machine.
fn is_local_origin(origin: &str) -> bool {
    let name = name_of(origin.split_once("://").map_or("", |(_, host)| host));
    let address = name.parse::<IpAddr>();
    is_localhost(name) || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Returns whether `host:port` is an address, or a name of this machine.
fn is_own_host(host: &str, names: &[String]) -> bool {
    let name = name_of(host);
    let is_listed = || names.iter().any(|own| own.eq_ignore_ascii_case(name));
    is_localhost(name) || name.parse::<IpAddr>().is_ok() || is_listed()
}

/// Returns whether a name always means this machine (RFC 6761).
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Returns the name or the address of `host:port`.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_this_machine_are_told_from_others() {
        for origin in [
            "http://localhost:3000",
            "http://app.localhost",
            "http://127.0.0.1",
            "https://[::1]:8080",
            "http://[::ffff:127.0.0.1]",
        ] {
            assert!(is_local_origin(origin), "{origin}");
        }
        for origin in [
            "null",
            "https://example.com",
            "http://localhost.example.com",
            "http://examplelocalhost",
            "http://10.0.0.1",
            "file://",
        ] {
            assert!(!is_local_origin(origin), "{origin}");
        }
    }

    #[test]
    fn a_foreign_name_of_this_machine_is_none_of_its_own() {
        let names = ["Dev.Example".to_owned()];
        for host in
            ["localhost:8899", "127.0.0.1", "[::1]:8899", "192.168.0.2:8899", "dev.example:1"]
        {
            assert!(is_own_host(host, &names), "{host}");
        }
        for host in ["evil.example:8899", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
            assert!(!is_own_host(host, &names), "{host}");
        }
    }
}
