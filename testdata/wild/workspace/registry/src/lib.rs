//! Keeps the highest bid in an account.
use borsh::BorshSerialize;
use shared::Bid;
use solana_account_info::{AccountInfo, next_account_info};
use solana_program_error::{ProgramError, ProgramResult};
use solana_pubkey::Pubkey;

#[cfg(not(feature = "no-entrypoint"))]
solana_program_entrypoint::entrypoint!(process);

/// The error code of a bid that is too low.
pub const TOO_LOW: u32 = 7;

pub fn process(_program: &Pubkey, accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let account = next_account_info(&mut accounts.iter())?;
    let bid: Bid = shared::read(data)?;
    let mut bytes = account.try_borrow_mut_data()?;
    let highest: Option<Bid> = bytes.get(..40).and_then(|it| shared::read(it).ok());
    let highest = highest.ok_or(ProgramError::InvalidAccountData)?;
    if bid.amount <= highest.amount {
        solana_msg::msg!("{} is not above {}", bid.amount, highest.amount);
        return Err(ProgramError::Custom(TOO_LOW));
    }
    bid.serialize(&mut &mut bytes[..]).map_err(|_| ProgramError::AccountDataTooSmall)
}
