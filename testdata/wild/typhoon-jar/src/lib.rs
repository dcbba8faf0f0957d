//! A savings jar with typhoon: its owner adds to it until it is full, and closes it.
#![no_std]

use bytemuck::{AnyBitPattern, NoUninit};
use typhoon::prelude::*;

program_id!("2jeTk2FqoTXE7bcLhRERaoNHBUVyyqMqTmLpARHqtAAr");

#[cfg(target_os = "solana")]
mod program {
    typhoon::prelude::nostd_panic_handler!();
    typhoon::prelude::no_allocator!();
}
entrypoint!();

pub const ROUTER: EntryFn = basic_router! {
    0 => open,
    1 => save,
    2 => smash,
};

/// What is saved, of what goal.
#[derive(NoUninit, AnyBitPattern, AccountState, Copy, Clone)]
#[repr(C)]
pub struct Jar {
    pub saved: u64,
    pub goal: u64,
    pub owner: [u8; 32],
}

#[derive(NoUninit, AnyBitPattern, Copy, Clone)]
#[repr(C)]
pub struct Amount {
    pub lamports: [u8; 8],
}

#[context]
#[args(Amount)]
pub struct Open {
    pub owner: Mut<Signer>,
    #[constraint(init, payer = owner, space = Jar::SPACE)]
    pub jar: Mut<UncheckedSigner<Account<Jar>>>,
    pub system: Program<System>,
}

#[context]
#[args(Amount)]
pub struct Save {
    pub owner: Signer,
    pub jar: Mut<Account<Jar>>,
}

#[context]
pub struct Smash {
    pub owner: Mut<SystemAccount>,
    pub jar: Mut<Account<Jar>>,
}

pub fn open(context: Open) -> ProgramResult {
    let mut jar = context.jar.mut_data()?;
    jar.goal = u64::from_le_bytes(context.args.lamports);
    jar.owner = *context.owner.address().as_array();
    Ok(())
}

pub fn save(context: Save) -> ProgramResult {
    let mut jar = context.jar.mut_data()?;
    if &jar.owner != context.owner.address().as_array() {
        return Err(ProgramError::IncorrectAuthority.into());
    }
    let saved = jar.saved.checked_add(u64::from_le_bytes(context.args.lamports));
    let saved = saved.ok_or(ProgramError::ArithmeticOverflow)?;
    if saved > jar.goal {
        return Err(ProgramError::InvalidArgument.into());
    }
    jar.saved = saved;
    Ok(())
}

pub fn smash(context: Smash) -> ProgramResult {
    let is_full = {
        let jar = context.jar.data()?;
        jar.saved == jar.goal
    };
    if !is_full {
        return Err(ProgramError::InvalidAccountData.into());
    }
    context.jar.close(&context.owner)?;
    Ok(())
}
