//! What clients of surfpool's and Jito's methods have given or sent: bundles, descriptions, profiles. The oldest go
//! when there are too many.

use std::collections::{BTreeMap, VecDeque};

use selkie_case::Case;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use solana_account::ReadableAccount;
use solana_pubkey::Pubkey;
use solana_signature::Signature;

/// How many bundles are known, the newest ones.
const BUNDLES_MAX: usize = 1000;

/// The bundles that have landed, by their ids, oldest first.
#[derive(Default, Debug)]
pub(super) struct Bundles(VecDeque<(String, Vec<Signature>)>);

impl Bundles {
    pub(super) fn add(&mut self, id: String, signatures: Vec<Signature>) {
        self.0.push_back((id, signatures));
        if self.0.len() > BUNDLES_MAX {
            self.0.pop_front();
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<Vec<Signature>> {
        self.0.iter().rev().find(|(known, _)| known == id).map(|(_, signatures)| signatures.clone())
    }
}

/// How many descriptions of a program are kept: those from the latest slots on.
const VERSIONS_MAX: usize = 16;

/// Descriptions of programs by the slots from which on they are active. How many programs there are is
/// limited by [`Interfaces`](crate::interfaces::Interfaces), which keeps the newest of each.
#[derive(Default, Debug)]
pub(super) struct Idls(BTreeMap<Pubkey, BTreeMap<u64, Value>>);

impl Idls {
    pub(super) fn add(&mut self, program: Pubkey, slot: u64, idl: Value) {
        let versions = self.0.entry(program).or_default();
        versions.insert(slot, idl);
        if versions.len() > VERSIONS_MAX {
            versions.pop_first();
        }
    }

    pub(super) fn active(&self, program: &Pubkey, slot: u64) -> Option<&Value> {
        Some(self.0.get(program)?.range(..=slot).next_back()?.1)
    }
}

/// How many profiles of simulations are kept: surfpool's `--max-profiles` by default.
const PROFILES_MAX: usize = 200;
/// How many bytes of account data they may have.
const PROFILES_BYTES_MAX: usize = 256 << 20;

/// The profiles of simulations, oldest first.
#[derive(Default, Debug)]
pub(super) struct Profiles {
    kept: VecDeque<Profile>,
    made: u64,
    bytes: usize,
}

/// A transaction with the state before it, and how it is found again.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    pub(super) key: String,
    pub(super) tag: String,
    pub(super) slot: u64,
    pub(super) case: Case,
    pub(super) bytes: usize,
}

impl Profiles {
    /// Keeps a profile under a new key, which is its tag if it has no other. Returns the key.
    pub(super) fn add(&mut self, case: Case, slot: u64, tag: Option<String>) -> String {
        self.made = self.made.saturating_add(1);
        let key = uuid(self.made, &case);
        let bytes = case.accounts.iter().map(|(_, account)| account.data().len()).sum();
        let tag = tag.unwrap_or_else(|| key.clone());
        self.bytes = self.bytes.saturating_add(bytes);
        self.kept.push_back(Profile { key: key.clone(), tag, slot, case, bytes });
        while self.kept.len() > 1
            && (self.kept.len() > PROFILES_MAX || self.bytes > PROFILES_BYTES_MAX)
        {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.bytes);
        }
        key
    }

    pub(super) fn matching(&self, is_it: impl Fn(&Profile) -> bool) -> Vec<Profile> {
        self.kept.iter().filter(|it| is_it(it)).cloned().collect()
    }
}

/// Returns a UUID (version 8 of RFC 9562): the hash of a number and the transaction.
fn uuid(number: u64, case: &Case) -> String {
    let mut hash = Sha256::new();
    hash.update(number.to_le_bytes());
    if let Some(transaction) = case.input.transaction() {
        hash.update(transaction.message().serialize());
    }
    let hash: [u8; 32] = hash.finalize().into();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    bytes[6] = 0x80 | bytes[6] & 0x0f;
    bytes[8] = 0x80 | bytes[8] & 0x3f;
    let text = hex::encode(bytes);
    [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_bundles_are_forgotten() {
        let mut bundles = Bundles::default();
        (0..=BUNDLES_MAX).for_each(|it| bundles.add(it.to_string(), Vec::new()));
        assert_eq!((bundles.find("0"), bundles.find("1")), (None, Some(Vec::new())));
    }

    #[test]
    fn the_oldest_profiles_are_dropped() {
        let mut profiles = Profiles::default();
        let keys: Vec<String> =
            (0..PROFILES_MAX + 2).map(|_| profiles.add(Case::default(), 1, None)).collect();
        let is_kept = |key: &&String| !profiles.matching(|it| it.key == **key).is_empty();
        assert_eq!(keys.iter().filter(|key| !is_kept(key)).count(), 2);
    }
}
