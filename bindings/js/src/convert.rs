//! Values of JavaScript and of Rust.

use core::fmt::Display;

use napi::{Error, Result, bindgen_prelude::BigInt};
use solana_address::Address;

pub(crate) fn error(why: impl Display) -> Error {
    Error::from_reason(why.to_string())
}

pub(crate) fn address(bytes: &[u8]) -> Result<Address> {
    let array = <[u8; 32]>::try_from(bytes);
    array
        .map(Address::from)
        .map_err(|_| error(format!("an address has 32 bytes, not {}", bytes.len())))
}

/// Returns a number of 64 bits; `what` names it in the error.
pub(crate) fn u64_of(value: &BigInt, what: &str) -> Result<u64> {
    let (is_negative, number, is_lossless) = value.get_u64();
    if is_lossless && (!is_negative || number == 0) {
        Ok(number)
    } else {
        Err(error(format!("{what} must be between 0 and 2^64 - 1")))
    }
}

pub(crate) fn number(value: &BigInt, what: &str) -> Result<usize> {
    let number = u64_of(value, what)?;
    usize::try_from(number).map_err(|_| error(format!("{what} is too large for this machine")))
}
