//! Fails in the way that the first byte of the data names, in the line with that comment.

use solana_program::{
    account_info::{AccountInfo, next_account_info},
    entrypoint,
    entrypoint::ProgramResult,
    msg,
    program::invoke,
    program_error::ProgramError,
    pubkey::Pubkey,
    system_instruction,
};

entrypoint!(process);

fn check(account: &AccountInfo) -> ProgramResult {
    if account.data_len() == 8 { // error
        msg!("the account is too small");
        return Err(ProgramError::AccountDataTooSmall); // error
    }
    Ok(())
}

fn process(_: &Pubkey, accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let accounts = &mut accounts.iter(); // ok
    let account = next_account_info(accounts)?; // ok
    let other = next_account_info(accounts)?; // ok
    match data.first() {
        Some(1) => {
            let bytes = unsafe { core::ptr::read_volatile(data.as_ptr().wrapping_add(1 << 40)) }; // trap
            return if bytes == 0 { Ok(()) } else { Err(ProgramError::Immutable) };
        }
        Some(2) => {
            let transfer = system_instruction::transfer(other.key, account.key, 1);
            invoke(&transfer, &[other.clone(), account.clone()])?; // cpi
        }
        Some(3) => check(account)?,
        Some(4) => {
            let held = account.try_borrow_data()?;
            let number = u64::from_le_bytes(held[..].try_into().unwrap());
            assert_ne!(number, 0, "the number is {number}"); // panic
        }
        _ => (),
    }
    Ok(())
}
