//! Accounts with integers of 128 bits, and one whose layout does not depend on their alignment.

#![no_std]

#[repr(C)]
pub struct Pool {
    fee: u64,
    liquidity: u128,
    bump: u64,
}

#[repr(C)]
pub struct Nested {
    bump: u8,
    pool: Pool,
}

#[repr(transparent)]
pub struct Fixed(i128);

#[repr(C)]
pub struct Price {
    bump: u32,
    value: Fixed,
}

/// Padded so that both alignments give the same offsets.
#[repr(C)]
pub struct Same {
    fee: u64,
    padding: u64,
    liquidity: u128,
}

/// Adds up fields of accounts that lie over the instruction data.
///
/// # Safety
///
/// `input` is the input region of a program without accounts, with enough data.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn entrypoint(input: *const u8) -> u64 {
    // SAFETY: as above.
    let data = unsafe { input.add(16) };
    // SAFETY: as above.
    unsafe { nested(&*data.cast()) + price(&*data.cast()) + same(&*data.cast()) }
}

#[inline(never)]
fn nested(it: &Nested) -> u64 {
    u64::from(it.bump) + pool(&it.pool)
}

#[inline(never)]
fn pool(it: &Pool) -> u64 {
    it.fee + it.liquidity as u64 + it.bump
}

#[inline(never)]
fn price(it: &Price) -> u64 {
    u64::from(it.bump) + it.value.0 as u64
}

#[inline(never)]
fn same(it: &Same) -> u64 {
    it.fee + it.padding + it.liquidity as u64
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
