//! Surfpool's cheatcodes about confidential transfers of Token-2022: keys by a signature, and balances by keys.

use selkie_layout::token::{
    self, ACCOUNT_BYTES, AccountType,
    extension::{ConfidentialTransferAccount, ConfidentialTransferFeeAmount, ExtensionType},
};
use selkie_programs::TOKEN_2022;
use serde::Deserialize;
use serde_json::{Value, json};
use solana_account::{ReadableAccount, WritableAccount};
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_zk_sdk::encryption::{
    auth_encryption::{AeCiphertext, AeKey},
    derivation::derive_confidential_keys_from_signature,
    elgamal::{ElGamalCiphertext, ElGamalPubkey, ElGamalSecretKey},
};

use crate::{
    error::RpcError,
    methods::{
        call::Call,
        cheats::{self, refused},
        surfnet::now,
    },
    params::{Params, parse_key},
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

pub(super) fn set_token_account(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let confidential = params.peek(2).get("confidential").filter(|it| !it.is_null());
    let confidential = confidential.map(Configured::read).transpose()?;
    if let Some(configured) = &confidential {
        configured.check(call, &parse_key(params.peek(1).as_str().unwrap_or_default())?)?;
    }
    let address = cheats::edit_token_account(call, params)?;
    if let Some(configured) = confidential {
        configured.write(call, address)?;
    }
    Ok(now(call, Value::Null))
}

/// `confidential` of `surfnet_setTokenAccount` (surfpool-types 1.7.0).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Confidential {
    elgamal_pubkey: String,
    aes_key: String,
    #[serde(default)]
    amount: u64,
    approved: Option<bool>,
    allow_confidential_credits: Option<bool>,
    allow_non_confidential_credits: Option<bool>,
    maximum_pending_balance_credit_counter: Option<u64>,
}

/// As many amounts as surfpool lets an account receive before its owner applies them.
const CREDITS_MAX: u64 = 65_536;

/// What makes an account one for confidential transfers: the state of its extension.
pub(super) struct Configured(ConfidentialTransferAccount);

impl Configured {
    /// Encrypts the amount that the owner has available.
    pub(super) fn read(value: &Value) -> Result<Self, RpcError> {
        let it = Confidential::deserialize(value)
            .map_err(|error| RpcError::invalid_params(format!("confidential: {error}")))?;
        let missing = || RpcError::invalid_params("confidential needs elgamalPubkey and aesKey");
        let elgamal: ElGamalPubkey =
            key("elgamalPubkey", Some(&it.elgamal_pubkey))?.ok_or_else(missing)?;
        let aes: AeKey = key("aesKey", Some(&it.aes_key))?.ok_or_else(missing)?;
        Ok(Self(ConfidentialTransferAccount {
            approved: it.approved.unwrap_or(true),
            elgamal_pubkey: elgamal.to_bytes(),
            pending_balance_lo: [0; 64],
            pending_balance_hi: [0; 64],
            available_balance: elgamal.encrypt(it.amount).to_bytes(),
            decryptable_available_balance: aes.encrypt(it.amount).to_bytes(),
            allow_confidential_credits: it.allow_confidential_credits.unwrap_or(true),
            allow_non_confidential_credits: it.allow_non_confidential_credits.unwrap_or(true),
            pending_balance_credit_counter: 0,
            maximum_pending_balance_credit_counter: it
                .maximum_pending_balance_credit_counter
                .unwrap_or(CREDITS_MAX),
            expected_pending_balance_credit_counter: 0,
            actual_pending_balance_credit_counter: 0,
        }))
    }

    /// Refuses a mint that no account for confidential transfers can have.
    pub(super) fn check(&self, call: &Call<'_>, mint: &Pubkey) -> Result<(), RpcError> {
        call.fetch(&[*mint])?;
        let found = call.node.view(CommitmentLevel::Processed).account(mint);
        if found.is_some_and(|it| *it.owner() == TOKEN_2022.id) {
            return Ok(());
        }
        let text =
            format!("confidential is for accounts of Token-2022, which {mint} is no mint of");
        Err(RpcError::invalid_params(text))
    }

    /// Writes the state into a token account, and where its mint has fees, that of withheld ones.
    pub(super) fn write(self, call: &Call<'_>, address: Pubkey) -> Result<(), RpcError> {
        let view = call.node.view(CommitmentLevel::Processed);
        let mut account = view.account(&address).unwrap_or_default();
        let mut data = account.data().to_vec();
        let is_with_fees = token::extensions(&data)
            .map_while(Result::ok)
            .any(|(number, _)| number == ExtensionType::TransferFeeAmount as u16);
        put_extension(&mut data, ExtensionType::ConfidentialTransferAccount, &self.0.bytes());
        if is_with_fees {
            let none = ConfidentialTransferFeeAmount { withheld_amount: [0; 64] };
            put_extension(&mut data, ExtensionType::ConfidentialTransferFeeAmount, &none.bytes());
        }
        let lamports = account.lamports().max(view.minimum_balance(data.len()));
        account.set_lamports(lamports);
        account.set_data_from_slice(&data);
        call.node.set_account(address, account).map_err(refused)?;
        Ok(())
    }
}

/// Replaces the state of an extension of a token account, or appends the extension.
fn put_extension(data: &mut Vec<u8>, kind: ExtensionType, state: &[u8]) {
    let mut others = Vec::new();
    for (number, old) in token::extensions(data).map_while(Result::ok) {
        if number != kind as u16 {
            others.extend(entry(number, old));
        }
    }
    data.truncate(ACCOUNT_BYTES);
    data.push(AccountType::Account as u8);
    data.extend(others);
    data.extend(entry(kind as u16, state));
}

fn entry(number: u16, state: &[u8]) -> Vec<u8> {
    let len = u16::try_from(state.len()).unwrap_or(u16::MAX);
    [&number.to_le_bytes()[..], &len.to_le_bytes(), state].concat()
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

    #[test]
    fn accounts_are_configured_with_what_their_owner_can_decrypt() {
        let (elgamal, aes) = derive_confidential_keys_from_signature(&[3; 64].into()).unwrap();
        let text = |bytes: &[u8]| base58(bytes);
        let given = json!({
            "elgamalPubkey": text(&elgamal.pubkey().to_bytes()),
            "aesKey": text(&<[u8; 16]>::from(&aes)),
            "amount": 900,
            "allowConfidentialCredits": false,
        });
        let configured = Configured::read(&given).unwrap().0;
        let available = ElGamalCiphertext::from_bytes(&configured.available_balance).unwrap();
        assert_eq!(elgamal.secret().decrypt_u32(&available), Some(900));
        // The owner of an associated account is immutable, which is an extension of its own.
        let owner = [7, 0, 0, 0];
        let mut data = [&[9; 165][..], &[2], &owner].concat();
        for _ in 0..2 {
            put_extension(
                &mut data,
                ExtensionType::ConfidentialTransferAccount,
                &configured.bytes(),
            );
            assert_eq!(data.len(), 165 + 1 + 4 + 4 + 295, "it is there once");
            assert_eq!(data[165..174], [2, 7, 0, 0, 0, 5, 0, 0x27, 1]);
            let state = State::of(&data).unwrap();
            assert_eq!((state.available(&aes), state.credits), (Some(900), 0));
        }
        // The fields of token-2022's `ConfidentialTransferAccount`: approved, and from 261 on the credits.
        let state = &data[174..];
        assert_eq!((state[0], &state[261..263]), (1, &[0, 1][..]));
        assert_eq!(state[271..279], 65_536_u64.to_le_bytes());
        let mut bare = vec![9; 165];
        put_extension(&mut bare, ExtensionType::ConfidentialTransferAccount, &configured.bytes());
        assert_eq!(bare.len(), 165 + 1 + 4 + 295);
        assert!(Configured::read(&json!({ "aesKey": "1" })).is_err());
        assert!(Configured::read(&json!({ "aesKey": "1", "elgamalPubkey": "2" })).is_err());
    }
}
