//! Methods about accounts.

use selkie_node::View;
use serde::Deserialize;
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    config::{
        AccountConfig, AccountEncoding, Commitment, Condition, ContextConfig, ProgramAccountsConfig,
    },
    encode::account::{Form, encode, encode_keyed},
    error::RpcError,
    methods::call::{Call, with_context},
    params::{Params, parse_key},
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

pub(super) fn get_account_info(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let key = params.key(0)?;
    let config: AccountConfig = params.or_default(1)?;
    call.fetch(&[key])?;
    let view = call.view(config.context())?;
    let value = show(&view, &key, config.form(AccountEncoding::Binary))?;
    Ok(with_context(view.slot(), value))
}

/// Returns an account, or null.
fn show(view: &View, key: &Pubkey, form: Form) -> Result<Value, RpcError> {
    match view.account(key) {
        Some(account) => encode(key, &account, form, view),
        None => Ok(Value::Null),
    }
}

pub(super) fn get_multiple_accounts(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let addresses: Vec<String> = params.required(0)?;
    if addresses.len() > ADDRESSES_MAX {
        let text = format!("Too many inputs provided; max {ADDRESSES_MAX}");
        return Err(RpcError::invalid_params(text));
    }
    let config: AccountConfig = params.or_default(1)?;
    let keys: Vec<Pubkey> =
        addresses.iter().map(|text| parse_key(text)).collect::<Result<_, _>>()?;
    call.fetch(&keys)?;
    let view = call.view(config.context())?;
    let form = config.form(AccountEncoding::Base64);
    let value: Value = keys.iter().map(|key| show(&view, key, form)).collect::<Result<_, _>>()?;
    Ok(with_context(view.slot(), value))
}

pub(super) fn get_program_accounts(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let program = params.key(0)?;
    let config: ProgramAccountsConfig = params.or_default(1)?;
    let conditions = Condition::all(config.filters)?;
    let view = call.view(config.account.context())?;
    // Accounts are sorted in any case, which clients may ask not to wait for.
    let _ = config.sort_results;
    let accounts = view.program_accounts(&program);
    let found = filter(accounts, &conditions);
    let form = config.account.form(AccountEncoding::Binary);
    let value = keyed(call, &view, &found, form)?;
    Ok(match config.with_context {
        Some(true) => with_context(view.slot(), value),
        _ => value,
    })
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

/// Returns accounts with their addresses.
///
/// # Errors
/// If there are more than the limit of scans.
pub(super) fn keyed(
    call: &Call<'_>,
    view: &View,
    accounts: &[(Pubkey, AccountSharedData)],
    form: Form,
) -> Result<Value, RpcError> {
    let max = call.limits.scan_accounts_max;
    if accounts.len() > max {
        let text = format!("{} accounts match, more than the limit of {max}", accounts.len());
        return Err(RpcError::scan(&text));
    }
    accounts.iter().map(|(key, account)| encode_keyed(key, account, form, view)).collect()
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
}

/// Returns the lamports of all accounts, all of which circulate.
pub(super) fn get_supply(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let config: SupplyConfig = params.or_default(0)?;
    let view = call.node.view(config.commitment.level());
    let total: u64 = view
        .accounts()
        .iter()
        .fold(0, |total, (_, account)| account.lamports().saturating_add(total));
    let value = json!({
        "circulating": total, "nonCirculating": 0, "nonCirculatingAccounts": [], "total": total,
    });
    Ok(with_context(view.slot(), value))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcLargestAccountsConfig")]
struct LargestConfig {
    commitment: Commitment,
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
