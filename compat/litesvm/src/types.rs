//! The results of transactions.

use selkie_convert::{Address, InstructionError};
use solana_account::AccountSharedData;
use solana_message::inner_instruction::InnerInstructionsList;
use solana_program_error::ProgramError;
use solana_signature::Signature;
use solana_transaction_error::TransactionError;

use crate::format_logs::format_logs;

/// What a processed transaction did.
#[derive(Debug, Default, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TransactionMetadata {
    /// Its first signature.
    #[cfg_attr(feature = "serde", serde(with = "signature_text"))]
    pub signature: Signature,
    /// The log lines.
    pub logs: Vec<String>,
    /// The inner instructions of each top-level instruction.
    pub inner_instructions: InnerInstructionsList,
    /// The compute units that it used.
    pub compute_units_consumed: u64,
    /// The data that was returned last.
    pub return_data: TransactionReturnData,
    /// The fee in lamports.
    pub fee: u64,
    #[cfg_attr(feature = "serde", serde(default))]
    /// The total size of the accounts that it loaded, in bytes (SIMD-0186). New in LiteSVM 0.18.
    pub loaded_accounts_data_size: u32,
}

impl TransactionMetadata {
    /// Returns the log in colour, for a terminal.
    #[must_use]
    pub fn pretty_logs(&self) -> String {
        format_logs(&self.logs)
    }
}

/// Data that a program returned.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TransactionReturnData {
    /// The program.
    pub program_id: Address,
    /// The data.
    pub data: Vec<u8>,
}

/// What a simulated transaction would do.
#[derive(Debug, Default, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SimulatedTransactionInfo {
    /// Its result.
    pub meta: TransactionMetadata,
    /// The writable accounts as they would be afterwards.
    pub post_accounts: Vec<(Address, AccountSharedData)>,
}

/// A transaction that failed or was dropped.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FailedTransactionMetadata {
    /// The reason.
    pub err: TransactionError,
    /// What it did until then.
    pub meta: TransactionMetadata,
}

impl From<ProgramError> for FailedTransactionMetadata {
    fn from(error: ProgramError) -> Self {
        #[allow(clippy::cast_possible_truncation, reason = "the lower half is the custom code")]
        let code = u64::from(error) as u32;
        Self {
            err: TransactionError::InstructionError(0, InstructionError::Custom(code)),
            meta: TransactionMetadata::default(),
        }
    }
}

/// The result of a transaction.
pub type TransactionResult = Result<TransactionMetadata, FailedTransactionMetadata>;

/// The limits of every transaction, in the place of those that it requests.
///
/// Compute unit costs are mainnet's and cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeBudget {
    /// The compute unit limit.
    pub compute_unit_limit: u64,
    /// The heap size in bytes.
    pub heap_size: u32,
}

impl Default for ComputeBudget {
    fn default() -> Self {
        Self { compute_unit_limit: 1_400_000, heap_size: 32 * 1024 }
    }
}

/// Serializes a signature as text.
#[cfg(feature = "serde")]
mod signature_text {
    use core::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use solana_signature::Signature;

    pub(super) fn serialize<S: Serializer>(it: &Signature, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(it)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Signature, D::Error> {
        Signature::from_str(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}
