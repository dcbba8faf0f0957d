//! Surfpool's cheatcodes about confidential transfers of Token-2022: keys by a signature, and balances by keys.

use selkie_layout::token::{self, extension::ExtensionType};
use serde::Deserialize;
use serde_json::{Value, json};
use solana_account::ReadableAccount;
use solana_commitment_config::CommitmentLevel;
use solana_zk_sdk::encryption::{
    auth_encryption::{AeCiphertext, AeKey},
    derivation::derive_confidential_keys_from_signature,
    elgamal::{ElGamalCiphertext, ElGamalSecretKey},
};

use crate::{
    error::RpcError,
    methods::{call::Call, surfnet::now},
    params::Params,
};

/// The bits of the lower part of a pending balance (token-2022: `confidential_transfer/mod.rs`).
const PENDING_LOW_BITS: u32 = 16;

fn base58(bytes: &[u8]) -> String {
    bs58::encode(bytes).into_string()
}

/// Returns the keys that wallets derive of a signature of `solana-conf-bal/v1` and a seed.
pub(super) fn derive_keys(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let signature = params.signature(0)?;
    let keys = derive_confidential_keys_from_signature(&signature);
    let (elgamal, aes) = keys.map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let keys = json!({
        "aesKey": base58(&<[u8; 16]>::from(&aes)),
        "elgamalPubkey": base58(&elgamal.pubkey().to_bytes()),
        "elgamalSecretKey": base58(elgamal.secret().as_bytes()),
    });
    Ok(now(call, keys))
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Keys {
    aes_key: Option<String>,
    elgamal_secret_key: Option<String>,
}

/// Reads a key in base58.
fn key<T: for<'a> TryFrom<&'a [u8]>>(
    name: &str,
    text: Option<&str>,
) -> Result<Option<T>, RpcError> {
    let Some(text) = text else { return Ok(None) };
    let bytes = bs58::decode(text).into_vec().unwrap_or_default();
    let invalid = |_| RpcError::invalid_params(format!("{name} is no such key in base58"));
    T::try_from(&bytes).map(Some).map_err(invalid)
}

/// Returns what an owner can read of the balance with these keys; null where a key is missing or another one's.
pub(super) fn get_balance(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let address = params.key(0)?;
    let keys: Keys = params.or_default(1)?;
    let aes: Option<AeKey> = key("aesKey", keys.aes_key.as_deref())?;
    let elgamal: Option<ElGamalSecretKey> =
        key("elgamalSecretKey", keys.elgamal_secret_key.as_deref())?;
    call.fetch(&[address])?;
    let account = call.node.view(CommitmentLevel::Processed).account(&address);
    let state = account.as_ref().and_then(|account| State::of(account.data()));
    let state = state.ok_or_else(|| {
        RpcError::invalid_params(format!(
            "{address} is not a token account that is configured for confidential transfers"
        ))
    })?;
    let balance = json!({
        "available": aes.and_then(|key| state.available(&key)),
        "pending": elgamal.and_then(|key| state.pending(&key)),
        "pendingBalanceCreditCounter": state.credits,
    });
    Ok(now(call, balance))
}

/// What an account has for confidential transfers (token-2022: `ConfidentialTransferAccount`).
struct State<'a> {
    pending_low: &'a [u8],
    pending_high: &'a [u8],
    decryptable_available: &'a [u8],
    credits: u64,
}

impl<'a> State<'a> {
    fn of(data: &'a [u8]) -> Option<Self> {
        let is_it =
            |number| ExtensionType::of(number) == Some(ExtensionType::ConfidentialTransferAccount);
        let mut extensions = token::extensions(data).map_while(Result::ok);
        let (_, state) = extensions.find(|(number, _)| is_it(*number))?;
        // Behind the approval and the public key.
        let (ciphertexts, rest) = state.get(33..)?.split_at_checked(3 * 64)?;
        // Behind it, whether credits of either kind are allowed.
        let (decryptable_available, rest) = rest.split_at_checked(36)?;
        Some(Self {
            pending_low: ciphertexts.get(..64)?,
            pending_high: ciphertexts.get(64..128)?,
            decryptable_available,
            credits: u64::from_le_bytes(*rest.get(2..)?.first_chunk()?),
        })
    }

    fn available(&self, key: &AeKey) -> Option<u64> {
        AeCiphertext::from_bytes(self.decryptable_available)?.decrypt(key)
    }

    fn pending(&self, key: &ElGamalSecretKey) -> Option<u64> {
        let part = |bytes| key.decrypt_u32(&ElGamalCiphertext::from_bytes(bytes)?);
        let high = part(self.pending_high)?.checked_shl(PENDING_LOW_BITS)?;
        part(self.pending_low)?.checked_add(high)
    }
}

#[cfg(test)]
mod tests {
    use solana_signature::Signature;

    use super::*;

    #[test]
    fn balances_are_read_with_the_keys_of_their_owner() {
        let keys =
            |byte| derive_confidential_keys_from_signature(&Signature::from([byte; 64])).unwrap();
        let (elgamal, aes) = keys(1);
        let encrypted = |amount: u64| elgamal.pubkey().encrypt(amount).to_bytes();
        let mut data = [&[0; 165][..], &[2, 5, 0], &295_u16.to_le_bytes(), &[0; 33]].concat();
        data.extend([encrypted(7), encrypted(2), encrypted(0)].concat());
        data.extend(aes.encrypt(500).to_bytes());
        data.extend([&[1, 1][..], &3_u64.to_le_bytes(), &[0; 24]].concat());
        let state = State::of(&data).unwrap();
        assert_eq!(state.available(&aes), Some(500));
        assert_eq!(state.pending(elgamal.secret()), Some(7 + (2 << 16)));
        assert_eq!(state.credits, 3);
        let (others, other) = keys(2);
        assert_eq!((state.available(&other), state.pending(others.secret())), (None, None));
        assert!(State::of(&data[..300]).is_none() && State::of(&[]).is_none());
    }
}
