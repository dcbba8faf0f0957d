//! Layouts of types, and what crates can ask of their target. Every value is that of the official toolchain's
//! targets: `sbf_base.rs` of anza-xyz/rust has the data layout `e-m:e-p:64:64-i64:64-n32:64-S128`, 32 bits for
//! the enums of C, and the names of architecture, system, vendor and family. What it does not compile to is
//! an error of the compiler.

#![no_std]

use core::{
    ffi::{c_char, c_int, c_long},
    mem::{align_of, offset_of, size_of},
    sync::atomic::AtomicUsize,
};

use bytemuck::{Pod, Zeroable};

/// Compares the size and the alignment of types.
macro_rules! sizes {
    ($($type:ty: $size:literal, $align:literal;)*) => {
        $(const _: () = assert!(size_of::<$type>() == $size && align_of::<$type>() == $align);)*
    };
}

/// Compares the offsets of a type's fields.
macro_rules! offsets {
    ($($type:ty: $($field:tt at $offset:literal),*;)*) => {
        $($(const _: () = assert!(offset_of!($type, $field) == $offset);)*)*
    };
}

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
    ticks: [i128; 3],
    last: u8,
}

#[repr(transparent)]
pub struct Fixed(i128);

#[repr(C)]
pub struct Price {
    bump: u32,
    value: Fixed,
    pair: (u128, u8),
}

#[repr(C, packed)]
pub struct Packed {
    bump: u8,
    value: u128,
}

#[repr(C, align(16))]
pub struct Aligned {
    bump: u8,
    value: u128,
}

#[repr(C)]
pub union Either {
    value: u128,
    bump: u8,
}

#[repr(C)]
pub enum Kind {
    First,
    Second,
}

#[repr(u8)]
pub enum Action {
    Stop,
    Swap(u128),
}

#[repr(C)]
pub enum Order {
    None,
    Limit { price: u128, side: u8 },
}

pub enum Choice {
    Some(u128),
    None,
}

/// What `Pod` is derived for has no padding.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Market {
    fee: u64,
    price: Number,
    ticks: [Tick; 2],
    last: i64,
}

#[repr(transparent)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Number(i128);

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub struct Tick {
    index: u64,
    liquidity: u128,
}

sizes! {
    bool: 1, 1; char: 4, 4;
    u8: 1, 1; u16: 2, 2; u32: 4, 4; u64: 8, 8; u128: 16, 8; usize: 8, 8;
    i8: 1, 1; i16: 2, 2; i32: 4, 4; i64: 8, 8; i128: 16, 8; isize: 8, 8;
    f32: 4, 4; f64: 8, 8;
    c_char: 1, 1; c_int: 4, 4; c_long: 8, 8;
    &u8: 8, 8; &[u8]: 16, 8; Option<&u8>: 8, 8; fn() -> u8: 8, 8; AtomicUsize: 8, 8;
    Option<u64>: 16, 8; Option<u128>: 24, 8; Option<bool>: 1, 1; Option<char>: 4, 4;
    (u8, u128): 24, 8; [u128; 3]: 48, 8; Option<[u128; 2]>: 40, 8;
    Pool: 32, 8; Nested: 96, 8; Fixed: 16, 8; Price: 48, 8; Packed: 17, 1; Aligned: 32, 16;
    Either: 16, 8; Kind: 4, 4; Action: 24, 8; Order: 32, 8; Choice: 24, 8;
    Market: 80, 8; Number: 16, 8; Tick: 24, 8; (u64, Number): 24, 8; Option<Tick>: 32, 8;
}

offsets! {
    Pool: fee at 0, liquidity at 8, bump at 24;
    Nested: bump at 0, pool at 8, ticks at 40, last at 88;
    Price: bump at 0, value at 8, pair at 24;
    Packed: bump at 0, value at 1;
    Aligned: bump at 0, value at 8;
    Market: fee at 0, price at 8, ticks at 24, last at 72;
    Tick: index at 0, liquidity at 8;
}

const _: () = assert!(c_char::MIN == -128, "characters of C are signed");
const _: () = assert!(cfg!(all(
    target_arch = "sbf",
    target_os = "solana",
    target_vendor = "solana",
    target_family = "solana",
    target_env = "",
    target_pointer_width = "64",
    target_endian = "little",
    target_has_atomic = "8",
    target_has_atomic = "64",
    target_has_atomic = "ptr",
    panic = "abort",
)));
const _: () = assert!(!cfg!(any(unix, windows, target_has_atomic = "128", debug_assertions)));

/// Takes a [`Pool`] as instruction data, without accounts, and succeeds with a liquidity of 2^64 + 7 and a
/// bump of 3; or a [`Market`], whose last price and last liquidity have to be 2^64 + 7 as well.
///
/// # Safety
///
/// `input` is the input region of a program without accounts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn entrypoint(input: *const u8) -> u64 {
    // SAFETY: the counts of accounts and of bytes come first.
    let (count, bytes) = unsafe { (*input.cast::<u64>(), *input.add(8).cast::<u64>()) };
    // SAFETY: as above.
    let data = unsafe { core::slice::from_raw_parts(input.add(16), bytes as usize) };
    if let Ok(market) = bytemuck::try_from_bytes::<Market>(data) {
        let is_large = |it: u128| it.wrapping_mul(3) == (3 << 64) + 21;
        let is_read = is_large(market.price.0 as u128) && is_large(market.ticks[1].liquidity);
        return u64::from(!is_read || market.last != 3);
    }
    // SAFETY: as above.
    let pool = unsafe { &*input.add(16).cast::<Pool>() };
    let is_read = count == 0 && pool.fee == 1 && pool.bump == 3;
    u64::from(!is_read || pool.liquidity.wrapping_mul(3) != (3 << 64) + 21)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
