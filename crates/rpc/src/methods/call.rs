//! What handlers work on, and what their answers share.

use core::{fmt::Debug, net::SocketAddr};
use std::sync::Arc;

use selkie_node::{Node, View};
use serde_json::{Value, json};
use solana_account::AccountSharedData;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::{
    budget::Text,
    config::ContextConfig,
    encode::account::Surroundings,
    error::RpcError,
    interfaces::{Interface, Interfaces, Source},
    methods::{schedules::Schedules, surfnet_settings::Settings},
    options::{Explainer, Limits},
    params::Params,
};

/// The version of agave whose interface this is.
pub const API_VERSION: &str = "4.4.0";

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
    /// What runs transactions again and lists programs.
    pub(crate) explainer: Option<&'a dyn Explainer>,
    /// Texts of leader schedules.
    pub(crate) schedules: &'a Schedules,
    /// What surfpool's cheatcodes have set.
    pub(crate) surfnet: &'a Settings,
    /// Descriptions of programs.
    pub(crate) interfaces: &'a Interfaces,
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

/// What answers a method with text that it writes itself, since it may be long.
pub(crate) type TextHandler = fn(&Call<'_>, &mut Params, &mut Text) -> Result<(), RpcError>;

/// What answers a method.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    Value(ValueHandler),
    Text(TextHandler),
}

impl Handler {
    /// Answers a request: adds the result to a text. After an error, the text may have a part of it.
    pub(crate) fn answer(
        self,
        call: &Call<'_>,
        params: &mut Params,
        text: &mut Text,
    ) -> Result<(), RpcError> {
        match self {
            Self::Value(answer) => text.json(&answer(call, params)?),
            Self::Text(answer) => answer(call, params, text),
        }
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

impl Source for Call<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.node.view(CommitmentLevel::Processed).account(key)
    }

    fn file(&self, program: &Pubkey) -> Option<Arc<Interface>> {
        let view = self.node.view(CommitmentLevel::Processed);
        self.explainer?.interface(program, &|| view.program_elf(program))
    }

    fn fetch(&self, keys: &[Pubkey]) {
        let _ = Call::fetch(self, keys);
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

/// Writes a value with the slot that it is of, as [`with_context`] shows it.
pub(crate) fn write_with_context(
    text: &mut Text,
    slot: u64,
    value: impl FnOnce(&mut Text) -> Result<(), RpcError>,
) -> Result<(), RpcError> {
    let context = json!({ "apiVersion": API_VERSION, "slot": slot });
    text.raw(&format!(r#"{{"context":{context},"value":"#))?;
    value(text)?;
    text.raw("}")
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
