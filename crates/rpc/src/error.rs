//! Errors of the protocol: one row per number, with the text that clients match.
//!
//! Numbers and texts are agave's (`rpc-client-api`, `custom_error.rs`); those below -32700 are
//! JSON-RPC's own.

use serde::Serialize;
use serde_json::{Value, json};

/// An error as the client gets it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RpcError {
    /// The number.
    pub code: i64,
    /// The text.
    pub message: String,
    /// What there is to know beyond the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// A row of the table of errors.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRow {
    /// The number.
    pub code: i64,
    /// The name by which agave's sources know it.
    pub name: &'static str,
    /// The text, with names in braces for what varies.
    pub text: &'static str,
    /// The fields of `data`, if it has any.
    pub data: &'static str,
}

const fn row(code: i64, name: &'static str, text: &'static str, data: &'static str) -> ErrorRow {
    ErrorRow { code, name, text, data }
}

/// Every error that the server can answer with.
#[rustfmt::skip]
pub const ERRORS: &[ErrorRow] = &[
    row(-32700, "ParseError", "Parse error", ""),
    row(-32600, "InvalidRequest", "Invalid request", ""),
    row(-32601, "MethodNotFound", "Method not found", ""),
    row(-32602, "InvalidParams", "{reason}", ""),
    row(-32603, "InternalError", "Internal error", ""),
    row(-32001, "BlockCleanedUp", "Block {slot} cleaned up, does not exist on node. First available block: {first}", ""),
    row(-32002, "SendTransactionPreflightFailure", "Transaction simulation failed: {error}", "the value of simulateTransaction"),
    row(-32004, "BlockNotAvailable", "Block not available for slot {slot}", ""),
    row(-32005, "NodeUnhealthy", "Node is unhealthy", "numSlotsBehind: null, and reason"),
    row(-32007, "SlotSkipped", "Slot {slot} was skipped, or missing due to ledger jump to recent snapshot", ""),
    row(-32008, "NoSnapshot", "No snapshot", ""),
    row(-32012, "ScanError", "{reason}", ""),
    row(-32015, "UnsupportedTransactionVersion", "Transaction version ({version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: \"maxSupportedTransactionVersion\": {version}", ""),
    row(-32016, "MinContextSlotNotReached", "Minimum context slot has not been reached", "contextSlot"),
    row(-32017, "EpochRewardsPeriodActive", "Epoch rewards period still active at slot {slot}", "currentBlockHeight, rewardsCompleteBlockHeight, slot"),
    row(-32018, "SlotNotEpochBoundary", "Rewards cannot be found because slot {slot} is not the epoch boundary. This may be due to gap in the queried node's local ledger or long-term storage", "slot"),
    row(-32020, "FilterTransactionNotFound", "Transaction {signature} not found", ""),
    row(-32022, "LeaderScheduleIdentityNotFound", "Node {identity} was not in the leader schedule for specified epoch", ""),
];

impl RpcError {
    /// Creates the error of a row; `fills` replace the names in braces.
    fn of(name: &str, fills: &[(&str, &str)]) -> Self {
        let row = ERRORS.iter().find(|row| row.name == name).expect("the table has every name");
        let mut message = row.text.to_owned();
        for (name, value) in fills {
            message = message.replace(&format!("{{{name}}}"), value);
        }
        Self { code: row.code, message, data: None }
    }

    fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// The bytes are not JSON.
    #[must_use]
    pub fn parse_error() -> Self {
        Self::of("ParseError", &[])
    }

    /// The JSON is no request, or what it asks for cannot be done.
    #[must_use]
    pub fn invalid_request() -> Self {
        Self::of("InvalidRequest", &[])
    }

    /// The same, with a reason.
    #[must_use]
    pub fn refused(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::invalid_request() }
    }

    /// The answer is longer than answers may be.
    #[must_use]
    pub fn too_long(bytes_max: usize) -> Self {
        Self::refused(format!(
            "The answer is longer than {bytes_max} bytes, the limit of an answer and of a batch; ask for less, or for a part with dataSlice"
        ))
    }

    /// The answers that clients are reading leave no space for another.
    #[must_use]
    pub fn too_busy(bytes_max: usize) -> Self {
        let message = format!(
            "The node is busy: it holds {bytes_max} bytes for clients that have not read them; try again later"
        );
        Self { message, ..Self::of("InternalError", &[]) }
    }

    /// All connections have as many subscriptions as they may: agave's text.
    #[must_use]
    pub fn too_many_subscriptions() -> Self {
        let message = "Internal Error: Subscription refused. Node subscription limit reached";
        Self { message: message.to_owned(), ..Self::of("InternalError", &[]) }
    }

    /// There is no such method.
    #[must_use]
    pub fn method_not_found() -> Self {
        Self::of("MethodNotFound", &[])
    }

    /// A parameter is wrong.
    #[must_use]
    pub fn invalid_params(reason: impl Into<String>) -> Self {
        Self { message: reason.into(), ..Self::of("InvalidParams", &[]) }
    }

    /// The server failed.
    #[must_use]
    pub fn internal(reason: impl core::fmt::Display) -> Self {
        Self::of("InternalError", &[]).with_data(json!(reason.to_string()))
    }

    /// The block is older than the history.
    #[must_use]
    pub fn block_cleaned_up(slot: u64, first: u64) -> Self {
        let (slot, first) = (slot.to_string(), first.to_string());
        Self::of("BlockCleanedUp", &[("slot", &slot), ("first", &first)])
    }

    /// The simulation before sending failed. `value` is what `simulateTransaction` answers.
    #[must_use]
    pub fn preflight_failure(error: &impl core::fmt::Display, value: Value) -> Self {
        let error = error.to_string();
        Self::of("SendTransactionPreflightFailure", &[("error", &error)]).with_data(value)
    }

    /// There is no block yet.
    #[must_use]
    pub fn block_not_available(slot: u64) -> Self {
        Self::of("BlockNotAvailable", &[("slot", &slot.to_string())])
    }

    /// The node cannot go on.
    #[must_use]
    pub fn node_unhealthy(reason: &str) -> Self {
        Self::of("NodeUnhealthy", &[])
            .with_data(json!({ "numSlotsBehind": null, "reason": reason }))
    }

    /// The slot has no block.
    #[must_use]
    pub fn slot_skipped(slot: u64) -> Self {
        Self::of("SlotSkipped", &[("slot", &slot.to_string())])
    }

    /// There are no snapshots.
    #[must_use]
    pub fn no_snapshot() -> Self {
        Self::of("NoSnapshot", &[])
    }

    /// A scan exceeds the limit.
    #[must_use]
    pub fn scan(reason: &str) -> Self {
        Self::of("ScanError", &[("reason", reason)])
    }

    /// The client does not know the transaction's version.
    #[must_use]
    pub fn unsupported_version(version: u8) -> Self {
        Self::of("UnsupportedTransactionVersion", &[("version", &version.to_string())])
    }

    /// The node's slot is below the client's.
    #[must_use]
    pub fn min_context_slot_not_reached(slot: u64) -> Self {
        Self::of("MinContextSlotNotReached", &[]).with_data(json!({ "contextSlot": slot }))
    }

    /// Some rewards of the epoch are still to be distributed, up to the block of height `complete`.
    #[must_use]
    pub fn epoch_rewards_period_active(slot: u64, height: u64, complete: u64) -> Self {
        Self::of("EpochRewardsPeriodActive", &[("slot", &slot.to_string())]).with_data(json!({
            "currentBlockHeight": height,
            "rewardsCompleteBlockHeight": complete,
            "slot": slot,
        }))
    }

    /// The history lacks the first block of the epoch.
    #[must_use]
    pub fn slot_not_epoch_boundary(slot: u64) -> Self {
        Self::of("SlotNotEpochBoundary", &[("slot", &slot.to_string())])
            .with_data(json!({ "slot": slot }))
    }

    /// No slot of the epoch is that of the node.
    #[must_use]
    pub fn leader_schedule_identity_not_found(identity: &str) -> Self {
        Self::of("LeaderScheduleIdentityNotFound", &[("identity", identity)])
    }

    /// The transaction of `before` or `until` is unknown.
    #[must_use]
    pub fn filter_transaction_not_found(signature: &str) -> Self {
        Self::of("FilterTransactionNotFound", &[("signature", signature)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        for (index, row) in ERRORS.iter().enumerate() {
            let others = ERRORS.iter().skip(index + 1);
            assert!(others.clone().all(|other| other.code != row.code), "{}", row.code);
            assert!(others.clone().all(|other| other.name != row.name), "{}", row.name);
        }
    }

    #[test]
    fn texts_are_filled_in() {
        assert_eq!(
            RpcError::block_cleaned_up(7, 9).message,
            "Block 7 cleaned up, does not exist on node. First available block: 9"
        );
        assert!(RpcError::unsupported_version(0).message.ends_with("Version\": 0"));
    }
}
