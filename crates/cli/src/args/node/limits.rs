//! Arguments for what clients of the node may ask for.

use std::num::NonZeroUsize;

use clap::Args;
use selkie_rpc::Limits;
use serde::{Deserialize, Serialize};

/// Limits of the server; docs/rpc.md lists all of them with their defaults.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct LimitArgs {
    /// The size of a request's body in bytes [default: 51200]
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_max_request_body_size: Option<NonZeroUsize>,

    /// How many requests a batch may have [default: 1000]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_max_batch: Option<NonZeroUsize>,

    /// How many accounts getProgramAccounts and other scans may return [default: 1000000]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_max_scan_accounts: Option<NonZeroUsize>,

    /// How many connections may be open; about nine in ten of them may come from one address, and as
    /// many may be WebSockets [default: 12000]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_max_connections: Option<NonZeroUsize>,

    /// How many of them may come from one address, such as that of a proxy [default: 11000]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_max_connections_per_address: Option<NonZeroUsize>,

    /// How many subscriptions all connections may have together [default: 250000]
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_pubsub_max_active_subscriptions: Option<NonZeroUsize>,

    /// The size of the notifications that wait for all clients, in bytes [default: 201326592]
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rpc_pubsub_queue_capacity_bytes: Option<NonZeroUsize>,
}

impl LimitArgs {
    /// Returns the limits. Those of WebSockets, and of an address, keep their share of the connections:
    /// some are left for requests, and for others.
    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        let or = |given: Option<NonZeroUsize>, default| given.map_or(default, NonZeroUsize::get);
        let all = or(self.rpc_max_connections, default.connections_max);
        let most = share(all, default.address_connections_max, default.connections_max);
        let of_address = or(self.rpc_max_connections_per_address, most).min(all);
        let (sockets, of) = (default.address_sockets_max, default.address_connections_max);
        Limits {
            body_bytes_max: or(self.rpc_max_request_body_size, default.body_bytes_max),
            batch_max: or(self.rpc_max_batch, default.batch_max),
            scan_accounts_max: or(self.rpc_max_scan_accounts, default.scan_accounts_max),
            connections_max: all,
            address_connections_max: of_address,
            sockets_max: share(all, default.sockets_max, default.connections_max),
            address_sockets_max: share(of_address, sockets, of),
            all_subscriptions_max: or(
                self.rpc_pubsub_max_active_subscriptions,
                default.all_subscriptions_max,
            ),
            queues_bytes_max: or(self.rpc_pubsub_queue_capacity_bytes, default.queues_bytes_max),
            ..default
        }
    }
}

/// Returns as large a part of `all` as `part` is of `whole`, but at least 1.
fn share(all: usize, part: usize, whole: usize) -> usize {
    let share = (all as u128 * part as u128).checked_div(whole as u128).unwrap_or(0);
    usize::try_from(share).unwrap_or(usize::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command};

    use super::*;

    /// Of the limits, those of connections from anywhere and from an address, and of WebSockets.
    fn check(all: Option<usize>, of_address: Option<usize>, expected: [usize; 4]) {
        let limits = LimitArgs {
            rpc_max_connections: all.and_then(NonZeroUsize::new),
            rpc_max_connections_per_address: of_address.and_then(NonZeroUsize::new),
            ..LimitArgs::default()
        };
        let limits = limits.limits();
        let connections = [limits.connections_max, limits.address_connections_max];
        let sockets = [limits.sockets_max, limits.address_sockets_max];
        assert_eq!([connections, sockets].concat(), expected, "{all:?} {of_address:?}");
    }

    #[test]
    fn limits_of_connections_keep_their_shares() {
        check(None, None, [12_000, 11_000, 11_000, 10_500]);
        check(Some(120), None, [120, 110, 110, 105]);
        check(Some(1), None, [1, 1, 1, 1]);
        check(Some(10), Some(50), [10, 10, 9, 9]);
        check(None, Some(22), [12_000, 22, 11_000, 21]);
    }

    #[test]
    fn the_page_about_limits_names_each_option() {
        let page = include_str!("../../../../../docs/rpc.md");
        let rows = page.split("\n## Limits\n").nth(1).expect("there is a part about limits");
        let command = LimitArgs::augment_args(Command::new("node"));
        let options = command.get_arguments().filter_map(|it| it.get_long());
        let mut options: Vec<String> = options.map(|it| format!("`--{it}`")).collect();
        let mut named: Vec<String> = rows
            .split(['|', ',', '\n'])
            .map(|it| it.trim().to_owned())
            .filter(|it| it.starts_with("`--rpc-"))
            .collect();
        options.sort();
        named.sort();
        assert_eq!(options, named);
    }
}
