//! The accounts of builtin programs, precompiles and sysvars.

use selkie_svm::{
    Account, AccountSharedData, Environment, NATIVE_LOADER, Precompile, Pubkey, ReadableAccount,
    sysvars::{Rent, minimum_balance},
};
use solana_sdk_ids::sysvar;

use crate::table::PROGRAMS;

/// Creates the account of the builtin program or precompile at this address, as mainnet has it. Its
/// data are the program's name there, or empty.
#[must_use]
pub fn program_account(id: &Pubkey) -> AccountSharedData {
    let row = PROGRAMS.iter().find(|row| row.address == *id);
    native_account(row.map_or("", |row| row.account_data))
}

/// Returns the accounts of an environment's builtin programs and precompiles.
pub fn native_accounts(
    environment: &Environment,
) -> impl Iterator<Item = (Pubkey, AccountSharedData)> {
    let Environment { features, builtins, precompiles, .. } = environment;
    let is_active = |row: &Precompile| row.feature.is_none_or(|feature| features.has(feature));
    let precompiles = precompiles.iter().filter(move |(_, row)| is_active(row)).map(|(id, _)| id);
    let all = builtins.iter().map(|(id, _)| id).chain(precompiles);
    all.map(|id| (*id, program_account(id)))
}

/// Creates the account of a builtin program with these data, which are usually a name.
#[must_use]
pub fn native_account(data: &str) -> AccountSharedData {
    let account = Account {
        lamports: 1,
        data: data.as_bytes().to_vec(),
        owner: NATIVE_LOADER,
        executable: true,
        rent_epoch: 0,
    };
    account.into()
}

/// Returns the account of a sysvar with these data. It keeps its lamports, raised to the
/// rent-exempt minimum, and its rent epoch (agave: `inherit_specially_retained_account_fields`).
#[must_use]
pub fn sysvar_account(
    before: Option<&AccountSharedData>,
    data: Vec<u8>,
    rent: &Rent,
) -> AccountSharedData {
    let minimum = minimum_balance(rent, data.len());
    let lamports = before.map_or(1, ReadableAccount::lamports).max(minimum);
    let rent_epoch = before.map_or(0, ReadableAccount::rent_epoch);
    Account { lamports, data, owner: sysvar::ID, executable: false, rent_epoch }.into()
}
