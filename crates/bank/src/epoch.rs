//! The first slot of an epoch: activates features, records stakes, computes rewards (agave:
//! `bank.rs`, `process_new_epoch`).

use std::sync::Arc;

use selkie_builtins::{ProgramKind, builtins, program_account};
use selkie_svm::{
    AccountSharedData, AccountStore, Feature, FeatureSet, NATIVE_LOADER, Pubkey, ReadableAccount,
    sysvars::Rent,
};
use solana_account::WritableAccount;
use solana_sdk_ids::{feature, sysvar};

use crate::{
    advance::Advance, alpenglow, bank::Bank, head::HeadAccounts, rewards, slot_time,
    state::programs_of_features, step::Between, sysvars, time,
};

/// How many slots before the end of an epoch programs are prepared for the next epoch's features;
/// at most half of the epoch (agave: half of the program cache's capacity).
const PREPARATION_SLOTS: u64 = 512;

/// How many programs each bank prepares for the next epoch.
const PROGRAMS_PER_BANK: usize = 4;

/// Features that change the rent per byte, in lamports (SIMD-0437, SIMD-0438), in order of
/// activation. They only change the rent sysvar, so the runtime's feature table omits them.
const RENT_FEATURES: [(Pubkey, u64); 6] = [
    (Pubkey::from_str_const("4a6f7o7iTcA8hRDCrPLkSatnt5Ykxiu36wo5p1Tt12wC"), 6333),
    (Pubkey::from_str_const("61BtM7BkDEE8Yq5fskEVAQT9mYA8qCejJWoLe5apqg81"), 5080),
    (Pubkey::from_str_const("rntCigrTppP5JdZz7K8TyN9sMzLdAcXp8SejYpVpX6D"), 2575),
    (Pubkey::from_str_const("rntD7invRBswCAdKtRsh1G4psKjrPdS3BKqtnA78C7N"), 1322),
    (Pubkey::from_str_const("rntTjNZ9boq8owDxjGVFHPfWNQPDaKiM5JcjxmDGg47"), 696),
    (Pubkey::from_str_const("rnt8ZQpz2HYhX3DkYBDGjJS1a36mYq69oXka7JrhEdi"), 6960),
];

/// The content of a feature account.
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

/// Returns the features after activating those whose accounts are pending or say so, and the
/// addresses of the pending ones.
fn scan_features(
    accounts: &impl AccountStore,
    features: FeatureSet,
    slot: u64,
) -> (FeatureSet, Vec<Pubkey>) {
    let (mut active, mut pending) = (features, Vec::new());
    for feature in Feature::ALL.iter().copied().filter(|it| !features.has(*it)) {
        let address = feature.address();
        match accounts.account(&address).as_ref().and_then(activation) {
            Some(Activation::Pending) => {
                pending.push(address);
                active = active.with(feature);
            }
            Some(Activation::Since(since)) if since <= slot => active = active.with(feature),
            _ => {}
        }
    }
    (active, pending)
}

impl Bank {
    /// Returns the features of the next epoch as feature accounts currently say, for preparing
    /// programs; `None` before the last slots of an epoch.
    #[must_use]
    pub fn upcoming_features(&self) -> Option<FeatureSet> {
        let schedule = time::schedule(&self.environment().sysvars);
        let (epoch, index) = schedule.get_epoch_and_slot_index(self.slot());
        let slots = schedule.get_slots_in_epoch(epoch);
        let phase = PREPARATION_SLOTS.min(slots / 2);
        let is_time = index.saturating_add(phase) >= slots;
        is_time.then(|| scan_features(&self.view(), self.features(), self.slot()).0)
    }

    /// Loads some programs ahead for the features of the next epoch.
    pub(crate) fn prepare_programs(&self) {
        let upcoming = self.upcoming_features().filter(|upcoming| *upcoming != self.features());
        if let Some(upcoming) = upcoming {
            self.shared.programs.prepare(upcoming, PROGRAMS_PER_BANK);
        }
    }
}

impl<A: HeadAccounts> Advance<'_, A> {
    /// Returns the slot in which the first epoch after the parent's began: the bank's own, unless
    /// slots before it had a block, or whole epochs passed, each of which begins.
    pub(crate) fn boundary(&self) -> u64 {
        let next = self.schedule.get_epoch(self.before.slot).saturating_add(1);
        let is_skipped = self.step.between == Between::Skipped;
        let has_passed = !is_skipped || next < self.schedule.get_epoch(self.slot);
        if has_passed { self.schedule.get_first_slot_in_epoch(next) } else { self.slot }
    }

    /// Updates stake history and epoch stakes. Every epoch that has ended since the parent gets its
    /// entry, also if no bank was in it: the stake program fails if one is missing. (agave adds that
    /// of the parent's epoch alone, since clusters do not skip whole epochs.)
    ///
    /// In the first block of an epoch, computes the rewards of the parent's and starts to distribute
    /// them; `supply` is the capitalization of the parent. Nothing is earned in epochs without a block.
    pub(crate) fn pass_epochs(&mut self, begins_epoch: bool, supply: u64) {
        let slots = self.before.slot..self.slot;
        if self.stakes.covers(&self.schedule, &slots) {
            return;
        }
        let (accounts, history) = (self.stake_accounts(), self.data(&sysvar::stake_history::ID));
        let stakes = Arc::make_mut(&mut self.stakes);
        if let Some(history) = stakes.pass(&accounts, &history, &self.schedule, slots) {
            self.set_sysvar(sysvar::stake_history::ID, history);
        }
        let rewards = begins_epoch.then(|| self.calculate_rewards(&accounts));
        self.pay_admission(&accounts);
        if let Some(rewards) = rewards {
            self.begin_rewards(&rewards, &accounts, supply);
        }
    }

    /// Activates pending features since a slot, and those that are active by now.
    pub(crate) fn activate_features(&mut self, since: u64) {
        let before = self.features;
        let (active, pending) = scan_features(self.accounts, before, self.slot);
        self.features = active;
        pending.iter().for_each(|address| self.record_activation(address, since));
        self.activate_rent_features(since);
        let of_rewards = rewards::DOUBLE_DISINFLATION.into_iter().chain([rewards::SKIP_INACTIVE]);
        for gate in slot_time::gates().chain([alpenglow::GATE]).chain(of_rewards) {
            let account = self.account(&gate);
            if account.as_ref().and_then(activation) == Some(Activation::Pending) {
                self.record_activation(&gate, since);
            }
        }
        if active != before {
            self.switch_builtins(before);
        }
    }

    /// Writes the activation slot to a feature account.
    fn record_activation(&mut self, address: &Pubkey, since: u64) {
        let Some(mut account) = self.account(address) else { return };
        let since = [&[1][..], &since.to_le_bytes()].concat();
        if let Some(bytes) = account.data_as_mut_slice().get_mut(..since.len()) {
            bytes.copy_from_slice(&since);
            self.put(*address, account);
        }
    }

    fn activate_rent_features(&mut self, since: u64) {
        for (address, lamports_per_byte) in RENT_FEATURES {
            let account = self.account(&address);
            if account.as_ref().and_then(activation) == Some(Activation::Pending) {
                self.record_activation(&address, since);
                self.rent = Rent { lamports_per_byte, ..self.rent.clone() };
                let data = sysvars::rent(&self.rent);
                self.set_sysvar(sysvar::rent::ID, data);
            }
        }
    }

    /// Adds the builtin programs and precompiles of newly active features. Builtins from the
    /// options stay.
    fn switch_builtins(&mut self, before: FeatureSet) {
        let (features, all) = (self.features, builtins(self.features));
        let is_new = |feature: Option<Feature>| {
            feature.is_some_and(|it| features.has(it) && !before.has(it))
        };
        for row in programs_of_features().filter(|row| is_new(row.feature)) {
            match row.kind {
                ProgramKind::Builtin { .. } => {
                    if let Some(builtin) = all.get(&row.address) {
                        self.builtins.insert(row.address, builtin.clone());
                    }
                    self.add_program_account(row.address, |account| {
                        *account.owner() == NATIVE_LOADER
                    });
                }
                ProgramKind::Precompile { .. } => {
                    self.add_program_account(row.address, ReadableAccount::executable);
                }
                ProgramKind::Migrated => {}
            }
        }
    }

    /// Creates the account of a program of the table unless a genuine one exists, burning the lamports of any
    /// other account.
    fn add_program_account(
        &mut self,
        key: Pubkey,
        is_genuine: impl FnOnce(&AccountSharedData) -> bool,
    ) {
        if !self.account(&key).is_some_and(|account| is_genuine(&account)) {
            self.put(key, program_account(&key));
        }
    }
}
