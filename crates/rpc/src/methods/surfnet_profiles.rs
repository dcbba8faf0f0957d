//! Surfpool's profiles: what a transaction does to its accounts, as a whole and instruction by instruction
//! (surfpool-types 1.7.0, `types.rs`: `UiKeyedProfileResult`).
//!
//! A profile is the transaction with the state before it. The transaction runs again when the profile is
//! shown: whole, and once for each instruction with those before it, whose results are subtracted.

use std::{collections::BTreeSet, sync::PoisonError};

use selkie_case::{Case, Input, RunMemory};
use selkie_node::SimulateOptions;
use selkie_svm::{AccountChange, Engine, Processed, ProgramCache};
use serde::Deserialize;
use serde_json::json;
use solana_account::AccountSharedData;
use solana_commitment_config::CommitmentLevel;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    budget::Text,
    config::{AccountEncoding, TransactionEncoding},
    encode::account::{Form, Shown},
    error::RpcError,
    methods::{
        call::{Call, write_with_context},
        surfnet_idls::Described,
        surfnet_kept::Profile,
        wire,
    },
    params::Params,
};

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12]) && text.chars().all(|it| it == '-' || it.is_ascii_hexdigit())
}

/// How a profile is shown.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Config {
    encoding: Option<AccountEncoding>,
    depth: Option<Depth>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Depth {
    Transaction,
    Instruction,
}

/// Simulates a transaction whose signatures are valid, and keeps its profile.
pub(super) fn profile(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let wire: String = params.required(0)?;
    let transaction = wire::transaction(&wire, Some(TransactionEncoding::Base64))?;
    let tag = params.optional(1)?;
    let config = params.or_default(2)?;
    if call.fetches {
        call.node.fetch_for_message(&transaction.message).map_err(RpcError::internal)?;
    }
    let view = call.node.view(CommitmentLevel::Processed);
    let options = SimulateOptions { verify_signatures: true, replace_blockhash: false };
    let case = view.case(&transaction, &options).map_err(|error| {
        RpcError::invalid_params(format!("the transaction would be dropped: {error}"))
    })?;
    let mut profiles = call.surfnet.profiles.lock().unwrap_or_else(PoisonError::into_inner);
    let key = profiles.add(case, view.slot(), tag);
    let found = profiles.matching(|it| it.key == key).pop();
    drop(profiles);
    write_with_context(text, view.slot(), |text| write_or_null(text, call, found.as_ref(), &config))
}

/// Shows the profile of a simulation, by its key, or of a transaction that has landed, by its signature.
pub(super) fn get_profile(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let key: String = params.required(0)?;
    let config = params.or_default(1)?;
    let found = match (is_uuid(&key), key.parse()) {
        (true, _) => {
            let profiles = call.surfnet.profiles.lock().unwrap_or_else(PoisonError::into_inner);
            profiles.matching(|it| it.key.eq_ignore_ascii_case(&key)).pop()
        }
        (false, Ok(signature)) => landed(call, &signature),
        (false, Err(_)) => {
            let text = "expected a Uuid or a valid Solana Signature";
            return Err(RpcError::invalid_params(text));
        }
    };
    let slot = found.as_ref().map_or_else(|| newest(call), |it| it.slot);
    write_with_context(text, slot, |text| write_or_null(text, call, found.as_ref(), &config))
}

/// Shows the profiles with a tag; the signature of a transaction is its tag.
pub(super) fn by_tag(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let tag: String = params.required(0)?;
    let config = params.or_default(1)?;
    let profiles = call.surfnet.profiles.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = profiles.matching(|it| it.tag == tag);
    drop(profiles);
    if found.is_empty() {
        found.extend(tag.parse().ok().and_then(|signature| landed(call, &signature)));
    }
    write_with_context(text, newest(call), |text| {
        let mut separator = "[";
        for profile in &found {
            text.raw(separator)?;
            write(text, call, profile, &config)?;
            separator = ",";
        }
        text.raw(if found.is_empty() { "null" } else { "]" })
    })
}

fn newest(call: &Call<'_>) -> u64 {
    call.node.slot(CommitmentLevel::Processed)
}

/// Returns the profile of a transaction that has landed, if the state before it is kept.
fn landed(call: &Call<'_>, signature: &Signature) -> Option<Profile> {
    let (slot, case) = call.node.case(signature).ok().flatten()?;
    let key = signature.to_string();
    Some(Profile { tag: key.clone(), key, slot, case, bytes: 0 })
}

fn write_or_null(
    text: &mut Text,
    call: &Call<'_>,
    profile: Option<&Profile>,
    config: &Config,
) -> Result<(), RpcError> {
    match profile {
        Some(profile) => write(text, call, profile, config),
        None => text.raw("null"),
    }
}

/// What a run of a transaction, or of its first instructions, gave.
type Ended = Result<Box<Processed>, TransactionError>;

/// Runs a transaction, and writes its profile.
fn write(
    text: &mut Text,
    call: &Call<'_>,
    profile: &Profile,
    config: &Config,
) -> Result<(), RpcError> {
    let (programs, mut memory) = (ProgramCache::new(), RunMemory::default());
    let mut run = |case: &Case| case.run(&programs, Engine::default(), None, &mut memory);
    let view = &call.node.view(CommitmentLevel::Processed);
    let writer = Writer {
        around: Described { call, view },
        form: Form {
            encoding: config.encoding.unwrap_or(AccountEncoding::JsonParsed),
            slice: None,
        },
    };
    let whole = run(&profile.case);
    text.raw("{")?;
    if config.depth != Some(Depth::Transaction) {
        text.raw(r#""instructionProfiles":["#)?;
        let mut before: Option<Ended> = None;
        for (index, named) in instruction_accounts(&profile.case, &whole).iter().enumerate() {
            let after = run(&beginning(&profile.case, index.saturating_add(1)));
            text.raw(if index == 0 { "" } else { "," })?;
            writer.profile(text, &after, before.as_ref(), |key| named.contains(key))?;
            before = Some(after);
        }
        text.raw("],")?;
    }
    text.raw(&format!(r#""key":{},"readonlyAccountStates":{{"#, json!(profile.key)))?;
    let mut separator = "";
    for it in accounts(&whole).iter().filter(|it| is_readonly(it)) {
        text.raw(&format!("{separator}\"{}\":", it.key))?;
        writer.account(text, &it.key, it.before.as_ref())?;
        separator = ",";
    }
    text.raw(&format!(r#"}},"slot":{},"transactionProfile":"#, profile.slot))?;
    writer.profile(text, &whole, None, |_| true)?;
    text.raw("}")
}

fn accounts(ended: &Ended) -> &[AccountChange] {
    ended.as_ref().map(|it| it.accounts.as_slice()).unwrap_or_default()
}

/// Surfpool lists an account that does not exist with those that may be written to.
fn is_readonly(account: &AccountChange) -> bool {
    !account.is_writable && account.before.is_some()
}

/// Returns the accounts that each instruction names, its program included.
fn instruction_accounts(case: &Case, whole: &Ended) -> Vec<BTreeSet<Pubkey>> {
    let Some(transaction) = case.input.transaction() else { return Vec::new() };
    let key = |index: &u8| Some(accounts(whole).get(usize::from(*index))?.key);
    let instructions = transaction.message().instructions().iter();
    let named = |it: &solana_message::compiled_instruction::CompiledInstruction| {
        it.accounts.iter().chain([&it.program_id_index]).filter_map(key).collect()
    };
    instructions.map(named).collect()
}

/// Returns the case of the first instructions of a transaction alone. Its signatures are for all of them.
fn beginning(case: &Case, count: usize) -> Case {
    let mut case = case.clone();
    case.options.verifies_signatures = false;
    if let Input::Transaction(transaction) = &case.input {
        let mut message = transaction.message().clone();
        match &mut message {
            VersionedMessage::Legacy(it) => it.instructions.truncate(count),
            VersionedMessage::V0(it) => it.instructions.truncate(count),
            VersionedMessage::V1(it) => it.instructions.truncate(count),
        }
        let signatures = transaction.signatures().to_vec();
        case.input = Input::Transaction(VersionedTransaction { signatures, message }.into());
    }
    case
}

struct Writer<'a> {
    around: Described<'a>,
    form: Form,
}

impl Writer<'_> {
    /// Writes what a run did beyond one that ended earlier, to the accounts that are `named`.
    fn profile(
        &self,
        text: &mut Text,
        ended: &Ended,
        earlier: Option<&Ended>,
        named: impl Fn(&Pubkey) -> bool,
    ) -> Result<(), RpcError> {
        let known =
            |ended: &Ended| ended.as_ref().map_or((0, 0), |it| (it.compute_units, it.logs.len()));
        let (units_before, lines_before) = earlier.map_or((0, 0), known);
        text.raw(r#"{"accountStates":{"#)?;
        let mut separator = "";
        for (index, it) in accounts(ended).iter().enumerate().filter(|(_, it)| named(&it.key)) {
            text.raw(&format!("{separator}\"{}\":", it.key))?;
            let before = earlier.and_then(|earlier| accounts(earlier).get(index));
            self.state(text, it, before.map_or(it.before.as_ref(), AccountChange::after))?;
            separator = ",";
        }
        let (error, logs) = match ended {
            Ok(it) => (it.result.as_ref().err(), it.logs.get(lines_before..).unwrap_or_default()),
            Err(error) => (Some(error), &[][..]),
        };
        let units = known(ended).0.saturating_sub(units_before);
        let error = error.map(ToString::to_string);
        text.raw(&format!(
            r#"}},"computeUnitsConsumed":{units},"errorMessage":{},"#,
            json!(error)
        ))?;
        text.raw(r#""logMessages":"#)?;
        text.json(logs)?;
        text.raw("}")
    }

    /// Writes how the transaction changed an account: it was created, updated, deleted or only read. `before` is the
    /// account before it.
    fn state(
        &self,
        text: &mut Text,
        account: &AccountChange,
        before: Option<&AccountSharedData>,
    ) -> Result<(), RpcError> {
        if is_readonly(account) {
            return text.raw(r#"{"type":"readonly"}"#);
        }
        text.raw(r#"{"accountChange":{"data":"#)?;
        let after = account.after();
        let kind = match (before, after) {
            (None, Some(_)) => {
                self.account(text, &account.key, after)?;
                "create"
            }
            (Some(_), None) => {
                self.account(text, &account.key, before)?;
                "delete"
            }
            (Some(old), Some(new)) if old != new => {
                text.raw("[")?;
                self.account(text, &account.key, before)?;
                text.raw(",")?;
                self.account(text, &account.key, after)?;
                text.raw("]")?;
                "update"
            }
            _ => {
                self.account(text, &account.key, before)?;
                "unchanged"
            }
        };
        text.raw(&format!(r#","type":"{kind}"}},"type":"writable"}}"#))
    }

    fn account(
        &self,
        text: &mut Text,
        key: &Pubkey,
        account: Option<&AccountSharedData>,
    ) -> Result<(), RpcError> {
        match account {
            Some(account) => {
                text.json(&Shown::for_notification(key, account, self.form, &self.around))
            }
            None => text.raw("null"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::surfnet_kept::Profiles;

    #[test]
    fn keys_are_uuids() {
        let key = Profiles::default().add(Case::default(), 1, None);
        assert!(is_uuid(&key), "{key}");
        assert!(!is_uuid("1-2") && !is_uuid(&Signature::default().to_string()));
    }
}
