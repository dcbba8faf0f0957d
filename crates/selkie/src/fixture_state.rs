//! What fixtures of all kinds have in common: states, from and to files.

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

/// Makes the sysvars of the runtime those that are among these accounts, whose owners do not matter.
/// Of several accounts of an address the last counts.
pub(crate) fn set_sysvars<'a, A: ReadableAccount + 'a>(
    svm: &mut Svm,
    accounts: impl IntoIterator<Item = (&'a Pubkey, &'a A)>,
) {
    let sysvars = &mut svm.journal.environment_mut().sysvars;
    for (key, account) in accounts {
        sysvars.remove(key);
        if account.lamports() > 0 {
            // What cannot be read is missing, and most accounts are no sysvars.
            let _ = sysvars.set(*key, account.data());
        }
    }
}

/// A cluster with nothing but these accounts and these blockhashes, oldest first.
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

/// Sends what came by wire. How long it may be there is not part of what is replayed.
pub(crate) fn send(svm: &mut Svm, wire: &[u8]) -> Arc<Receipt> {
    let sent = match wincode::deserialize_exact::<VersionedTransaction>(wire) {
        Ok(transaction) => svm.send(transaction),
        Err(_) => svm.send(wire),
    };
    sent.unwrap_or_else(|failed| failed.receipt)
}
