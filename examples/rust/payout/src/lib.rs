//! A payout: splits a pool between two parties. It has a bug, which docs/debugging.md finds.
//!
//! Accounts: one, owned by this program, writable, with 24 bytes of data: the pool's total, the share
//! of the first party, and that of the second. Instruction data: 2 bytes, the first party's share in
//! basis points. All numbers are unsigned and little-endian.
#![no_std]

use pinocchio::{AccountView, Address, ProgramResult, error::ProgramError};

#[cfg(target_os = "solana")]
mod program {
    pinocchio::program_entrypoint!(super::process);
    pinocchio::no_allocator!();
    pinocchio::nostd_panic_handler!();
}

/// Error code of shares that do not add up to the total.
pub const NOT_ALL_PAID: u32 = 1;

/// Splits the pool as the instruction data says.
pub fn process(_: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let [account] = accounts else { return Err(ProgramError::NotEnoughAccountKeys) };
    let points = data.try_into().map_err(|_| ProgramError::InvalidInstructionData)?;
    let points = u32::from(u16::from_le_bytes(points));
    let mut held = account.try_borrow_mut()?;
    let ([total, first, second], []) = held.as_chunks_mut::<8>() else {
        return Err(ProgramError::InvalidAccountData);
    };
    let pool = u64::from_le_bytes(*total);
    *first = share(pool, points).to_le_bytes();
    *second = share(pool, 10_000 - points).to_le_bytes();
    check(pool, first, second)
}

/// Returns the part of a pool that so many basis points are.
#[inline(never)]
fn share(pool: u64, points: u32) -> u64 {
    // The bug: the product does not fit into 32 bits, and release builds do not check for that.
    let product = pool as u32 * points;
    u64::from(product / 10_000)
}

/// Checks that everything is paid.
#[inline(never)]
fn check(pool: u64, first: &[u8; 8], second: &[u8; 8]) -> ProgramResult {
    let paid = u64::from_le_bytes(*first).wrapping_add(u64::from_le_bytes(*second));
    if paid != pool {
        return Err(ProgramError::Custom(NOT_ALL_PAID));
    }
    Ok(())
}
