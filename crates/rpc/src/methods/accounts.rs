//! Methods about accounts.

use core::ops::Range;
use std::collections::HashMap;

use selkie_node::View;
use serde::Deserialize;
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    budget::Text,
    config::{
        AccountConfig, AccountEncoding, Commitment, Condition, ContextConfig, ProgramAccountsConfig,
    },
    encode::account::{Form, Keyed, Shown, Surroundings},
    error::RpcError,
    methods::{
        call::{Call, with_context, write_with_context},
        surfnet_idls::Described,
    },
    params::{Params, check_count, parse_keys},
};

/// The most addresses that `getMultipleAccounts` takes.
const ADDRESSES_MAX: usize = 100;
/// The largest account, in bytes.
const ACCOUNT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// How many accounts `getLargestAccounts` returns.
const LARGEST: usize = 20;

impl AccountConfig {
    /// Returns how the accounts are shown, with the method's default.
    pub(crate) fn form(&self, default: AccountEncoding) -> Form {
        Form { encoding: self.encoding.unwrap_or(default), slice: self.data_slice }
    }
}

pub(super) fn get_balance(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let key = params.key(0)?;
    call.fetch(&[key])?;
    let view = call.view(params.or_default::<ContextConfig>(1)?)?;
    Ok(with_context(view.slot(), json!(view.balance(&key))))
}

pub(super) fn get_account_info(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let key = params.key(0)?;
    let config: AccountConfig = params.or_default(1)?;
    call.fetch(&[key])?;
    let view = call.view(config.context())?;
    let form = config.form(AccountEncoding::Binary);
    write_with_context(text, view.slot(), |text| match view.account(&key) {
        Some(account) => write(text, &Described { call, view: &view }, &key, &account, form),
        None => text.raw("null"),
    })
}

/// Writes an account.
pub(super) fn write(
    text: &mut Text,
    around: &dyn Surroundings,
    key: &Pubkey,
    account: &AccountSharedData,
    form: Form,
) -> Result<(), RpcError> {
    // Compressed data are a copy, and the compression needs space too.
    let _hold = match form.encoding {
        AccountEncoding::Base64Zstd => Some(text.hold(account.data().len().saturating_mul(2))?),
        _ => None,
    };
    text.json(&Shown::new(key, account, form, around)?)
}

pub(super) fn get_multiple_accounts(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let addresses: Vec<String> = params.required(0)?;
    check_count(addresses.len(), ADDRESSES_MAX)?;
    let config: AccountConfig = params.or_default(1)?;
    let keys = parse_keys(&addresses)?;
    call.fetch(&keys)?;
    let view = call.view(config.context())?;
    let form = config.form(AccountEncoding::Base64);
    write_with_context(text, view.slot(), |text| {
        write_all(text, &Described { call, view: &view }, &keys, form)
    })
}

/// Writes the account of each address, or null. An address that comes again is encoded once.
fn write_all(
    text: &mut Text,
    around: &Described<'_>,
    keys: &[Pubkey],
    form: Form,
) -> Result<(), RpcError> {
    let mut written: HashMap<Pubkey, Range<usize>> = HashMap::new();
    text.raw("[")?;
    for (index, key) in keys.iter().enumerate() {
        if index > 0 {
            text.raw(",")?;
        }
        if let Some(range) = written.get(key) {
            text.repeat(range.clone())?;
            continue;
        }
        let start = text.len();
        match around.account(key) {
            Some(account) => write(text, around, key, &account, form)?,
            None => text.raw("null")?,
        }
        written.insert(*key, start..text.len());
    }
    text.raw("]")
}

pub(super) fn get_program_accounts(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    let program = params.key(0)?;
    let config: ProgramAccountsConfig = params.or_default(1)?;
    let conditions = Condition::all(config.filters)?;
    let view = call.view(config.account.context())?;
    // Accounts are sorted in any case, which clients may ask not to wait for.
    let _ = config.sort_results;
    let accounts = view.program_accounts(&program);
    let found = filter(accounts, &conditions);
    let form = config.account.form(AccountEncoding::Binary);
    match config.with_context {
        Some(true) => write_with_context(text, view.slot(), |text| {
            write_keyed(text, call, &view, &found, form)
        }),
        _ => write_keyed(text, call, &view, &found, form),
    }
}

/// Returns the accounts that meet all conditions.
fn filter(
    accounts: Vec<(Pubkey, AccountSharedData)>,
    conditions: &[Condition],
) -> Vec<(Pubkey, AccountSharedData)> {
    let meets = |(_, account): &(Pubkey, AccountSharedData)| {
        conditions.iter().all(|condition| condition.holds(account.data()))
    };
    accounts.into_iter().filter(meets).collect()
}

/// Writes accounts with their addresses.
///
/// # Errors
/// If there are more than the limit of scans.
pub(super) fn write_keyed(
    text: &mut Text,
    call: &Call<'_>,
    view: &View,
    accounts: &[(Pubkey, AccountSharedData)],
    form: Form,
) -> Result<(), RpcError> {
    let max = call.limits.scan_accounts_max;
    if accounts.len() > max {
        let text = format!("{} accounts match, more than the limit of {max}", accounts.len());
        return Err(RpcError::scan(&text));
    }
    let around = Described { call, view };
    text.list(accounts.iter().map(|(key, account)| {
        Shown::new(key, account, form, &around).map(|account| Keyed::new(key, account))
    }))
}

pub(super) fn get_minimum_balance(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let len: usize = params.required(0)?;
    let config: ContextConfig = params.or_default(1)?;
    if len > ACCOUNT_BYTES_MAX {
        return Err(RpcError::invalid_request());
    }
    Ok(json!(call.node.view(config.commitment.level()).minimum_balance(len)))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcSupplyConfig")]
struct SupplyConfig {
    commitment: Commitment,
    #[allow(dead_code, reason = "there are no such accounts to list")]
    exclude_non_circulating_accounts_list: bool,
}

/// Returns the lamports of all accounts, all of which circulate.
pub(super) fn get_supply(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let config: SupplyConfig = params.or_default(0)?;
    let view = call.node.view(config.commitment.level());
    let total: u64 = view
        .accounts()
        .iter()
        .fold(0, |total, (_, account)| account.lamports().saturating_add(total));
    let value = call.surfnet.supply(total);
    Ok(with_context(view.slot(), value))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcLargestAccountsConfig")]
struct LargestConfig {
    commitment: Commitment,
    #[allow(dead_code, reason = "they are always sorted")]
    sort_results: Option<bool>,
    filter: Option<LargestFilter>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum LargestFilter {
    Circulating,
    NonCirculating,
}

pub(super) fn get_largest_accounts(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let config: LargestConfig = params.or_default(0)?;
    let view = call.node.view(config.commitment.level());
    let mut accounts: Vec<(u64, Pubkey)> = match config.filter {
        Some(LargestFilter::NonCirculating) => Vec::new(),
        _ => view.accounts().iter().map(|(key, it)| (it.lamports(), *key)).collect(),
    };
    accounts.sort_unstable_by(|one, other| other.cmp(one));
    accounts.truncate(LARGEST);
    let value = accounts
        .iter()
        .map(|(lamports, key)| json!({ "address": key.to_string(), "lamports": lamports }))
        .collect();
    Ok(with_context(view.slot(), value))
}
