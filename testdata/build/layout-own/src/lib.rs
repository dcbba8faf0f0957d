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

#[repr(C)]
pub struct Ticks {
    bump: u8,
    ticks: [i128; 2],
}

/// The tuple's fields are ordered by their alignment, so that only its size is another one.
#[repr(C)]
pub struct Pair {
    pair: (u64, u128),
    bump: u64,
}

#[repr(C)]
pub struct Limit {
    price: Option<u128>,
    bump: u64,
}

/// As a tuple, an enum orders its fields.
pub enum Side {
    Bid(u128, u8),
    Ask,
}

#[repr(C)]
pub struct Quote {
    side: Side,
    bump: u64,
}

#[repr(C)]
pub enum Order {
    None,
    Stop { price: u128 },
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
    unsafe {
        nested(&*data.cast())
            + price(&*data.cast())
            + ticks(&*data.cast())
            + pair(&*data.cast())
            + limit(&*data.cast())
            + quote(&*data.cast())
            + order(&*data.cast())
            + same(&*data.cast())
    }
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
fn ticks(it: &Ticks) -> u64 {
    u64::from(it.bump) + it.ticks[1] as u64
}

#[inline(never)]
fn pair(it: &Pair) -> u64 {
    it.pair.0 + it.pair.1 as u64 + it.bump
}

#[inline(never)]
fn limit(it: &Limit) -> u64 {
    it.price.unwrap_or(1) as u64 + it.bump
}

#[inline(never)]
fn quote(it: &Quote) -> u64 {
    match it.side {
        Side::Bid(price, side) => price as u64 + u64::from(side) + it.bump,
        Side::Ask => it.bump,
    }
}

#[inline(never)]
fn order(it: &Order) -> u64 {
    match it {
        Order::None => 0,
        Order::Stop { price } => *price as u64,
    }
}

#[inline(never)]
fn same(it: &Same) -> u64 {
    it.fee + it.padding + it.liquidity as u64
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
