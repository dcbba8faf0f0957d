//! Environments: what the items of many rows share, in a file that its hash names.
//!
//! The file is JSON, so that any tool can write it. Its name is the SHA-256 of its bytes, as they are.

use std::collections::BTreeMap;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_builtins::{builtins, precompiles};
use selkie_svm::{
    Environment, EpochStake, FeatureSet, Release, Sysvars, UnknownRules,
    cost::LAMPORTS_PER_SIGNATURE,
};
use serde::{Deserialize, Serialize};
use solana_hash::Hash;
use solana_pubkey::Pubkey;

use crate::{Sha256, error::Malformed};

/// The file of an environment. Addresses and blockhashes are in base58, data in base64, hashes in hex.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EnvironmentFile {
    /// The addresses of the active features; without it, mainnet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The release of agave whose behaviour holds where no feature switches it, as `4.4`. Without it, that
    /// which mainnet runs; but 4.3 where features are listed, as earlier versions wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The data of each sysvar, by address. They are accounts of every item, too.
    #[serde(default)]
    pub sysvars: BTreeMap<String, String>,
    /// The blockhashes that are recent, oldest first; for items that check theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockhashes: Vec<String>,
    /// The fee per signature in lamports.
    #[serde(default = "lamports_per_signature")]
    pub lamports_per_signature: u64,
    /// The stake of the whole cluster in lamports.
    #[serde(default)]
    pub total_stake: u64,
    /// The stake of each vote account in lamports.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vote_stakes: BTreeMap<String, u64>,
    /// Accounts that every item has, unless it has one of its own at the address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<EnvironmentAccount>,
}

/// An account that all items of an environment have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EnvironmentAccount {
    /// Its address.
    pub pubkey: String,
    /// Its balance.
    pub lamports: u64,
    /// The program that owns it.
    pub owner: String,
    /// Whether it is marked as a program.
    #[serde(default)]
    pub executable: bool,
    /// The hash of its data, which are among the contents; without it, the data are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

fn lamports_per_signature() -> u64 {
    LAMPORTS_PER_SIGNATURE
}

impl Default for EnvironmentFile {
    /// Returns mainnet's features and fees, and no sysvars.
    fn default() -> Self {
        Self {
            features: None,
            release: None,
            sysvars: BTreeMap::new(),
            blockhashes: Vec::new(),
            lamports_per_signature: LAMPORTS_PER_SIGNATURE,
            total_stake: 0,
            vote_stakes: BTreeMap::new(),
            accounts: Vec::new(),
        }
    }
}

impl EnvironmentFile {
    /// Returns the file's bytes, whose hash items refer to.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and numbers are JSON")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        Ok(serde_json::from_slice(bytes).map_err(|error| format!("not an environment: {error}"))?)
    }

    /// Returns what the runtime takes: features, builtin programs, sysvars, fees, stakes.
    ///
    /// # Errors
    /// With the first text that cannot be decoded.
    pub(crate) fn environment(&self) -> Result<Environment, Malformed> {
        let features = self.features()?;
        let blockhash = self.blockhashes.last().map(|it| blockhash(it)).transpose()?;
        Ok(Environment {
            features,
            release: self.release()?,
            sysvars: self.sysvars()?,
            builtins: builtins(features),
            precompiles: precompiles(),
            blockhash: blockhash.unwrap_or_default(),
            lamports_per_signature: self.lamports_per_signature,
            epoch_stake: self.stakes()?,
            ..Environment::default()
        })
    }

    fn features(&self) -> Result<FeatureSet, Malformed> {
        let Some(features) = &self.features else { return Ok(FeatureSet::mainnet()) };
        let addresses: Result<Vec<_>, _> = features.iter().map(|it| pubkey(it)).collect();
        Ok(FeatureSet::from_addresses(addresses?.iter()))
    }

    fn release(&self) -> Result<Release, Malformed> {
        match &self.release {
            Some(text) => Ok(text.parse().map_err(|error: UnknownRules| error.to_string())?),
            None if self.features.is_some() => Ok(Release::V4_3),
            None => Ok(Release::MAINNET),
        }
    }

    fn sysvars(&self) -> Result<Sysvars, Malformed> {
        let mut sysvars = Sysvars::empty();
        for (id, data) in &self.sysvars {
            let data = BASE64_STANDARD.decode(data);
            let data = data.map_err(|error| format!("data of sysvar {id}: {error}"))?;
            sysvars.set(pubkey(id)?, &data).map_err(|error| error.to_string())?;
        }
        Ok(sysvars)
    }

    fn stakes(&self) -> Result<EpochStake, Malformed> {
        let votes = self.vote_stakes.iter().map(|(id, stake)| Ok((pubkey(id)?, *stake)));
        Ok(EpochStake {
            total: self.total_stake,
            vote_accounts: votes.collect::<Result<_, Malformed>>()?,
        })
    }
}

/// Decodes an address.
pub(crate) fn pubkey(text: &str) -> Result<Pubkey, Malformed> {
    Ok(text.parse().map_err(|error| format!("`{text}` is no address: {error}"))?)
}

/// Decodes a blockhash.
pub(crate) fn blockhash(text: &str) -> Result<Hash, Malformed> {
    Ok(text.parse().map_err(|error| format!("`{text}` is no blockhash: {error}"))?)
}

/// Decodes a hash of contents.
pub(crate) fn content_hash(text: &str) -> Result<Sha256, Malformed> {
    let mut hash = [0; 32];
    let decoded = hex::decode_to_slice(text, &mut hash);
    decoded.map_err(|error| format!("`{text}` is no SHA-256 in hex: {error}"))?;
    Ok(hash)
}
