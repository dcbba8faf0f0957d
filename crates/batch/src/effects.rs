//! The hash of everything that consensus sees of a transaction: its result, compute units, fee, and
//! the accounts that it wrote.

use selkie_svm::{Processed, Pubkey, ReadableAccount};
use sha2::{Digest as _, Sha256 as Hasher};
use solana_account::AccountSharedData;
use solana_transaction_error::TransactionError;

use crate::{Sha256, sha256};

/// An account that a transaction wrote.
#[derive(Clone, Debug)]
pub(crate) struct Written {
    pub(crate) pubkey: Pubkey,
    pub(crate) account: AccountSharedData,
    pub(crate) data_hash: Sha256,
}

/// Returns the accounts that a transaction wrote, in the order of its addresses. A deleted account is
/// one without lamports.
pub(crate) fn written(processed: &Processed) -> Vec<Written> {
    let hashed = |(key, account): (&Pubkey, &AccountSharedData)| Written {
        pubkey: *key,
        account: account.clone(),
        data_hash: sha256(account.data()),
    };
    processed.writes().map(hashed).collect()
}

/// Returns the text of a transaction error: the JSON of RPC's `err`.
pub(crate) fn error_text(error: &TransactionError) -> String {
    serde_json::to_string(error).expect("errors are JSON")
}

/// Returns the hash of a transaction's effects; of a dropped one, `processed` is the error.
pub(crate) fn hash(processed: Result<&Processed, &TransactionError>, post: &[Written]) -> Sha256 {
    let mut hasher = Hasher::new_with_prefix(b"selkie effects 1");
    let result = match processed {
        Ok(processed) => processed.result.as_ref().err(),
        Err(error) => Some(error),
    };
    text(&mut hasher, result.map(error_text).as_deref().unwrap_or_default());
    if let Ok(processed) = processed {
        hasher.update([1, processed.is_executed.into()]);
        hasher.update(processed.compute_units.to_le_bytes());
        hasher.update(processed.fee.total().to_le_bytes());
        hasher.update(processed.loaded_bytes.to_le_bytes());
    }
    add_accounts(&mut hasher, post);
    hasher.finalize().into()
}

/// Adds written accounts to a hash of effects.
pub(crate) fn add_accounts(hasher: &mut Hasher, post: &[Written]) {
    for Written { pubkey, account, data_hash } in post {
        hasher.update(pubkey);
        hasher.update(account.lamports().to_le_bytes());
        hasher.update(account.owner());
        hasher.update([account.executable().into()]);
        hasher.update(data_hash);
    }
}

/// Returns the hash of log lines.
pub(crate) fn logs_hash(logs: &[String]) -> Sha256 {
    let mut hasher = Hasher::new_with_prefix(b"selkie logs 1");
    logs.iter().for_each(|line| text(&mut hasher, line));
    hasher.finalize().into()
}

pub(crate) fn text(hasher: &mut Hasher, text: &str) {
    hasher.update((text.len() as u64).to_le_bytes());
    hasher.update(text);
}
