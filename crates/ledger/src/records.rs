//! The encoding of records: text in dumps, bytes in stores.
//!
//! The modules are for serde's `with`. In a format for people, addresses, hashes and signatures are
//! base58 and data base64; in any other they are bytes.

use base64::engine::general_purpose::STANDARD as BASE64;
use selkie_svm::EpochStake;
use serde::{Deserialize, Serialize};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

/// An account with its address.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AccountRecord {
    /// The address.
    #[serde(with = "base58")]
    pub address: Pubkey,
    /// The lamports.
    pub lamports: u64,
    /// The owner.
    #[serde(with = "base58")]
    pub owner: Pubkey,
    /// Whether it is executable.
    pub executable: bool,
    /// The rent epoch.
    pub rent_epoch: u64,
    /// The data.
    #[serde(with = "base64_bytes")]
    pub data: Vec<u8>,
}

impl AccountRecord {
    /// Creates the record of an account.
    #[must_use]
    pub fn new(address: &Pubkey, account: &AccountSharedData) -> Self {
        Self {
            address: *address,
            lamports: account.lamports(),
            owner: *account.owner(),
            executable: account.executable(),
            rent_epoch: account.rent_epoch(),
            data: account.data().to_vec(),
        }
    }

    /// Returns the address and the account.
    #[must_use]
    pub fn into_account(self) -> (Pubkey, AccountSharedData) {
        let Self { address, lamports, owner, executable, rent_epoch, data } = self;
        (address, Account { lamports, data, owner, executable, rent_epoch }.into())
    }
}

/// The stake of an epoch.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Stake {
    /// The stake of the whole cluster, in lamports.
    pub total: u64,
    /// The stake of each vote account, in lamports.
    pub vote_accounts: Vec<(String, u64)>,
}

impl Stake {
    /// Creates the record of an epoch's stake.
    #[must_use]
    pub fn new(stake: &EpochStake) -> Self {
        let accounts = stake.vote_accounts.iter();
        let vote_accounts = accounts.map(|(key, stake)| (key.to_string(), *stake)).collect();
        Self { total: stake.total, vote_accounts }
    }

    /// Returns the stake; accounts whose address is malformed are left out.
    #[must_use]
    pub fn into_stake(self) -> EpochStake {
        let accounts = self.vote_accounts.into_iter();
        let vote_accounts =
            accounts.filter_map(|(key, stake)| Some((key.parse().ok()?, stake))).collect();
        EpochStake { total: self.total, vote_accounts }
    }
}

/// Addresses, hashes and signatures.
pub(crate) mod base58 {
    use core::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<T: Display + Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_str(value),
            false => value.serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display> + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        if !deserializer.is_human_readable() {
            return T::deserialize(deserializer);
        }
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Lists of addresses or hashes.
pub(crate) mod addresses {
    use core::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<T: Display + Serialize, S: Serializer>(
        values: &[T],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.collect_seq(values.iter().map(ToString::to_string)),
            false => values.serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr<Err: Display> + Deserialize<'de>,
        D: Deserializer<'de>,
    {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer);
        }
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

/// Data of accounts and instructions.
pub(crate) mod base64_bytes {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use base64::Engine as _;

    use super::BASE64;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match serializer.is_human_readable() {
            true => serializer.serialize_str(&BASE64.encode(bytes)),
            false => serializer.serialize_bytes(bytes),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::deserialize(deserializer);
        }
        BASE64.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Transactions in their wire format.
pub(crate) mod wire {
    use serde::{Deserializer, Serializer, de::Error};
    use solana_transaction::versioned::VersionedTransaction;

    use super::base64_bytes;

    pub(crate) fn serialize<S: Serializer>(
        transaction: &VersionedTransaction,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let bytes = wincode::serialize(transaction).map_err(serde::ser::Error::custom)?;
        base64_bytes::serialize(&bytes, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<VersionedTransaction, D::Error> {
        let bytes = base64_bytes::deserialize(deserializer)?;
        wincode::deserialize_exact(&bytes).map_err(D::Error::custom)
    }
}
