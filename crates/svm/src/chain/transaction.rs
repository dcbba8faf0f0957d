//! Sanitized transactions: the checks that need no account.
//!
//! The rules are those of agave (`solana-transaction`, `sanitized.rs`) and of SIMD-0160, SIMD-0385 and
//! SIMD-0406.

use std::sync::OnceLock;

use solana_hash::Hash;
use solana_message::{VersionedMessage, compiled_instruction::CompiledInstruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::chain::{
    account::is_same,
    cost::{
        HEAP_BYTES_MAX, HEAP_BYTES_MIN, HEAP_BYTES_STEP, INSTRUCTION_ACCOUNTS_MAX,
        INSTRUCTION_TRACE_MAX, PACKET_BYTES_MAX, V1_ADDRESSES_MAX, V1_BYTES_MAX, V1_SIGNATURES_MAX,
    },
    features::{Feature, Rules, Ungated},
    message_id::MessageId,
    signed::SignedTransaction,
};

/// The first byte of transactions of version 1.
const V1_PREFIX: u8 = 0x81;

/// A sanitized transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    signed: SignedTransaction,
    message_id: MessageId,
    /// The serialized message, computed on first use.
    message_bytes: OnceLock<Vec<u8>>,
}

impl Transaction {
    /// Deserializes and sanitizes a transaction of any version.
    ///
    /// # Errors
    /// [`TransactionError::SanitizeFailure`] if it is too long, cannot be deserialized, or is malformed;
    /// [`TransactionError::UnsupportedVersion`] if the feature of its version is inactive.
    pub fn from_wire(wire: &[u8], rules: Rules) -> Result<Self, TransactionError> {
        let is_v1 = wire.first() == Some(&V1_PREFIX);
        let bytes_max = if is_v1 { V1_BYTES_MAX } else { PACKET_BYTES_MAX };
        if wire.len() > bytes_max {
            return Err(TransactionError::SanitizeFailure);
        }
        let read = wincode::deserialize_exact::<VersionedTransaction>(wire);
        Self::new(read.map_err(|_| TransactionError::SanitizeFailure)?, rules)
    }

    /// Sanitizes a transaction.
    ///
    /// # Errors
    /// [`TransactionError::SanitizeFailure`] if it is malformed;
    /// [`TransactionError::UnsupportedVersion`] if the feature of its version is inactive.
    #[inline]
    pub fn new(transaction: VersionedTransaction, rules: Rules) -> Result<Self, TransactionError> {
        Self::of(transaction.into(), rules).map_err(|rejected| rejected.error)
    }

    /// Sanitizes a transaction whose signatures may be made later.
    ///
    /// # Errors
    /// As [`Transaction::new`], with the transaction.
    #[inline(always)]
    pub fn of(signed: SignedTransaction, rules: Rules) -> Result<Self, Box<Rejected>> {
        if let Err(error) = check(&signed, rules) {
            return Err(Box::new(Rejected { signed, error }));
        }
        let message_id = MessageId::of(signed.message());
        Ok(Self { signed, message_id, message_bytes: OnceLock::new() })
    }

    /// Returns the signatures, the fee payer's first. Those of a transaction that is signed here are made
    /// on the first call.
    #[must_use]
    pub fn signatures(&self) -> &[Signature] {
        self.signed.signatures()
    }

    /// Returns the message with its signatures.
    #[must_use]
    pub fn signed(&self) -> &SignedTransaction {
        &self.signed
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &VersionedMessage {
        self.signed.message()
    }

    /// Returns the serialized message: the bytes that are signed.
    #[must_use]
    pub fn message_bytes(&self) -> &[u8] {
        self.message_bytes.get_or_init(|| self.message().serialize())
    }

    /// Computes the BLAKE3 hash of the message, by which clusters identify it.
    #[must_use]
    pub fn message_hash(&self) -> Hash {
        VersionedMessage::hash_raw_message(self.message_bytes())
    }

    /// Returns the identifier of the message within this process.
    #[must_use]
    pub fn message_id(&self) -> MessageId {
        self.message_id
    }

    /// Returns the recent blockhash or durable nonce.
    #[must_use]
    pub fn blockhash(&self) -> &Hash {
        self.message().recent_blockhash()
    }

    /// Returns the addresses that the message contains; lookup tables may add more.
    #[must_use]
    pub fn static_keys(&self) -> &[Pubkey] {
        self.message().static_account_keys()
    }

    /// Returns the top-level instructions.
    #[must_use]
    pub fn instructions(&self) -> &[CompiledInstruction] {
        self.message().instructions()
    }

    /// Returns the number of signers, which are the first addresses.
    #[must_use]
    pub fn signers(&self) -> usize {
        usize::from(self.message().header().num_required_signatures)
    }

    /// Returns the address of an instruction's program, which is never from a lookup table.
    #[must_use]
    pub fn program(&self, instruction: &CompiledInstruction) -> Pubkey {
        *self.program_key(instruction)
    }

    pub(crate) fn program_key(&self, instruction: &CompiledInstruction) -> &Pubkey {
        const NONE: &Pubkey = &Pubkey::new_from_array([0; 32]);
        self.static_keys().get(usize::from(instruction.program_id_index)).unwrap_or(NONE)
    }

    /// Returns the account index of the nonce account if the first instruction advances one whose address
    /// is in the message (SIMD-0242).
    #[must_use]
    pub(crate) fn nonce_index(&self) -> Option<u8> {
        const ADVANCE_NONCE: [u8; 4] = 4_u32.to_le_bytes();
        let first = self.instructions().first()?;
        let is_advance = self.program(first) == system_program::ID
            && first.data.get(..4) == Some(&ADVANCE_NONCE);
        let index = *first.accounts.first().filter(|_| is_advance)?;
        (usize::from(index) < self.static_keys().len()).then_some(index)
    }

    /// Returns the message with its signatures.
    #[inline]
    #[must_use]
    pub fn into_signed(self) -> SignedTransaction {
        self.signed
    }

    /// Returns the SDK's transaction, with all signatures.
    #[inline]
    #[must_use]
    pub fn into_inner(self) -> VersionedTransaction {
        self.signed.into()
    }
}

/// A transaction that is malformed.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The transaction.
    pub signed: SignedTransaction,
    /// What is wrong with it.
    pub error: TransactionError,
}

fn check(signed: &SignedTransaction, rules: Rules) -> Result<(), TransactionError> {
    let failure = TransactionError::SanitizeFailure;
    let (message, features) = (signed.message(), rules.features);
    if let VersionedMessage::V1(message) = message {
        if !features.has(Feature::TransactionV1) {
            return Err(TransactionError::UnsupportedVersion);
        }
        if message.account_keys.len() > V1_ADDRESSES_MAX
            || usize::from(message.header.num_required_signatures) > V1_SIGNATURES_MAX
            || message.instructions.len() > INSTRUCTION_TRACE_MAX
            || has_duplicate(&message.account_keys) && !rules.has(Ungated::DuplicatesBeforeLocks)
            || !message.config.heap_size.is_none_or(is_heap)
        {
            return Err(failure);
        }
    }
    message.sanitize().map_err(|_| failure.clone())?;
    let (count, required) = (signed.signature_count(), message.header().num_required_signatures);
    if count != usize::from(required) || count > message.static_account_keys().len() {
        return Err(failure);
    }
    let instructions = message.instructions();
    if features.has(Feature::StaticInstructionLimit) && instructions.len() > INSTRUCTION_TRACE_MAX {
        return Err(failure);
    }
    let has_too_many =
        |instruction: &CompiledInstruction| instruction.accounts.len() > INSTRUCTION_ACCOUNTS_MAX;
    if features.has(Feature::LimitInstructionAccounts) && instructions.iter().any(has_too_many) {
        return Err(failure);
    }
    Ok(())
}

/// The number of addresses up to which comparing each pair is faster than sorting.
const PAIRWISE_KEYS_MAX: usize = 24;

/// Returns whether an address occurs twice.
pub(crate) fn has_duplicate(keys: &[Pubkey]) -> bool {
    if keys.len() <= PAIRWISE_KEYS_MAX {
        let before = |index: usize| keys.get(..index).unwrap_or_default();
        return keys
            .iter()
            .enumerate()
            .any(|(index, key)| before(index).iter().any(|other| is_same(other, key)));
    }
    let mut sorted: Vec<&Pubkey> = keys.iter().collect();
    sorted.sort_unstable();
    sorted.iter().zip(sorted.iter().skip(1)).any(|(one, next)| one == next)
}

/// Returns whether a transaction may request a heap of `bytes` bytes.
pub(crate) fn is_heap(bytes: u32) -> bool {
    (HEAP_BYTES_MIN..=HEAP_BYTES_MAX).contains(&bytes) && bytes.is_multiple_of(HEAP_BYTES_STEP)
}
