//! What work costs, in compute units, and how much of it is allowed (agave: `execution_budget.rs`).

mod data;

use selkie_isa::layout::HEAP_BYTES_DEFAULT;

pub use self::data::{Amount, Case, Cost, Part, Rate, Series};

/// The cost of a syscall that does next to nothing.
pub const SYSCALL_BASE: u64 = 100;
/// The minimum cost of a memory operation.
pub const MEM_OP_BASE: u64 = 10;
/// Bytes that are copied or compared for one compute unit.
pub const BYTES_PER_COMPUTE_UNIT: u64 = 250;
/// The cost of a memory operation on `len` bytes.
pub const MEM_OP: Rate = Rate::new("len", BYTES_PER_COMPUTE_UNIT).at_least(MEM_OP_BASE);
/// The cost of `sol_log_`.
pub const LOG: Rate = Rate::new("len", 1).at_least(SYSCALL_BASE);
/// The cost of `sol_log_64_`.
pub const LOG_64: u64 = 100;
/// The cost of `sol_log_pubkey`.
pub const LOG_PUBKEY: u64 = 100;
/// The cost of each slice that `sol_log_data` logs.
pub const LOG_DATA_SLICE: u64 = SYSCALL_BASE;
/// The cost of each byte that `sol_log_data` logs.
pub const LOG_DATA_BYTE: u64 = 1;
/// The cost of one attempt at a program address.
pub const CREATE_PROGRAM_ADDRESS: u64 = 1500;
/// The cost of a hash over no slices.
pub const HASH_BASE: u64 = 85;
/// The cost of each slice that is hashed.
pub const HASH_SLICE: Rate = Rate::new("len", 2).at_least(MEM_OP_BASE);
/// The cost of a sysvar's getter, to which the size of the sysvar's C struct is added.
pub const SYSVAR_BASE: u64 = 100;
/// The cost of asking for the stake of the whole cluster.
pub const EPOCH_STAKE_CLUSTER: u64 = SYSCALL_BASE;
/// The cost of asking for the stake of a vote account, whose address is read from memory.
pub const EPOCH_STAKE_VOTE_ACCOUNT: u64 = SYSCALL_BASE + MEM_OP_BASE;
/// The cost of each 32 KiB of heap after the first.
pub const HEAP_STEP: u64 = 8;

/// The cost of a cross-program invocation, to which those of its data are added (SIMD-0339).
pub const INVOKE: u64 = 946;
/// The cost of an invocation's instruction data.
pub const INVOKE_DATA: Rate = Rate::new("instruction data", BYTES_PER_COMPUTE_UNIT);
/// The cost of the accounts of an invocation's instruction, of 34 bytes each.
pub const INVOKE_ACCOUNT_METAS: Rate = Rate::new("accounts", BYTES_PER_COMPUTE_UNIT).times(34);
/// The cost of an invocation's account infos, of 80 bytes each.
pub const INVOKE_ACCOUNT_INFOS: Rate = Rate::new("account infos", BYTES_PER_COMPUTE_UNIT).times(80);
/// The cost of the data of each account of an invocation.
pub const INVOKE_ACCOUNT_DATA: Rate = Rate::new("data", BYTES_PER_COMPUTE_UNIT);
/// The most bytes of instruction data of a cross-program invocation.
pub const CALL_DATA_BYTES_MAX: u64 = 10 * 1024;
/// The most account infos of a cross-program invocation (SIMD-0339).
pub const CALL_ACCOUNT_INFOS_MAX: u64 = 255;
/// The most addresses that a program signs for in a cross-program invocation.
pub const CALL_SIGNERS_MAX: usize = 16;

/// The cost of recovering a secp256k1 public key.
pub const SECP256K1_RECOVER: u64 = 25_000;

/// What operations on the points of a group cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupCosts {
    /// Checking a point.
    pub validate: u64,
    /// Adding two points.
    pub add: u64,
    /// Subtracting two points.
    pub subtract: u64,
    /// Multiplying a point by a scalar.
    pub multiply: u64,
}

/// Costs on the curve of Ed25519.
pub const EDWARDS: GroupCosts =
    GroupCosts { validate: 159, add: 473, subtract: 475, multiply: 2177 };
/// Costs in the group Ristretto.
pub const RISTRETTO: GroupCosts =
    GroupCosts { validate: 169, add: 521, subtract: 519, multiply: 2208 };
/// Costs in G1 of BLS12-381.
pub const BLS12_381_G1: GroupCosts =
    GroupCosts { validate: 1565, add: 128, subtract: 129, multiply: 4627 };
/// Costs in G2 of BLS12-381.
pub const BLS12_381_G2: GroupCosts =
    GroupCosts { validate: 1968, add: 203, subtract: 204, multiply: 8255 };
/// The cost of a multiscalar multiplication on the curve of Ed25519.
pub const EDWARDS_MULTISCALAR: Series = Series { of: "point", first: 2273, each: 758 };
/// The cost of a multiscalar multiplication in the group Ristretto.
pub const RISTRETTO_MULTISCALAR: Series = Series { of: "point", first: 2303, each: 788 };
/// The most points of a multiscalar multiplication.
pub const MULTISCALAR_POINTS_MAX: u64 = 512;
/// The cost of decompressing a point of G1 of BLS12-381.
pub const BLS12_381_G1_DECOMPRESS: u64 = 2100;
/// The cost of decompressing a point of G2 of BLS12-381.
pub const BLS12_381_G2_DECOMPRESS: u64 = 3050;
/// The cost of a pairing on BLS12-381.
pub const BLS12_381_PAIRING: Series = Series { of: "pair", first: 25_445, each: 13_023 };

/// The cost of adding two points of G1 of alt_bn128.
pub const ALT_BN128_G1_ADD: u64 = 334;
/// The cost of multiplying a point of G1 of alt_bn128.
pub const ALT_BN128_G1_MULTIPLY: u64 = 3840;
/// The cost of adding two points of G2 of alt_bn128.
pub const ALT_BN128_G2_ADD: u64 = 535;
/// The cost of multiplying a point of G2 of alt_bn128.
pub const ALT_BN128_G2_MULTIPLY: u64 = 15_670;
/// The cost of a pairing on alt_bn128: its pairs, and its input of `len` bytes and its output of 32
/// as if they were hashed.
pub const ALT_BN128_PAIRING: Amount = Amount {
    base: HASH_BASE + 32,
    rate: Some(Rate::new("len", 1)),
    series: Some(Series { of: "pair", first: 36_364, each: 12_121 }),
};
/// The cost of compressing a point of G1 of alt_bn128.
pub const ALT_BN128_G1_COMPRESS: u64 = SYSCALL_BASE + 30;
/// The cost of decompressing a point of G1 of alt_bn128.
pub const ALT_BN128_G1_DECOMPRESS: u64 = SYSCALL_BASE + 398;
/// The cost of compressing a point of G2 of alt_bn128.
pub const ALT_BN128_G2_COMPRESS: u64 = SYSCALL_BASE + 86;
/// The cost of decompressing a point of G2 of alt_bn128.
pub const ALT_BN128_G2_DECOMPRESS: u64 = SYSCALL_BASE + 13_610;

/// The cost of a modular exponentiation before its exponent is read; [`big_mod_exp`] is added.
pub const BIG_MOD_EXP_BASE: u64 = 422;
/// The fewest multiplications that a modular exponentiation is charged for.
pub const BIG_MOD_EXP_MULTIPLICATIONS_MIN: u64 = 75;
/// What the work of a modular exponentiation is divided by.
pub const BIG_MOD_EXP_DIVISOR: u64 = 189;
/// The cost of a Poseidon hash before its inputs; see [`poseidon`].
pub const POSEIDON_BASE: u64 = 542;
/// What the square of the number of inputs of a Poseidon hash is multiplied by; see [`poseidon`].
pub const POSEIDON_FACTOR: u64 = 61;

/// The most slices that one syscall hashes.
pub const HASH_SLICES_MAX: u64 = 20_000;
/// The most bytes of return data.
pub const RETURN_DATA_BYTES_MAX: u64 = 1024;
/// The most bytes of log messages; further lines are dropped.
pub const LOG_BYTES_MAX: usize = 10_000;
/// The most accounts of an instruction.
pub const INSTRUCTION_ACCOUNTS_MAX: usize = 255;
/// The highest stack height of an instruction; top-level instructions have 1.
pub const INSTRUCTION_DEPTH_MAX: usize = 5;
/// The highest stack height of an instruction with SIMD-0268.
pub const INSTRUCTION_DEPTH_MAX_RAISED: usize = 9;
/// The most instructions of a transaction, inner instructions included.
pub const INSTRUCTION_TRACE_MAX: usize = 64;
/// The most bytes of an account's data.
pub const ACCOUNT_BYTES_MAX: usize = 10 * 1024 * 1024;
/// The most bytes that an instruction may add to an account's data.
pub const ACCOUNT_GROWTH_MAX: usize = 10 * 1024;
/// The most bytes that a transaction may add to the data of all its accounts.
pub const TRANSACTION_GROWTH_MAX: i64 = 2 * 10 * 1024 * 1024;

/// The compute units per instruction of a transaction that requests no limit.
pub const INSTRUCTION_COMPUTE_UNITS_DEFAULT: u64 = 200_000;
/// The highest compute unit limit of a transaction.
pub const TRANSACTION_COMPUTE_UNITS_MAX: u64 = 1_400_000;

/// The compute units per builtin instruction of a transaction that requests no limit.
pub const BUILTIN_COMPUTE_UNITS_DEFAULT: u64 = 3_000;
/// The smallest heap that a transaction may request, and the heap of one that requests none.
pub const HEAP_BYTES_MIN: u32 = 32 * 1024;
/// The largest heap that a transaction may request.
pub const HEAP_BYTES_MAX: u32 = 256 * 1024;
/// The size of a heap is a multiple of this.
pub const HEAP_BYTES_STEP: u32 = 1024;
/// The most bytes of account data that a transaction may load.
pub const LOADED_BYTES_MAX: u32 = 64 * 1024 * 1024;
/// Bytes that each loaded account counts for besides its data (SIMD-0186).
pub const LOADED_ACCOUNT_BYTES: u32 = 64;
/// Bytes that each address lookup table counts for as loaded (SIMD-0186).
pub const LOADED_TABLE_BYTES: u32 = 8248;
/// The most accounts of a transaction.
pub const ACCOUNT_LOCKS_MAX: usize = 64;
/// The most accounts of a transaction with the feature that raises the limit.
pub const ACCOUNT_LOCKS_MAX_RAISED: usize = 128;
/// The most bytes of a legacy transaction and of one of version 0: what fits in a packet.
pub const PACKET_BYTES_MAX: usize = 1232;
/// The most bytes of a transaction of version 1 (SIMD-0385).
pub const V1_BYTES_MAX: usize = 4096;
/// The most addresses of a transaction of version 1.
pub const V1_ADDRESSES_MAX: usize = 64;
/// The most signatures of a transaction of version 1.
pub const V1_SIGNATURES_MAX: usize = 12;
/// The number of blockhashes that are valid: the current one and the 150 before.
pub const BLOCKHASHES_VALID: usize = 151;
/// The lamports that mainnet charges for a signature.
pub const LAMPORTS_PER_SIGNATURE: u64 = 5_000;

/// The compute units and heap that a transaction may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ComputeBudget {
    /// The compute unit limit.
    pub compute_unit_limit: u64,
    /// The bytes of heap of each program.
    pub heap_bytes: u32,
}

impl Default for ComputeBudget {
    /// The budget of a transaction of one instruction that requests nothing.
    fn default() -> Self {
        Self { compute_unit_limit: INSTRUCTION_COMPUTE_UNITS_DEFAULT, heap_bytes: 32 * 1024 }
    }
}

/// Returns the cost of a heap of `bytes` bytes.
#[inline]
#[must_use]
pub fn heap(bytes: u32) -> u64 {
    u64::from(bytes).div_ceil(HEAP_BYTES_DEFAULT).saturating_sub(1).saturating_mul(HEAP_STEP)
}

/// Returns the cost of a memory operation on `len` bytes.
#[inline]
#[must_use]
pub fn mem_op(len: u64) -> u64 {
    MEM_OP.compute_units(len)
}

/// Returns the cost of writing `len` bytes of return data and the address of their program.
#[inline]
#[must_use]
pub const fn return_data(len: u64) -> u64 {
    len.saturating_add(32) / BYTES_PER_COMPUTE_UNIT
}

/// Returns the cost of a Poseidon hash of `inputs` inputs.
#[inline]
#[must_use]
pub const fn poseidon(inputs: u64) -> u64 {
    inputs.saturating_mul(inputs).saturating_mul(POSEIDON_FACTOR).saturating_add(POSEIDON_BASE)
}

/// Returns what a modular exponentiation costs on top of [`BIG_MOD_EXP_BASE`], where the longer one
/// of base and modulus has `len` bytes (SIMD-0529).
///
/// It is the cost of a multiplication, times the bits of the exponent, of which at least 75 are
/// charged. Only the exponent 1 costs less.
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
    let multiplications =
        if is_one { 15 } else { exponent_bits(exponent).max(BIG_MOD_EXP_MULTIPLICATIONS_MIN) };
    multiplication.saturating_mul(multiplications).div_ceil(BIG_MOD_EXP_DIVISOR)
}

/// Returns the index of the highest bit that is set among the upper 32 bytes of a little-endian
/// number, or that of their lowest bit if none is set.
fn exponent_bits(exponent: &[u8]) -> u64 {
    let (lower, upper) = exponent.split_at(exponent.len().saturating_sub(32));
    let highest = (0u64..).zip(upper).filter(|(_, byte)| **byte != 0).last();
    let bits_below = |bytes: u64| bytes.saturating_mul(8);
    let highest = highest
        .map_or(0, |(index, byte)| bits_below(index).saturating_add(u64::from(byte.ilog2())));
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
    fn a_modular_exponentiation_costs_by_length_and_exponent() {
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
}
