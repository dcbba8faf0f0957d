//! A vault: deposits tokens by a CPI to the token program.
//!
//! Accounts: the depositor's token account, writable; the vault's token account, writable; the owner
//! of the tokens, signer; the token program. Instruction data: 8 bytes, the amount, little-endian.
#![no_std]

use pinocchio::{AccountView, Address, ProgramResult, error::ProgramError};
use pinocchio_token::instructions::Transfer;

#[cfg(target_os = "solana")]
mod program {
    pinocchio::program_entrypoint!(super::process);
    pinocchio::no_allocator!();
    pinocchio::nostd_panic_handler!();
}

/// The smallest deposit.
pub const MINIMUM: u64 = 10;

/// Error code of a deposit below [`MINIMUM`].
pub const TOO_SMALL: u32 = 1;

/// Deposits the amount in the instruction data.
pub fn process(_program: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let [from, vault, owner, ..] = accounts else { return Err(ProgramError::NotEnoughAccountKeys) };
    let amount = data.try_into().map_err(|_| ProgramError::InvalidInstructionData)?;
    let amount = u64::from_le_bytes(amount);
    if amount < MINIMUM {
        return Err(ProgramError::Custom(TOO_SMALL));
    }
    Transfer::new(from, vault, owner, amount).invoke()
}
