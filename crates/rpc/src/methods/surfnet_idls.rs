//! Descriptions of programs that surfpool's clients register: each from a slot on. The accounts of such a
//! program have the encoding `jsonParsed`.

use std::sync::PoisonError;

use selkie_node::View;
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    encode::account::Surroundings,
    error::RpcError,
    methods::{
        call::{Call, with_context},
        describe,
        surfnet::now,
    },
    params::{Params, parse_key},
};

/// Registers a description by the address that it has.
pub(super) fn register(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let idl: Value = params.required(0)?;
    let slot = params.optional(1)?.unwrap_or_else(|| newest(call));
    let address = idl.get("address").and_then(Value::as_str);
    let text =
        "the description has no address: that of its program, as Anchor writes it since 0.30";
    let program = parse_key(address.ok_or_else(|| RpcError::invalid_params(text))?)?;
    call.interfaces.set(program, Some(&idl))?;
    let mut idls = call.surfnet.idls.lock().unwrap_or_else(PoisonError::into_inner);
    idls.add(program, slot, idl);
    drop(idls);
    Ok(now(call, Value::Null))
}

/// Returns the description that was active in a slot; null if none was registered.
pub(super) fn active(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let program = params.key(0)?;
    let slot = params.optional(1)?.unwrap_or_else(|| newest(call));
    let idls = call.surfnet.idls.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(with_context(slot, json!(idls.active(&program, slot))))
}

fn newest(call: &Call<'_>) -> u64 {
    call.node.slot(CommitmentLevel::Processed)
}

/// A state with the descriptions of programs that surfpool's clients have registered.
pub(super) struct Described<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) view: &'a View,
}

impl Surroundings for Described<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.view.account(key)
    }

    fn now(&self) -> i64 {
        Surroundings::now(self.view)
    }

    fn describe(&self, account: &AccountSharedData) -> Option<Value> {
        parse(self.call, account)
    }
}

/// Returns an account as `{parsed, program, space}` if the description of its program was registered and has
/// its layout.
fn parse(call: &Call<'_>, account: &AccountSharedData) -> Option<Value> {
    let (owner, data) = (account.owner(), account.data());
    let idls = call.surfnet.idls.lock().unwrap_or_else(PoisonError::into_inner);
    let name = idls.active(owner, newest(call))?.pointer("/metadata/name");
    let name = name.and_then(Value::as_str).unwrap_or_default().replace('_', "-");
    drop(idls);
    let (layout, _) = call.interfaces.account(call, owner, data)?;
    let parsed = describe::object(&layout.read(data).ok()?);
    Some(json!({ "parsed": parsed, "program": name, "space": data.len() }))
}
