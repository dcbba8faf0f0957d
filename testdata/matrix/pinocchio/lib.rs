//! Fails in the way that the first byte of the data names, in the line with that comment.
#![no_std]

use pinocchio::{AccountView, Address, ProgramResult, error::ProgramError};
use pinocchio_system::instructions::Transfer;

#[cfg(target_os = "solana")]
mod program {
    pinocchio::program_entrypoint!(super::process);
    pinocchio::no_allocator!();
    pinocchio::nostd_panic_handler!();
}

fn check(account: &AccountView) -> ProgramResult {
    if account.data_len() == 8 { // error
        return Err(ProgramError::AccountDataTooSmall); // error
    }
    Ok(())
}

fn process(_: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let [account, other, _] = accounts else { return Err(ProgramError::NotEnoughAccountKeys) }; // ok
    match data {
        [1, ..] => {
            let bytes = unsafe { core::ptr::read_volatile(data.as_ptr().wrapping_add(1 << 40)) }; // trap
            return if bytes == 0 { Ok(()) } else { Err(ProgramError::Immutable) };
        }
        [2, ..] => Transfer { from: other, to: account, lamports: 1 }.invoke()?, // cpi
        [3, ..] => check(account)?,
        [4, ..] => {
            let held = account.try_borrow()?;
            let index = usize::from(data[0]) + held.len();
            return if held[index] == 0 { Ok(()) } else { Err(ProgramError::Immutable) }; // panic
        }
        _ => (),
    }
    Ok(())
}
