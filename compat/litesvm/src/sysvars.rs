//! Sysvars, blockhashes and the clock.

use selkie_convert::{Address, from_hash, to_address};
use solana_account::Account;
use solana_clock::Clock;
use solana_hash::Hash;
use solana_rent::{DEFAULT_LAMPORTS_PER_BYTE, Rent};
use solana_sdk_ids::{config, stake, sysvar};

use crate::{
    LiteSVM,
    encoding::{DecodeSysvar, EncodeSysvar},
    features::{FeatureSet, MAINNET_DEFAULT_SLOT},
};

/// The bytes of the slot hashes sysvar: 512 entries.
const SLOT_HASHES_BYTES: usize = 20_488;
/// The bytes of the fees sysvar: the lamports per signature, of which LiteSVM says 0.
pub(crate) const FEES_BYTES: usize = 8;
/// Beyond this size, an account cannot exist.
const ACCOUNT_BYTES_MAX: usize = 10 * 1024 * 1024;

/// The slot of a new chain.
const START_SLOT: u64 = if cfg!(feature = "sdk-3") { 0 } else { MAINNET_DEFAULT_SLOT };

impl LiteSVM {
    /// Sets the sysvars: the clock to [`MAINNET_DEFAULT_SLOT`] (or slot 0, as with LiteSVM up to 0.13) and the
    /// time 0, the rent to that of the active features.
    #[must_use]
    pub fn with_sysvars(mut self) -> Self {
        let slot = START_SLOT;
        self.set_sysvar(&Clock { slot, ..Clock::default() });
        let rent = wincode::serialize(&rent(&self.features)).expect("rent can be serialized");
        self.put_sysvar(sysvar::rent::ID, rent);
        let mut hashes = Vec::with_capacity(SLOT_HASHES_BYTES);
        hashes.extend(1_u64.to_le_bytes());
        hashes.extend(slot.to_le_bytes());
        hashes.extend(self.latest_blockhash().as_ref());
        self.put_sysvar(sysvar::slot_hashes::ID, hashes);
        self.put_sysvar(sysvar::fees::ID, vec![0; FEES_BYTES]);
        self.add_stake_config();
        self
    }

    /// Adds the account of the stake program's former configuration, which old instructions pass.
    fn add_stake_config(&mut self) {
        let mut data = vec![0; 8];
        data.extend(0.25_f64.to_le_bytes());
        data.push(12);
        let account = Account { lamports: 1, data, owner: config::ID, ..Account::default() };
        self.set_account(stake::config::ID, account).expect("it is no sysvar");
    }

    /// Sets a sysvar.
    ///
    /// # Panics
    /// If it cannot be serialized, or its data are not valid.
    pub fn set_sysvar<T: EncodeSysvar>(&mut self, sysvar: &T) {
        self.put_sysvar(T::id(), sysvar.encode());
    }

    fn put_sysvar(&mut self, id: Address, mut data: Vec<u8>) {
        if id == sysvar::slot_hashes::ID {
            data.resize(SLOT_HASHES_BYTES, 0);
        }
        let lamports = self.minimum_balance_for_rent_exemption(data.len());
        let account = Account { lamports, data, owner: sysvar::ID, ..Account::default() };
        self.set_account(id, account).expect("the sysvar's data are valid");
    }

    /// Returns a sysvar.
    ///
    /// # Panics
    /// If its account does not exist, or has data that are not valid.
    #[must_use]
    pub fn get_sysvar<T: DecodeSysvar>(&self) -> T {
        let account = self.svm().shared_account(&to_address(&T::id())).expect("the sysvar exists");
        T::decode(selkie::ReadableAccount::data(&account))
    }

    /// Returns the minimum balance of a rent-exempt account; `u64::MAX` for one that would be too
    /// large to exist.
    #[must_use]
    pub fn minimum_balance_for_rent_exemption(&self, data_len: usize) -> u64 {
        if data_len > ACCOUNT_BYTES_MAX {
            return u64::MAX;
        }
        self.svm().minimum_balance_for_rent_exemption(data_len)
    }

    /// Returns the blockhash to sign transactions with.
    #[must_use]
    pub fn latest_blockhash(&self) -> Hash {
        from_hash(&self.svm().latest_blockhash())
    }

    /// Replaces the blockhash; transactions that have another are dropped.
    pub fn expire_blockhash(&mut self) {
        self.svm_mut().expire_blockhash();
    }

    /// Sets the slot of the clock, and nothing else: neither time nor epoch nor blockhashes.
    /// [`selkie::Svm::warp_to_slot`] does what a cluster would.
    pub fn warp_to_slot(&mut self, slot: u64) {
        let clock = Clock { slot, ..self.get_sysvar::<Clock>() };
        self.set_sysvar(&clock);
    }
}

/// The features that lower rent, in the order of activation: the last active one counts (SIMD-0437).
const RENT_FEATURES: [(Address, u64); 6] = [
    (Address::from_str_const("4a6f7o7iTcA8hRDCrPLkSatnt5Ykxiu36wo5p1Tt12wC"), 6333),
    (Address::from_str_const("61BtM7BkDEE8Yq5fskEVAQT9mYA8qCejJWoLe5apqg81"), 5080),
    (Address::from_str_const("rntCigrTppP5JdZz7K8TyN9sMzLdAcXp8SejYpVpX6D"), 2575),
    (Address::from_str_const("rntD7invRBswCAdKtRsh1G4psKjrPdS3BKqtnA78C7N"), 1322),
    (Address::from_str_const("rntTjNZ9boq8owDxjGVFHPfWNQPDaKiM5JcjxmDGg47"), 696),
    (Address::from_str_const("rnt8ZQpz2HYhX3DkYBDGjJS1a36mYq69oXka7JrhEdi"), 6960),
];

/// The feature by which rent has no exemption threshold (SIMD-0194).
const NO_THRESHOLD: Address =
    Address::from_str_const("rent6iVy6PDoViPBeJ6k5EJQrkj62h7DPyLbWGHwjrC");

/// Returns the rent of a cluster with these features.
fn rent(features: &FeatureSet) -> Rent {
    let active = RENT_FEATURES.iter().rev().find(|(id, _)| features.is_active(id));
    let lamports_per_byte = active.map_or(DEFAULT_LAMPORTS_PER_BYTE, |(_, lamports)| *lamports);
    let mut rent = Rent { lamports_per_byte, ..Rent::default() };
    if !features.is_active(&NO_THRESHOLD) {
        set_threshold(&mut rent);
    }
    rent
}

#[allow(deprecated, reason = "clusters without SIMD-0194 have the threshold")]
fn set_threshold(rent: &mut Rent) {
    rent.exemption_threshold = 2.0_f64.to_le_bytes();
    rent.lamports_per_byte /= 2;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rent_is_that_of_the_last_active_feature() {
        assert_eq!(rent(&FeatureSet::mainnet()).minimum_balance(0), 128 * 5080);
        assert_eq!(rent(&FeatureSet::default()).minimum_balance(0), 128 * 6960);
        assert_eq!(rent(&FeatureSet::all_enabled()).minimum_balance(0), 128 * 6960);
    }
}
