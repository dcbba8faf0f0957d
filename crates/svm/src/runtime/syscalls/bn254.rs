//! The curve alt_bn128.
//!
//! An operation's number has bit 7 set for little-endian points (SIMD-0284). An operation that does
//! not exist, or whose feature is not active, ends the program; for invalid input r0 is 1.

use selkie_crypto::{Endianness, bn254};
use selkie_vm::SyscallError as Error;

use super::Call;
use crate::chain::{cost, error::SyscallError, features::Feature};

const LITTLE_ENDIAN: u64 = 0x80;

/// Returns the endianness that an operation's number asks for, and the number without its bit.
fn split(operation: u64) -> (Endianness, u64) {
    if operation & LITTLE_ENDIAN == 0 {
        (Endianness::Big, operation)
    } else {
        (Endianness::Little, operation & !LITTLE_ENDIAN)
    }
}

/// An operation: the bytes that it writes, its cost, and its function.
struct Operation {
    out_len: u64,
    compute_units: u64,
    run: Run,
}

type Run = fn(Endianness, &[u8]) -> Option<Vec<u8>>;

macro_rules! run {
    ($function:ident) => {
        |endianness, input| bn254::$function(endianness, input).map(|it| it.to_vec())
    };
}

const G1_BYTES: u64 = bn254::G1_BYTES as u64;
const G2_BYTES: u64 = bn254::G2_BYTES as u64;
const PAIR_BYTES: u64 = bn254::PAIR_BYTES as u64;
const PAIRING_BYTES: u64 = 32;

/// `sol_alt_bn128_group_op`.
pub(super) fn group_op(
    call: &mut Call<'_, '_, '_>,
    [operation, input, len, out, ..]: [u64; 5],
) -> Result<u64, Error> {
    let (endianness, number) = split(operation);
    let has = |feature| call.context.environment.features.has(feature);
    let is_little = endianness == Endianness::Little;
    let has_g1 = !is_little || has(Feature::AltBn128LittleEndian);
    let has_g2 = has(Feature::AltBn128G2);
    let operation = match number {
        0 if has_g1 => Operation {
            out_len: G1_BYTES,
            compute_units: cost::ALT_BN128_G1_ADD,
            run: run!(g1_add),
        },
        2 if has_g1 => Operation {
            out_len: G1_BYTES,
            compute_units: cost::ALT_BN128_G1_MULTIPLY,
            run: run!(g1_multiply),
        },
        3 if has_g1 => Operation {
            out_len: PAIRING_BYTES,
            compute_units: cost::ALT_BN128_PAIRING.compute_units(len, len / PAIR_BYTES),
            run: run!(pairing),
        },
        4 if has_g2 => Operation {
            out_len: G2_BYTES,
            compute_units: cost::ALT_BN128_G2_ADD,
            run: run!(g2_add),
        },
        6 if has_g2 => Operation {
            out_len: G2_BYTES,
            compute_units: cost::ALT_BN128_G2_MULTIPLY,
            run: run!(g2_multiply),
        },
        _ => return Err(SyscallError::InvalidAttribute.into()),
    };
    perform(call, &operation, endianness, input, len, out)
}

/// `sol_alt_bn128_compression`.
pub(super) fn compression(
    call: &mut Call<'_, '_, '_>,
    [operation, input, len, out, ..]: [u64; 5],
) -> Result<u64, Error> {
    let (endianness, number) = split(operation);
    let features = call.context.environment.features;
    if endianness == Endianness::Little && !features.has(Feature::AltBn128LittleEndian) {
        return Err(SyscallError::InvalidAttribute.into());
    }
    let (out_len, compute_units, run): (_, _, Run) = match number {
        0 => (G1_BYTES / 2, cost::ALT_BN128_G1_COMPRESS, run!(g1_compress)),
        1 => (G1_BYTES, cost::ALT_BN128_G1_DECOMPRESS, run!(g1_decompress)),
        2 => (G2_BYTES / 2, cost::ALT_BN128_G2_COMPRESS, run!(g2_compress)),
        3 => (G2_BYTES, cost::ALT_BN128_G2_DECOMPRESS, run!(g2_decompress)),
        _ => return Err(SyscallError::InvalidAttribute.into()),
    };
    perform(call, &Operation { out_len, compute_units, run }, endianness, input, len, out)
}

/// Charges, checks the output, reads the input and then computes, in this order.
fn perform(
    call: &mut Call<'_, '_, '_>,
    operation: &Operation,
    endianness: Endianness,
    input: u64,
    len: u64,
    out: u64,
) -> Result<u64, Error> {
    call.charge(operation.compute_units)?;
    call.memory.check_output(call.context, out, operation.out_len)?;
    let result = (operation.run)(endianness, call.memory.bytes(input, len)?);
    call.write_result(out, result.as_deref())
}
