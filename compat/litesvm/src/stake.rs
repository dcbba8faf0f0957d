//! The stake that `sol_get_epoch_stake` returns.

use selkie_convert::{Address, to_address};

use crate::{LiteSVM, error::LiteSVMError};

impl LiteSVM {
    /// Sets the stake of one vote account. The total changes by the difference.
    ///
    /// # Errors
    /// If the total exceeds `u64::MAX`; nothing changes then.
    pub fn set_epoch_stake(
        &mut self,
        vote_account: Address,
        stake: u64,
    ) -> Result<(), LiteSVMError> {
        let mut stakes = self.svm().environment().epoch_stake.clone();
        let rest = stakes.total.saturating_sub(self.epoch_stake(&vote_account));
        stakes.total = rest.checked_add(stake).ok_or(LiteSVMError::EpochStakeOverflow)?;
        let vote_account = to_address(&vote_account);
        match stake {
            0 => stakes.vote_accounts.remove(&vote_account),
            stake => stakes.vote_accounts.insert(vote_account, stake),
        };
        self.change_svm(|svm| svm.with_epoch_stake(stakes));
        Ok(())
    }

    /// Replaces the stakes of all vote accounts. The total becomes their sum.
    ///
    /// # Errors
    /// If the total exceeds `u64::MAX`; nothing changes then.
    pub fn set_epoch_stakes(
        &mut self,
        stakes: impl IntoIterator<Item = (Address, u64)>,
    ) -> Result<(), LiteSVMError> {
        let mut all = selkie::EpochStake::default();
        for (vote_account, stake) in stakes.into_iter().filter(|(_, stake)| *stake > 0) {
            all.total = all.total.checked_add(stake).ok_or(LiteSVMError::EpochStakeOverflow)?;
            all.vote_accounts.insert(to_address(&vote_account), stake);
        }
        self.change_svm(|svm| svm.with_epoch_stake(all));
        Ok(())
    }

    /// Returns the total stake.
    #[must_use]
    pub fn epoch_total_stake(&self) -> u64 {
        self.svm().environment().epoch_stake.total
    }

    /// Returns the stake of a vote account.
    #[must_use]
    pub fn epoch_stake(&self, vote_account: &Address) -> u64 {
        let stakes = &self.svm().environment().epoch_stake.vote_accounts;
        stakes.get(&to_address(vote_account)).copied().unwrap_or(0)
    }
}
