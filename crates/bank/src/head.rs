//! The head of a chain: what the next slot follows from, and the end of a slot.
//!
//! It is the one way in which time passes: a [`Bank`](crate::Bank) advances on its fork, the test
//! library's chain on its accounts. `advance` has what happens at the start of a slot.

use std::sync::Arc;

use selkie_svm::{
    AccountSharedData, AccountStore, BlockhashQueue, Environment, Pubkey, ReadableAccount,
    sysvars::Rent,
};
use solana_hash::Hash;
use solana_sdk_ids::{incinerator, sysvar};

use crate::{
    alpenglow::{self, Footer},
    options::Options,
    rewards::{self, Pending, Reward},
    slot_time::SlotTimes,
    stakes::{StakeAccounts, Stakes},
    state::{State, all_builtins},
    sysvars, time,
};

/// The accounts of a chain, which change when a slot ends and when the next one begins.
pub trait HeadAccounts: AccountStore {
    /// Sets the account at `key`; one with 0 lamports is deleted.
    fn put(&mut self, key: Pubkey, account: AccountSharedData);

    /// Returns the accounts whose owner passes `is_owner`.
    fn owned_by(&self, is_owner: fn(&Pubkey) -> bool) -> Vec<(Pubkey, AccountSharedData)>;

    /// Returns the lamports of all accounts.
    fn capitalization(&self) -> u64;

    /// Returns whether the account may have changed in this slot.
    fn may_have_changed(&self, key: &Pubkey) -> bool;
}

/// A slot of a chain with what, besides accounts and recent blockhashes, the next slot follows from.
#[derive(Clone, Debug)]
pub struct Head {
    /// The slot.
    pub slot: u64,
    /// The slot of the block before it.
    pub parent_slot: u64,
    /// The number of blocks before it.
    pub block_height: u64,
    /// Features, sysvars, builtin programs, fees and stakes that its transactions see.
    pub environment: Arc<Environment>,
    /// The stakes by epoch.
    pub stakes: Arc<Stakes>,
    /// How long slots last.
    pub slot_times: SlotTimes,
    /// The rewards of stake accounts that later blocks distribute.
    pub(crate) pending: Option<Pending>,
    /// What the runtime paid and took when the slot began.
    pub(crate) rewards: Vec<Reward>,
    /// The slots in which the cluster was restarted, in ascending order.
    pub hard_forks: Arc<[u64]>,
}

/// The hashes with which a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockEnd {
    /// The bank hash.
    pub hash: Hash,
    /// The blockhash, of its last tick.
    pub blockhash: Hash,
}

impl Head {
    /// Creates the head of a chain that continues from a state. Stakes that the state lacks are computed
    /// from its accounts.
    #[must_use]
    pub fn of(state: &State, options: &Options) -> Self {
        let State { slot, block_height, features, .. } = *state;
        let (sysvars, mut stakes) = (state.sysvars(), state.stakes.clone());
        let schedule = time::schedule(&sysvars);
        let history = sysvars.get(&sysvar::stake_history::ID).unwrap_or_default();
        let rent = sysvars.rent().unwrap_or_default();
        let existing = state.accounts.iter().filter(|(_, account)| account.lamports() > 0);
        let accounts = existing.map(|(key, account)| (key, account));
        let slot_times = SlotTimes::new(options.slot_milliseconds, &schedule, state);
        let admission = rewards::admission(state, &slot_times, slot);
        let accounts = || StakeAccounts::new(accounts, features, &rent, admission);
        stakes.complete(accounts, history, &schedule, slot);
        let environment = Environment {
            release: options.release,
            sysvars,
            builtins: all_builtins(features, &options.builtins),
            blockhash: state.blockhashes.last().copied().unwrap_or_default(),
            lamports_per_signature: state.lamports_per_signature,
            epoch_stake: stakes.current(schedule.get_epoch(slot)).clone(),
            is_alpenglow: alpenglow::genesis_slot(state).is_some(),
            log_bytes_max: options.log_bytes_max,
            compute_unit_limit: options.compute_unit_limit,
            ..selkie_builtins::environment(features)
        };
        Self {
            slot,
            parent_slot: slot.saturating_sub(1),
            block_height,
            environment: Arc::new(environment),
            stakes: Arc::new(stakes),
            slot_times,
            pending: None,
            rewards: Vec::new(),
            hard_forks: options.hard_forks.as_slice().into(),
        }
    }

    /// Creates the head of a chain on which every slot has a block and no rewards wait.
    #[must_use]
    pub fn without_forks(
        slot: u64,
        environment: Arc<Environment>,
        stakes: Arc<Stakes>,
        slot_times: SlotTimes,
    ) -> Self {
        Self {
            slot,
            parent_slot: slot.saturating_sub(1),
            block_height: slot,
            environment,
            stakes,
            slot_times,
            pending: None,
            rewards: Vec::new(),
            hard_forks: Arc::default(),
        }
    }

    /// Returns the end of a block on a chain that hashes no accounts: its hashes follow from the slot and
    /// from the blockhash before it.
    #[must_use]
    pub fn derived_end(&self) -> BlockEnd {
        let blockhash = time::next_blockhash(&self.environment.blockhash, self.slot);
        BlockEnd { hash: time::slot_hash(self.slot), blockhash }
    }

    /// Ends the slot: registers its blockhash (without ageing the others if the block does not count),
    /// and updates what lists it, the recent blockhashes and the slot history. Burns what was sent to
    /// the incinerator (agave: `Bank::freeze`).
    ///
    /// On a chain that has migrated to Alpenglow the footer comes first. It moves the clock to the end of
    /// the block: to its time within the bounds; without one, by the duration of the slots since the
    /// parent. Then vote accounts change.
    pub fn end(
        &self,
        blockhash: Hash,
        counts: bool,
        footer: &Footer,
        blockhashes: &mut BlockhashQueue,
        accounts: &mut impl HeadAccounts,
    ) {
        self.end_clock(footer.nanoseconds, accounts);
        self.update_votes(footer, accounts);
        if counts {
            blockhashes.register(blockhash);
        } else {
            blockhashes.register_same_age(blockhash);
        }
        let rent = self.environment.rent();
        let price = self.environment.lamports_per_signature;
        let list = sysvars::recent_blockhashes(blockhashes.blockhashes().rev(), price);
        set_sysvar(accounts, sysvar::recent_blockhashes::ID, list, &rent);
        // 131 kB, which every block changes: they are copied once.
        let before = accounts.account(&sysvar::slot_history::ID);
        let before = before.as_ref().map(ReadableAccount::data).unwrap_or_default();
        let history = sysvars::slot_history(before, self.slot);
        set_sysvar(accounts, sysvar::slot_history::ID, history, &rent);
        if accounts.may_have_changed(&incinerator::ID) {
            accounts.put(incinerator::ID, AccountSharedData::default());
        }
    }
}

/// Returns the data of an account, empty if it does not exist.
pub(crate) fn data_of(accounts: &impl AccountStore, key: &Pubkey) -> Vec<u8> {
    accounts.account(key).map(|account| account.data().to_vec()).unwrap_or_default()
}

/// Sets the account of a sysvar to these data.
pub(crate) fn set_sysvar(accounts: &mut impl HeadAccounts, id: Pubkey, data: Vec<u8>, rent: &Rent) {
    let before = accounts.account(&id);
    accounts.put(id, selkie_builtins::sysvar_account(before.as_ref(), data, rent));
}
