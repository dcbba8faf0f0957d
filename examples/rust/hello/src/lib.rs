//! Logs its address, accounts and data, using the standard library and Solana's official crates.
//!
//! Instruction data: any bytes. Logs them sorted and their product; panics if one of them is 9.

use solana_account_info::AccountInfo;
use solana_msg::msg;
use solana_program_entrypoint::entrypoint;
use solana_program_error::{ProgramError, ProgramResult};
use solana_pubkey::Pubkey;

entrypoint!(process);

fn process(program: &Pubkey, accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    msg!("I am {}, with {} accounts", program, accounts.len());
    for account in accounts {
        msg!("{} has {} lamports", account.key, account.lamports());
    }
    let mut sorted = data.to_vec();
    sorted.sort();
    let product: u128 = data.iter().map(|&it| u128::from(it) + 1).product();
    msg!("sorted {:?}, product {}", sorted, product);
    assert!(!data.contains(&9), "nine is not welcome");
    let last = sorted.last().ok_or(ProgramError::InvalidInstructionData)?;
    msg!("a third of the largest, below zero: {}", i64::from(*last) / -3);
    Ok(())
}
