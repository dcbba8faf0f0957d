//! Jito's bundles: transactions that land together or not at all (surfpool-core 1.7.0, `rpc/jito.rs`).

use std::sync::PoisonError;

use selkie_node::{BundleError, BundleResult, BundleStep, SimulateOptions, Simulation, Status};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use solana_account::AccountSharedData;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    budget::Text,
    config::{AccountEncoding, SendConfig, SimulateAccounts, TransactionEncoding},
    encode::{self, account::Form},
    error::RpcError,
    methods::{
        accounts,
        call::{Call, check_slot, with_context, write_with_context},
        history::confirmation,
        sending::simulation_value,
        wire,
    },
    params::{Params, parse_key},
};

/// The most bundles that one request asks for.
const QUERY_MAX: usize = 5;
/// The addresses that receive tips on mainnet (Jito's documentation, `getTipAccounts`).
const TIP_ACCOUNTS: [&str; 8] = [
    "96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5",
    "HFqU5x63VTqvQss8hp11i4wVV8bD44PvwucfZ2bU7gRe",
    "Cw8CFyM9FkoMi7K7Crf6HNQqf4uEMzpKw6QNghXLvLkY",
    "ADaUMid9yfUytqMBgopwjb2DTLSokTSzL1zt6iGPaS49",
    "DfXygSm4jCyNCybVYYK6DwvWqjKee8pbDmJGcLWNDXjh",
    "ADuUkR4vqLUMWXxW9gh6D6L8pMSawimctcNZ5pGwDcEt",
    "DttWaMuVvTiduZRnguLF7jNxTgiMBZ1hyAumKUiL2KRL",
    "3AVi9Tg9Uo68tJfuvoKvqKNWKkC5wPdSSdeBnizKZ6jT",
];

/// Returns the id of a bundle: the hash of its signatures.
fn id(signatures: &[Signature]) -> String {
    let texts: Vec<String> = signatures.iter().map(ToString::to_string).collect();
    hex::encode(Sha256::digest(texts.join(",")))
}

fn refused(error: BundleError) -> RpcError {
    match error {
        BundleError::Node(error) => RpcError::internal(error),
        other => RpcError::invalid_params(other.to_string()),
    }
}

fn decode(
    texts: &[String],
    encoding: TransactionEncoding,
) -> Result<Vec<VersionedTransaction>, RpcError> {
    // Before they are decoded, which takes a while.
    match texts.len() {
        0 => return Err(refused(BundleError::Empty)),
        len if len > selkie_node::BUNDLE_TRANSACTIONS_MAX => {
            return Err(refused(BundleError::TooLong));
        }
        _ => {}
    }
    let decode = |(number, text): (usize, &String)| {
        wire::transaction(text, Some(encoding)).map_err(|mut error| {
            error.message =
                format!("Failed to decode bundle transaction {number}: {}", error.message);
            error
        })
    };
    (1..).zip(texts).map(decode).collect()
}

pub(super) fn send(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let texts: Vec<String> = params.required(0)?;
    let config: SendConfig = params.or_default(1)?;
    let encoding = config.encoding.unwrap_or(TransactionEncoding::Base58);
    let transactions = decode(&texts, encoding)?;
    check_slot(&call.node.view(CommitmentLevel::Processed), config.min_context_slot)?;
    let landed = call.node.send_bundle(transactions).map_err(refused)?;
    let signatures: Vec<Signature> = landed.iter().map(|it| it.signature).collect();
    let id = id(&signatures);
    let mut bundles = call.surfnet.bundles.lock().unwrap_or_else(PoisonError::into_inner);
    bundles.add(id.clone(), signatures);
    Ok(json!(id))
}

/// What is asked about a bundle: its id, its signatures, and the statuses of these.
struct Asked {
    id: String,
    found: Option<(Vec<Signature>, Vec<Option<Status>>)>,
}

fn asked(call: &Call<'_>, params: &mut Params) -> Result<Vec<Asked>, RpcError> {
    let ids: Vec<String> = params.required(0)?;
    if ids.is_empty() {
        return Err(RpcError::invalid_params("bundle_ids cannot be empty"));
    }
    if ids.len() > QUERY_MAX {
        let text = format!("bundle_ids exceeds maximum of {QUERY_MAX} per request");
        return Err(RpcError::invalid_params(text));
    }
    let bundles = call.surfnet.bundles.lock().unwrap_or_else(PoisonError::into_inner);
    let find = |id: String| {
        let signatures = bundles.find(&id);
        let with_statuses = |it: Vec<Signature>| {
            let statuses = call.node.statuses(&it);
            (it, statuses)
        };
        Asked { id, found: signatures.map(with_statuses) }
    };
    Ok(ids.into_iter().map(find).collect())
}

/// Returns a value with the newest slot.
fn now(call: &Call<'_>, value: Value) -> Value {
    with_context(call.node.slot(CommitmentLevel::Processed), value)
}

pub(super) fn statuses(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let show = |Asked { id, found }: Asked| {
        let Some((signatures, statuses)) = found else { return Value::Null };
        let first = statuses.iter().flatten().next();
        let reached = first.map_or("processed", |it| confirmation(it.commitment));
        // Jito's documentation has the name in snake case, and surfpool the other one.
        json!({
            "bundle_id": id,
            "confirmationStatus": reached,
            "confirmation_status": reached,
            "err": encode::status(&Ok(())),
            "slot": first.map_or(0, |it| it.slot),
            "transactions": signatures.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    };
    let bundles = asked(call, params)?.into_iter().map(show).collect();
    Ok(now(call, bundles))
}

pub(super) fn inflight_statuses(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let show = |Asked { id, found }: Asked| {
        let slot =
            found.and_then(|(_, statuses)| Some(statuses.into_iter().flatten().next()?.slot));
        let status = if slot.is_some() { "Landed" } else { "Invalid" };
        json!({ "bundle_id": id, "landed_slot": slot, "status": status })
    };
    let bundles = asked(call, params)?.into_iter().map(show).collect();
    Ok(now(call, bundles))
}

pub(super) fn tip_accounts(_: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Ok(json!(TIP_ACCOUNTS))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    encoded_transactions: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SimulateConfig {
    pre_execution_accounts_configs: Option<Vec<Option<SimulateAccounts>>>,
    post_execution_accounts_configs: Option<Vec<Option<SimulateAccounts>>>,
    transaction_encoding: Option<TransactionEncoding>,
    skip_sig_verify: bool,
    replace_recent_blockhash: bool,
}

/// Returns the addresses that are wanted for each of `count` transactions.
fn addresses(
    configs: Option<Vec<Option<SimulateAccounts>>>,
    count: usize,
) -> Result<Vec<Vec<Pubkey>>, RpcError> {
    let Some(configs) = configs else { return Ok(vec![Vec::new(); count]) };
    if configs.len() != count {
        let text = "pre/post_execution_accounts_configs must be equal in length to the number of transactions";
        return Err(RpcError::invalid_params(text));
    }
    let keys = |config: Option<SimulateAccounts>| {
        let Some(config) = config else { return Ok(Vec::new()) };
        if config.encoding.is_some_and(|it| it != AccountEncoding::Base64) {
            let text = "Base64 is the only supported encoding for pre/post-execution accounts";
            return Err(RpcError::invalid_params(text));
        }
        config.addresses.iter().map(|text| parse_key(text)).collect()
    };
    configs.into_iter().map(keys).collect()
}

pub(super) fn simulate(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let request: Request = params.required(0)?;
    let config: SimulateConfig = params.or_default(1)?;
    let count = request.encoded_transactions.len();
    let before = addresses(config.pre_execution_accounts_configs, count)?;
    let after = addresses(config.post_execution_accounts_configs, count)?;
    if config.replace_recent_blockhash && !config.skip_sig_verify {
        let text = "replace_recent_blockhash cannot be used with !skip_sig_verify";
        return Err(RpcError::invalid_params(text));
    }
    let encoding = config.transaction_encoding.unwrap_or(TransactionEncoding::Base64);
    let transactions = decode(&request.encoded_transactions, encoding)?;
    let signatures: Vec<Signature> =
        transactions.iter().filter_map(|it| it.signatures.first().copied()).collect();
    let wanted = before.clone().into_iter().zip(after.clone());
    let steps = transactions.into_iter().zip(wanted);
    let steps =
        steps.map(|(transaction, (before, after))| BundleStep { transaction, before, after });
    let options = SimulateOptions {
        verify_signatures: !config.skip_sig_verify,
        replace_blockhash: config.replace_recent_blockhash,
    };
    let results = call.node.simulate_bundle(steps.collect(), &options).map_err(refused)?;
    let slot = call.node.slot(CommitmentLevel::Processed);
    write_with_context(text, slot, |text| {
        let summary = summary(&results, &signatures);
        text.raw(&format!(r#"{{"summary":{summary},"transactionResults":["#))?;
        for index in 0..count {
            text.raw(if index == 0 { "" } else { "," })?;
            match (results.get(index), before.get(index), after.get(index)) {
                (Some(result), Some(before), Some(after)) => {
                    write(text, call, result, (before, after))?;
                }
                _ => text.json(&empty(results.last()))?,
            }
        }
        text.raw("]}")
    })
}

/// Returns the summary of a simulation: the transaction that failed, if one did.
fn summary(results: &[BundleResult], signatures: &[Signature]) -> Value {
    let failed = results.iter().zip(signatures).find_map(|(result, signature)| {
        let error = result.simulation.result.as_ref().err()?;
        let failure = json!([signature.as_ref(), error.to_string()]);
        Some(json!({
            "error": { "TransactionFailure": failure },
            "tx_signature": signature.to_string(),
        }))
    });
    failed.map_or(json!("succeeded"), |failed| json!({ "failed": failed }))
}

/// Returns the result of a transaction that did not run, since one before it failed.
fn empty(last: Option<&BundleResult>) -> Value {
    let replacement = last.and_then(|it| it.simulation.replacement_blockhash);
    let nothing = Simulation {
        slot: 0,
        result: Ok(()),
        is_processed: false,
        meta: selkie_node::Meta::default(),
        accounts: Vec::new(),
        replacement_blockhash: replacement,
    };
    let mut value = fields(&nothing);
    for (name, value) in value.as_object_mut().into_iter().flatten() {
        if name != "replacementBlockhash" {
            *value = Value::Null;
        }
    }
    value["postExecutionAccounts"] = Value::Null;
    value["preExecutionAccounts"] = Value::Null;
    value
}

/// Returns what a simulation of a bundle says of a transaction, without accounts.
fn fields(simulation: &Simulation) -> Value {
    let mut value = simulation_value(simulation, Value::Null);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("accounts");
        fields.remove("innerInstructions");
    }
    value
}

fn write(
    text: &mut Text,
    call: &Call<'_>,
    result: &BundleResult,
    (before, after): (&[Pubkey], &[Pubkey]),
) -> Result<(), RpcError> {
    text.raw(r#"{"preExecutionAccounts":"#)?;
    write_accounts(text, call, before, &result.before)?;
    text.raw(r#","postExecutionAccounts":"#)?;
    write_accounts(text, call, after, &result.after)?;
    for (name, value) in fields(&result.simulation).as_object().into_iter().flatten() {
        text.raw(&format!(r#","{name}":"#))?;
        text.json(value)?;
    }
    text.raw("}")
}

/// Writes accounts; one that does not exist has no lamports.
fn write_accounts(
    text: &mut Text,
    call: &Call<'_>,
    keys: &[Pubkey],
    accounts: &[Option<AccountSharedData>],
) -> Result<(), RpcError> {
    let view = call.node.view(CommitmentLevel::Processed);
    let form = Form { encoding: AccountEncoding::Base64, slice: None };
    text.raw("[")?;
    for (index, (key, account)) in keys.iter().zip(accounts).enumerate() {
        text.raw(if index == 0 { "" } else { "," })?;
        accounts::write(text, &view, key, &account.clone().unwrap_or_default(), form)?;
    }
    text.raw("]")
}
