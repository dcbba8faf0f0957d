//! Reads and writes serialized transactions.

use anyhow::{Result, anyhow, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::VersionedTransaction;

use crate::ui::Advise as _;

/// A bound on the length of a transaction in any encoding. Decoding base58 takes quadratic time.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// Parses a transaction of any version: its bytes, or their base64 or base58.
pub(super) fn parse(bytes: &[u8], name: &str) -> Result<VersionedTransaction> {
    let name = if name.len() > 64 { "this text" } else { name };
    if bytes.len() > TEXT_BYTES_MAX {
        bail!("{name} has {} bytes, more than any transaction", bytes.len());
    }
    let text = bytes.trim_ascii();
    let base64 = BASE64_STANDARD.decode(text).ok();
    let base58 = bs58::decode(text).into_vec().ok();
    let forms = [Some(bytes.to_vec()), base64, base58];
    let found = forms.into_iter().flatten().find_map(|wire| wincode::deserialize_exact(&wire).ok());
    found
        .ok_or_else(|| anyhow!("{name} holds neither instructions nor a transaction"))
        .advise("transactions are bytes, base64 or base58; instructions are JSON")
}

/// Returns the serialized transaction.
pub(super) fn to_wire(transaction: &VersionedTransaction) -> Result<Vec<u8>> {
    wincode::serialize(transaction)
        .map_err(|error| anyhow!("cannot write the transaction: {error}"))
}

#[cfg(test)]
mod tests {
    use selkie::{
        Message, Signer as _, Svm, VersionedMessage, keypair,
        message::{v0, v1},
        system,
    };

    use super::*;
    use selkie_client::sign;

    /// Reads a message, signed, in each of its forms; and sends it.
    fn check(svm: &mut Svm, message: VersionedMessage) {
        let transaction = sign::sign(message, &[&keypair("alice")]);
        let wire = to_wire(&transaction).expect("it can be written");
        let base64 = format!("{}\n", BASE64_STANDARD.encode(&wire));
        let base58 = bs58::encode(&wire).into_string();
        for form in [&wire[..], base64.as_bytes(), base58.as_bytes()] {
            assert_eq!(parse(form, "x").expect("it is a transaction"), transaction);
        }
        svm.send(&transaction).expect("it succeeds");
    }

    #[test]
    fn transactions_of_every_version_are_read_in_every_form() {
        let (alice, bob) = (keypair("alice").pubkey(), keypair("bob").pubkey());
        let mut svm = Svm::new();
        svm.airdrop(&alice, 1_000_000_000).expect("it is not too much");
        let transfer = [system::transfer(&alice, &bob, 1_000_000)];
        let hash = svm.latest_blockhash();
        let legacy = Message::new_with_blockhash(&transfer, Some(&alice), &hash);
        check(&mut svm, VersionedMessage::Legacy(legacy));
        let v0 = v0::Message::try_compile(&alice, &transfer, &[], hash).expect("it is small");
        check(&mut svm, VersionedMessage::V0(v0));
        let limits = v1::TransactionConfig::empty()
            .with_compute_unit_limit(1000)
            .with_loaded_accounts_data_size_limit(1 << 20);
        let v1 = v1::Message::try_compile_with_config(&alice, &transfer, hash, limits)
            .expect("it is small");
        check(&mut svm, VersionedMessage::V1(v1));
        assert_eq!(svm.balance(&bob), 3_000_000);
    }

    #[test]
    fn malformed_transactions_are_rejected() {
        let long = "1".repeat(TEXT_BYTES_MAX + 1);
        for text in ["", "hello", "AAAA", "0x00", &long] {
            assert!(parse(text.as_bytes(), text).is_err(), "{text}");
        }
    }
}
