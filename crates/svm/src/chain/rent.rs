//! What transactions may do to the minimum balances of accounts.
//!
//! An account has nothing, enough, or too little; transactions may not leave one with too little,
//! unless it was so before (agave: `rent_calculator.rs`, `transaction_account_state_info.rs`;
//! SIMD-0392).

use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::{incinerator, system_program};
use solana_transaction_error::TransactionError;

use crate::chain::{account::is_same, sysvars::minimum_balance};

/// What never owes rent has for the epoch in which it owes the next.
pub(crate) const EXEMPT_EPOCH: u64 = u64::MAX;

/// How an account's balance stands to its minimum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Balance {
    Nothing,
    /// Lamports, and bytes of data.
    TooLittle(u64, usize),
    Enough,
}

impl Balance {
    fn of(lamports: u64, data_len: usize, rent: &Rent) -> Self {
        if lamports == 0 {
            Self::Nothing
        } else if lamports >= minimum_balance(rent, data_len) {
            Self::Enough
        } else {
            Self::TooLittle(lamports, data_len)
        }
    }

    /// Whether an account may come to have this balance.
    fn may_follow(self, before: Self) -> bool {
        match (before, self) {
            (_, Self::Nothing | Self::Enough) => true,
            (Self::TooLittle(before, size_before), Self::TooLittle(after, size)) => {
                size == size_before && after <= before
            }
            (_, Self::TooLittle(..)) => false,
        }
    }
}

/// An account that may be written to, as it was before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    balance: Balance,
    lamports: u64,
    data_len: usize,
    owner: &'a Pubkey,
}

impl<'a> Before<'a> {
    /// An account that was not there.
    pub(crate) const NOTHING: Self =
        Before { balance: Balance::Nothing, lamports: 0, data_len: 0, owner: &system_program::ID };

    /// An account with this balance.
    #[inline]
    pub(crate) fn of(
        account: &'a AccountSharedData,
        lamports: u64,
        rent: &Rent,
        is_relaxed: bool,
    ) -> Self {
        let data_len = account.data().len();
        let balance = match Balance::of(lamports, data_len, rent) {
            Balance::TooLittle(..) if is_relaxed => Balance::Enough,
            balance => balance,
        };
        Self { balance, lamports, data_len, owner: account.owner() }
    }

    /// Whether the account may have become this.
    ///
    /// # Errors
    /// [`TransactionError::InsufficientFundsForRent`] with the account's place.
    #[inline]
    pub(crate) fn check(
        &self,
        place: usize,
        key: &Pubkey,
        after: &AccountSharedData,
        rent: &Rent,
        is_relaxed: bool,
    ) -> Result<(), TransactionError> {
        let (lamports, data_len) = (after.lamports(), after.data().len());
        let is_same = self.data_len >= data_len
            && self.balance == Balance::Enough
            && is_same(self.owner, after.owner());
        let keeps = is_relaxed && is_same && lamports > 0 && lamports >= self.lamports;
        let balance = if keeps { Balance::Enough } else { Balance::of(lamports, data_len, rent) };
        if balance.may_follow(self.balance) || *key == incinerator::ID {
            return Ok(());
        }
        let account_index = u8::try_from(place).unwrap_or(u8::MAX);
        Err(TransactionError::InsufficientFundsForRent { account_index })
    }
}

/// Marks an account with enough lamports as one that never owes rent.
pub(crate) fn mark_exempt(account: &mut AccountSharedData, rent: &Rent) {
    if account.rent_epoch() != EXEMPT_EPOCH
        && account.lamports() >= minimum_balance(rent, account.data().len())
    {
        set_rent_epoch(account, EXEMPT_EPOCH);
    }
}

#[allow(deprecated, reason = "accounts of old may have another value, and keep it")]
pub(crate) fn set_rent_epoch(account: &mut AccountSharedData, epoch: u64) {
    use solana_account::WritableAccount;
    account.set_rent_epoch(epoch);
}
