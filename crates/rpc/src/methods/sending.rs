//! Methods that send and simulate transactions, and what clients ask before that.

use selkie_node::{SendError, SendOptions, SimulateOptions, Simulation};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_hash::Hash;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    budget::Text,
    config::{
        AccountEncoding, Commitment, ContextConfig, SendConfig, SimulateAccounts, SimulateConfig,
        TransactionEncoding,
    },
    encode::{
        self,
        account::{Form, Surroundings},
        meta::{self, Inner},
    },
    error::RpcError,
    methods::{
        accounts,
        call::{Call, check_slot, with_context, write_with_context},
        surfnet_idls::Described,
        wire,
    },
    params::{Params, check_count, parse_hash, parse_key, parse_keys},
};

/// The most addresses that `getRecentPrioritizationFees` takes.
const FEE_ADDRESSES_MAX: usize = 128;

/// What a simulation answers, and a failed preflight does not.
const NOT_OF_PREFLIGHT: [&str; 5] =
    ["loadedAddresses", "postBalances", "postTokenBalances", "preBalances", "preTokenBalances"];

pub(super) fn get_latest_blockhash(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let view = call.view(params.or_default::<ContextConfig>(0)?)?;
    let value = json!({
        "blockhash": view.blockhash().to_string(),
        "lastValidBlockHeight": view.last_valid_block_height(),
    });
    Ok(with_context(view.slot(), value))
}

pub(super) fn is_blockhash_valid(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let text: String = params.required(0)?;
    // The one method whose error is the parser's alone.
    let blockhash: Hash =
        text.parse().map_err(|error| RpcError::invalid_params(format!("{error:?}")))?;
    let view = call.view(params.or_default::<ContextConfig>(1)?)?;
    Ok(with_context(view.slot(), json!(view.is_blockhash_valid(&blockhash))))
}

pub(super) fn get_fee_for_message(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let message: VersionedMessage = wire::message(&params.required::<String>(0)?)?;
    let view = call.view(params.or_default::<ContextConfig>(1)?)?;
    message.sanitize().map_err(|error| {
        RpcError::invalid_params(format!("invalid transaction message: {error}"))
    })?;
    Ok(with_context(view.slot(), json!(view.fee_for_message(&message))))
}

pub(super) fn get_recent_prioritization_fees(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let addresses: Vec<String> = params.or_default(0)?;
    check_count(addresses.len(), FEE_ADDRESSES_MAX)?;
    let keys = parse_keys(&addresses)?;
    let show = |(slot, fee): &(u64, u64)| json!({ "prioritizationFee": fee, "slot": slot });
    Ok(call.node.prioritization_fees(&keys).iter().map(show).collect())
}

pub(super) fn send_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let text: String = params.required(0)?;
    let config: SendConfig = params.or_default(1)?;
    let transaction = wire::transaction(&text, config.encoding)?;
    let options = SendOptions {
        skip_preflight: config.skip_preflight,
        preflight_commitment: config.preflight_commitment.level(),
        max_retries: config.max_retries,
    };
    if config.min_context_slot.is_some() {
        check_slot(&call.node.view(options.preflight_commitment), config.min_context_slot)?;
    }
    match call.node.send(transaction, &options) {
        Ok(signature) => Ok(json!(signature.to_string())),
        Err(error) => Err(refusal(error)),
    }
}

/// Returns the error for a transaction that was not accepted.
fn refusal(error: SendError) -> RpcError {
    match error {
        SendError::Sanitize(error) => invalid_transaction(&error),
        SendError::Preflight(simulation) => {
            if let Some(error) = malformation(&simulation) {
                return invalid_transaction(error);
            }
            let mut value = simulation_value(&simulation, Value::Null);
            // Agave leaves these out of what comes with the error (`send_transaction`).
            for name in NOT_OF_PREFLIGHT {
                value[name] = Value::Null;
            }
            match &simulation.result {
                Err(error) => RpcError::preflight_failure(error, value),
                Ok(()) => RpcError::internal("the simulation succeeded"),
            }
        }
        SendError::NoFaucet => RpcError::invalid_request(),
        SendError::Ledger(reason) => RpcError::node_unhealthy(&reason),
        other => RpcError::internal(other),
    }
}

fn invalid_transaction(error: &TransactionError) -> RpcError {
    RpcError::invalid_params(format!("invalid transaction: {error}"))
}

/// Returns the error of a transaction that agave does not simulate: one that is malformed, or whose
/// lookup tables do not have its addresses (`sanitize_transaction`).
fn malformation(simulation: &Simulation) -> Option<&TransactionError> {
    let error = simulation.result.as_ref().err()?;
    let is_before = matches!(
        error,
        TransactionError::SanitizeFailure
            | TransactionError::AddressLookupTableNotFound
            | TransactionError::InvalidAddressLookupTableOwner
            | TransactionError::InvalidAddressLookupTableData
            | TransactionError::InvalidAddressLookupTableIndex
    );
    is_before.then_some(error)
}

pub(super) fn simulate_transaction(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let encoded: String = params.required(0)?;
    let config: SimulateConfig = params.or_default(1)?;
    let verify = config.sig_verify;
    let replace = config.replace_recent_blockhash;
    let inner_encoding = inner_encoding(&config)?;
    let transaction = wire::transaction(&encoded, config.encoding)?;
    if verify && replace {
        let text = "sigVerify may not be used with replaceRecentBlockhash";
        return Err(RpcError::invalid_params(text));
    }
    let context =
        ContextConfig { commitment: config.commitment, min_context_slot: config.min_context_slot };
    if call.fetches {
        call.node.fetch_for_message(&transaction.message).map_err(RpcError::internal)?;
    }
    let view = call.view(context)?;
    let options = SimulateOptions { verify_signatures: verify, replace_blockhash: replace };
    let simulation = view.simulate(&transaction, &options);
    if let Some(error) = malformation(&simulation) {
        return Err(invalid_transaction(error));
    }
    let inner = match config.inner_instructions {
        true if simulation.is_processed => {
            let keys: Vec<Pubkey> = simulation.accounts.iter().map(|(key, _)| *key).collect();
            let inner = match inner_encoding {
                TransactionEncoding::Json => Inner::Raw,
                _ => Inner::Parsed(&keys),
            };
            meta::inner_instructions(&simulation.meta.inner_instructions, inner)
        }
        _ => Value::Null,
    };
    let fields = simulation_value(&simulation, inner);
    write_with_context(text, simulation.slot, |text| match &config.accounts {
        None => text.json(&fields),
        Some(wanted) => {
            // The accounts come first, and are written one by one, since they may be long.
            text.raw(r#"{"accounts":"#)?;
            write_accounts(text, wanted, &simulation, &Described { call, view: &view })?;
            for (name, value) in fields.as_object().into_iter().flatten().skip(1) {
                text.raw(&format!(r#","{name}":"#))?;
                text.json(value)?;
            }
            text.raw("}")
        }
    })
}

/// Returns how a simulation shows inner instructions (since agave 4.5).
fn inner_encoding(config: &SimulateConfig) -> Result<TransactionEncoding, RpcError> {
    match config.inner_instructions_encoding.unwrap_or(TransactionEncoding::JsonParsed) {
        known @ (TransactionEncoding::Json | TransactionEncoding::JsonParsed) => Ok(known),
        other => Err(RpcError::invalid_params(format!(
            "unsupported inner instructions encoding: {}. Supported encodings: json, jsonParsed",
            other.name()
        ))),
    }
}

/// Writes the accounts that the client wants to see after the simulation.
fn write_accounts(
    text: &mut Text,
    wanted: &SimulateAccounts,
    simulation: &Simulation,
    around: &dyn Surroundings,
) -> Result<(), RpcError> {
    let encoding = wanted.encoding.unwrap_or(AccountEncoding::Base64);
    if matches!(encoding, AccountEncoding::Binary | AccountEncoding::Base58) {
        return Err(RpcError::invalid_params("base58 encoding not supported"));
    }
    let max = simulation.accounts.len();
    if wanted.addresses.len() > max {
        return Err(RpcError::invalid_params(format!("Too many accounts provided; max {max}")));
    }
    let form = Form { encoding, slice: None };
    text.raw("[")?;
    for (index, address) in wanted.addresses.iter().enumerate() {
        if index > 0 {
            text.raw(",")?;
        }
        let key = parse_key(address)?;
        let after = simulation.accounts.iter().find(|(other, _)| *other == key);
        let account = match after {
            _ if simulation.result.is_err() => None,
            Some((_, account)) => account.clone(),
            None => around.account(&key),
        };
        match account {
            Some(account) => accounts::write(text, around, &key, &account, form)?,
            None => text.raw("null")?,
        }
    }
    text.raw("]")
}

/// Returns what `simulateTransaction` answers, which is also the data of a failed preflight. Its first
/// field, `accounts`, is null.
pub(super) fn simulation_value(simulation: &Simulation, inner: Value) -> Value {
    let meta = &simulation.meta;
    let executed = |value: Value| if simulation.is_processed { value } else { Value::Null };
    let replacement = simulation.replacement_blockhash.map(
        |(hash, height)| json!({ "blockhash": hash.to_string(), "lastValidBlockHeight": height }),
    );
    json!({
        "accounts": null,
        "err": encode::error(&simulation.result),
        "fee": executed(json!(meta.fee)),
        "innerInstructions": inner,
        "loadedAccountsDataSize": meta.loaded_bytes,
        "loadedAddresses": meta::loaded_addresses(&meta.loaded_addresses),
        "logs": meta.logs,
        "postBalances": executed(json!(meta.post_balances)),
        "postTokenBalances": executed(meta::token_balances(&meta.post_token_balances)),
        "preBalances": executed(json!(meta.pre_balances)),
        "preTokenBalances": executed(meta::token_balances(&meta.pre_token_balances)),
        "replacementBlockhash": replacement,
        "returnData": meta.return_data.as_ref().map(meta::return_data),
        "unitsConsumed": meta.compute_units,
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcRequestAirdropConfig")]
struct AirdropConfig {
    recent_blockhash: Option<String>,
    #[allow(
        dead_code,
        reason = "agave reads it to choose a blockhash, all of which are valid here"
    )]
    commitment: Commitment,
}

pub(super) fn request_airdrop(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let key = params.key(0)?;
    let lamports: u64 = params.required(1)?;
    let config: AirdropConfig = params.or_default(2)?;
    let blockhash = config.recent_blockhash.map(|text| parse_hash(&text)).transpose()?;
    match call.node.airdrop(&key, lamports, blockhash) {
        Ok(signature) => Ok(json!(signature.to_string())),
        Err(error) => Err(refusal(error)),
    }
}
