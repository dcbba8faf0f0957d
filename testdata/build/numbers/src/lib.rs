//! Numbers that processors have and sBPF has not, as a compiler's own routines make them up.
//!
//! What it logs of the bytes that it is given has to be what the same source gives elsewhere.

use std::collections::HashMap;

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
    Ok(())
}
