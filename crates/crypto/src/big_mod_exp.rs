//! Modular exponentiation of big numbers (SIMD-0529; agave: `solana-big-mod-exp`).

use num_bigint::BigUint;

/// The maximum length in bytes of each number.
pub const BYTES_MAX: usize = 512;

/// Returns `base` to the power of `exponent` modulo `modulus`, with the length of `modulus`. All
/// numbers are little-endian.
///
/// Returns `None` if a number has more than [`BYTES_MAX`] bytes, or if the modulus is even or 1.
#[must_use]
pub fn big_mod_exp(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Option<Vec<u8>> {
    if [base, exponent, modulus].iter().any(|number| number.len() > BYTES_MAX) {
        return None;
    }
    let len = modulus.len();
    let modulus = BigUint::from_bytes_le(modulus);
    if !modulus.bit(0) || modulus.bits() == 1 {
        return None;
    }
    let base = BigUint::from_bytes_le(base) % &modulus;
    let mut power = base.modpow(&BigUint::from_bytes_le(exponent), &modulus).to_bytes_le();
    power.resize(len, 0);
    Some(power)
}
