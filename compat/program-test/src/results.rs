//! The results of transactions, with the fields of the original's types.

use solana_address::Address;
use solana_message::inner_instruction::InnerInstructionsList;
use solana_transaction_error::TransactionResult;

/// How far the cluster agrees on a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionConfirmationStatus {
    /// It was processed.
    Processed,
    /// Two thirds of the stake have voted for its block.
    Confirmed,
    /// Its block is a root.
    Finalized,
}

/// The status of a transaction that paid its fee.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionStatus {
    /// Its slot.
    pub slot: u64,
    /// The number of blocks since; `None` if its block is a root, as here always.
    pub confirmations: Option<usize>,
    /// Why it failed.
    pub err: Option<solana_transaction_error::TransactionError>,
    /// How far the cluster agrees on it.
    pub confirmation_status: Option<TransactionConfirmationStatus>,
}

/// Data that a program returned.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TransactionReturnData {
    /// The program.
    pub program_id: Address,
    /// The bytes.
    pub data: Vec<u8>,
}

/// What a simulated transaction did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionSimulationDetails {
    /// The log lines.
    pub logs: Vec<String>,
    /// The compute units that it used.
    pub units_consumed: u64,
    /// The total size of the accounts that it loaded, in bytes.
    pub loaded_accounts_data_size: u32,
    /// The data that was returned last.
    pub return_data: Option<TransactionReturnData>,
    /// The inner instructions of each top-level instruction.
    pub inner_instructions: Option<InnerInstructionsList>,
}

/// What a processed transaction did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionMetadata {
    /// The log lines.
    pub log_messages: Vec<String>,
    /// The compute units that it used.
    pub compute_units_consumed: u64,
    /// The data that was returned last.
    pub return_data: Option<TransactionReturnData>,
}

/// The result of a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BanksTransactionResultWithSimulation {
    /// Whether the transaction would succeed.
    pub result: Option<TransactionResult<()>>,
    /// What it did; `None` if it could not be read.
    pub simulation_details: Option<TransactionSimulationDetails>,
}

/// The result of a transaction, with its log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BanksTransactionResultWithMetadata {
    /// Whether the transaction succeeded.
    pub result: TransactionResult<()>,
    /// What it did; `None` if it was dropped.
    pub metadata: Option<TransactionMetadata>,
}
