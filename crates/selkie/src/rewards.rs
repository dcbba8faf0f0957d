//! Votes and rewards: what vote accounts earn, which stakes receive when an epoch ends.

use core::fmt;

use selkie_bank::{
    alpenglow,
    rewards::{VoteRewards, genesis_accounts},
};
use selkie_builtins::vote_account::VoteAccount;
use solana_account::ReadableAccount;
use solana_pubkey::Pubkey;

use crate::svm::Svm;

/// The credits of a vote that lands at once, before the migration to Alpenglow (SIMD-0033).
const CREDITS_PER_VOTE: u64 = 16;

/// Error of [`Svm::increment_vote_account_credits`]: there is no vote account at the address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NoVoteAccount(pub Pubkey);

impl fmt::Display for NoVoteAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key) = self;
        write!(
            f,
            "{key} is no vote account\nhelp: create one with the vote program, or set an account \
             with `set_account`"
        )
    }
}

impl fmt::Debug for NoVoteAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for NoVoteAccount {}

impl Svm {
    /// Adds credits to a vote account in the current epoch, as its votes would: the stakes delegated to
    /// it share the epoch's rewards by them, once the epoch has ended ([`Svm::warp_to_epoch`]).
    ///
    /// After the migration to Alpenglow credits are lamports: what the vote account earned, which its
    /// stakes and its commission receive. [`Svm::vote_for_slots`] computes them.
    ///
    /// # Errors
    /// If there is no vote account at `vote`.
    pub fn increment_vote_account_credits(
        &mut self,
        vote: &Pubkey,
        credits: u64,
    ) -> Result<(), NoVoteAccount> {
        let accounts = &self.journal.state().accounts;
        let genesis = alpenglow::genesis_slot(accounts);
        let migration = genesis.map(|slot| self.epoch_schedule().get_epoch(slot));
        let epoch = self.epoch();
        let found = accounts.get(vote).filter(|it| *it.owner() == solana_sdk_ids::vote::ID);
        let mut account = found.cloned().ok_or(NoVoteAccount(*vote))?;
        let state = VoteAccount::read(vote, account.data());
        let mut state = state.ok_or(NoVoteAccount(*vote))?;
        state.add_credits(epoch, credits, migration);
        let data = state.write(account.data().len()).ok_or(NoVoteAccount(*vote))?;
        account.set_data_from_slice(&data);
        self.journal.set_account(*vote, Some(account));
        Ok(())
    }

    /// Adds the credits that a vote account earns by voting for so many slots of the current epoch.
    ///
    /// After the migration to Alpenglow that is its stake's share of the epoch's inflation for each slot:
    /// half of it for the votes, the other half for the blocks that it leads, as many as its stake's share
    /// of slots (agave: `vote_reward.rs`). A cluster that begins with Alpenglow, as a new `Svm`, has no
    /// inflation in epoch 0. Before the migration each vote earns 16 credits.
    ///
    /// ```
    /// # use selkie::{keypair, ids, Signer, Svm};
    /// let mut svm = Svm::new();
    /// let missing = keypair("vote").pubkey();
    /// assert!(svm.vote_for_slots(&missing, 1).unwrap_err().to_string().contains("no vote account"));
    /// ```
    ///
    /// # Errors
    /// If there is no vote account at `vote`.
    pub fn vote_for_slots(&mut self, vote: &Pubkey, slots: u64) -> Result<(), NoVoteAccount> {
        let per_slot = if self.is_alpenglow() { self.vote_reward(vote) } else { CREDITS_PER_VOTE };
        self.increment_vote_account_credits(vote, slots.saturating_mul(per_slot))
    }

    /// Returns the lamports that a vote account earns per slot of the current epoch.
    fn vote_reward(&self, vote: &Pubkey) -> u64 {
        let state = self.journal.state();
        let inflation = VoteRewards::read(&state.accounts).and_then(|it| it.of(self.epoch()));
        let (stakes, epoch) = (&state.stakes, self.epoch());
        let (Some(inflation), stake) = (inflation, stakes.of(epoch)) else { return 0 };
        let of = stake.vote_accounts.get(vote).copied().unwrap_or(0);
        let product = u128::from(inflation.lamports).saturating_mul(of.into());
        let all = u128::from(inflation.slots).saturating_mul(stake.total.into());
        u64::try_from(product.checked_div(all).unwrap_or(0)).unwrap_or(u64::MAX)
    }

    /// Returns whether the chain has migrated to Alpenglow (default: yes, as mainnet).
    #[must_use]
    pub fn is_alpenglow(&self) -> bool {
        self.environment().is_alpenglow
    }

    /// Sets whether the chain begins with Alpenglow (default: `true`). Without it the clock follows the
    /// slots, the vote program accepts votes, and there is no *alpenclock*; to migrate on the way, call
    /// [`Svm::migrate_to_alpenglow`].
    #[must_use]
    pub fn with_alpenglow(mut self, is_alpenglow: bool) -> Self {
        let slots = self.epoch_schedule().slots_per_epoch;
        for (key, account) in genesis_accounts(0, slots, &self.rent()) {
            self.journal.set_account(key, is_alpenglow.then_some(account));
        }
        self.journal.environment_mut().is_alpenglow = is_alpenglow;
        self.restart_nanoseconds();
        self
    }

    /// Migrates to Alpenglow as the first block after the migration does: from now on the account of the
    /// genesis certificate has data, votes are refused, and the clock of a slot shows when the slot before
    /// it ended. A chain that has migrated stays as it is.
    ///
    /// ```
    /// use selkie::{Svm, runtime::AccountStore};
    ///
    /// let mut svm = Svm::new().with_alpenglow(false);
    /// svm.warp_by_slots(9);
    /// svm.migrate_to_alpenglow();
    /// let certificate = svm.account(&selkie::alpenglow::CERTIFICATE).unwrap();
    /// assert_eq!(certificate.data[..8], 9_u64.to_le_bytes());
    /// assert_eq!(svm.account(&selkie::alpenglow::CLOCK), None);
    /// svm.warp_by_slots(1);
    /// assert!(svm.account(&selkie::alpenglow::CLOCK).is_some());
    /// ```
    pub fn migrate_to_alpenglow(&mut self) {
        if self.is_alpenglow() {
            return;
        }
        let (slot, rent) = (self.slot().saturating_sub(1), self.rent());
        let slots = self.epoch_schedule().slots_per_epoch;
        let certificate = alpenglow::certificate(slot, &self.latest_blockhash());
        for (key, account) in genesis_accounts(0, slots, &rent) {
            if key != alpenglow::CLOCK && self.account(&key).is_none() {
                self.journal.set_account(key, Some(account));
            }
        }
        self.journal.set_account(alpenglow::CERTIFICATE, Some(certificate));
        self.journal.environment_mut().is_alpenglow = true;
    }
}
