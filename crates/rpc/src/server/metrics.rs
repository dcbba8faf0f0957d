//! Counters, in the text format of Prometheus.

use core::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// Counters of the server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, i64), Requests>>,
    /// Open WebSockets.
    sockets: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    lagged: AtomicU64,
    /// Transactions over QUIC.
    taken: AtomicU64,
    not_taken: AtomicU64,
}

#[derive(Debug, Default)]
struct Requests {
    count: u64,
    seconds: f64,
}

impl Metrics {
    /// Counts a request by its method and the number of its error, 0 for none.
    pub(crate) fn count(&self, method: &'static str, code: i64, took: Duration) {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = requests.entry((method, code)).or_default();
        entry.count = entry.count.saturating_add(1);
        entry.seconds += took.as_secs_f64();
    }

    pub(crate) fn open_socket(&self) {
        self.sockets.fetch_add(1, Relaxed);
    }

    pub(crate) fn close_socket(&self) {
        self.sockets.fetch_sub(1, Relaxed);
    }

    /// Counts a connection that was closed since it read too slowly.
    pub(crate) fn drop_socket(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Counts a connection that was closed since there are too many.
    pub(crate) fn refuse_connection(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Counts a transaction that came over QUIC.
    pub(crate) fn take_transaction(&self) {
        self.taken.fetch_add(1, Relaxed);
    }

    /// Counts what came over QUIC, but was no transaction or came too slowly.
    pub(crate) fn refuse_transaction(&self) {
        self.not_taken.fetch_add(1, Relaxed);
    }

    /// Counts events that the server was too slow for.
    pub(crate) fn lag(&self, events: u64) {
        self.lagged.fetch_add(events, Relaxed);
    }

    /// Returns the server's counters as text.
    pub(crate) fn text(&self, subscriptions: &BTreeMap<&'static str, usize>) -> String {
        let mut text = String::new();
        self.write(&mut text, subscriptions).expect("strings take everything");
        text
    }

    fn write(
        &self,
        text: &mut String,
        subscriptions: &BTreeMap<&'static str, usize>,
    ) -> core::fmt::Result {
        writeln!(text, "# TYPE selkie_rpc_requests_total counter")?;
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        for ((method, code), Requests { count, .. }) in &*requests {
            let name = "selkie_rpc_requests_total";
            writeln!(text, "{name}{{method=\"{method}\",code=\"{code}\"}} {count}")?;
        }
        writeln!(text, "# TYPE selkie_rpc_seconds_total counter")?;
        for ((method, code), Requests { seconds, .. }) in &*requests {
            let name = "selkie_rpc_seconds_total";
            writeln!(text, "{name}{{method=\"{method}\",code=\"{code}\"}} {seconds}")?;
        }
        writeln!(text, "# TYPE selkie_ws_subscriptions gauge")?;
        for (kind, count) in subscriptions {
            writeln!(text, "selkie_ws_subscriptions{{kind=\"{kind}\"}} {count}")?;
        }
        for (name, kind, value) in [
            ("selkie_ws_connections", "gauge", &self.sockets),
            ("selkie_ws_dropped_total", "counter", &self.dropped),
            ("selkie_connections_refused_total", "counter", &self.refused),
            ("selkie_events_lagged_total", "counter", &self.lagged),
            ("selkie_quic_transactions_total", "counter", &self.taken),
            ("selkie_quic_refused_total", "counter", &self.not_taken),
        ] {
            writeln!(text, "# TYPE {name} {kind}\n{name} {}", value.load(Relaxed))?;
        }
        Ok(())
    }
}
