//! The compute budget program (agave: `solana-compute-budget-interface`).

use solana_pubkey::Pubkey;
use solana_sdk_ids::compute_budget;

use crate::declare::instructions;

/// The address of the program.
pub const ID: Pubkey = compute_budget::ID;

instructions! {
    /// An instruction of the compute budget program, which requests a limit or a price for the whole
    /// transaction.
    for<'a> ComputeBudgetInstruction, u8 {
        1 => RequestHeapFrame [] { bytes: u32 }
        2 => SetComputeUnitLimit [] { units: u32 }
        // In millionths of a lamport per compute unit.
        3 => SetComputeUnitPrice [] { micro_lamports: u64 }
        4 => SetLoadedAccountsDataSizeLimit [] { bytes: u32 }
    }
}
