//! Uses the heap without the standard library: maps, boxes, strings, and a function with more
//! arguments than there are argument registers.
//!
//! Instruction data: any bytes. Logs how often each occurs, and sums over all of them.
#![no_std]

extern crate alloc;

use alloc::{boxed::Box, collections::BTreeMap, format, vec, vec::Vec};

use pinocchio::{AccountView, Address, ProgramResult, error::ProgramError};

#[cfg(target_os = "solana")]
mod program {
    pinocchio::program_entrypoint!(super::process);
    pinocchio::default_allocator!();
    pinocchio::nostd_panic_handler!();
}

/// A function from bytes to a number.
trait Measure {
    fn measure(&self, bytes: &[u8]) -> u128;
}

struct Sum;
struct Weighted(u128);

impl Measure for Sum {
    fn measure(&self, bytes: &[u8]) -> u128 {
        bytes.iter().map(|&it| u128::from(it)).sum()
    }
}

impl Measure for Weighted {
    fn measure(&self, bytes: &[u8]) -> u128 {
        let indexed = bytes.iter().zip(1_u128..);
        indexed.fold(0, |sum, (&it, index)| sum * self.0 + index * u128::from(it))
    }
}

/// Takes seven arguments, two of them on the stack.
#[inline(never)]
fn mix(a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64) -> u64 {
    a ^ b.rotate_left(7) ^ c.wrapping_mul(31) ^ (d << 3) ^ (e >> 1) ^ f.swap_bytes() ^ !g
}

/// Logs counts and sums of the data.
pub fn process(_: &Address, _: &mut [AccountView], data: &[u8]) -> ProgramResult {
    let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
    data.iter().for_each(|&it| *counts.entry(it).or_default() += 1);
    let text: Vec<_> = counts.iter().map(|(byte, count)| format!("{byte}: {count}")).collect();
    log(&text.join(", "));
    let measures: Vec<Box<dyn Measure>> = vec![Box::new(Sum), Box::new(Weighted(1_000_003))];
    for measure in &measures {
        let number = measure.measure(data);
        log(&format!("{number} = {} * 7 + {}", number / 7, number % 7));
    }
    let at = |index: usize| data.get(index).copied().map_or(0, u64::from);
    let mixed = mix(at(0), at(1), at(2), at(3), at(4), at(5), at(6));
    log(&format!("{mixed:#018x}"));
    if data.is_empty() { Err(ProgramError::InvalidInstructionData) } else { Ok(()) }
}

fn log(text: &str) {
    #[cfg(target_os = "solana")]
    // SAFETY: `text` is valid for its length.
    unsafe {
        solana_define_syscall::definitions::sol_log_(text.as_ptr(), text.len() as u64);
    }
    let _ = text;
}
