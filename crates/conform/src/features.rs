//! Feature sets in vectors: the name of a profile, or a list of ids.

use std::collections::{BTreeMap, BTreeSet};

use selkie_svm::{FeatureSet, Pubkey};
use serde::Deserialize;

use crate::{BadVector, vector::number};

/// A set of features by id: the first eight bytes of each address, little-endian.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeatureIds(BTreeSet<u64>);

impl FeatureIds {
    /// Returns whether the set contains the feature with this address.
    #[must_use]
    pub fn has(&self, address: &Pubkey) -> bool {
        id(address).is_some_and(|id| self.0.contains(&id))
    }

    /// Returns the features of the set that the runtime knows, and those that are always active.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        selkie_case::firedancer::features(&self.0.iter().copied().collect::<Vec<_>>())
    }
}

impl FromIterator<u64> for FeatureIds {
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> Self {
        Self(ids.into_iter().collect())
    }
}

fn id(address: &Pubkey) -> Option<u64> {
    address.as_array().first_chunk().copied().map(u64::from_le_bytes)
}

/// Decodes profiles: lists of ids in hex, or of objects with an `id`.
pub(crate) fn parse_profiles(text: &str) -> Result<BTreeMap<String, FeatureIds>, BadVector> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Entry {
        Id(String),
        Named { id: String },
    }
    let profiles: BTreeMap<String, Vec<Entry>> = serde_json::from_str(text)?;
    let ids = |entries: Vec<Entry>| {
        let ids = entries.into_iter().map(|entry| {
            let (Entry::Id(id) | Entry::Named { id }) = entry;
            number(&id.as_str().into())
                .ok_or_else(|| BadVector(format!("`{id}` is not a feature id")))
        });
        ids.collect::<Result<_, _>>()
    };
    profiles.into_iter().map(|(name, entries)| Ok((name, ids(entries)?))).collect()
}

#[cfg(test)]
mod tests {
    use selkie_svm::Feature;

    use super::*;

    #[test]
    fn the_built_in_profiles_have_the_features_of_their_names() {
        let profiles = parse_profiles(include_str!("../data/profiles.json")).unwrap();
        assert_eq!(profiles["none"].features(), selkie_case::firedancer::features(&[]));
        assert!(profiles["mainnet"].features().has(Feature::GetSysvar));
        assert!(!profiles["mainnet"].features().has(Feature::Blake3));
        assert!(profiles["all"].features().has(Feature::Blake3));
        assert!(parse_profiles(r#"{"own":["x"]}"#).is_err());
    }
}
