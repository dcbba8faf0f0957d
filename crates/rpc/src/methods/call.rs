//! What handlers work on, and what their answers share.

use core::{fmt::Debug, net::SocketAddr};

use selkie_node::{Node, View};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use solana_account::AccountSharedData;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::{
    config::ContextConfig, encode::account::Surroundings, error::RpcError, options::Limits,
    params::Params,
};

/// The version of agave whose interface this is.
pub const API_VERSION: &str = "4.2.2";

/// What a handler works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    /// The node.
    pub(crate) node: &'a Node,
    /// Where the server listens.
    pub(crate) addresses: &'a Addresses,
    /// Whether the node fetches accounts of another cluster.
    pub(crate) fetches: bool,
    /// Limits on what one request may ask for.
    pub(crate) limits: &'a Limits,
    /// Who waits for notifications.
    pub(crate) subscribers: &'a dyn Subscribers,
}

/// Who waits for notifications.
pub(crate) trait Subscribers: Debug {
    /// Notifies those who wait for a transaction that has landed.
    fn catch_up(&self, signature: &Signature);
}

/// Where the server listens.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// HTTP, and WebSocket on the same port.
    pub rpc: SocketAddr,
    /// WebSocket.
    pub websocket: SocketAddr,
    /// Transactions over QUIC.
    pub quic: Option<SocketAddr>,
}

/// What answers a method with a value.
pub(crate) type ValueHandler = fn(&Call<'_>, &mut Params) -> Result<Value, RpcError>;

/// What answers a method with more than a value.
pub(crate) type ReplyHandler = fn(&Call<'_>, &mut Params) -> Result<Reply, RpcError>;

/// What answers a method.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    Value(ValueHandler),
    Reply(ReplyHandler),
}

impl Handler {
    /// Answers a request.
    pub(crate) fn answer(self, call: &Call<'_>, params: &mut Params) -> Result<Reply, RpcError> {
        match self {
            Self::Value(answer) => answer(call, params).map(Reply::Value),
            Self::Reply(answer) => answer(call, params),
        }
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) enum Reply {
    Value(Value),
    /// A leader and every slot of an epoch, all of which it leads. They are written one by one: a list of
    /// values takes 32 bytes for each.
    Schedule {
        leader: String,
        slots: u64,
    },
}

impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => value.serialize(serializer),
            Self::Schedule { leader, slots } => serializer.collect_map([(leader, Slots(*slots))]),
        }
    }
}

/// The slots of an epoch, counted from its first.
struct Slots(u64);

impl Serialize for Slots {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(0..self.0)
    }
}

impl Call<'_> {
    /// Fetches accounts that are missing here from the cluster that the node is a fork of.
    ///
    /// # Errors
    /// If that cluster cannot be asked.
    pub(crate) fn fetch(&self, keys: &[Pubkey]) -> Result<(), RpcError> {
        match self.fetches {
            true => self.node.fetch(keys).map_err(RpcError::internal),
            false => Ok(()),
        }
    }

    /// Returns the state at a commitment.
    ///
    /// # Errors
    /// If the node's slot is below the one that the client requires.
    pub(crate) fn view(&self, config: ContextConfig) -> Result<View, RpcError> {
        let view = self.node.view(config.commitment.level());
        check_slot(&view, config.min_context_slot)?;
        Ok(view)
    }
}

/// Checks that a view has reached the slot that the client requires.
pub(crate) fn check_slot(view: &View, least: Option<u64>) -> Result<(), RpcError> {
    match least {
        Some(least) if view.slot() < least => {
            Err(RpcError::min_context_slot_not_reached(view.slot()))
        }
        _ => Ok(()),
    }
}

/// Returns a value with the slot that it is of.
pub(crate) fn with_context(slot: u64, value: Value) -> Value {
    json!({ "context": { "apiVersion": API_VERSION, "slot": slot }, "value": value })
}

/// Returns the rank of a commitment: what is finalized is confirmed too.
pub(crate) const fn rank(level: CommitmentLevel) -> u8 {
    match level {
        CommitmentLevel::Processed => 0,
        CommitmentLevel::Confirmed => 1,
        CommitmentLevel::Finalized => 2,
    }
}

impl Surroundings for View {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        Self::account(self, key)
    }

    fn now(&self) -> i64 {
        self.clock().unix_timestamp
    }
}
