//! Modular exponentiation of big numbers (SIMD-0529).

use selkie_crypto::big_mod_exp::{BYTES_MAX, big_mod_exp};
use selkie_vm::SyscallError as Error;

use super::Call;
use crate::chain::{cost, error::SyscallError};

/// `sol_big_mod_exp`. The parameters are three slices: base, exponent, modulus. Of these, only the
/// exponent is read before everything is charged.
pub(super) fn power(
    call: &mut Call<'_, '_, '_>,
    [params, out, ..]: [u64; 5],
) -> Result<u64, Error> {
    let numbers: Vec<_> = call.memory.slices(params, 3)?.collect();
    if numbers.iter().any(|number| number.len > BYTES_MAX as u64) {
        return Err(SyscallError::InvalidLength.into());
    }
    let [base, exponent, modulus] = numbers[..] else { unreachable!("three slices were read") };
    let exponent_bytes = call.memory.bytes(exponent.addr, exponent.len)?;
    let compute_units = cost::big_mod_exp(base.len.max(modulus.len), exponent_bytes);
    call.charge(compute_units)?;
    let base = call.memory.bytes(base.addr, base.len)?;
    let modulus = call.memory.bytes(modulus.addr, modulus.len)?;
    let exponent = call.memory.bytes(exponent.addr, exponent.len)?;
    let power = big_mod_exp(base, exponent, modulus).ok_or(SyscallError::InvalidAttribute)?;
    call.write_result(out, Some(&power))
}
