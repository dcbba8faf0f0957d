//! Configuration objects: the last parameter of most methods.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use solana_commitment_config::CommitmentLevel;

use crate::error::RpcError;

/// The most filters that a scan may have.
const FILTERS_MAX: usize = 4;
/// The most bytes that a filter compares.
const FILTER_BYTES_MAX: usize = 128;
/// The longest text of so many bytes, in base58 and in base64 (agave: `filter.rs`).
const FILTER_BASE58_MAX: usize = 175;
const FILTER_BASE64_MAX: usize = 172;

/// A commitment. Unknown ones, and values that are no text, count as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commitment(Option<CommitmentLevel>);

impl Commitment {
    /// Returns the commitment; `finalized` if there is none.
    pub(crate) fn level(self) -> CommitmentLevel {
        self.0.unwrap_or(CommitmentLevel::Finalized)
    }

    /// Returns the commitment of a method whose default is `processed`.
    pub(crate) fn or_processed(self) -> CommitmentLevel {
        self.0.unwrap_or(CommitmentLevel::Processed)
    }

    /// Returns the commitment for methods that know blocks alone.
    pub(crate) fn at_least_confirmed(self) -> Result<CommitmentLevel, RpcError> {
        match self.level() {
            CommitmentLevel::Processed => Err(RpcError::invalid_params(
                "Method does not support commitment below `confirmed`",
            )),
            level => Ok(level),
        }
    }
}

impl<'de> Deserialize<'de> for Commitment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(match value.as_str() {
            Some("processed") => Some(CommitmentLevel::Processed),
            Some("confirmed") => Some(CommitmentLevel::Confirmed),
            Some("finalized") => Some(CommitmentLevel::Finalized),
            _ => None,
        }))
    }
}

/// The configuration that most methods have.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcContextConfig")]
pub(crate) struct ContextConfig {
    pub(crate) commitment: Commitment,
    pub(crate) min_context_slot: Option<u64>,
}

/// An encoding of account data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum AccountEncoding {
    /// Base58 without the encoding's name.
    Binary,
    Base58,
    Base64,
    JsonParsed,
    #[serde(rename = "base64+zstd")]
    Base64Zstd,
}

/// The part of account data that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(expecting = "struct UiDataSliceConfig")]
pub(crate) struct DataSlice {
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

impl DataSlice {
    /// Returns the part of `data`, or what there is of it.
    pub(crate) fn of(self, data: &[u8]) -> &[u8] {
        let rest = data.get(self.offset..).unwrap_or_default();
        rest.get(..self.length).unwrap_or(rest)
    }
}

/// The configuration of methods that return accounts.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcAccountInfoConfig")]
pub(crate) struct AccountConfig {
    pub(crate) encoding: Option<AccountEncoding>,
    pub(crate) data_slice: Option<DataSlice>,
    pub(crate) commitment: Commitment,
    pub(crate) min_context_slot: Option<u64>,
}

impl AccountConfig {
    /// Returns what all methods share.
    pub(crate) fn context(&self) -> ContextConfig {
        ContextConfig { commitment: self.commitment, min_context_slot: self.min_context_slot }
    }
}

/// The configuration of scans.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcProgramAccountsConfig")]
pub(crate) struct ProgramAccountsConfig {
    pub(crate) filters: Option<Vec<Filter>>,
    #[serde(flatten)]
    pub(crate) account: AccountConfig,
    pub(crate) with_context: Option<bool>,
    pub(crate) sort_results: Option<bool>,
}

/// A condition on an account of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Filter {
    DataSize(u64),
    Memcmp(Memcmp),
    TokenAccountState,
}

/// Bytes that must be at an offset.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
pub(crate) struct Memcmp {
    offset: usize,
    bytes: MemcmpBytes,
    encoding: Option<MemcmpEncoding>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged)]
enum MemcmpBytes {
    Encoded(String),
    Raw(Vec<u8>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MemcmpEncoding {
    Base58,
    Base64,
    Bytes,
}

impl Memcmp {
    fn bytes(self) -> Result<Vec<u8>, RpcError> {
        let invalid = |reason: String| RpcError::invalid_params(format!("Invalid param: {reason}"));
        let too_large = || invalid("DataTooLarge".to_owned());
        // To decode base58 takes as long as the square of its length.
        let text_max = match self.encoding {
            Some(MemcmpEncoding::Base64) => FILTER_BASE64_MAX,
            _ => FILTER_BASE58_MAX,
        };
        let bytes = match (self.bytes, self.encoding) {
            (MemcmpBytes::Raw(bytes), _) => bytes,
            (MemcmpBytes::Encoded(text), _) if text.len() > text_max => return Err(too_large()),
            (MemcmpBytes::Encoded(text), Some(MemcmpEncoding::Base64)) => BASE64_STANDARD
                .decode(text)
                .map_err(|error| invalid(format!("Base64DecodeError({error:?})")))?,
            (MemcmpBytes::Encoded(text), _) => bs58::decode(text)
                .into_vec()
                .map_err(|error| invalid(format!("Base58DecodeError({error:?})")))?,
        };
        if bytes.len() > FILTER_BYTES_MAX {
            return Err(too_large());
        }
        Ok(bytes)
    }
}

/// A filter whose bytes are decoded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
    DataSize(u64),
    Bytes { offset: usize, bytes: Vec<u8> },
    TokenAccountState,
}

impl Condition {
    /// Decodes the filters of a scan.
    pub(crate) fn all(filters: Option<Vec<Filter>>) -> Result<Vec<Self>, RpcError> {
        let filters = filters.unwrap_or_default();
        if filters.len() > FILTERS_MAX {
            let text = format!("Too many filters provided; max {FILTERS_MAX}");
            return Err(RpcError::invalid_params(text));
        }
        let decode = |filter| match filter {
            Filter::DataSize(size) => Ok(Self::DataSize(size)),
            Filter::Memcmp(it) => Ok(Self::Bytes { offset: it.offset, bytes: it.bytes()? }),
            Filter::TokenAccountState => Ok(Self::TokenAccountState),
        };
        filters.into_iter().map(decode).collect()
    }

    /// Returns whether account data meets the condition.
    pub(crate) fn holds(&self, data: &[u8]) -> bool {
        match self {
            Self::DataSize(size) => data.len() as u64 == *size,
            Self::Bytes { offset, bytes } => {
                data.get(*offset..).is_some_and(|rest| rest.starts_with(bytes))
            }
            Self::TokenAccountState => crate::parsed::accounts::TokenAccount::read(data).is_some(),
        }
    }
}

/// An encoding of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TransactionEncoding {
    /// Base58 without the encoding's name.
    Binary,
    Base58,
    Base64,
    Json,
    JsonParsed,
}

impl TransactionEncoding {
    /// Returns the encoding of transactions that a client asks for, or `json`.
    ///
    /// # Errors
    /// If it is base58, and the client knows transactions that are too long for it.
    pub(crate) fn of_transactions(
        wanted: Option<Self>,
        max_version: Option<u8>,
    ) -> Result<Self, RpcError> {
        let encoding = wanted.unwrap_or(Self::Json);
        let is_base58 = matches!(encoding, Self::Binary | Self::Base58);
        if is_base58 && max_version.is_some_and(|version| version >= 1) {
            return Err(RpcError::invalid_params(
                "base58 encoding is not supported with maxSupportedTransactionVersion >= 1",
            ));
        }
        Ok(encoding)
    }

    /// Returns the name that clients use.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Base58 => "base58",
            Self::Base64 => "base64",
            Self::Json => "json",
            Self::JsonParsed => "jsonParsed",
        }
    }
}

/// How much of a block's transactions is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Details {
    #[default]
    Full,
    Signatures,
    None,
    Accounts,
}

/// The configuration of `getTransaction`, or an encoding alone.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct TransactionConfig {
    pub(crate) encoding: Option<TransactionEncoding>,
    pub(crate) commitment: Commitment,
    pub(crate) max_supported_transaction_version: Option<u8>,
    pub(crate) min_context_slot: Option<u64>,
}

/// The configuration of `getBlock` and `blockSubscribe`, or an encoding alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct BlockConfig {
    pub(crate) encoding: Option<TransactionEncoding>,
    pub(crate) transaction_details: Option<Details>,
    #[serde(alias = "showRewards")]
    pub(crate) rewards: Option<bool>,
    pub(crate) commitment: Commitment,
    pub(crate) max_supported_transaction_version: Option<u8>,
}

/// The configuration of `sendTransaction`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcSendTransactionConfig")]
pub(crate) struct SendConfig {
    pub(crate) skip_preflight: bool,
    pub(crate) preflight_commitment: Commitment,
    pub(crate) encoding: Option<TransactionEncoding>,
    pub(crate) max_retries: Option<u64>,
    pub(crate) min_context_slot: Option<u64>,
}

/// The configuration of `simulateTransaction`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcSimulateTransactionConfig")]
pub(crate) struct SimulateConfig {
    pub(crate) sig_verify: bool,
    pub(crate) replace_recent_blockhash: bool,
    pub(crate) commitment: Commitment,
    pub(crate) encoding: Option<TransactionEncoding>,
    pub(crate) accounts: Option<SimulateAccounts>,
    pub(crate) min_context_slot: Option<u64>,
    pub(crate) inner_instructions: bool,
    pub(crate) inner_instructions_encoding: Option<TransactionEncoding>,
}

/// The accounts that a simulation returns.
#[derive(Clone, Debug, Deserialize)]
#[serde(expecting = "struct RpcSimulateTransactionAccountsConfig")]
pub(crate) struct SimulateAccounts {
    pub(crate) encoding: Option<AccountEncoding>,
    pub(crate) addresses: Vec<String>,
}

/// The configuration of `getSignaturesForAddress`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "struct RpcSignaturesForAddressConfig")]
pub(crate) struct SignaturesConfig {
    pub(crate) before: Option<String>,
    pub(crate) until: Option<String>,
    pub(crate) limit: Option<usize>,
    pub(crate) commitment: Commitment,
    pub(crate) min_context_slot: Option<u64>,
}
