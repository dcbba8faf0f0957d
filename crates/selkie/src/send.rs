//! What can be sent.

use selkie_svm::{FeatureSet, transaction::Transaction as Sanitized};
use solana_signature::Signature;
use solana_transaction::{Transaction, versioned::VersionedTransaction};
use solana_transaction_error::TransactionError;

/// What can be sent: a transaction of any version, or its bytes as they would come by wire.
pub trait IntoTransaction {
    /// The transaction, if it is well formed.
    ///
    /// # Errors
    /// If it is not.
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed>;
}

/// A transaction that is not well formed.
#[derive(Clone, Debug)]
pub struct Malformed {
    /// Its first signature, if that could be read.
    pub signature: Option<Signature>,
    /// Why.
    pub error: TransactionError,
}

impl IntoTransaction for VersionedTransaction {
    #[inline]
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed> {
        let signature = self.signatures.first().copied();
        Sanitized::new(self, features).map_err(|error| Malformed { signature, error })
    }
}

impl IntoTransaction for &VersionedTransaction {
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed> {
        self.clone().into_transaction(features)
    }
}

impl IntoTransaction for Transaction {
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed> {
        VersionedTransaction::from(self).into_transaction(features)
    }
}

impl IntoTransaction for &Transaction {
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed> {
        self.clone().into_transaction(features)
    }
}

/// One that was found well formed before, with these features.
impl IntoTransaction for Sanitized {
    fn into_transaction(self, _features: FeatureSet) -> Result<Sanitized, Malformed> {
        Ok(self)
    }
}

impl IntoTransaction for &[u8] {
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed> {
        Sanitized::from_wire(self, features).map_err(|error| Malformed { signature: None, error })
    }
}

impl IntoTransaction for &Vec<u8> {
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed> {
        self.as_slice().into_transaction(features)
    }
}

impl IntoTransaction for Vec<u8> {
    fn into_transaction(self, features: FeatureSet) -> Result<Sanitized, Malformed> {
        self.as_slice().into_transaction(features)
    }
}
