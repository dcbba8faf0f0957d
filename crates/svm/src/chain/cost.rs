//! What work costs, in compute units, and how much of it is allowed (agave: `execution_budget.rs`).

use selkie_isa::layout::HEAP_BYTES_DEFAULT;

/// The price of a syscall that does next to nothing.
pub const SYSCALL_BASE: u64 = 100;
/// The least that touching memory costs.
pub const MEM_OP_BASE: u64 = 10;
/// Bytes that are copied or compared for one unit.
pub const BYTES_PER_UNIT: u64 = 250;
/// The price of `sol_log_64_`.
pub const LOG_64: u64 = 100;
/// The price of `sol_log_pubkey`.
pub const LOG_PUBKEY: u64 = 100;
/// The price of one attempt at a program address.
pub const CREATE_PROGRAM_ADDRESS: u64 = 1500;
/// The price of a hash of nothing.
pub const HASH_BASE: u64 = 85;
/// What each byte of a sysvar comes on top of.
pub const SYSVAR_BASE: u64 = 100;
/// What each 32 KiB of heap after the first cost.
pub const HEAP_STEP: u64 = 8;

/// The price of calling another program (SIMD-0339).
pub const INVOKE: u64 = 946;
/// The most bytes of data of a call.
pub const CALL_DATA_BYTES_MAX: u64 = 10 * 1024;
/// The most account infos of a call (SIMD-0339).
pub const CALL_ACCOUNT_INFOS_MAX: u64 = 255;
/// The most addresses that a program signs for in a call.
pub const CALL_SIGNERS_MAX: usize = 16;

/// The price of recovering a key.
pub const SECP256K1_RECOVER: u64 = 25_000;

/// What operations on the points of a group cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupPrices {
    /// Checking a point.
    pub validate: u64,
    /// The sum of two points.
    pub add: u64,
    /// The difference of two points.
    pub subtract: u64,
    /// A point taken as often as a scalar says.
    pub multiply: u64,
}

/// What is charged for the first of many, and for each one after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SeriesPrices {
    /// For the first, and for none.
    pub first: u64,
    /// For each one after it.
    pub other: u64,
}

impl SeriesPrices {
    /// The price of so many.
    #[must_use]
    pub const fn units(self, count: u64) -> u64 {
        self.first.saturating_add(self.other.saturating_mul(count.saturating_sub(1)))
    }
}

/// Prices on the curve of Ed25519.
pub const EDWARDS: GroupPrices =
    GroupPrices { validate: 159, add: 473, subtract: 475, multiply: 2177 };
/// Prices in the group Ristretto.
pub const RISTRETTO: GroupPrices =
    GroupPrices { validate: 169, add: 521, subtract: 519, multiply: 2208 };
/// Prices in G1 of BLS12-381.
pub const BLS12_381_G1: GroupPrices =
    GroupPrices { validate: 1565, add: 128, subtract: 129, multiply: 4627 };
/// Prices in G2 of BLS12-381.
pub const BLS12_381_G2: GroupPrices =
    GroupPrices { validate: 1968, add: 203, subtract: 204, multiply: 8255 };
/// The price of a sum of multiples on the curve of Ed25519.
pub const EDWARDS_MULTISCALAR: SeriesPrices = SeriesPrices { first: 2273, other: 758 };
/// The price of a sum of multiples in the group Ristretto.
pub const RISTRETTO_MULTISCALAR: SeriesPrices = SeriesPrices { first: 2303, other: 788 };
/// The most points of such a sum.
pub const MULTISCALAR_POINTS_MAX: u64 = 512;
/// The price of decompressing a point of G1 of BLS12-381.
pub const BLS12_381_G1_DECOMPRESS: u64 = 2100;
/// The price of decompressing a point of G2 of BLS12-381.
pub const BLS12_381_G2_DECOMPRESS: u64 = 3050;
/// The price of a pairing on BLS12-381.
pub const BLS12_381_PAIRING: SeriesPrices = SeriesPrices { first: 25_445, other: 13_023 };

/// The price of a sum in G1 of alt_bn128.
pub const ALT_BN128_G1_ADD: u64 = 334;
/// The price of a multiple in G1 of alt_bn128.
pub const ALT_BN128_G1_MULTIPLY: u64 = 3840;
/// The price of a sum in G2 of alt_bn128.
pub const ALT_BN128_G2_ADD: u64 = 535;
/// The price of a multiple in G2 of alt_bn128.
pub const ALT_BN128_G2_MULTIPLY: u64 = 15_670;
/// The price of a pairing on alt_bn128, its input and output apart.
pub const ALT_BN128_PAIRING: SeriesPrices = SeriesPrices { first: 36_364, other: 12_121 };
/// The price of compressing a point of G1 of alt_bn128, on top of the syscall's.
pub const ALT_BN128_G1_COMPRESS: u64 = 30;
/// The price of decompressing a point of G1 of alt_bn128, on top of the syscall's.
pub const ALT_BN128_G1_DECOMPRESS: u64 = 398;
/// The price of compressing a point of G2 of alt_bn128, on top of the syscall's.
pub const ALT_BN128_G2_COMPRESS: u64 = 86;
/// The price of decompressing a point of G2 of alt_bn128, on top of the syscall's.
pub const ALT_BN128_G2_DECOMPRESS: u64 = 13_610;

/// The price of a power of big numbers before they are looked at.
pub const BIG_MOD_EXP_BASE: u64 = 422;

/// The most slices that are hashed at once.
pub const HASH_SLICES_MAX: u64 = 20_000;
/// The most bytes that a program may return.
pub const RETURN_DATA_BYTES_MAX: u64 = 1024;
/// Bytes of log after which lines are dropped.
pub const LOG_BYTES_MAX: usize = 10_000;
/// The most accounts of an instruction.
pub const INSTRUCTION_ACCOUNTS_MAX: usize = 255;
/// The deepest nesting of instructions, the outermost counted.
pub const INSTRUCTION_DEPTH_MAX: usize = 5;
/// The same with SIMD-0268.
pub const INSTRUCTION_DEPTH_MAX_RAISED: usize = 9;
/// The most instructions of a transaction, nested ones counted.
pub const INSTRUCTION_TRACE_MAX: usize = 64;
/// The most bytes of an account's data.
pub const ACCOUNT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// How far an instruction may let an account grow.
pub const ACCOUNT_GROWTH_MAX: usize = 10 * 1024;
/// How far a transaction may let all of its accounts grow together.
pub const TRANSACTION_GROWTH_MAX: i64 = 2 * 10 * 1024 * 1024;

/// The compute units that an instruction gets unless the transaction asks for others.
pub const INSTRUCTION_UNITS_DEFAULT: u64 = 200_000;
/// The most compute units that a transaction may ask for.
pub const TRANSACTION_UNITS_MAX: u64 = 1_400_000;

/// The compute units that an instruction of a builtin program gets.
pub const BUILTIN_UNITS_DEFAULT: u64 = 3_000;
/// The least heap that a transaction may ask for, and what it gets if it asks for none.
pub const HEAP_BYTES_MIN: u32 = 32 * 1024;
/// The most heap that a transaction may ask for.
pub const HEAP_BYTES_MAX: u32 = 256 * 1024;
/// What heaps are a multiple of.
pub const HEAP_BYTES_STEP: u32 = 1024;
/// The most bytes that the accounts of a transaction may have together.
pub const LOADED_BYTES_MAX: u32 = 64 * 1024 * 1024;
/// What an account counts for besides its data (SIMD-0186).
pub const LOADED_ACCOUNT_BYTES: u32 = 64;
/// What an address lookup table counts for (SIMD-0186).
pub const LOADED_TABLE_BYTES: u32 = 8248;
/// The most accounts of a transaction.
pub const ACCOUNT_LOCKS_MAX: usize = 64;
/// The same with the feature that raises it.
pub const ACCOUNT_LOCKS_MAX_RAISED: usize = 128;
/// The most bytes of a transaction of version 0, or without one: what fits in a packet.
pub const PACKET_BYTES_MAX: usize = 1232;
/// The most bytes of a transaction of version 1 (SIMD-0385).
pub const V1_BYTES_MAX: usize = 4096;
/// The most addresses of a transaction of version 1.
pub const V1_ADDRESSES_MAX: usize = 64;
/// The most signatures of a transaction of version 1.
pub const V1_SIGNATURES_MAX: usize = 12;
/// How many blockhashes a transaction may refer to: the current one and 150 before.
pub const BLOCKHASHES_VALID: usize = 151;
/// What mainnet charges for a signature.
pub const LAMPORTS_PER_SIGNATURE: u64 = 5_000;

/// How much a transaction may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ComputeBudget {
    /// Compute units.
    pub compute_unit_limit: u64,
    /// Bytes of heap that each program gets.
    pub heap_bytes: u32,
}

impl Default for ComputeBudget {
    /// What a transaction of one instruction gets.
    fn default() -> Self {
        Self { compute_unit_limit: INSTRUCTION_UNITS_DEFAULT, heap_bytes: 32 * 1024 }
    }
}

/// The price of a heap.
#[must_use]
pub fn heap(bytes: u32) -> u64 {
    u64::from(bytes).div_ceil(HEAP_BYTES_DEFAULT).saturating_sub(1).saturating_mul(HEAP_STEP)
}

/// The price of touching `len` bytes.
#[must_use]
pub fn mem_op(len: u64) -> u64 {
    MEM_OP_BASE.max(len / BYTES_PER_UNIT)
}

/// The price of a Poseidon hash of so many inputs.
#[must_use]
pub const fn poseidon(inputs: u64) -> u64 {
    inputs.saturating_mul(inputs).saturating_mul(61).saturating_add(542)
}

/// The price of a power, where the longer one of base and modulus has `len` bytes (SIMD-0529).
///
/// It is what a multiplication is taken to cost, times the bits of the exponent, but for at least
/// 75 of them; only the power of one is cheaper.
#[must_use]
pub fn big_mod_exp(len: u64, exponent: &[u8]) -> u64 {
    let square = len.saturating_mul(len);
    let multiplication = if len <= 64 {
        square
    } else {
        (square / 4).saturating_add(len.saturating_mul(96)).saturating_sub(3072)
    };
    let is_one = exponent
        .split_first()
        .is_some_and(|(first, rest)| *first == 1 && rest.iter().all(|byte| *byte == 0));
    let multiplications = if is_one { 15 } else { exponent_bits(exponent).max(75) };
    multiplication.saturating_mul(multiplications).div_ceil(189)
}

/// The place of the highest bit among the upper 32 bytes, or of their lowest if there is none.
fn exponent_bits(exponent: &[u8]) -> u64 {
    let (lower, upper) = exponent.split_at(exponent.len().saturating_sub(32));
    let highest = (0u64..).zip(upper).filter(|(_, byte)| **byte != 0).last();
    let bits_below = |bytes: u64| bytes.saturating_mul(8);
    let highest = highest
        .map_or(0, |(place, byte)| bits_below(place).saturating_add(u64::from(byte.ilog2())));
    bits_below(lower.len() as u64).saturating_add(highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_is_charged_by_steps_after_the_first() {
        for (bytes, units) in [(0, 0), (32 * 1024, 0), (32 * 1024 + 1, 8), (256 * 1024, 56)] {
            assert_eq!(heap(bytes), units, "{bytes}");
        }
    }

    #[test]
    fn powers_cost_by_length_and_exponent() {
        for (len, exponent, units) in [
            (0, &[][..], 0),
            (32, &[1], 1024 * 15 / 189 + 1),
            (32, &[1, 0, 0], 1024 * 15 / 189 + 1),
            (32, &[0], 1024 * 75 / 189 + 1),
            (64, &[0xff; 32], (4096 * 255u64).div_ceil(189)),
            (65, &[3], ((4225 / 4 + 96 * 65 - 3072) * 75u64).div_ceil(189)),
            (512, &[0xff; 512], ((65_536 + 96 * 512 - 3072) * 4095u64).div_ceil(189)),
            (1, &[&[0xff; 32][..], &[0; 32]].concat(), 256u64.div_ceil(189)),
        ] {
            assert_eq!(big_mod_exp(len, exponent), units, "{len} {exponent:?}");
        }
    }

    #[test]
    fn series_cost_by_number() {
        let prices = SeriesPrices { first: 10, other: 3 };
        for (count, units) in [(0, 10), (1, 10), (3, 16), (u64::MAX, u64::MAX)] {
            assert_eq!(prices.units(count), units, "{count}");
        }
    }
}
