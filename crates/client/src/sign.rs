//! Signs transactions.

use selkie::{Keypair, Pubkey, Signature, Signer as _, VersionedMessage, VersionedTransaction};

/// Signs a message with the keys that it requires; other signatures stay empty.
pub fn sign(message: VersionedMessage, keys: &[&Keypair]) -> VersionedTransaction {
    let count = usize::from(message.header().num_required_signatures);
    let signatures = vec![Signature::default(); count];
    let mut transaction = VersionedTransaction { signatures, message };
    add_signatures(&mut transaction, keys);
    transaction
}

/// Adds the signatures of these keys where a required signature is missing.
pub fn add_signatures(transaction: &mut VersionedTransaction, keys: &[&Keypair]) {
    let bytes = transaction.message.serialize();
    let addresses = transaction.message.static_account_keys();
    for (signature, address) in transaction.signatures.iter_mut().zip(addresses) {
        let is_missing = *signature == Signature::default();
        if let Some(key) = keys.iter().find(|key| is_missing && key.pubkey() == *address) {
            *signature = key.sign_message(&bytes);
        }
    }
}

/// Returns the addresses whose signatures are missing.
pub fn unsigned(transaction: &VersionedTransaction) -> Vec<Pubkey> {
    let addresses = transaction.message.static_account_keys().iter();
    let pairs = addresses.zip(&transaction.signatures);
    let missing = pairs.filter(|(_, signature)| **signature == Signature::default());
    missing.map(|(address, _)| *address).collect()
}

/// Returns the first instruction that takes an account, and its place among the instruction's accounts.
pub fn use_of(message: &VersionedMessage, key: &Pubkey) -> Option<(usize, usize)> {
    let keys = message.static_account_keys();
    let is_it = |index: &u8| keys.get(usize::from(*index)) == Some(key);
    let mut all = message.instructions().iter().enumerate();
    all.find_map(|(number, it)| Some((number, it.accounts.iter().position(is_it)?)))
}
