//! Accounts as JSON: what `jsonParsed` shows of the accounts that clients know.
//!
//! Names and order of checks are agave's (`account-decoder`).

mod account;
mod programs;
mod sysvars;
mod tokens;
mod votes;

use serde_json::{Value, json};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{
    address_lookup_table, bpf_loader_upgradeable, config, stake, system_program, sysvar, vote,
};

use crate::ids;

pub(crate) use account::Account;
pub(crate) use tokens::{Mint, TokenAccount, mint_of};
pub(crate) use votes::info as vote_info;

/// The owner of accounts that are shown, the name of its program, and what reads them.
struct Row {
    owner: Pubkey,
    program: &'static str,
    read: fn(&Account<'_>) -> Option<Value>,
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    Row { owner: address_lookup_table::ID, program: "address-lookup-table", read: programs::lookup_table },
    Row { owner: bpf_loader_upgradeable::ID, program: "bpf-upgradeable-loader", read: programs::loader },
    Row { owner: config::ID, program: "config", read: programs::config },
    Row { owner: system_program::ID, program: "nonce", read: programs::nonce },
    Row { owner: ids::TOKEN, program: "spl-token", read: tokens::account },
    Row { owner: ids::TOKEN_2022, program: "spl-token-2022", read: tokens::account },
    Row { owner: stake::ID, program: "stake", read: programs::stake },
    Row { owner: sysvar::ID, program: "sysvar", read: sysvars::sysvar },
    Row { owner: vote::ID, program: "vote", read: votes::vote },
];

/// Returns the account as `{parsed, program, space}`. `None` if its program has no row or its data
/// is not what the program writes.
pub(crate) fn parse(account: &Account<'_>) -> Option<Value> {
    let row = ROWS.iter().find(|row| row.owner == *account.owner)?;
    let parsed = (row.read)(account)?;
    Some(json!({ "parsed": parsed, "program": row.program, "space": account.data.len() }))
}

#[cfg(test)]
mod tests;
