//! Sets of features as vectors give them: by the name of a profile, or as a list of ids.

use std::collections::{BTreeMap, BTreeSet};

use selkie_svm::{Feature, FeatureSet, Pubkey};
use serde::Deserialize;

use crate::{BadVector, vector::number};

/// What no engine asked for any more when it made vectors: it was on whatever they say.
const SETTLED: [Feature; 4] = [
    Feature::DisableDeprecatedLoader,
    Feature::DisableBpfLoaderInstructions,
    Feature::DisableDeployOfAllocFree,
    Feature::IgnoreExecutableFlag,
];

/// Features, each by its id: the first eight bytes of its address, little endian.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FeatureIds(BTreeSet<u64>);

impl FeatureIds {
    /// Whether the feature with this address is among them.
    #[must_use]
    pub fn has(&self, address: &Pubkey) -> bool {
        id(address).is_some_and(|id| self.0.contains(&id))
    }

    /// Those of them that the runtime asks for, and [`SETTLED`].
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        let all = Feature::ALL.iter().copied();
        let on = |feature: &Feature| SETTLED.contains(feature) || self.has(&feature.address());
        all.filter(on).collect()
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

/// Reads profiles: lists of ids in hex, or of objects that have one.
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
            number(&id.as_str().into()).ok_or_else(|| BadVector(format!("`{id}` is no id")))
        });
        ids.collect::<Result<_, _>>()
    };
    profiles.into_iter().map(|(name, entries)| Ok((name, ids(entries)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_first_bytes_of_addresses() {
        let profiles = parse_profiles(include_str!("../data/profiles.json")).unwrap();
        assert_eq!(profiles["none"].features(), FeatureSet::from_iter(SETTLED));
        assert!(profiles["mainnet"].features().has(Feature::GetSysvar));
        assert!(!profiles["mainnet"].features().has(Feature::Blake3));
        assert!(profiles["all"].features().has(Feature::Blake3));
        assert!(parse_profiles(r#"{"own":["x"]}"#).is_err());
    }
}
