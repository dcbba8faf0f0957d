//! An escrow with pinocchio: the maker's tokens wait in the vault of a derived address until someone
//! pays for them.
#![no_std]

use pinocchio::{
    AccountView, Address, ProgramResult,
    cpi::{Seed, Signer},
    error::ProgramError,
};
use pinocchio_associated_token_account::instructions::CreateIdempotent;
use pinocchio_log::log;
use pinocchio_system::instructions::CreateAccount;
use pinocchio_token::{
    instructions::{CloseAccount, Transfer},
    state::Account,
};

#[cfg(target_os = "solana")]
mod program {
    pinocchio::program_entrypoint!(super::process);
    pinocchio::no_allocator!();
    pinocchio::nostd_panic_handler!();
}

/// The state of an offer: maker, mint that is wanted, amount that is wanted, bump.
const OFFER_BYTES: usize = 32 + 32 + 8 + 1;

pub fn process(program: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let (number, data) = data.split_first().ok_or(ProgramError::InvalidInstructionData)?;
    match number {
        0 => make(program, accounts, data),
        1 => take(program, accounts),
        2 => quote(accounts, data),
        _ => Err(ProgramError::InvalidInstructionData),
    }
}

fn make(program: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let [maker, offer, mint, source, vault, system, token, ..] = accounts else {
        return Err(ProgramError::NotEnoughAccountKeys);
    };
    let (&[given, wanted], &[bump]) = number_pairs(data)? else {
        return Err(ProgramError::InvalidInstructionData);
    };
    let bump = [bump];
    let seeds = [Seed::from(b"offer"), Seed::from(maker.address().as_ref()), Seed::from(&bump)];
    let lamports = 2_000_000;
    CreateAccount { from: maker, to: offer, lamports, space: OFFER_BYTES as u64, owner: program }
        .invoke_signed(&[Signer::from(&seeds)])?;
    {
        let mut state = offer.try_borrow_mut()?;
        state[..32].copy_from_slice(maker.address().as_ref());
        state[32..64].copy_from_slice(mint.address().as_ref());
        state[64..72].copy_from_slice(&wanted);
        state[72] = bump[0];
    }
    CreateIdempotent {
        funding_account: maker,
        account: vault,
        wallet: offer,
        mint,
        system_program: system,
        token_program: token,
    }
    .invoke()?;
    Transfer::new(source, vault, maker, u64::from_le_bytes(given)).invoke()
}

/// Returns two numbers and what follows.
fn number_pairs(data: &[u8]) -> Result<(&[[u8; 8]; 2], &[u8]), ProgramError> {
    let (pair, rest) = data.split_at_checked(16).ok_or(ProgramError::InvalidInstructionData)?;
    let (pair, _) = pair.as_chunks::<8>();
    pair.try_into().map(|it| (it, rest)).map_err(|_| ProgramError::InvalidInstructionData)
}

fn take(program: &Address, accounts: &mut [AccountView]) -> ProgramResult {
    let [taker, maker, offer, vault, target, source, payment, ..] = accounts else {
        return Err(ProgramError::NotEnoughAccountKeys);
    };
    if !offer.owned_by(program) {
        return Err(ProgramError::InvalidAccountOwner);
    }
    let (wanted, bump) = {
        let state = offer.try_borrow()?;
        if state.len() != OFFER_BYTES || &state[..32] != maker.address().as_ref() {
            return Err(ProgramError::InvalidAccountData);
        }
        let wanted = state[64..72].try_into().map_err(|_| ProgramError::InvalidAccountData)?;
        (u64::from_le_bytes(wanted), [state[72]])
    };
    let amount = Account::from_account_view(vault)?.amount();
    Transfer::new(source, payment, taker, wanted).invoke()?;
    let seeds = [Seed::from(b"offer"), Seed::from(maker.address().as_ref()), Seed::from(&bump)];
    let signers = [Signer::from(&seeds)];
    Transfer::new(vault, target, offer, amount).invoke_signed(&signers)?;
    CloseAccount::new(vault, maker, offer).invoke_signed(&signers)?;
    log!("{} for {}", amount, wanted);
    Ok(())
}

/// Logs the price of a unit.
fn quote(accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let (&[given, wanted], _) = number_pairs(data)?;
    let [given, wanted] = [given, wanted].map(u64::from_le_bytes);
    let price = wanted.checked_div(given).ok_or(ProgramError::ArithmeticOverflow)?;
    log!("{} each, {} accounts", price, accounts.len());
    Ok(())
}
