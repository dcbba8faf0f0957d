//! What happens at the first slot of an epoch: features become active, stakes are written down,
//! rewards begin (agave: `bank.rs`, `process_new_epoch`).

use std::sync::{Arc, OnceLock};

use selkie_builtins::{Kind, builtins};
use selkie_svm::{
    AccountSharedData, AccountStore, Builtins, Feature, FeatureSet, NATIVE_LOADER, Pubkey,
    ReadableAccount,
    sysvars::{EpochRewards, Rent},
};
use solana_account::WritableAccount;
use solana_sdk_ids::{feature, sysvar};
use solana_stake_history::StakeHistory;

use crate::{
    bank::Bank,
    begin::Beginning,
    stakes::StakeAccounts,
    state::{builtin_name, native_account, programs_of_features},
    sysvars, time,
};

/// Programs are prepared for the next epoch's features in the last slots of an epoch: so many, or
/// the second half of a short one (agave: half of what its program cache holds).
const PREPARATION_SLOTS: u64 = 512;

/// How many programs each bank prepares for the next epoch.
const PREPARED_AT_ONCE: usize = 4;

/// Features that change the lamports that an account's byte must hold (SIMD-0437, SIMD-0438), in
/// the order in which they take effect. They change a sysvar and nothing else, so that the runtime
/// never asks for them.
const RENTS: [(Pubkey, u64); 6] = [
    (Pubkey::from_str_const("4a6f7o7iTcA8hRDCrPLkSatnt5Ykxiu36wo5p1Tt12wC"), 6333),
    (Pubkey::from_str_const("61BtM7BkDEE8Yq5fskEVAQT9mYA8qCejJWoLe5apqg81"), 5080),
    (Pubkey::from_str_const("rntCigrTppP5JdZz7K8TyN9sMzLdAcXp8SejYpVpX6D"), 2575),
    (Pubkey::from_str_const("rntD7invRBswCAdKtRsh1G4psKjrPdS3BKqtnA78C7N"), 1322),
    (Pubkey::from_str_const("rntTjNZ9boq8owDxjGVFHPfWNQPDaKiM5JcjxmDGg47"), 696),
    (Pubkey::from_str_const("rnt8ZQpz2HYhX3DkYBDGjJS1a36mYq69oXka7JrhEdi"), 6960),
];

/// What a feature's account says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activation {
    Pending,
    Since(u64),
}

fn activation(account: &AccountSharedData) -> Option<Activation> {
    if *account.owner() != feature::ID {
        return None;
    }
    match account.data().split_first()? {
        (0, _) => Some(Activation::Pending),
        (1, slot) => Some(Activation::Since(u64::from_le_bytes(*slot.first_chunk()?))),
        _ => None,
    }
}

/// The addresses of features, read once.
fn addresses() -> &'static [(Feature, Pubkey)] {
    static ADDRESSES: OnceLock<Vec<(Feature, Pubkey)>> = OnceLock::new();
    ADDRESSES.get_or_init(|| Feature::ALL.iter().map(|it| (*it, it.address())).collect())
}

/// The features that accounts would have become active now, and those that are not active yet of
/// them.
fn activations(
    accounts: &impl AccountStore,
    features: FeatureSet,
    slot: u64,
) -> (FeatureSet, Vec<Pubkey>) {
    let (mut active, mut pending) = (features, Vec::new());
    for (feature, address) in addresses().iter().filter(|(feature, _)| !features.has(*feature)) {
        match accounts.account(address).as_ref().and_then(activation) {
            Some(Activation::Pending) => {
                pending.push(*address);
                active = active.with(*feature);
            }
            Some(Activation::Since(since)) if since <= slot => active = active.with(*feature),
            _ => {}
        }
    }
    (active, pending)
}

impl Bank {
    /// The features that the next epoch will begin with, as accounts have it now: programs can be
    /// prepared for them. `None` before the last slots of an epoch.
    #[must_use]
    pub fn upcoming_features(&self) -> Option<FeatureSet> {
        let schedule = time::schedule(&self.environment.sysvars);
        let (epoch, index) = schedule.get_epoch_and_slot_index(self.slot);
        let slots = schedule.get_slots_in_epoch(epoch);
        let phase = PREPARATION_SLOTS.min(slots / 2);
        let is_time = index.saturating_add(phase) >= slots;
        is_time.then(|| activations(&self.view(), self.features(), self.slot).0)
    }

    /// Some programs are loaded ahead for what the next epoch begins with.
    pub(crate) fn prepare_programs(&self) {
        let upcoming = self.upcoming_features().filter(|upcoming| *upcoming != self.features());
        if let Some(upcoming) = upcoming {
            self.ledger.programs.prepare(upcoming, PREPARED_AT_ONCE);
        }
    }
}

impl Beginning<'_> {
    /// The bank is the first one of its epoch: the parent's epoch gets its entry in the history of
    /// stakes. Epochs without a block have none.
    pub(crate) fn begin_epoch(&mut self, epoch_before: u64) {
        self.activate_features();
        let accounts = self.stake_accounts();
        let mut history = sysvars::read_stake_history(&self.data(&sysvar::stake_history::ID));
        let ended = epoch_before..epoch_before.saturating_add(1);
        accounts.end_epochs(&mut history, ended, &self.stakes.besides);
        self.note_stakes_of(&accounts, &history);
        self.set_sysvar(sysvar::stake_history::ID, sysvars::stake_history(&history));
        self.begin_rewards();
    }

    /// Where leader schedules are made in the middle of epochs, stakes are noted there.
    pub(crate) fn note_stakes(&mut self) {
        let schedule = time::schedule(&self.parent.environment.sysvars);
        let leader_epoch = schedule.get_leader_schedule_epoch(self.slot);
        if !self.stakes.epochs.contains_key(&leader_epoch) {
            let history = sysvars::read_stake_history(&self.data(&sysvar::stake_history::ID));
            self.note_stakes_of(&self.stake_accounts(), &history);
        }
    }

    fn note_stakes_of(&mut self, accounts: &StakeAccounts, history: &StakeHistory) {
        let schedule = time::schedule(&self.parent.environment.sysvars);
        let epoch = schedule.get_epoch(self.slot);
        let stake = accounts.at(epoch, history, &self.stakes.besides);
        let leader_epoch = schedule.get_leader_schedule_epoch(self.slot);
        Arc::make_mut(&mut self.stakes).note(leader_epoch, || stake);
    }

    fn activate_features(&mut self) {
        let before = self.features;
        let (active, pending) = activations(&self.view(), before, self.slot);
        self.features = active;
        pending.iter().for_each(|address| self.note_activation(address));
        self.activate_rents();
        if active != before {
            self.switch_builtins(before);
        }
    }

    /// Writes to a feature's account since when it is active.
    fn note_activation(&mut self, address: &Pubkey) {
        let Some(mut account) = self.view().account(address) else { return };
        let since = [&[1][..], &self.slot.to_le_bytes()].concat();
        if let Some(place) = account.data_as_mut_slice().get_mut(..since.len()) {
            place.copy_from_slice(&since);
            self.put(*address, account);
        }
    }

    fn activate_rents(&mut self) {
        for (address, lamports_per_byte) in RENTS {
            let account = self.view().account(&address);
            if account.as_ref().and_then(activation) == Some(Activation::Pending) {
                self.note_activation(&address);
                self.rent = Rent { lamports_per_byte, ..self.rent.clone() };
                let data = sysvars::rent(&self.rent);
                self.set_sysvar(sysvar::rent::ID, data);
            }
        }
    }

    /// Programs that are part of the runtime come with features. Those that the host has put there
    /// stay.
    fn switch_builtins(&mut self, before: FeatureSet) {
        let (features, all) = (self.features, builtins(self.features));
        let is_new = |feature: Option<Feature>| {
            feature.is_some_and(|it| features.has(it) && !before.has(it))
        };
        for row in programs_of_features().filter(|row| is_new(row.feature)) {
            match row.kind {
                Kind::Builtin { .. } => {
                    if let Some(builtin) = all.get(&row.address) {
                        self.builtins.insert(row.address, builtin.clone());
                    }
                    self.add_native_account(row.address, builtin_name(&row.address), |account| {
                        *account.owner() == NATIVE_LOADER
                    });
                }
                Kind::Precompile { .. } => {
                    self.add_native_account(row.address, "", ReadableAccount::executable);
                }
                Kind::Migrated => {}
            }
        }
    }

    /// Puts the account of a program there, unless it is. What somebody else has put there is
    /// burned.
    fn add_native_account(
        &mut self,
        key: Pubkey,
        name: &str,
        is_genuine: impl FnOnce(&AccountSharedData) -> bool,
    ) {
        if !self.view().account(&key).is_some_and(|account| is_genuine(&account)) {
            self.put(key, native_account(name));
        }
    }

    /// Rewards are calculated in the first block of an epoch, and paid in the next ones. Here they
    /// are not calculated, and the sysvar says what it says where no reward is due: that takes one
    /// block.
    fn begin_rewards(&mut self) {
        let rewards = EpochRewards {
            distribution_starting_block_height: self.block_height.saturating_add(1),
            num_partitions: 1,
            parent_blockhash: self.parent.latest_blockhash(),
            active: true,
            ..EpochRewards::default()
        };
        self.set_sysvar(sysvar::epoch_rewards::ID, sysvars::epoch_rewards(&rewards));
    }

    /// The block in which the last rewards are paid ends them.
    pub(crate) fn end_rewards(&mut self) {
        const HEIGHT_AT: usize = 0;
        const PARTITIONS_AT: usize = 8;
        const ACTIVE_AT: usize = 80;
        let mut data = self.data(&sysvar::epoch_rewards::ID);
        let number = |at: usize| Some(u64::from_le_bytes(*data.get(at..)?.first_chunk()?));
        let (Some(start), Some(partitions)) = (number(HEIGHT_AT), number(PARTITIONS_AT)) else {
            return;
        };
        let is_last = self.block_height >= start
            && self.block_height.saturating_add(1) >= start.saturating_add(partitions);
        if let Some(active) = data.get_mut(ACTIVE_AT)
            && *active == 1
            && is_last
        {
            *active = 0;
            self.set_sysvar(sysvar::epoch_rewards::ID, data);
        }
    }
}

/// The programs of a cluster with these features, and those of the host.
pub(crate) fn all_builtins(features: FeatureSet, host: &Builtins) -> Builtins {
    let mut all = builtins(features);
    host.iter().for_each(|(id, builtin)| all.insert(*id, builtin.clone()));
    all
}
