//! Surfpool's scenarios: accounts get other values in later slots (surfpool-types 1.7.0, `scenarios.rs`).

use std::collections::BTreeMap;

use selkie_layout::{
    account::Layout,
    place::{UnwritableField, with_values},
};
use selkie_node::ScheduledEdit;
use serde::Deserialize;
use serde_json::Value;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    error::RpcError,
    methods::{call::Call, cheats::refused, held::held_bytes, surfnet::now},
    params::{Params, parse_key},
};

/// How many overrides a scenario has at most.
const OVERRIDES_MAX: usize = 1000;

#[derive(Deserialize)]
struct Scenario {
    overrides: Vec<Override>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Override {
    id: String,
    #[serde(default)]
    values: BTreeMap<String, Value>,
    #[serde(default)]
    scenario_relative_slot: u64,
    #[serde(default = "enabled")]
    enabled: bool,
    #[serde(default)]
    fetch_before_use: bool,
    account: Address,
}

const fn enabled() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Address {
    Pubkey(String),
    #[serde(rename_all = "camelCase")]
    Pda {
        program_id: String,
        seeds: Vec<Seed>,
    },
}

/// A seed by its value. Those that name a value of the override are not known here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Seed {
    Pubkey(String),
    String(String),
    Bytes(Vec<u8>),
    U16Be(u16),
    U16Le(u16),
}

impl Seed {
    fn bytes(&self) -> Result<Vec<u8>, RpcError> {
        Ok(match self {
            Self::Pubkey(text) => parse_key(text)?.to_bytes().into(),
            Self::String(text) => text.as_bytes().into(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::U16Be(number) => number.to_be_bytes().into(),
            Self::U16Le(number) => number.to_le_bytes().into(),
        })
    }
}

impl Address {
    fn key(&self) -> Result<Pubkey, RpcError> {
        match self {
            Self::Pubkey(text) => parse_key(text),
            Self::Pda { program_id, seeds } => {
                let seeds = seeds.iter().map(Seed::bytes).collect::<Result<Vec<_>, _>>()?;
                let seeds: Vec<&[u8]> = seeds.iter().map(Vec::as_slice).collect();
                let found = Pubkey::try_find_program_address(&seeds, &parse_key(program_id)?);
                let found = found.ok_or_else(|| {
                    RpcError::invalid_params("no program has an address of these seeds")
                })?;
                Ok(found.0)
            }
        }
    }
}

/// New values of an account's fields.
struct Change {
    key: Pubkey,
    layout: Layout,
    values: BTreeMap<String, String>,
}

impl Change {
    /// Finds the account and its layout, and checks that the values are ones of it.
    fn new(call: &Call<'_>, it: &Override) -> Result<Self, RpcError> {
        let invalid =
            |text: String| RpcError::invalid_params(format!("override {}: {text}", it.id));
        let key = it.account.key()?;
        if it.fetch_before_use && call.fetches {
            call.node.reset_accounts(vec![key]).map_err(refused)?;
        }
        call.fetch(&[key])?;
        let account = call.node.view(CommitmentLevel::Processed).account(&key);
        let account = account.ok_or_else(|| invalid(format!("there is no account {key}")))?;
        let owner = *account.owner();
        let found = call.interfaces.account(call, &owner, account.data());
        let (layout, _) = found.ok_or_else(|| {
            invalid(format!(
                "no layout of the data of {key} is known: give the description of {owner} to \
                 surfnet_registerIdl first"
            ))
        })?;
        let values = it.values.iter().map(|(path, value)| (path.clone(), text_of(value)));
        let change = Self { key, layout, values: values.collect() };
        change.data(account.data()).map_err(|error| invalid(error.to_string()))?;
        Ok(change)
    }

    /// Returns how many bytes it holds. A layout is shared with the descriptions that the server keeps, but remains here
    /// when they change, so it counts for each change.
    fn held_bytes(&self) -> usize {
        let texts = self.values.iter().flat_map(|(path, value)| [path.len(), value.len()]);
        let entries = self.values.iter().map(|_| size_of::<(String, String)>());
        let own = [size_of::<Self>(), held_bytes(&self.layout)];
        own.into_iter().chain(texts).chain(entries).fold(0, usize::saturating_add)
    }

    /// Returns data with the new values.
    fn data(&self, old: &[u8]) -> Result<Vec<u8>, UnwritableField> {
        let is_path = |place: &str, path: &str| canonical(place) == canonical(path);
        with_values(&self.layout, old, &self.values, is_path)
    }

    /// Returns the account to write; none if it has become another one.
    fn of(&self, mut account: AccountSharedData) -> Option<AccountSharedData> {
        let data = self.data(account.data()).ok()?;
        account.set_data_from_slice(&data);
        Some(account)
    }
}

/// A path in one spelling: `a.bC[0]` of ours is `a.b_c.0` of surfpool's.
fn canonical(path: &str) -> String {
    let path = path.replace('[', ".").replace([']', '_'], "");
    path.to_ascii_lowercase()
}

/// A value as a field's text.
fn text_of(value: &Value) -> String {
    let byte = |it: &Value| it.as_u64().and_then(|it| u8::try_from(it).ok());
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => match all.iter().map(byte).collect::<Option<Vec<u8>>>() {
            Some(bytes) => hex::encode(bytes),
            None => value.to_string(),
        },
        other => other.to_string(),
    }
}

pub(super) fn register(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let scenario: Scenario = params.required(0)?;
    let here = call.node.slot(CommitmentLevel::Processed);
    let base = params.optional(1)?.unwrap_or(here);
    let overrides: Vec<&Override> = scenario.overrides.iter().filter(|it| it.enabled).collect();
    if overrides.len() > OVERRIDES_MAX {
        let text = format!("a scenario has at most {OVERRIDES_MAX} overrides");
        return Err(RpcError::invalid_params(text));
    }
    // All are checked before the first is written.
    let edit = |it: &&Override| {
        let (slot, change) =
            (base.saturating_add(it.scenario_relative_slot), Change::new(call, it)?);
        let bytes = change.held_bytes();
        Ok(ScheduledEdit::new(slot, change.key, bytes, move |account| change.of(account)))
    };
    let edits = overrides.iter().map(edit).collect::<Result<Vec<_>, RpcError>>()?;
    call.node.schedule(edits).map_err(refused)?;
    Ok(now(call, Value::Null))
}
