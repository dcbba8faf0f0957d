//! The node's counters, in the text format of Prometheus.

use core::fmt::Write as _;

use selkie_node::Node;
use solana_commitment_config::CommitmentLevel;

use crate::methods::confirmation;

const LEVELS: [CommitmentLevel; 3] =
    [CommitmentLevel::Processed, CommitmentLevel::Confirmed, CommitmentLevel::Finalized];

/// Returns the node's counters as text.
pub(crate) fn text(node: &Node) -> String {
    let mut text = String::new();
    write(&mut text, node).expect("strings take everything");
    text
}

fn write(text: &mut String, node: &Node) -> core::fmt::Result {
    writeln!(text, "# TYPE selkie_slot gauge")?;
    for level in LEVELS {
        let slot = node.slot(level);
        writeln!(text, "selkie_slot{{commitment=\"{}\"}} {slot}", confirmation(level))?;
    }
    let stats = node.stats();
    writeln!(text, "# TYPE selkie_transactions_total counter")?;
    for (result, count) in
        [("succeeded", stats.succeeded), ("failed", stats.failed), ("dropped", stats.dropped)]
    {
        writeln!(text, "selkie_transactions_total{{result=\"{result}\"}} {count}")?;
    }
    for (name, kind, value) in [
        ("selkie_blocks_total", "counter", stats.blocks),
        ("selkie_compute_units_total", "counter", stats.compute_units),
        ("selkie_airdrops_total", "counter", stats.airdrops),
        ("selkie_history_transactions", "gauge", stats.history),
    ] {
        writeln!(text, "# TYPE {name} {kind}\n{name} {value}")?;
    }
    Ok(())
}
