//! Restoring of recorded state, shared by all kinds of fixtures.

use core::fmt::Write;
use std::sync::Arc;

use selkie_svm::{BlockhashQueue, FeatureSet};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{genesis, receipt::Receipt, svm::Svm};

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Sets the runtime's sysvars from those among `accounts`, whatever their owners are. If an address
/// occurs repeatedly, the last account counts.
pub(crate) fn set_sysvars<'a, A: ReadableAccount + 'a>(
    svm: &mut Svm,
    accounts: impl IntoIterator<Item = (&'a Pubkey, &'a A)>,
) {
    let sysvars = &mut svm.journal.environment_mut().sysvars;
    for (key, account) in accounts {
        sysvars.remove(key);
        if account.lamports() > 0 {
            // Most accounts are no sysvars, and one that cannot be decoded counts as missing.
            let _ = sysvars.set(*key, account.data());
        }
    }
}

/// Creates a chain with only these accounts and blockhashes (oldest first), besides the builtin
/// programs.
pub(crate) fn cluster(
    features: FeatureSet,
    accounts: &[(Pubkey, AccountSharedData)],
    blockhash_queue: BlockhashQueue,
    lamports_per_signature: u64,
) -> Svm {
    let mut svm = Svm::new();
    *svm.journal.state_mut() = genesis::empty_state(features);
    set_sysvars(&mut svm, accounts.iter().map(|(key, account)| (key, account)));
    for (key, account) in accounts {
        svm.journal.set_account(*key, Some(account.clone()));
    }
    let environment = svm.journal.environment_mut();
    environment.blockhash = blockhash_queue.blockhash().copied().unwrap_or_default();
    environment.lamports_per_signature = lamports_per_signature;
    *svm.journal.blockhash_queue_mut() = blockhash_queue;
    svm
}

/// Sends a transaction from its wire bytes, without the packet size limit if they decode.
pub(crate) fn send(svm: &mut Svm, wire: &[u8]) -> Arc<Receipt> {
    let sent = match wincode::deserialize_exact::<VersionedTransaction>(wire) {
        Ok(transaction) => svm.send(transaction),
        Err(_) => svm.send(wire),
    };
    sent.unwrap_or_else(|failed| failed.receipt)
}
