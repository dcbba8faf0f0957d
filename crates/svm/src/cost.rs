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
    pub units: u64,
    /// Bytes of heap that each program gets.
    pub heap_bytes: u32,
}

impl Default for ComputeBudget {
    /// What a transaction of one instruction gets.
    fn default() -> Self {
        Self { units: INSTRUCTION_UNITS_DEFAULT, heap_bytes: 32 * 1024 }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heap_is_charged_by_steps_after_the_first() {
        for (bytes, units) in [(0, 0), (32 * 1024, 0), (32 * 1024 + 1, 8), (256 * 1024, 56)] {
            assert_eq!(heap(bytes), units, "{bytes}");
        }
    }
}
