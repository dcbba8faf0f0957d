//! Positions of a market in the bytes of an account, with prices of 128 bits between fields of 64 as
//! exchanges have them: bytemuck, and `I80F48` of the crate `fixed`. All offsets are asserted as the
//! official toolchain lays them out, which aligns 128 bits to 8 bytes.
#![no_std]

use core::mem::{align_of, offset_of, size_of};

use bytemuck::{Pod, Zeroable};
use fixed::types::I80F48;
use pinocchio::{AccountView, Address, ProgramResult, error::ProgramError};

#[cfg(target_os = "solana")]
mod program {
    pinocchio::program_entrypoint!(super::process);
    pinocchio::no_allocator!();
    pinocchio::nostd_panic_handler!();
}

/// A trader's part of the market.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Position {
    pub base_lots: i64,
    pub entry_price: I80F48,
    pub quote_lots: i64,
    pub funding: I80F48,
    pub volume: u128,
    pub sequence: u64,
}

/// Fees, in a struct of their own.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Fees {
    pub maker: I80F48,
    pub taker: I80F48,
    pub accrued: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Market {
    pub lot_size: u64,
    pub funding: I80F48,
    pub fees: Fees,
    pub positions: [Position; 3],
    pub open_interest: i64,
}

#[cfg(target_os = "solana")]
const _: () = {
    assert!(align_of::<I80F48>() == 8 && align_of::<Market>() == 8);
    assert!(size_of::<Position>() == 72 && size_of::<Fees>() == 40 && size_of::<Market>() == 288);
    assert!(offset_of!(Position, entry_price) == 8 && offset_of!(Position, quote_lots) == 24);
    assert!(offset_of!(Position, funding) == 32 && offset_of!(Position, volume) == 48);
    assert!(offset_of!(Market, funding) == 8 && offset_of!(Market, fees) == 24);
    assert!(offset_of!(Market, positions) == 64 && offset_of!(Market, open_interest) == 280);
    // An `Option` has a tag of the size of the alignment.
    assert!(size_of::<Option<u128>>() == 24 && size_of::<(u64, I80F48)>() == 24);
};

/// A fill: which position, how many lots (bought if positive), at what price.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Fill {
    position: u64,
    lots: i64,
    price: i64,
}

pub fn process(program: &Address, accounts: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let [account, ..] = accounts else { return Err(ProgramError::NotEnoughAccountKeys) };
    if !account.owned_by(program) {
        return Err(ProgramError::IncorrectProgramId);
    }
    let fill: Fill =
        bytemuck::try_pod_read_unaligned(data).map_err(|_| ProgramError::InvalidInstructionData)?;
    let mut bytes = account.try_borrow_mut()?;
    let market: &mut Market =
        bytemuck::try_from_bytes_mut(&mut bytes).map_err(|_| ProgramError::InvalidAccountData)?;
    settle(market, &fill).ok_or(ProgramError::ArithmeticOverflow)
}

/// Pays what funding the position owes, and adds the fill to it.
fn settle(market: &mut Market, fill: &Fill) -> Option<()> {
    let position = market.positions.get_mut(usize::try_from(fill.position).ok()?)?;
    let owed = (market.funding - position.funding).checked_mul(position.base_lots.into())?;
    let price = I80F48::checked_from_num(fill.price)?;
    let value = price.checked_mul(fill.lots.into())?;
    let fee = value.abs().checked_mul(market.fees.taker)?;
    position.quote_lots = (I80F48::from(position.quote_lots) - owed - value - fee).checked_to_num()?;
    position.funding = market.funding;
    position.base_lots = position.base_lots.checked_add(fill.lots)?;
    position.entry_price = price;
    let lots: u64 = value.abs().checked_to_num()?;
    position.volume = position.volume.checked_add(lots.into())?;
    position.sequence += 1;
    market.fees.accrued = market.fees.accrued.checked_add(fee.checked_to_num()?)?;
    market.open_interest = market.open_interest.checked_add(fill.lots)?;
    Some(())
}
