//! The check that transactions leave accounts rent exempt.
//!
//! An account is empty, rent exempt or rent paying; a transaction may not make an account rent paying
//! that was not before (agave: `rent_calculator.rs`, `transaction_account_state_info.rs`; SIMD-0392).

use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::{incinerator, system_program};
use solana_transaction_error::TransactionError;

use crate::chain::{account::is_same, sysvars::minimum_balance};

/// The `rent_epoch` of rent-exempt accounts.
pub(crate) const EXEMPT_EPOCH: u64 = u64::MAX;

/// The rent state of an account (agave: `RentState`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum RentState {
    /// No lamports.
    Empty,
    /// Less than the minimum balance.
    RentPaying {
        lamports: u64,
        data_len: usize,
    },
    Exempt,
}

impl RentState {
    fn of(lamports: u64, data_len: usize, rent: &Rent) -> Self {
        if lamports == 0 {
            Self::Empty
        } else if lamports >= minimum_balance(rent, data_len) {
            Self::Exempt
        } else {
            Self::RentPaying { lamports, data_len }
        }
    }

    /// Returns whether a transaction may bring an account from the state `before` to this one.
    fn may_follow(self, before: Self) -> bool {
        match (before, self) {
            (_, Self::Empty | Self::Exempt) => true,
            (
                Self::RentPaying { lamports: before, data_len: len_before },
                Self::RentPaying { lamports, data_len },
            ) => data_len == len_before && lamports <= before,
            (_, Self::RentPaying { .. }) => false,
        }
    }
}

/// The state of a writable account before the transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before<'a> {
    state: RentState,
    lamports: u64,
    data_len: usize,
    owner: &'a Pubkey,
}

impl<'a> Before<'a> {
    /// An account that did not exist.
    pub(crate) const NOTHING: Self =
        Before { state: RentState::Empty, lamports: 0, data_len: 0, owner: &system_program::ID };

    /// Returns the state of an account as if it had this balance. `is_relaxed` is SIMD-0392, with which
    /// an existing account counts as exempt.
    #[inline]
    pub(crate) fn of(
        account: &'a AccountSharedData,
        lamports: u64,
        rent: &Rent,
        is_relaxed: bool,
    ) -> Self {
        let data_len = account.data().len();
        let state = match RentState::of(lamports, data_len, rent) {
            RentState::RentPaying { .. } if is_relaxed => RentState::Exempt,
            state => state,
        };
        Self { state, lamports, data_len, owner: account.owner() }
    }

    /// Checks the account's state after the transaction; `index` is its index in the transaction.
    ///
    /// # Errors
    /// [`TransactionError::InsufficientFundsForRent`] with the account index.
    #[inline]
    pub(crate) fn check(
        &self,
        index: usize,
        key: &Pubkey,
        after: &AccountSharedData,
        rent: &Rent,
        is_relaxed: bool,
    ) -> Result<(), TransactionError> {
        let (lamports, data_len) = (after.lamports(), after.data().len());
        let is_same = self.data_len >= data_len
            && self.state == RentState::Exempt
            && is_same(self.owner, after.owner());
        let keeps = is_relaxed && is_same && lamports > 0 && lamports >= self.lamports;
        let state = if keeps { RentState::Exempt } else { RentState::of(lamports, data_len, rent) };
        if state.may_follow(self.state) || *key == incinerator::ID {
            return Ok(());
        }
        let account_index = u8::try_from(index).unwrap_or(u8::MAX);
        Err(TransactionError::InsufficientFundsForRent { account_index })
    }
}

/// Sets the `rent_epoch` of a rent-exempt account to [`EXEMPT_EPOCH`].
pub(crate) fn mark_exempt(account: &mut AccountSharedData, rent: &Rent) {
    if account.rent_epoch() != EXEMPT_EPOCH
        && account.lamports() >= minimum_balance(rent, account.data().len())
    {
        set_rent_epoch(account, EXEMPT_EPOCH);
    }
}

/// Sets the `rent_epoch` of an account.
#[allow(deprecated, reason = "old accounts may have another value, and keep it")]
pub(crate) fn set_rent_epoch(account: &mut AccountSharedData, epoch: u64) {
    use solana_account::WritableAccount;
    account.set_rent_epoch(epoch);
}
