//! The tasks that hear what happens in the node, and let it happen in time.

use core::time::Duration;
use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;

use crate::server::{notify, shared::Shared};

/// Hears what happens in the node and notifies, until the server stops.
pub(super) async fn run(shared: Arc<Shared>) {
    let mut events = shared.node.subscribe();
    let mut stopping = shared.stopping.clone();
    loop {
        let event = tokio::select! {
            event = events.recv() => event,
            _ = stopping.changed() => return,
        };
        match event {
            Ok(event) if shared.hub.is_empty() => drop(event),
            Ok(event) => notify::event(&shared, &event),
            Err(RecvError::Lagged(count)) => {
                shared.metrics.lag(count);
                tracing::warn!(count, "events were missed, so subscribers are let go");
                shared.hub.overrun();
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Lets slots follow the clock while clients wait for them.
pub(super) async fn tick(shared: Arc<Shared>) {
    let period = Duration::from_millis(shared.node.info().slot_milliseconds.max(1));
    let mut stopping = shared.stopping.clone();
    loop {
        tokio::select! {
            () = tokio::time::sleep(period) => {}
            _ = stopping.changed() => return,
        }
        if shared.hub.needs_slots() {
            shared.node.tick();
        }
    }
}
