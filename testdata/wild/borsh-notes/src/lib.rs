//! Notes of an owner, in an account whose data is borsh: `solana-program` 2 without a framework.
use std::collections::BTreeMap;

use borsh::{BorshDeserialize, BorshSerialize};
use solana_program::{
    account_info::{AccountInfo, next_account_info},
    entrypoint::ProgramResult,
    msg,
    program::invoke_signed,
    program_error::ProgramError,
    pubkey::Pubkey,
    rent::Rent,
    sysvar::Sysvar,
};
use solana_system_interface::instruction::create_account;

#[derive(BorshSerialize, BorshDeserialize, Debug)]
pub enum NotesInstruction {
    Open { space: u64 },
    Write { title: String, text: String, tags: Vec<String> },
    Remove { title: String },
}

#[derive(BorshSerialize, BorshDeserialize, Debug, Default)]
pub struct Notes {
    pub owner: [u8; 32],
    pub notes: BTreeMap<String, (String, Vec<String>)>,
}

#[derive(Clone, Copy, thiserror::Error, Debug)]
pub enum NotesError {
    #[error("another owner")]
    Owner,
    #[error("no such note")]
    Missing,
}

impl From<NotesError> for ProgramError {
    fn from(error: NotesError) -> Self {
        msg!("{}", error);
        Self::Custom(error as u32)
    }
}

solana_program::entrypoint!(process);

pub fn process(program: &Pubkey, accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let instruction = NotesInstruction::try_from_slice(data)?;
    msg!("{:?}", instruction);
    let mut accounts = accounts.iter();
    let account = next_account_info(&mut accounts)?;
    let owner = next_account_info(&mut accounts)?;
    if !owner.is_signer {
        return Err(ProgramError::MissingRequiredSignature);
    }
    match instruction {
        NotesInstruction::Open { space } => {
            let (address, bump) =
                Pubkey::find_program_address(&[b"notes", owner.key.as_ref()], program);
            if address != *account.key {
                return Err(ProgramError::InvalidSeeds);
            }
            let lamports = Rent::get()?.minimum_balance(space as usize);
            invoke_signed(
                &create_account(owner.key, account.key, lamports, space, program),
                &[owner.clone(), account.clone()],
                &[&[b"notes", owner.key.as_ref(), &[bump]]],
            )?;
            let notes = Notes { owner: owner.key.to_bytes(), ..Notes::default() };
            notes.serialize(&mut *account.data.borrow_mut()).map_err(Into::into)
        }
        NotesInstruction::Write { title, text, tags } => change(account, owner, |notes| {
            notes.notes.insert(title, (text, tags));
            Ok(())
        }),
        NotesInstruction::Remove { title } => change(account, owner, |notes| {
            notes.notes.remove(&title).map(drop).ok_or(NotesError::Missing.into())
        }),
    }
}

fn change(
    account: &AccountInfo,
    owner: &AccountInfo,
    change: impl FnOnce(&mut Notes) -> ProgramResult,
) -> ProgramResult {
    let mut notes = Notes::deserialize(&mut &**account.data.borrow())?;
    if notes.owner != owner.key.to_bytes() {
        return Err(NotesError::Owner.into());
    }
    change(&mut notes)?;
    msg!("{} notes", notes.notes.len());
    notes.serialize(&mut *account.data.borrow_mut()).map_err(Into::into)
}
