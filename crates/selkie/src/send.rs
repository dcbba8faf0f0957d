//! Conversion of transactions and wire bytes to sanitized transactions.

use selkie_svm::{
    Rules, SignedTransaction,
    transaction::{Rejected, Transaction as Sanitized},
};
use solana_signature::Signature;
use solana_transaction::{Transaction, versioned::VersionedTransaction};
use solana_transaction_error::TransactionError;

/// A type that can be sent: a transaction of any version, or its wire bytes.
pub trait IntoTransaction {
    /// Decodes and sanitizes the transaction.
    ///
    /// # Errors
    /// If it is malformed.
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction>;
}

/// A transaction that cannot be decoded or sanitized.
#[derive(Clone, Debug)]
pub struct MalformedTransaction {
    /// Its first signature, if it could be decoded.
    pub signature: Option<Signature>,
    /// The reason.
    pub error: TransactionError,
}

impl From<Box<Rejected>> for MalformedTransaction {
    fn from(rejected: Box<Rejected>) -> Self {
        let Rejected { signed, error } = *rejected;
        Self { signature: signed.signature(), error }
    }
}

/// A transaction whose signatures may be made later, such as that of a receipt.
impl IntoTransaction for SignedTransaction {
    #[inline(always)]
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        Sanitized::of(self, rules).map_err(MalformedTransaction::from)
    }
}

impl IntoTransaction for &SignedTransaction {
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        self.clone().into_transaction(rules)
    }
}

impl IntoTransaction for VersionedTransaction {
    #[inline(always)]
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        SignedTransaction::from(self).into_transaction(rules)
    }
}

impl IntoTransaction for &VersionedTransaction {
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        self.clone().into_transaction(rules)
    }
}

impl IntoTransaction for Transaction {
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        VersionedTransaction::from(self).into_transaction(rules)
    }
}

impl IntoTransaction for &Transaction {
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        self.clone().into_transaction(rules)
    }
}

/// A transaction that is already sanitized, under the same rules.
impl IntoTransaction for Sanitized {
    fn into_transaction(self, _rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        Ok(self)
    }
}

impl IntoTransaction for &[u8] {
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        Sanitized::from_wire(self, rules)
            .map_err(|error| MalformedTransaction { signature: None, error })
    }
}

impl IntoTransaction for &Vec<u8> {
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        self.as_slice().into_transaction(rules)
    }
}

impl IntoTransaction for Vec<u8> {
    fn into_transaction(self, rules: Rules) -> Result<Sanitized, MalformedTransaction> {
        self.as_slice().into_transaction(rules)
    }
}
