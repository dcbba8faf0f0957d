//! Agave 4.4, which mainnet runs: what of its crates' interface is not that of another release.

use solana_account::AccountSharedData;
use solana_message::VersionedMessage;
use solana_program_runtime::solana_sbpf::vm::Config;
use solana_svm_callback::TransactionProcessingCallback;
use solana_transaction::{
    sanitized::SanitizedTransaction, versioned::sanitized::SanitizedVersionedTransaction,
};
use solana_transaction_context::{MAX_ACCOUNTS_PER_INSTRUCTION, MAX_INSTRUCTION_TRACE_LENGTH};

use super::{bank::LookupTables, *};

pub(crate) type Transaction = RuntimeTransaction<SanitizedTransaction>;

impl TransactionProcessingCallback for Bank<'_> {
    fn get_account_shared_data(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.shared(key)
    }
}

/// Deserializes and sanitizes a transaction, and resolves its lookups.
pub(crate) fn sanitize(
    bytes: &[u8],
    verifies: bool,
    loader: LookupTables<'_>,
    reserved: &HashSet<Pubkey>,
) -> Result<Transaction, Dropped> {
    let transaction = wincode::deserialize_exact::<VersionedTransaction>(bytes)
        .map_err(|_| (Stage::Sanitize, TransactionError::SanitizeFailure))?;
    // A validator checks this before signatures in the TPU, and after them in replay.
    let instructions = transaction.message.instructions();
    if instructions.len() > MAX_INSTRUCTION_TRACE_LENGTH
        || instructions.iter().any(|it| it.accounts.len() > MAX_ACCOUNTS_PER_INSTRUCTION)
        || SanitizedVersionedTransaction::try_new(transaction.clone()).is_err()
    {
        return Err((Stage::Sanitize, TransactionError::SanitizeFailure));
    }
    let hash = if verifies {
        transaction.verify_and_hash_message().map_err(|error| (Stage::Sigverify, error))?
    } else {
        VersionedMessage::hash_raw_message(&transaction.message.serialize())
    };
    let hash = MessageHash::Precomputed(hash);
    Transaction::try_create(transaction, hash, None, loader, reserved)
        .map_err(|error| (stage_of(&error), error))
}

/// Checks the number of accounts, and that none is locked twice.
pub(crate) fn check_locks(transaction: &Transaction, limit: usize) -> Result<(), Dropped> {
    let keys = transaction.account_keys();
    if keys.len() > limit {
        return Err((Stage::Locks, TransactionError::TooManyAccountLocks));
    }
    let mut seen = HashSet::new();
    match keys.iter().all(|key| seen.insert(*key)) {
        true => Ok(()),
        false => Err((Stage::Locks, TransactionError::AccountLoadedTwice)),
    }
}

/// Returns the nonce account that a transaction advances by its first instruction.
pub(crate) fn durable_nonce(transaction: &Transaction) -> Option<&Pubkey> {
    transaction.get_durable_nonce()
}

/// Adds the programs that a transaction deployed to the program cache.
pub(crate) fn keep_deployed(processor: &Processor, slot: u64, executed: &ExecutedTransaction) {
    if executed.was_successful() && !executed.programs_modified_by_tx.is_empty() {
        let mut cache = processor.global_program_cache.write().expect(NOT_POISONED);
        cache.merge(
            &processor.program_runtime_environment,
            slot,
            &executed.programs_modified_by_tx,
        );
    }
}

/// Whether the engine traces, if its settings say so.
pub(crate) const TRACES: bool = true;

/// Returns the settings of the engine with register traces.
pub(crate) fn with_traces(config: Config) -> Config {
    Config { enable_register_tracing: true, ..config }
}
