//! An order book in the bytes of an account: `solana-program` 3 and bytemuck. Its profile has thin
//! LTO and optimizes for size; a function has a large frame.
use bytemuck::{Pod, Zeroable};
use solana_program::{
    account_info::{AccountInfo, next_account_info},
    entrypoint,
    entrypoint::ProgramResult,
    program_error::ProgramError,
    pubkey::Pubkey,
};

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Order {
    pub price: u64,
    pub amount: u64,
}

/// Orders, best first.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Book {
    pub count: u64,
    pub orders: [Order; 16],
}

entrypoint!(process);

pub fn process(program: &Pubkey, accounts: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let account = next_account_info(&mut accounts.iter())?;
    if account.owner != program {
        return Err(ProgramError::IncorrectProgramId);
    }
    let order: Order =
        bytemuck::try_pod_read_unaligned(data).map_err(|_| ProgramError::InvalidInstructionData)?;
    let mut bytes = account.try_borrow_mut_data()?;
    let book: &mut Book =
        bytemuck::try_from_bytes_mut(&mut bytes).map_err(|_| ProgramError::InvalidAccountData)?;
    let count = book.count as usize;
    let slot = book.orders.get_mut(count).ok_or(ProgramError::AccountDataTooSmall)?;
    *slot = order;
    book.count += 1;
    sort(&mut book.orders[..=count]);
    solana_program::log::sol_log_64(book.count, median(&book.orders[..=count]), 0, 0, 0);
    Ok(())
}

fn sort(orders: &mut [Order]) {
    orders.sort_by_key(|it| core::cmp::Reverse(it.price));
}

#[inline(never)]
fn median(orders: &[Order]) -> u64 {
    let mut prices = [0u8; 300];
    for (order, place) in orders.iter().zip(prices.chunks_exact_mut(8)) {
        place.copy_from_slice(&order.price.to_le_bytes());
    }
    let at = core::hint::black_box(&prices).chunks_exact(8).nth(orders.len() / 2);
    at.map_or(0, |it| u64::from_le_bytes(it.try_into().unwrap()))
}
