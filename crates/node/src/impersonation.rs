//! Signers whose signatures are not checked.

use std::collections::BTreeSet;

use selkie_svm::{Transaction, check::verify_signatures};
use sha2::{Digest, Sha512};
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

/// The signers whose signatures are not checked.
#[derive(Default, Debug)]
pub(crate) struct Impersonated {
    pub(crate) keys: BTreeSet<Pubkey>,
    pub(crate) all: bool,
}

impl Impersonated {
    fn contains(&self, key: &Pubkey) -> bool {
        self.all || self.keys.contains(key)
    }

    /// Returns whether a signer of the message is impersonated.
    fn signs(&self, message: &VersionedMessage) -> bool {
        let signers = usize::from(message.header().num_required_signatures);
        let keys = message.static_account_keys();
        (self.all || !self.keys.is_empty()) && keys.iter().take(signers).any(|it| self.contains(it))
    }

    /// Gives a transaction without a signature one that is unique, if its payer is impersonated:
    /// transactions are known by their first signature.
    pub(crate) fn complete(&self, transaction: &mut VersionedTransaction) {
        let payer = transaction.message.static_account_keys().first();
        if payer.is_some_and(|payer| self.contains(payer))
            && let Some(signature) = transaction.signatures.first_mut()
            && *signature == Signature::default()
        {
            let digest: [u8; 64] = Sha512::digest(transaction.message.serialize()).into();
            *signature = Signature::from(digest);
        }
    }

    /// Verifies the signatures of all signers but those that are impersonated.
    pub(crate) fn verify(&self, transaction: &Transaction) -> Result<(), TransactionError> {
        if !self.signs(transaction.message()) {
            return verify_signatures(transaction);
        }
        let signed = transaction.signatures().iter().zip(transaction.static_keys());
        let mut others = signed.filter(|(_, key)| !self.contains(key));
        let message = transaction.message_bytes();
        let is_right = others.all(|(signature, key)| signature.verify(key.as_ref(), message));
        if is_right { Ok(()) } else { Err(TransactionError::SignatureFailure) }
    }
}
