//! A message with its signatures, which may be made when they are read.
//!
//! Processing needs to know who has signed, not the 64 bytes. What arrives with a transaction are bytes
//! that have to be verified. Of a message that is signed here, the keypairs are known: the signatures are
//! valid because they are made of these keys and this message, so they are neither made nor verified
//! until they are read. Ed25519 is deterministic: signatures that are made later are the same bytes.
//!
//! Invariant: own signatures are of the keys that the message requires, in its order, and the message
//! never changes.

use core::{cmp::Ordering, fmt};
use std::sync::{Arc, OnceLock};

use solana_keypair::Keypair;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_signer::{Signer, SignerError};
use solana_transaction::versioned::VersionedTransaction;

/// A message with its signatures: those that came with it, or those of keypairs that sign it here.
///
/// It keeps these keypairs in memory until it is dropped. Its `Debug` shows none, and what it is converted
/// to has signatures only.
///
/// ```
/// use std::sync::Arc;
///
/// use selkie_svm::SignedTransaction;
/// use solana_keypair::{Keypair, Signer};
/// use solana_message::{Message, VersionedMessage};
///
/// let alice = Arc::new(Keypair::new_from_array([1; 32]));
/// let message = VersionedMessage::Legacy(Message::new(&[], Some(&alice.pubkey())));
/// let signed = SignedTransaction::by(message.clone(), &[Arc::clone(&alice)])?;
/// assert_eq!(signed.signatures(), [alice.sign_message(&message.serialize())]);
/// # Ok::<(), solana_signer::SignerError>(())
/// ```
#[derive(Clone)]
pub struct SignedTransaction {
    message: VersionedMessage,
    signatures: Signatures,
}

#[derive(Clone)]
enum Signatures {
    /// They came with the message, and may be invalid.
    Given(Vec<Signature>),
    /// Those of keypairs, in the order of the message's signers.
    Own { keys: Vec<Arc<Keypair>>, made: OnceLock<Vec<Signature>> },
}

impl SignedTransaction {
    /// Signs a message with keypairs, in any order: each required signer must be among them, and no
    /// other. The signatures are made when they are read. Keypairs are shared, since a copy of one takes
    /// longer than a transaction: it overwrites secrets when it is dropped.
    ///
    /// # Errors
    /// Those of [`VersionedTransaction::try_new`].
    pub fn by(message: VersionedMessage, keys: &[Arc<Keypair>]) -> Result<Self, SignerError> {
        let required = usize::from(message.header().num_required_signatures);
        let Some(expected) = message.static_account_keys().get(..required) else {
            return Err(SignerError::InvalidInput("invalid message".to_owned()));
        };
        match keys.len().cmp(&required) {
            Ordering::Greater => return Err(SignerError::TooManySigners),
            Ordering::Less => return Err(SignerError::NotEnoughSigners),
            Ordering::Equal => {}
        }
        let find = |key: &Pubkey| {
            let found = keys.iter().find(|it| it.pubkey() == *key);
            found.cloned().ok_or(SignerError::KeypairPubkeyMismatch)
        };
        let keys = expected.iter().map(find).collect::<Result<_, _>>()?;
        Ok(Self { message, signatures: Signatures::Own { keys, made: OnceLock::new() } })
    }

    /// Returns the message.
    #[inline]
    #[must_use]
    pub fn message(&self) -> &VersionedMessage {
        &self.message
    }

    /// Returns the signatures, the fee payer's first. Own ones are made on the first call.
    #[must_use]
    pub fn signatures(&self) -> &[Signature] {
        match &self.signatures {
            Signatures::Given(given) => given,
            Signatures::Own { keys, made } => made.get_or_init(|| {
                let bytes = self.message.serialize();
                keys.iter().map(|it| it.sign_message(&bytes)).collect()
            }),
        }
    }

    /// Returns the first signature, by which the transaction is known; `None` if it has none. It is made
    /// on the first call if it is an own one.
    #[must_use]
    pub fn signature(&self) -> Option<Signature> {
        self.signatures().first().copied()
    }

    /// Returns the signatures that came with the message, which have to be verified; `None` of own ones,
    /// which are valid.
    #[inline]
    #[must_use]
    pub fn given(&self) -> Option<&[Signature]> {
        match &self.signatures {
            Signatures::Given(given) => Some(given),
            Signatures::Own { .. } => None,
        }
    }

    /// Returns how many signatures there are. It makes none.
    #[inline]
    #[must_use]
    pub fn signature_count(&self) -> usize {
        match &self.signatures {
            Signatures::Given(given) => given.len(),
            Signatures::Own { keys, .. } => keys.len(),
        }
    }

    /// Returns a copy as the SDK's transaction, with all signatures.
    #[must_use]
    pub fn to_versioned(&self) -> VersionedTransaction {
        let (signatures, message) = (self.signatures().to_vec(), self.message.clone());
        VersionedTransaction { signatures, message }
    }

    /// Returns the wire bytes, with all signatures.
    #[must_use]
    pub fn to_wire(&self) -> Vec<u8> {
        wincode::serialize(&self.to_versioned()).unwrap_or_default()
    }
}

impl Default for SignedTransaction {
    /// Returns an empty message without signatures.
    fn default() -> Self {
        VersionedTransaction::default().into()
    }
}

/// The signatures are those that it has.
impl From<VersionedTransaction> for SignedTransaction {
    #[inline]
    fn from(transaction: VersionedTransaction) -> Self {
        let VersionedTransaction { signatures, message } = transaction;
        Self { message, signatures: Signatures::Given(signatures) }
    }
}

/// The SDK's transaction, with all signatures.
impl From<SignedTransaction> for VersionedTransaction {
    fn from(signed: SignedTransaction) -> Self {
        let signatures = match signed.signatures {
            Signatures::Given(given) => given,
            Signatures::Own { .. } => signed.signatures().to_vec(),
        };
        Self { signatures, message: signed.message }
    }
}

/// Shows what the SDK's transaction does: signatures and message, and no keys.
impl fmt::Debug for SignedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("VersionedTransaction");
        shown.field("signatures", &self.signatures()).field("message", &self.message).finish()
    }
}

#[cfg(test)]
mod tests {
    use solana_message::{Message, MessageHeader};

    use super::*;

    fn key(number: u8) -> Arc<Keypair> {
        Arc::new(Keypair::new_from_array([number; 32]))
    }

    /// Returns a message that requires these signers, the second of which is read-only.
    fn message(signers: &[u8]) -> VersionedMessage {
        let keys = signers.iter().map(|it| key(*it).pubkey());
        VersionedMessage::Legacy(Message {
            header: MessageHeader {
                num_required_signatures: signers.len().try_into().unwrap(),
                num_readonly_signed_accounts: u8::from(signers.len() > 1),
                num_readonly_unsigned_accounts: 0,
            },
            account_keys: keys.chain([Pubkey::new_from_array([9; 32])]).collect(),
            ..Message::default()
        })
    }

    #[test]
    fn signatures_and_errors_are_those_of_signing_at_once() {
        let lists: [&[u8]; 9] =
            [&[], &[1], &[2], &[1, 2], &[2, 1], &[1, 1], &[1, 3], &[3, 2, 1], &[1, 2, 2]];
        for required in lists {
            for given in lists {
                let keys: Vec<Arc<Keypair>> = given.iter().map(|it| key(*it)).collect();
                let at_once = VersionedTransaction::try_new(message(required), &keys);
                let later = SignedTransaction::by(message(required), &keys);
                if let Ok(later) = &later {
                    assert!(later.given().is_none(), "they are not given");
                    assert_eq!(later.signature_count(), given.len());
                    let wire = wincode::serialize(at_once.as_ref().unwrap()).unwrap();
                    assert_eq!(later.to_wire(), wire);
                }
                let later = later.map(VersionedTransaction::from);
                assert_eq!(later, at_once, "{required:?} {given:?}");
            }
        }
        let mut short = Message::default();
        short.header.num_required_signatures = 1;
        let short = VersionedMessage::Legacy(short);
        let at_once = VersionedTransaction::try_new(short.clone(), &[&key(1)]).unwrap_err();
        assert_eq!(SignedTransaction::by(short, &[key(1)]).unwrap_err(), at_once);
    }

    #[test]
    fn no_signature_is_made_before_it_is_read() {
        let signed = SignedTransaction::by(message(&[1, 2]), &[key(2), key(1)]).unwrap();
        let made = |it: &SignedTransaction| match &it.signatures {
            Signatures::Own { made, .. } => made.get().is_some(),
            Signatures::Given(_) => true,
        };
        assert_eq!((signed.signature_count(), signed.message()), (2, &message(&[1, 2])));
        let copy = signed.clone();
        assert!(!made(&signed));
        assert_eq!(signed.signature(), copy.signature());
        assert!(made(&signed) && made(&copy));
    }

    #[test]
    fn debug_shows_what_the_sdk_shows_and_no_secrets() {
        let signed = SignedTransaction::by(message(&[1]), &[key(1)]).unwrap();
        assert_eq!(format!("{signed:?}"), format!("{:?}", signed.to_versioned()));
        assert_eq!(format!("{signed:#?}"), format!("{:#?}", signed.to_versioned()));
    }
}
