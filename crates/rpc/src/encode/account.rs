//! Accounts in the encodings of clients.

use base64::{display::Base64Display, prelude::BASE64_STANDARD};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use serde_json::Value;
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

    /// Returns an account as `{parsed, program, space}` by a description of its program.
    fn describe(&self, _: &AccountSharedData) -> Option<Value> {
        None
    }

    /// Returns how amounts of a mint are shown.
    fn scale(&self, mint: &Pubkey) -> Option<Scale> {
        let account = self.account(mint)?;
        Mint::read(account.data()).map(|mint| mint.scale(self.now()))
    }
}

/// An account as `{data, executable, lamports, owner, rentEpoch, space}`, whose data are encoded where
/// they are written: they may be long, and a list may have the same account many times.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    account: &'a AccountSharedData,
    data: Data<'a>,
}

/// The data of an account in an encoding.
#[derive(Debug)]
enum Data<'a> {
    Parsed(Value),
    /// Base58 without its name.
    Bare(String),
    Base58(String),
    Base64(&'a [u8]),
    Base64Zstd(Vec<u8>),
}

impl<'a> Shown<'a> {
    /// Shows an account in a form.
    ///
    /// # Errors
    /// If base58 is asked for more than 128 bytes of data.
    pub(crate) fn new(
        key: &Pubkey,
        account: &'a AccountSharedData,
        form: Form,
        around: &dyn Surroundings,
    ) -> Result<Self, RpcError> {
        let bytes = form.slice.map_or(account.data(), |slice| slice.of(account.data()));
        let data = match form.encoding {
            AccountEncoding::Binary => Data::Bare(base58(bytes)?),
            AccountEncoding::Base58 => Data::Base58(base58(bytes)?),
            AccountEncoding::Base64 => Data::Base64(bytes),
            AccountEncoding::Base64Zstd => Data::Base64Zstd(zstd(bytes)),
            AccountEncoding::JsonParsed => {
                parse(key, account, around).map_or(Data::Base64(bytes), Data::Parsed)
            }
        };
        Ok(Self { account, data })
    }

    /// Shows an account in a notification, in which a text stands for data that is too long for
    /// base58.
    pub(crate) fn for_notification(
        key: &Pubkey,
        account: &'a AccountSharedData,
        form: Form,
        around: &dyn Surroundings,
    ) -> Self {
        const TOO_LONG: &str = "error: data too large for bs58 encoding";
        let shown = Self::new(key, account, form, around);
        shown.unwrap_or_else(|_| match form.encoding {
            AccountEncoding::Binary => Self { account, data: Data::Bare(TOO_LONG.to_owned()) },
            _ => Self { account, data: Data::Base58(TOO_LONG.to_owned()) },
        })
    }
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Account", 6)?;
        fields.serialize_field("data", &self.data)?;
        fields.serialize_field("executable", &self.account.executable())?;
        fields.serialize_field("lamports", &self.account.lamports())?;
        fields.serialize_field("owner", &self.account.owner().to_string())?;
        fields.serialize_field("rentEpoch", &self.account.rent_epoch())?;
        fields.serialize_field("space", &self.account.data().len())?;
        fields.end()
    }
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Parsed(value) => value.serialize(serializer),
            Self::Bare(text) => text.serialize(serializer),
            Self::Base58(text) => (text, "base58").serialize(serializer),
            Self::Base64(bytes) => (Base64(bytes), "base64").serialize(serializer),
            Self::Base64Zstd(bytes) => (Base64(bytes), "base64+zstd").serialize(serializer),
        }
    }
}

/// Bytes that are written in base64, without a copy of that text.
struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &BASE64_STANDARD))
    }
}

/// An account with its address.
#[derive(Debug, Serialize)]
pub(crate) struct Keyed<'a> {
    account: Shown<'a>,
    pubkey: String,
}

impl<'a> Keyed<'a> {
    /// Adds the address.
    pub(crate) fn new(key: &Pubkey, account: Shown<'a>) -> Self {
        Self { account, pubkey: key.to_string() }
    }
}

pub(crate) fn parse(
    key: &Pubkey,
    account: &AccountSharedData,
    around: &dyn Surroundings,
) -> Option<Value> {
    if let Some(described) = around.describe(account) {
        return Some(described);
    }
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
