//! A counter: adds the amount in the instruction data to the number in an account.
//!
//! Accounts: one, owned by this program, writable, with 8 bytes of data: the count.
//! Instruction data: 8 bytes, the amount to add. Both are unsigned and little-endian.
#![no_std]

use pinocchio::{AccountView, Address, ProgramResult, error::ProgramError};

#[cfg(target_os = "solana")]
mod program {
    pinocchio::program_entrypoint!(super::process);
    pinocchio::no_allocator!();
    pinocchio::nostd_panic_handler!();
}

/// Adds the amount in the instruction data to the count.
pub fn process(program: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let [counter] = accounts else { return Err(ProgramError::NotEnoughAccountKeys) };
    if !counter.owned_by(program) {
        return Err(ProgramError::IllegalOwner);
    }
    if !counter.is_writable() {
        return Err(ProgramError::Immutable);
    }
    let amount = data.try_into().map_err(|_| ProgramError::InvalidInstructionData)?;
    let mut held = counter.try_borrow_mut()?;
    let count = held[..].try_into().map_err(|_| ProgramError::InvalidAccountData)?;
    let sum = u64::from_le_bytes(count).checked_add(u64::from_le_bytes(amount));
    held.copy_from_slice(&sum.ok_or(ProgramError::ArithmeticOverflow)?.to_le_bytes());
    Ok(())
}
