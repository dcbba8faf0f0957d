//! What a transaction asks to be allowed, and what it pays for that.
//!
//! Instructions of the compute budget program are read before anything is run (agave:
//! `solana-compute-budget-instruction`); transactions of version 1 say it in their message.

use solana_instruction_error::InstructionError;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{
    bpf_loader, bpf_loader_deprecated, bpf_loader_upgradeable, compute_budget, ed25519_program,
    loader_v4, secp256k1_program, secp256r1_program, system_program, vote,
};
use solana_transaction_error::TransactionError;

use crate::chain::{
    transaction::is_heap,
    {
        account::is_same,
        cost::{
            BUILTIN_UNITS_DEFAULT, ComputeBudget, HEAP_BYTES_MIN, INSTRUCTION_UNITS_DEFAULT,
            LOADED_BYTES_MAX, TRANSACTION_UNITS_MAX,
        },
        features::{Feature, FeatureSet},
        transaction::Transaction,
    },
};

/// What a transaction may use, and what that costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionBudget {
    /// What its instructions may use.
    pub compute: ComputeBudget,
    /// How many bytes its accounts may have together.
    pub loaded_bytes_max: u32,
    /// What it pays.
    pub fee: Fee,
}

/// What a transaction pays, in lamports.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fee {
    /// For its signatures, and those that its precompiles verify.
    pub signatures: u64,
    /// To be preferred.
    pub priority: u64,
}

impl Fee {
    /// All of it.
    #[must_use]
    pub fn total(self) -> u64 {
        self.signatures.saturating_add(self.priority)
    }
}

/// What the instructions for the compute budget program ask for.
///
/// They are read before anything else is looked at, and judged later.
#[derive(Clone, Copy, Default, Debug)]
pub struct Requests {
    heap_bytes: Option<(u8, u32)>,
    units: Option<u32>,
    price: Option<u64>,
    loaded_bytes: Option<u32>,
}

impl TransactionBudget {
    /// What a transaction asks for, at a price per signature.
    ///
    /// # Errors
    /// The first request that is out of range.
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
            let units = u64::from(config.compute_unit_limit.unwrap_or(0));
            let loaded_bytes = config.loaded_accounts_data_size_limit.unwrap_or(0);
            return Ok(Self {
                compute: ComputeBudget {
                    compute_unit_limit: units.min(TRANSACTION_UNITS_MAX),
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
        let units = requests.units.map_or_else(|| default_units(transaction, features), u64::from);
        let units = units.min(TRANSACTION_UNITS_MAX);
        let loaded_bytes = requests.loaded_bytes.unwrap_or(LOADED_BYTES_MAX);
        if loaded_bytes == 0 {
            return Err(TransactionError::InvalidLoadedAccountsDataSizeLimit);
        }
        let priority = priority(requests.price.unwrap_or(0), units);
        Ok(Self {
            compute: ComputeBudget { compute_unit_limit: units, heap_bytes },
            loaded_bytes_max: loaded_bytes.min(LOADED_BYTES_MAX),
            fee: Fee { signatures, priority },
        })
    }
}

impl Requests {
    /// Reads a transaction's requests, where there are none yet. One of version 1 has them in its
    /// message instead.
    ///
    /// # Errors
    /// The first request that is malformed, unknown or repeated.
    #[inline]
    pub fn read(&mut self, transaction: &Transaction) -> Result<(), TransactionError> {
        if matches!(transaction.message(), VersionedMessage::V1(_)) {
            return Ok(());
        }
        for (index, instruction) in (0_u8..).zip(transaction.instructions()) {
            if is_same(transaction.program_key(instruction), &compute_budget::ID) {
                self.take(index, &instruction.data)?;
            }
        }
        Ok(())
    }

    /// Takes one request. Bytes behind it are allowed.
    fn take(&mut self, index: u8, data: &[u8]) -> Result<(), TransactionError> {
        let short = || data.get(1..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
        let long = || data.get(1..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let error = InstructionError::InvalidInstructionData;
        let malformed = || TransactionError::InstructionError(index, error.clone());
        let repeated = match data.first() {
            Some(1) => {
                let bytes = short().ok_or_else(malformed)?;
                self.heap_bytes.replace((index, bytes)).is_some()
            }
            Some(2) => self.units.replace(short().ok_or_else(malformed)?).is_some(),
            Some(3) => self.price.replace(long().ok_or_else(malformed)?).is_some(),
            Some(4) => self.loaded_bytes.replace(short().ok_or_else(malformed)?).is_some(),
            _ => return Err(malformed()),
        };
        if repeated { Err(TransactionError::DuplicateInstruction(index)) } else { Ok(()) }
    }
}

/// What a price in millionths of a lamport per unit comes to, rounded up.
fn priority(price: u64, units: u64) -> u64 {
    let micro = u128::from(price).saturating_mul(u128::from(units));
    u64::try_from(micro.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The units of a transaction that asks for none: by instruction, fewer for builtin programs.
fn default_units(transaction: &Transaction, features: FeatureSet) -> u64 {
    let instructions = transaction.instructions().iter();
    instructions
        .map(|instruction| {
            let is_builtin = is_builtin(transaction.program_key(instruction), features);
            if is_builtin { BUILTIN_UNITS_DEFAULT } else { INSTRUCTION_UNITS_DEFAULT }
        })
        .sum()
}

/// The programs that count as builtin here: those that were when the rule was made.
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

/// How many signatures are paid for: the transaction's, and as many as each precompile's first
/// byte says.
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
