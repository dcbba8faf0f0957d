//! Accounts in the encodings of clients.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    config::{AccountEncoding, DataSlice},
    error::RpcError,
    parsed::accounts::{self, Account, Mint, mint_of},
    token_amount::Scale,
};

/// The most bytes that are shown as base58.
const BASE58_BYTES_MAX: usize = 128;

/// How accounts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    pub(crate) encoding: AccountEncoding,
    pub(crate) slice: Option<DataSlice>,
}

/// What an account is shown with: the accounts around it, and the time.
pub(crate) trait Surroundings {
    /// Returns an account, to find a token account's mint.
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData>;
    /// Returns the Unix time.
    fn now(&self) -> i64;

    /// Returns how amounts of a mint are shown.
    fn scale(&self, mint: &Pubkey) -> Option<Scale> {
        let account = self.account(mint)?;
        Mint::read(account.data()).map(|mint| mint.scale(self.now()))
    }
}

/// Returns an account as `{data, executable, lamports, owner, rentEpoch, space}`.
///
/// # Errors
/// If base58 is asked for more than 128 bytes of data.
pub(crate) fn encode(
    key: &Pubkey,
    account: &AccountSharedData,
    form: Form,
    around: &dyn Surroundings,
) -> Result<Value, RpcError> {
    Ok(fields(account, &data(key, account, form, around)?))
}

/// Returns an account for a notification, in which a text stands for data that is too long for
/// base58.
pub(crate) fn encode_for_notification(
    key: &Pubkey,
    account: &AccountSharedData,
    form: Form,
    around: &dyn Surroundings,
) -> Value {
    const TOO_LONG: &str = "error: data too large for bs58 encoding";
    encode(key, account, form, around).unwrap_or_else(|_| match form.encoding {
        AccountEncoding::Binary => fields(account, &json!(TOO_LONG)),
        _ => fields(account, &json!([TOO_LONG, "base58"])),
    })
}

fn fields(account: &AccountSharedData, data: &Value) -> Value {
    json!({
        "data": data,
        "executable": account.executable(),
        "lamports": account.lamports(),
        "owner": account.owner().to_string(),
        "rentEpoch": account.rent_epoch(),
        "space": account.data().len(),
    })
}

/// Returns an account with its address.
///
/// # Errors
/// As for [`encode`].
pub(crate) fn encode_keyed(
    key: &Pubkey,
    account: &AccountSharedData,
    form: Form,
    around: &dyn Surroundings,
) -> Result<Value, RpcError> {
    let account = encode(key, account, form, around)?;
    Ok(json!({ "account": account, "pubkey": key.to_string() }))
}

fn data(
    key: &Pubkey,
    account: &AccountSharedData,
    form: Form,
    around: &dyn Surroundings,
) -> Result<Value, RpcError> {
    let bytes = form.slice.map_or(account.data(), |slice| slice.of(account.data()));
    Ok(match form.encoding {
        AccountEncoding::Binary => json!(base58(bytes)?),
        AccountEncoding::Base58 => json!([base58(bytes)?, "base58"]),
        AccountEncoding::Base64 => json!([BASE64_STANDARD.encode(bytes), "base64"]),
        AccountEncoding::Base64Zstd => json!([BASE64_STANDARD.encode(zstd(bytes)), "base64+zstd"]),
        AccountEncoding::JsonParsed => parse(key, account, around)
            .unwrap_or_else(|| json!([BASE64_STANDARD.encode(bytes), "base64"])),
    })
}

fn parse(key: &Pubkey, account: &AccountSharedData, around: &dyn Surroundings) -> Option<Value> {
    let (owner, data) = (account.owner(), account.data());
    let scale = mint_of(owner, data).and_then(|mint| around.scale(&mint));
    accounts::parse(&Account { key, owner, data, scale: scale.as_ref() })
}

fn base58(bytes: &[u8]) -> Result<String, RpcError> {
    if bytes.len() > BASE58_BYTES_MAX {
        return Err(RpcError::refused(format!(
            "Encoded binary (base 58) data should be less than {BASE58_BYTES_MAX} bytes, please use Base64 encoding."
        )));
    }
    Ok(bs58::encode(bytes).into_string())
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}
