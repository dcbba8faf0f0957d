//! Methods about tokens.

use selkie_node::{TokenIndex, View};
use selkie_programs::is_token_program;
use serde::Deserialize;
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;

use crate::{
    budget::Text,
    config::{AccountConfig, AccountEncoding, ContextConfig},
    encode::account::Surroundings as _,
    error::RpcError,
    methods::{
        accounts::write_keyed,
        call::{Call, with_context, write_with_context},
    },
    params::{Params, parse_key},
    parsed::accounts::{Mint, TokenAccount},
    token_amount::{Scale, token_amount},
};

/// How many accounts `getTokenLargestAccounts` returns.
const LARGEST: usize = 20;

fn invalid(reason: &str) -> RpcError {
    RpcError::invalid_params(format!("Invalid param: {reason}"))
}

/// Returns an account of a token program.
fn token_program_account(
    view: &View,
    key: &Pubkey,
    otherwise: &str,
) -> Result<AccountSharedData, RpcError> {
    let account = view.account(key).ok_or_else(|| invalid("could not find account"))?;
    if is_token_program(account.owner()) { Ok(account) } else { Err(invalid(otherwise)) }
}

/// Returns how a mint's amounts are shown, and the program of the mint.
fn mint(view: &View, key: &Pubkey) -> Result<(Pubkey, Scale), RpcError> {
    let account = view.account(key).ok_or_else(|| invalid("could not find mint"))?;
    let mint =
        Mint::read(account.data()).ok_or_else(|| invalid("Token mint could not be unpacked"))?;
    Ok((*account.owner(), mint.scale(view.now())))
}

/// Reads an address and a configuration, and returns the address with the state to read it from.
fn key_and_view(call: &Call<'_>, params: &mut Params) -> Result<(Pubkey, View), RpcError> {
    let key = params.key(0)?;
    call.fetch(&[key])?;
    let view = call.view(params.or_default::<ContextConfig>(1)?)?;
    Ok((key, view))
}

pub(super) fn get_token_account_balance(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let (key, view) = key_and_view(call, params)?;
    let account = token_program_account(&view, &key, "not a Token account")?;
    let token = TokenAccount::read(account.data()).ok_or_else(|| invalid("not a Token account"))?;
    call.fetch(&[token.base.mint])?;
    let (_, scale) = mint(&call.node.view(CommitmentLevel::Processed), &token.base.mint)?;
    Ok(with_context(view.slot(), token_amount(token.base.amount, &scale)))
}

pub(super) fn get_token_supply(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let (key, view) = key_and_view(call, params)?;
    let account = token_program_account(&view, &key, "not a Token mint")?;
    let mint = Mint::read(account.data()).ok_or_else(|| invalid("mint could not be unpacked"))?;
    Ok(with_context(view.slot(), token_amount(mint.base.supply, &mint.scale(view.now()))))
}

pub(super) fn get_token_largest_accounts(
    call: &Call<'_>,
    params: &mut Params,
) -> Result<Value, RpcError> {
    let (key, view) = key_and_view(call, params)?;
    let (program, scale) = mint(&view, &key)?;
    if !is_token_program(&program) {
        return Err(invalid("not a Token mint"));
    }
    let amount = |(address, account): &(Pubkey, AccountSharedData)| {
        TokenAccount::read(account.data()).map(|token| (token.base.amount, *address))
    };
    let mut accounts: Vec<(u64, Pubkey)> =
        view.token_accounts(TokenIndex::Mint, &key).iter().filter_map(amount).collect();
    accounts.sort_unstable_by(|one, other| other.cmp(one));
    accounts.truncate(LARGEST);
    let show = |(amount, address): &(u64, Pubkey)| {
        let mut shown = token_amount(*amount, &scale);
        shown["address"] = json!(address.to_string());
        shown
    };
    Ok(with_context(view.slot(), accounts.iter().map(show).collect()))
}

/// Which token accounts are wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Selection {
    Mint(String),
    ProgramId(String),
}

impl Selection {
    /// Returns the mint, if one is asked for, and the program.
    fn resolve(&self, view: &View) -> Result<(Option<Pubkey>, Pubkey), RpcError> {
        match self {
            Self::Mint(text) => {
                let key = parse_key(text)?;
                let (program, _) = mint(view, &key)?;
                match is_token_program(&program) {
                    true => Ok((Some(key), program)),
                    false => Err(invalid("not a Token mint")),
                }
            }
            Self::ProgramId(text) => match parse_key(text)? {
                program if is_token_program(&program) => Ok((None, program)),
                _ => Err(invalid("unrecognized Token program id")),
            },
        }
    }
}

fn by_index(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
    index: TokenIndex,
) -> Result<(), RpcError> {
    let key = params.key(0)?;
    let selection: Selection = params.required(1)?;
    let config: AccountConfig = params.or_default(2)?;
    let view = call.view(config.context())?;
    let (mint, program) = selection.resolve(&view)?;
    let is_wanted = |(_, account): &(Pubkey, AccountSharedData)| {
        *account.owner() == program
            && mint.is_none_or(|mint| {
                TokenAccount::read(account.data()).is_some_and(|token| token.base.mint == mint)
            })
    };
    let accounts: Vec<_> = view.token_accounts(index, &key).into_iter().filter(is_wanted).collect();
    let form = config.form(AccountEncoding::Binary);
    write_with_context(text, view.slot(), |text| write_keyed(text, call, &view, &accounts, form))
}

pub(super) fn get_token_accounts_by_owner(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    by_index(call, params, text, TokenIndex::Owner)
}

pub(super) fn get_token_accounts_by_delegate(
    call: &Call<'_>,
    params: &mut Params,
    text: &mut Text,
) -> Result<(), RpcError> {
    by_index(call, params, text, TokenIndex::Delegate)
}
