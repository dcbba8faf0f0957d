//! Slots, blockhashes, epochs and the clock.
//!
//! Everything is deterministic: each blockhash is derived from the one before, and the clock from
//! the slot.

use core::fmt;
use std::sync::Arc;

use selkie_bank::{
    Between, Distribution, Head, SlotTimes, StakeAccounts, Step, alpenglow,
    sysvars::{read_epoch_rewards, recent_blockhashes},
    time::next_blockhash,
};
use solana_clock::Clock;
use solana_hash::Hash;
use solana_sdk_ids::sysvar;

use crate::svm::Svm;

/// Error of [`Svm::warp_to_slot`]: the slot is in the past.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WarpError {
    /// The requested slot.
    pub slot: u64,
    /// The current slot.
    pub now: u64,
}

impl fmt::Display for WarpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slot, now } = self;
        write!(f, "cannot warp to slot {slot}: the current slot is {now}\nhelp: ")?;
        f.write_str(
            "`set_clock` sets the time that programs see; `restore` returns to a `snapshot`",
        )
    }
}

impl core::error::Error for WarpError {}

impl Svm {
    /// Returns the clock sysvar.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.environment().sysvars.clock().unwrap_or_default()
    }

    /// Returns the current slot.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.environment().slot()
    }

    /// Returns the current epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.clock().epoch
    }

    /// Returns the blockhash to sign transactions with.
    #[must_use]
    pub fn latest_blockhash(&self) -> Hash {
        self.environment().blockhash
    }

    /// Returns the blockhashes that transactions may name, the oldest first.
    pub fn recent_blockhashes(&self) -> impl Iterator<Item = Hash> {
        self.journal.state().blockhash_queue.blockhashes().copied()
    }

    /// Returns whether a transaction with this blockhash would be accepted.
    #[must_use]
    pub fn is_blockhash_valid(&self, blockhash: &Hash) -> bool {
        self.journal.state().blockhash_queue.is_recent(blockhash)
    }

    /// Adds a blockhash within the current slot, so that the same instructions make a new
    /// transaction. The 150 blockhashes before it stay valid.
    pub fn advance_blockhash(&mut self) -> Hash {
        let next = next_blockhash(&self.latest_blockhash(), self.slot());
        self.journal.blockhash_queue_mut().register(next);
        self.blockhashes_changed();
        next
    }

    /// Adds a blockhash and expires all others.
    pub fn expire_blockhash(&mut self) -> Hash {
        let next = next_blockhash(&self.latest_blockhash(), self.slot());
        let blockhash_queue = self.journal.blockhash_queue_mut();
        blockhash_queue.expire();
        blockhash_queue.register(next);
        self.blockhashes_changed();
        next
    }

    fn blockhashes_changed(&mut self) {
        let state = self.journal.state();
        let price = state.environment.lamports_per_signature;
        let list = recent_blockhashes(state.blockhash_queue.blockhashes().rev(), price);
        let newest = state.blockhash_queue.blockhash().copied().unwrap_or_default();
        self.journal.environment_mut().blockhash = newest;
        self.put_sysvar(sysvar::recent_blockhashes::ID, &list);
    }

    /// Advances to a later slot as if every slot on the way had an empty block: clock, slot hashes,
    /// slot history, blockhashes and stakes become what they would be then, and features whose
    /// accounts are pending become active when an epoch begins. Blockhashes older than 150 slots
    /// expire, and what the incinerator holds is burned.
    ///
    /// For each epoch that ends on the way, the stake history gets the entry that a bank computes
    /// from the stake accounts (agave: `calculate_activated_stake`) and from the stake set by
    /// [`Svm::with_epoch_stake`], so delegations warm up and cool down as on mainnet.
    /// `sol_get_epoch_stake` returns the stake of vote accounts at the start of the epoch; as in
    /// agave, a vote account counts only if it has a BLS key, is rent-exempt and can pay for its
    /// admission: 0.8 SOL, which each epoch costs it (SIMD-0357).
    ///
    /// The rewards of the epoch that ends are computed as a bank does, from the credits of vote accounts
    /// ([`Svm::increment_vote_account_credits`]), and all are paid at once: the `EpochRewards` sysvar
    /// says that their distribution is over, so that the stake program works in the first slot of an
    /// epoch, too. The stake set by [`Svm::with_epoch_stake`] is part of the supply.
    ///
    /// # Errors
    /// If the slot is in the past.
    pub fn warp_to_slot(&mut self, slot: u64) -> Result<(), WarpError> {
        let now = self.slot();
        let passed = slot.checked_sub(now).ok_or(WarpError { slot, now })?;
        if passed == 0 {
            return Ok(());
        }
        let step =
            Step { between: Between::Empty, distribution: Distribution::AtOnce, ..Step::default() };
        self.step_to(slot, &self.head(), &step);
        Ok(())
    }

    /// Advances to a later slot as a cluster does on which the slots between were skipped: blockhashes stay
    /// recent, and the rewards of an epoch that ends are distributed in the blocks after the first one of
    /// the next epoch. Until then the `EpochRewards` sysvar is active, and the stake program refuses most
    /// instructions; to skip more slots in that time makes these blocks first.
    ///
    /// ```
    /// use selkie::{Genesis, Svm};
    ///
    /// let mut svm = Svm::from_genesis(&Genesis { is_alpenglow: false, ..Genesis::default() }, []);
    /// let blockhash = svm.latest_blockhash();
    /// svm.skip_to_slot(432_000)?;
    /// assert!(svm.is_blockhash_valid(&blockhash) && svm.is_paying_rewards());
    /// svm.skip_to_slot(432_001)?;
    /// assert!(!svm.is_paying_rewards());
    /// # Ok::<(), selkie::WarpError>(())
    /// ```
    ///
    /// # Errors
    /// If the slot is not later than the current one.
    pub fn skip_to_slot(&mut self, slot: u64) -> Result<(), WarpError> {
        let mut now = self.slot();
        if slot <= now {
            return Err(WarpError { slot, now });
        }
        while now < slot {
            let paying = self.is_paying_rewards();
            now = if paying { now.saturating_add(1) } else { slot };
            // The height stays the slot.
            let mut head = self.head();
            head.block_height = now.saturating_sub(1);
            self.step_to(now, &head, &Step::default());
        }
        Ok(())
    }

    /// Returns whether rewards of the last epoch are still to be distributed ([`Svm::skip_to_slot`]).
    #[must_use]
    pub fn is_paying_rewards(&self) -> bool {
        let rewards = self.sysvar(&sysvar::epoch_rewards::ID).and_then(read_epoch_rewards);
        rewards.is_some_and(|it| it.active)
    }

    /// Ends the slot of `head`, and goes on to a later one.
    fn step_to(&mut self, slot: u64, head: &Head, step: &Step) {
        let end = head.derived_end();
        self.journal.end(head, end.blockhash);
        self.journal.advance(head, end, slot, step);
    }

    /// Lets *alpenclock* show the second of the clock, and the part of it that has passed after slots of
    /// this duration.
    pub(crate) fn restart_nanoseconds(&mut self) {
        let accounts = &self.journal.state().accounts;
        if alpenglow::nanoseconds(accounts).is_none() {
            return;
        }
        let milliseconds = self.slot().saturating_mul(self.slot_milliseconds) % 1000;
        let second = self.clock().unix_timestamp.saturating_mul(1000);
        let time = second.saturating_add_unsigned(milliseconds).saturating_mul(1_000_000);
        self.journal.set_account(alpenglow::CLOCK, Some(alpenglow::clock_account(time)));
    }

    /// Returns what the next slot follows from. Every slot had a block.
    fn head(&self) -> Head {
        let state = self.journal.state();
        let slot = self.slot();
        let schedule = self.epoch_schedule();
        let slot_times = SlotTimes::new(self.slot_milliseconds, &schedule, &state.accounts);
        let (environment, stakes) = (Arc::clone(&state.environment), Arc::clone(&state.stakes));
        Head::without_forks(slot, environment, stakes, slot_times)
    }

    /// Advances by `slots`, like [`Svm::warp_to_slot`].
    pub fn warp_by_slots(&mut self, slots: u64) {
        let slot = self.slot().saturating_add(slots);
        self.warp_to_slot(slot).expect("the slot is not in the past");
    }

    /// Advances to the first slot of an epoch, like [`Svm::warp_to_slot`]: stakes warm up and cool
    /// down, and the rewards of the epoch that ends are paid.
    ///
    /// # Errors
    /// If that slot is in the past.
    pub fn warp_to_epoch(&mut self, epoch: u64) -> Result<(), WarpError> {
        let schedule = self.environment().sysvars.epoch_schedule().unwrap_or_default();
        let slot = schedule.get_first_slot_in_epoch(epoch);
        self.warp_to_slot(slot)
    }

    /// Adds entries to the stake history for the epochs before `epoch` that are missing.
    pub(crate) fn complete_stake_history(&mut self, epoch: u64) {
        let history = self.sysvar(&sysvar::stake_history::ID).unwrap_or_default();
        let stakes = &self.journal.state().stakes;
        let completed = stakes.complete_history(|| self.stake_accounts(), history, epoch);
        if let Some(history) = completed {
            self.put_sysvar(sysvar::stake_history::ID, &history);
        }
    }

    fn stake_accounts(&self) -> StakeAccounts {
        let state = self.journal.state();
        let rent = state.environment.rent();
        // The unwritten accounts of mainnet's programs hold no stake.
        let written = state.accounts.written();
        let accounts = written.iter().map(|(key, account)| (key, *account));
        StakeAccounts::new(accounts, state.environment.features, &rent, 0)
    }
}
