//! Numbers that processors have and sBPF has not, as a compiler's own routines make them up.
//!
//! What it logs of the bytes that it is given has to be what the same source gives elsewhere.

use std::{
    collections::HashMap,
    io::{self, Read as _},
    sync::atomic::{AtomicBool, AtomicI16, AtomicPtr, AtomicU8, AtomicU64, Ordering},
};

use solana_account_info::AccountInfo;
use solana_msg::msg;
use solana_program_entrypoint::entrypoint;
use solana_program_error::ProgramResult;
use solana_pubkey::Pubkey;

entrypoint!(process);

fn process(_: &Pubkey, _: &[AccountInfo], data: &[u8]) -> ProgramResult {
    let sum = data.iter().fold(1.5_f64, |sum, &it| sum * 1.25 + f64::from(it) / 3.0);
    msg!("float {} {} {}", sum, sum as i64 % -7, (sum * 1e9) as u64);

    let factors = data.iter().map(|&it| i128::from(it) + 1_000_000_007);
    let product = factors.fold(-3_i128, |product, it| product.checked_mul(it).unwrap_or(-1));
    msg!("signed {} {:?} {}", product, product.checked_mul(product), product / 1_000_003);
    msg!("rest {} {}", product % 1_000_003, product >> 17);

    let bytes = data.iter().map(|&it| u64::from(it));
    let total: u64 = bytes.sum();
    msg!("checked {:?} {:?}", total.checked_mul(u64::MAX / 100), total.checked_mul(u64::MAX / 3));

    let mut counts = HashMap::new();
    data.iter().for_each(|it| *counts.entry(it).or_insert(0_u32) += 1);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(byte, count)| (count, byte));
    msg!("counts {:?}", counts);

    wide(data);
    atomics(data);
    errors(data);
    randomness();
    Ok(())
}

/// Conversions between 128-bit integers and floats, and shifts by a number that is not constant.
fn wide(data: &[u8]) {
    let number = data.iter().fold(-7_i128, |number, &it| number * 1_000_003_007 - i128::from(it));
    let float = number as f64;
    msg!("wide {} {} {}", float, number as f32, number.unsigned_abs() as f64);
    msg!("whole {} {}", (float * 1e9) as i128, (-float / 7.0) as u128);
    let shift = u32::from(data[0]) * 9;
    msg!("shift {} {}", number << shift, number.unsigned_abs() >> shift);
}

/// Statics in which every kind of atomic access leaves something.
fn atomics(data: &[u8]) {
    static SEEN: AtomicBool = AtomicBool::new(false);
    static BYTE: AtomicU8 = AtomicU8::new(0);
    static SMALL: AtomicI16 = AtomicI16::new(0);
    static LARGE: AtomicU64 = AtomicU64::new(0);
    static PLACE: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    let before: Vec<bool> = data.iter().map(|_| SEEN.swap(true, Ordering::Relaxed)).collect();
    for &it in data {
        BYTE.fetch_add(it.wrapping_mul(77), Ordering::SeqCst);
        SMALL.fetch_min(-i16::from(it), Ordering::AcqRel);
        SMALL.fetch_xor(0x100, Ordering::Release);
        let _ = LARGE.compare_exchange(
            u64::from(it) - 3,
            u64::MAX / 3,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        LARGE.fetch_nand(u64::from(it), Ordering::SeqCst);
    }
    PLACE.store(&raw const data[1] as *mut u8, Ordering::Release);
    let second = PLACE.load(Ordering::Acquire).addr() - data.as_ptr().addr();
    let (byte, small, large) =
        (BYTE.load(Ordering::Relaxed), &SMALL, LARGE.load(Ordering::Relaxed));
    msg!("atomic {:?} {} {} {:x} {}", before, byte, small.load(Ordering::Acquire), large, second);
}

/// Errors of input and output.
fn errors(mut data: &[u8]) {
    let mut bytes = [0; 4];
    let error = data.read_exact(&mut bytes).expect_err("there are fewer bytes");
    let system = io::Error::from_raw_os_error(2);
    msg!("io {} {:?} {:?}", error, error.kind(), system.raw_os_error());
}

/// Random numbers, which a program has to do without.
fn randomness() {
    let (mut older, mut newer) = ([0; 8], [0; 8]);
    msg!("older {:?}", getrandom_02::getrandom(&mut older).map_err(|error| error.code()));
    msg!("newer {:?}", getrandom_03::fill(&mut newer).is_err());
}
