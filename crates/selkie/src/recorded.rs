//! The state before a transaction, which its receipt keeps for a replay.

use std::{path::PathBuf, sync::Arc};

use selkie_svm::{ComputeBudget, Environment};
use solana_account::AccountSharedData;
use solana_hash::Hash;
use solana_instruction::Instruction;
use solana_pubkey::Pubkey;

/// The state before a transaction, as far as the transaction needs it and its receipt does not have
/// it. It is kept for each transaction that fails, so it shares everything.
#[derive(Clone, Debug)]
pub(crate) struct RecordedState {
    /// Features, sysvars, builtin programs, stakes and fees.
    pub(crate) environment: Arc<Environment>,
    /// The epoch.
    pub(crate) epoch: u64,
    /// Lookup tables, programdata accounts, and of dropped transactions all accounts.
    pub(crate) accounts: Vec<(Pubkey, AccountSharedData)>,
    /// The transaction's blockhash, if it is recent, and the last one.
    pub(crate) blockhashes: Vec<Hash>,
    /// Whether signatures are verified.
    pub(crate) verifies_signatures: bool,
    /// What is replayed in place of a transaction.
    pub(crate) direct: Option<Direct>,
    /// The file to which the transaction was recorded.
    pub(crate) file: Option<PathBuf>,
}

/// Instructions that are processed outside of a transaction.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    /// The instructions.
    pub(crate) instructions: Vec<Instruction>,
    /// The addresses of the accounts that were given with them.
    pub(crate) given: Vec<Pubkey>,
    /// The compute units and the heap that they have.
    pub(crate) budget: ComputeBudget,
}
