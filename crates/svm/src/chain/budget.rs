//! The limits that a transaction requests, and its fee.
//!
//! Legacy transactions and those of version 0 request limits by instructions of the compute budget
//! program, which are read before any instruction is executed (agave:
//! `solana-compute-budget-instruction`); transactions of version 1 have them in their message.

use selkie_layout::compute_budget::ComputeBudgetInstruction;
use solana_instruction_error::InstructionError;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{
    bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, compute_budget, ed25519_program,
    loader_v4, secp256k1_program, secp256r1_program, system_program, vote,
};
use solana_transaction_error::TransactionError;

use crate::chain::{
    account::is_same,
    cost::{
        BUILTIN_COMPUTE_UNITS_DEFAULT, ComputeBudget, HEAP_BYTES_MIN,
        INSTRUCTION_COMPUTE_UNITS_DEFAULT, LOADED_BYTES_MAX, TRANSACTION_COMPUTE_UNITS_MAX,
    },
    features::{Feature, FeatureSet},
    transaction::{Transaction, is_heap},
};

/// A transaction's limits and fee.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionBudget {
    /// The compute unit limit and the heap size.
    pub compute: ComputeBudget,
    /// The limit of the total size of its loaded accounts, in bytes.
    pub loaded_bytes_max: u32,
    /// The fee.
    pub fee: Fee,
}

/// The fee of a transaction, in lamports.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fee {
    /// The fee for its signatures and those that its precompiles verify.
    pub signatures: u64,
    /// The priority fee.
    pub priority: u64,
}

impl Fee {
    /// Returns the sum.
    #[must_use]
    pub fn total(self) -> u64 {
        self.signatures.saturating_add(self.priority)
    }
}

/// The requests of a transaction's compute budget instructions.
///
/// They are parsed before all other checks of the transaction; their values are checked later.
#[derive(Clone, Copy, Default, Debug)]
pub struct Requests {
    /// The index of the instruction, and the bytes.
    heap_bytes: Option<(u8, u32)>,
    compute_units: Option<u32>,
    /// In millionths of a lamport per compute unit.
    price: Option<u64>,
    loaded_bytes: Option<u32>,
}

impl TransactionBudget {
    /// Computes a transaction's budget from its requests.
    ///
    /// # Errors
    /// [`TransactionError::InstructionError`] or [`TransactionError::SanitizeFailure`] for a heap size
    /// out of range, [`TransactionError::InvalidLoadedAccountsDataSizeLimit`] for a limit of 0.
    #[inline]
    pub fn of(
        transaction: &Transaction,
        requests: &Requests,
        features: FeatureSet,
        lamports_per_signature: u64,
    ) -> Result<Self, TransactionError> {
        let signatures = signatures(transaction).saturating_mul(lamports_per_signature);
        if let VersionedMessage::V1(message) = transaction.message() {
            let config = &message.config;
            let heap_bytes = config.heap_size.unwrap_or(HEAP_BYTES_MIN);
            if !is_heap(heap_bytes) {
                return Err(TransactionError::SanitizeFailure);
            }
            let compute_units = u64::from(config.compute_unit_limit.unwrap_or(0));
            let loaded_bytes = config.loaded_accounts_data_size_limit.unwrap_or(0);
            return Ok(Self {
                compute: ComputeBudget {
                    compute_unit_limit: compute_units.min(TRANSACTION_COMPUTE_UNITS_MAX),
                    heap_bytes,
                },
                loaded_bytes_max: loaded_bytes.min(LOADED_BYTES_MAX),
                fee: Fee { signatures, priority: config.priority_fee.unwrap_or(0) },
            });
        }
        let heap_bytes = match requests.heap_bytes {
            Some((_, bytes)) if is_heap(bytes) => bytes,
            Some((index, _)) => {
                let error = InstructionError::InvalidInstructionData;
                return Err(TransactionError::InstructionError(index, error));
            }
            None => HEAP_BYTES_MIN,
        };
        let requested = requests.compute_units.map(u64::from);
        let limit = requested.unwrap_or_else(|| default_compute_units(transaction, features));
        let compute_unit_limit = limit.min(TRANSACTION_COMPUTE_UNITS_MAX);
        let loaded_bytes = requests.loaded_bytes.unwrap_or(LOADED_BYTES_MAX);
        if loaded_bytes == 0 {
            return Err(TransactionError::InvalidLoadedAccountsDataSizeLimit);
        }
        let priority = priority_fee(requests.price.unwrap_or(0), compute_unit_limit);
        Ok(Self {
            compute: ComputeBudget { compute_unit_limit, heap_bytes },
            loaded_bytes_max: loaded_bytes.min(LOADED_BYTES_MAX),
            fee: Fee { signatures, priority },
        })
    }
}

impl Requests {
    /// Reads a transaction's compute budget instructions into empty requests. Transactions of version 1
    /// have none: their limits are part of the message.
    ///
    /// # Errors
    /// [`InstructionError::InvalidInstructionData`] for the first request that is malformed or unknown,
    /// [`TransactionError::DuplicateInstruction`] for the first that is repeated.
    #[inline]
    pub fn read(&mut self, transaction: &Transaction) -> Result<(), TransactionError> {
        if matches!(transaction.message(), VersionedMessage::V1(_)) {
            return Ok(());
        }
        for (index, instruction) in (0_u8..).zip(transaction.instructions()) {
            if is_same(transaction.program_key(instruction), &compute_budget::ID) {
                self.add(index, &instruction.data)?;
            }
        }
        Ok(())
    }

    /// Adds the request of one instruction. Trailing bytes are allowed.
    fn add(&mut self, index: u8, data: &[u8]) -> Result<(), TransactionError> {
        let malformed =
            || TransactionError::InstructionError(index, InstructionError::InvalidInstructionData);
        let repeated = match ComputeBudgetInstruction::read(data).map_err(|_| malformed())? {
            ComputeBudgetInstruction::RequestHeapFrame { bytes } => {
                self.heap_bytes.replace((index, bytes)).is_some()
            }
            ComputeBudgetInstruction::SetComputeUnitLimit { units } => {
                self.compute_units.replace(units).is_some()
            }
            ComputeBudgetInstruction::SetComputeUnitPrice { micro_lamports } => {
                self.price.replace(micro_lamports).is_some()
            }
            ComputeBudgetInstruction::SetLoadedAccountsDataSizeLimit { bytes } => {
                self.loaded_bytes.replace(bytes).is_some()
            }
        };
        if repeated { Err(TransactionError::DuplicateInstruction(index)) } else { Ok(()) }
    }
}

/// Returns the priority fee in lamports, rounded up, for a price in millionths of a lamport per compute
/// unit.
fn priority_fee(price: u64, compute_units: u64) -> u64 {
    let micro = u128::from(price).saturating_mul(u128::from(compute_units));
    u64::try_from(micro.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Returns the compute unit limit of a transaction that requests none: a sum over its instructions,
/// with less for builtin programs (SIMD-0170).
fn default_compute_units(transaction: &Transaction, features: FeatureSet) -> u64 {
    let instructions = transaction.instructions().iter();
    instructions
        .map(|instruction| {
            let is_builtin = is_builtin(transaction.program_key(instruction), features);
            if is_builtin {
                BUILTIN_COMPUTE_UNITS_DEFAULT
            } else {
                INSTRUCTION_COMPUTE_UNITS_DEFAULT
            }
        })
        .sum()
}

/// Returns whether a program counts as builtin for the default limit, which is fixed by the protocol.
fn is_builtin(id: &Pubkey, features: FeatureSet) -> bool {
    const BUILTINS: [Pubkey; 8] = [
        system_program::ID,
        compute_budget::ID,
        bpf_loader_upgradeable::ID,
        bpf_loader_deprecated::ID,
        bpf_loader::ID,
        loader_v4::ID,
        secp256k1_program::ID,
        ed25519_program::ID,
    ];
    BUILTINS.iter().any(|builtin| is_same(builtin, id))
        || is_same(id, &vote::ID) && !features.has(Feature::BlsPubkeyManagementInVoteAccount)
}

/// Returns the number of signatures that are paid for: the transaction's, and for each instruction of a
/// precompile the number in the first byte of its data.
fn signatures(transaction: &Transaction) -> u64 {
    const PRECOMPILES: [Pubkey; 3] =
        [ed25519_program::ID, secp256k1_program::ID, secp256r1_program::ID];
    let verified = transaction.instructions().iter().map(|instruction| {
        let program = transaction.program_key(instruction);
        let is_precompile = PRECOMPILES.iter().any(|it| is_same(it, program));
        let count = instruction.data.first().filter(|_| is_precompile);
        count.copied().map_or(0, u64::from)
    });
    (transaction.signers() as u64).saturating_add(verified.sum())
}
