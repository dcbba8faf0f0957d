//! Agave 4.5, which comes next: what of its crates' interface is not that of another release.

use agave_transaction_view::{
    resolved_transaction_view::ResolvedTransactionView,
    transaction_view::{SanitizedTransactionView, UnsanitizedTransactionView},
};
use solana_account::AccountSharedData;
use solana_hash::Hash;
use solana_message::{AddressLoader, v0::MessageAddressTableLookup};
use solana_program_runtime::solana_sbpf::vm::Config;
use solana_svm_callback::{AccountLoadCallback, TransactionProcessingCallback};

use super::{bank::LookupTables, *};

type Bytes = Arc<Vec<u8>>;

pub(crate) type Transaction = RuntimeTransaction<ResolvedTransactionView<Bytes>>;

impl AccountLoadCallback for Bank<'_> {
    fn get_account_shared_data(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.shared(key)
    }
}

impl TransactionProcessingCallback for Bank<'_> {}

/// Deserializes and sanitizes a transaction, and resolves its lookups (`Bank::verify_transaction`).
pub(crate) fn sanitize(
    bytes: &[u8],
    verifies: bool,
    loader: LookupTables<'_>,
    reserved: &HashSet<Pubkey>,
) -> Result<Transaction, Dropped> {
    let malformed = || (Stage::Sanitize, TransactionError::SanitizeFailure);
    let sanitize = |error| (stage_of(&error), error);
    let view = UnsanitizedTransactionView::try_new_unsanitized(Arc::new(bytes.to_vec()));
    let view = view.and_then(UnsanitizedTransactionView::sanitize).map_err(|_| malformed())?;
    // A validator checks limits before signatures in the TPU, and after them in replay.
    let limits = RuntimeTransaction::<&SanitizedTransactionView<_>>::try_new(
        &view,
        MessageHash::Precomputed(Hash::default()),
        Some(false),
    );
    if matches!(limits, Err(TransactionError::SanitizeFailure)) {
        return Err(malformed());
    }
    if verifies {
        let mut pairs = view.static_account_keys().iter().zip(view.signatures());
        if !pairs.all(|(key, it)| it.verify(key.as_ref(), view.message_data())) {
            return Err((Stage::Sigverify, TransactionError::SignatureFailure));
        }
    }
    let view = RuntimeTransaction::<SanitizedTransactionView<_>>::try_new(
        view,
        MessageHash::Compute,
        None,
    );
    let view = view.map_err(sanitize)?;
    let lookups = view.address_table_lookup_iter().map(|it| MessageAddressTableLookup {
        account_key: *it.account_key,
        writable_indexes: it.writable_indexes.to_vec(),
        readonly_indexes: it.readonly_indexes.to_vec(),
    });
    let lookups: Vec<_> = lookups.collect();
    let loaded = match view.version() {
        TransactionVersion::Number(0) => {
            let loaded = loader.load_addresses(&lookups);
            Some(loaded.map_err(|error| sanitize(error.into()))?)
        }
        _ => None,
    };
    Transaction::try_new(view, loaded, reserved).map_err(|error| match error {
        TransactionError::AccountLoadedTwice => (Stage::Locks, error),
        _ => sanitize(error),
    })
}

/// Checks the number of accounts: that none is named twice was checked before.
pub(crate) fn check_locks(transaction: &Transaction, limit: usize) -> Result<(), Dropped> {
    match transaction.account_keys().len() > limit {
        true => Err((Stage::Locks, TransactionError::TooManyAccountLocks)),
        false => Ok(()),
    }
}

/// Returns the nonce account that a transaction advances by its first instruction, on replay. The processor
/// refuses one that is not writable in the end, with the error that a check would give.
pub(crate) fn durable_nonce(transaction: &Transaction) -> Option<&Pubkey> {
    let nonce = transaction.get_durable_nonce(false)?;
    let index = transaction.account_keys().iter().position(|key| key == nonce)?;
    transaction.is_writable(index).then_some(nonce)
}

/// The program cache finds deployed programs by their accounts.
pub(crate) fn keep_deployed(_: &Processor, _: u64, _: &ExecutedTransaction) {}

/// Whether the engine traces: if it is compiled with its feature `tracer`, and then it traces every run.
pub(crate) const TRACES: bool = cfg!(feature = "traces");

/// Returns the settings of the engine with register traces, which are no setting of this engine.
pub(crate) fn with_traces(config: Config) -> Config {
    config
}
