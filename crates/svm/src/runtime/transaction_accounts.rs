//! The accounts of a transaction during execution, and the rules for changing them.
//!
//! A program changes accounts in its serialized input; the rules are checked here when the input is
//! deserialized. Builtin programs change accounts by the same methods. The order of the checks decides
//! the error of the transaction (agave: `solana-transaction-context`, `instruction_accounts.rs`).

use solana_account::{AccountSharedData, ReadableAccount, WritableAccount};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_rent::Rent;

use crate::{
    chain::{
        account::is_same,
        cost::{ACCOUNT_BYTES_MAX, TRANSACTION_GROWTH_MAX},
        sysvars::minimum_balance,
    },
    runtime::instruction_context::InstructionAccount,
};

/// The return data of the last program that set some.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ReturnData {
    /// The program that set it.
    pub program_id: Pubkey,
    /// The bytes.
    pub data: Vec<u8>,
}

/// The accounts of a transaction, and the totals of their changes.
#[derive(Debug)]
pub struct TransactionAccounts {
    accounts: Vec<TransactionAccount>,
    /// The change of the sum of all balances so far. It must be 0 after an instruction.
    lamports_delta: i128,
    /// The change of the total size of all account data so far, in bytes.
    resize_delta: i64,
}

/// An account of a transaction.
// The address comes first in memory, as in `AccountChange`.
#[repr(C)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransactionAccount {
    /// The address.
    pub key: Pubkey,
    /// The state.
    pub account: AccountSharedData,
    /// Whether an instruction has written to it, even if the value stayed the same.
    pub is_touched: bool,
}

impl From<(Pubkey, AccountSharedData)> for TransactionAccount {
    fn from((key, account): (Pubkey, AccountSharedData)) -> Self {
        Self { key, account, is_touched: false }
    }
}

impl TransactionAccounts {
    /// Creates the accounts of a transaction before its first instruction.
    #[must_use]
    pub fn new(accounts: impl IntoIterator<Item = (Pubkey, AccountSharedData)>) -> Self {
        Self::untouched(accounts.into_iter().map(TransactionAccount::from).collect())
    }

    pub(crate) fn untouched(accounts: Vec<TransactionAccount>) -> Self {
        Self { accounts, lamports_delta: 0, resize_delta: 0 }
    }

    /// Returns the number of accounts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Returns whether there are no accounts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Returns the account with an index in the transaction.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if there is none.
    pub fn get(&self, index: usize) -> Result<&TransactionAccount, InstructionError> {
        self.accounts.get(index).ok_or(InstructionError::MissingAccount)
    }

    /// Returns all accounts, in order.
    pub fn iter(&self) -> impl Iterator<Item = &TransactionAccount> {
        self.accounts.iter()
    }

    /// Returns the index of the account with an address.
    #[must_use]
    pub fn find(&self, key: &Pubkey) -> Option<u16> {
        let index = self.accounts.iter().position(|account| is_same(&account.key, key))?;
        u16::try_from(index).ok()
    }

    /// Borrows an account with the privileges of a program.
    ///
    /// # Errors
    /// [`InstructionError::MissingAccount`] if there is no such account.
    pub fn borrow(
        &mut self,
        account: InstructionAccount,
        program: &Pubkey,
    ) -> Result<BorrowedAccount<'_>, InstructionError> {
        let borrowed = self.accounts.get_mut(usize::from(account.index));
        Ok(BorrowedAccount {
            account: borrowed.ok_or(InstructionError::MissingAccount)?,
            lamports_delta: &mut self.lamports_delta,
            resize_delta: &mut self.resize_delta,
            program: *program,
            privileges: account,
        })
    }

    /// Returns an account for the runtime: without rules, and without setting `is_touched`.
    pub(crate) fn raw_mut(&mut self, index: usize) -> Option<&mut AccountSharedData> {
        self.accounts.get_mut(index).map(|account| &mut account.account)
    }

    /// Grows account data for a store of the program to its region, up to `len` bytes, as far as the
    /// limit of the transaction's growth permits; checks no other rule. Returns the new length.
    pub(crate) fn grow_for_store(&mut self, index: usize, len: usize) -> Option<usize> {
        let account = self.accounts.get_mut(index)?;
        account.is_touched = true;
        let before = account.account.data().len();
        let growth_max = TRANSACTION_GROWTH_MAX.saturating_sub(self.resize_delta).max(0);
        let growth_max = usize::try_from(growth_max).unwrap_or(usize::MAX);
        let len = len.min(ACCOUNT_BYTES_MAX).min(before.saturating_add(growth_max));
        self.resize_delta = self.resize_delta.saturating_add(growth(before, len));
        account.account.resize(len, 0);
        Some(len)
    }

    /// Sets an account's `is_touched`.
    pub(crate) fn touch(&mut self, index: usize) {
        if let Some(account) = self.accounts.get_mut(index) {
            account.is_touched = true;
        }
    }

    /// Returns the change of the sum of all balances so far, in lamports.
    #[must_use]
    pub fn lamports_delta(&self) -> i128 {
        self.lamports_delta
    }

    /// Returns the change of the total size of all account data so far, in bytes.
    #[must_use]
    pub fn resize_delta(&self) -> i64 {
        self.resize_delta
    }

    /// Takes all accounts out.
    pub(crate) fn take(&mut self) -> Vec<TransactionAccount> {
        core::mem::take(&mut self.accounts)
    }
}

/// An account that an instruction has borrowed. Changes that its program may not make fail.
#[derive(Debug)]
pub struct BorrowedAccount<'a> {
    account: &'a mut TransactionAccount,
    lamports_delta: &'a mut i128,
    resize_delta: &'a mut i64,
    program: Pubkey,
    privileges: InstructionAccount,
}

impl BorrowedAccount<'_> {
    /// Returns the address.
    #[must_use]
    pub fn key(&self) -> &Pubkey {
        &self.account.key
    }

    /// Returns the account's index in the transaction.
    #[must_use]
    pub fn index(&self) -> u16 {
        self.privileges.index
    }

    /// Returns the owner.
    #[must_use]
    pub fn owner(&self) -> &Pubkey {
        self.account.account.owner()
    }

    /// Returns the balance in lamports.
    #[must_use]
    pub fn lamports(&self) -> u64 {
        self.account.account.lamports()
    }

    /// Returns the data.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        self.account.account.data()
    }

    /// Returns whether the account is executable.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        self.account.account.executable()
    }

    /// Returns whether the account is a signer of the instruction.
    #[must_use]
    pub fn is_signer(&self) -> bool {
        self.privileges.is_signer
    }

    /// Returns whether the account is writable for the instruction.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.privileges.is_writable
    }

    /// Returns whether the program that borrows the account owns it.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        is_same(self.owner(), &self.program)
    }

    fn touch(&mut self) -> &mut AccountSharedData {
        self.account.is_touched = true;
        &mut self.account.account
    }

    /// Sets the balance.
    ///
    /// # Errors
    /// [`InstructionError::ExternalAccountLamportSpend`] if another program's account would lose lamports,
    /// [`InstructionError::ReadonlyLamportChange`] if the account is read-only.
    pub fn set_lamports(&mut self, lamports: u64) -> Result<(), InstructionError> {
        let before = self.lamports();
        if !self.is_owned() && lamports < before {
            return Err(InstructionError::ExternalAccountLamportSpend);
        }
        if !self.privileges.is_writable {
            return Err(InstructionError::ReadonlyLamportChange);
        }
        if lamports == before {
            return Ok(());
        }
        let delta = i128::from(lamports).saturating_sub(i128::from(before));
        *self.lamports_delta =
            self.lamports_delta.checked_add(delta).ok_or(InstructionError::ArithmeticOverflow)?;
        self.touch().set_lamports(lamports);
        Ok(())
    }

    /// Adds to the balance.
    ///
    /// # Errors
    /// [`InstructionError::ArithmeticOverflow`], or as [`BorrowedAccount::set_lamports`].
    pub fn add_lamports(&mut self, lamports: u64) -> Result<(), InstructionError> {
        let sum = self.lamports().checked_add(lamports);
        self.set_lamports(sum.ok_or(InstructionError::ArithmeticOverflow)?)
    }

    /// Subtracts from the balance.
    ///
    /// # Errors
    /// [`InstructionError::ArithmeticOverflow`], or as [`BorrowedAccount::set_lamports`].
    pub fn sub_lamports(&mut self, lamports: u64) -> Result<(), InstructionError> {
        let rest = self.lamports().checked_sub(lamports);
        self.set_lamports(rest.ok_or(InstructionError::ArithmeticOverflow)?)
    }

    /// Checks whether the program may change the data.
    ///
    /// # Errors
    /// [`InstructionError::ReadonlyDataModified`] if the account is read-only,
    /// [`InstructionError::ExternalAccountDataModified`] if another program owns it.
    pub fn can_change_data(&self) -> Result<(), InstructionError> {
        if !self.privileges.is_writable {
            Err(InstructionError::ReadonlyDataModified)
        } else if !self.is_owned() {
            Err(InstructionError::ExternalAccountDataModified)
        } else {
            Ok(())
        }
    }

    /// Checks whether the program may resize the data to `len` bytes.
    ///
    /// # Errors
    /// [`InstructionError::InvalidRealloc`] if that is too long for an account,
    /// [`InstructionError::MaxAccountsDataAllocationsExceeded`] if the transaction's accounts would grow
    /// too much, or as [`BorrowedAccount::can_change_data`].
    pub fn can_resize_data(&self, len: usize) -> Result<(), InstructionError> {
        if len > ACCOUNT_BYTES_MAX {
            return Err(InstructionError::InvalidRealloc);
        }
        let growth = growth(self.data().len(), len);
        if self.resize_delta.saturating_add(growth) > TRANSACTION_GROWTH_MAX {
            return Err(InstructionError::MaxAccountsDataAllocationsExceeded);
        }
        self.can_change_data()
    }

    fn count_growth(&mut self, len: usize) {
        let growth = growth(self.data().len(), len);
        *self.resize_delta = self.resize_delta.saturating_add(growth);
    }

    /// Returns the data for changes in place.
    ///
    /// # Errors
    /// As [`BorrowedAccount::can_change_data`].
    pub fn data_mut(&mut self) -> Result<&mut [u8], InstructionError> {
        self.can_change_data()?;
        Ok(self.touch().data_as_mut_slice())
    }

    /// Replaces the data.
    ///
    /// # Errors
    /// As [`BorrowedAccount::can_resize_data`].
    pub fn set_data(&mut self, data: &[u8]) -> Result<(), InstructionError> {
        self.can_resize_data(data.len())?;
        self.account.is_touched = true;
        // Unchanged data stay shared with other clones of the account.
        if self.data() != data {
            self.count_growth(data.len());
            self.account.account.set_data_from_slice(data);
        }
        Ok(())
    }

    /// Replaces the data with what the program left, unless it may not resize the account to that
    /// length: unchanged data pass then (agave: `deserialize_parameters`, `update_callee_account`).
    ///
    /// # Errors
    /// As [`BorrowedAccount::can_resize_data`], if the data differ.
    #[inline]
    pub(crate) fn set_data_within_limits(&mut self, data: &[u8]) -> Result<(), InstructionError> {
        match self.can_resize_data(data.len()) {
            Ok(()) => self.set_data(data),
            Err(error) if self.data() != data => Err(error),
            Err(_) => Ok(()),
        }
    }

    /// Truncates the data, or extends them with zeros.
    ///
    /// # Errors
    /// As [`BorrowedAccount::can_resize_data`].
    pub fn set_data_len(&mut self, len: usize) -> Result<(), InstructionError> {
        self.can_resize_data(len)?;
        if self.data().len() != len {
            self.count_growth(len);
            self.touch().resize(len, 0);
        }
        Ok(())
    }

    /// Appends to the data.
    ///
    /// # Errors
    /// As [`BorrowedAccount::can_resize_data`].
    pub fn extend_data(&mut self, data: &[u8]) -> Result<(), InstructionError> {
        let len = self.data().len().saturating_add(data.len());
        self.can_resize_data(len)?;
        if !data.is_empty() {
            self.count_growth(len);
            self.touch().extend_from_slice(data);
        }
        Ok(())
    }

    /// Sets the owner.
    ///
    /// # Errors
    /// [`InstructionError::ModifiedProgramId`] if the program does not own the account, if it is
    /// read-only, or if its data are not all zeros.
    pub fn set_owner(&mut self, owner: Pubkey) -> Result<(), InstructionError> {
        let is_zero = || self.data().iter().all(|byte| *byte == 0);
        if !self.is_owned() || !self.privileges.is_writable || !is_zero() {
            return Err(InstructionError::ModifiedProgramId);
        }
        if *self.owner() != owner {
            self.touch().set_owner(owner);
        }
        Ok(())
    }

    /// Sets whether the account is executable.
    ///
    /// # Errors
    /// [`InstructionError::ExecutableAccountNotRentExempt`] if the account is not exempt from `rent`,
    /// [`InstructionError::ExecutableModified`] if the program does not own it, or it is read-only.
    pub fn set_executable(
        &mut self,
        rent: &Rent,
        executable: bool,
    ) -> Result<(), InstructionError> {
        if self.lamports() < minimum_balance(rent, self.data().len()) {
            return Err(InstructionError::ExecutableAccountNotRentExempt);
        }
        if !self.is_owned() || !self.privileges.is_writable {
            return Err(InstructionError::ExecutableModified);
        }
        if self.is_executable() != executable {
            self.touch().set_executable(executable);
        }
        Ok(())
    }
}

fn growth(before: usize, after: usize) -> i64 {
    let signed = |len| i64::try_from(len).unwrap_or(i64::MAX);
    signed(after).saturating_sub(signed(before))
}

#[cfg(test)]
mod tests {
    use solana_account::Account;

    use super::*;

    const PROGRAM: Pubkey = Pubkey::new_from_array([1; 32]);
    const OTHER: Pubkey = Pubkey::new_from_array([2; 32]);

    /// Applies `change` to an account of 10 lamports and 2 bytes, and compares the result.
    fn check(
        owner: Pubkey,
        is_writable: bool,
        change: impl Fn(&mut BorrowedAccount<'_>) -> Result<(), InstructionError>,
        expected: Result<(), InstructionError>,
    ) {
        let account = Account { lamports: 10, data: vec![0, 0], owner, ..Account::default() };
        let mut accounts = TransactionAccounts::new([(OTHER, account.into())]);
        let account = InstructionAccount { index: 0, first: 0, is_signer: false, is_writable };
        assert_eq!(change(&mut accounts.borrow(account, &PROGRAM).unwrap()), expected);
    }

    #[test]
    fn lamports_of_other_programs_may_only_increase() {
        use InstructionError::{ExternalAccountLamportSpend, ReadonlyLamportChange};
        check(PROGRAM, true, |it| it.set_lamports(9), Ok(()));
        check(OTHER, true, |it| it.set_lamports(11), Ok(()));
        check(OTHER, false, |it| it.set_lamports(9), Err(ExternalAccountLamportSpend));
        check(OTHER, false, |it| it.set_lamports(11), Err(ReadonlyLamportChange));
        check(PROGRAM, false, |it| it.set_lamports(9), Err(ReadonlyLamportChange));
    }

    #[test]
    fn data_change_by_the_owner_within_limits() {
        use InstructionError::{
            ExternalAccountDataModified, InvalidRealloc, MaxAccountsDataAllocationsExceeded,
            ReadonlyDataModified,
        };
        check(PROGRAM, true, |it| it.set_data(&[1, 2, 3]), Ok(()));
        check(OTHER, false, |it| it.set_data(&[]), Err(ReadonlyDataModified));
        check(OTHER, true, |it| it.set_data(&[]), Err(ExternalAccountDataModified));
        let too_long = ACCOUNT_BYTES_MAX + 1;
        check(OTHER, false, |it| it.can_resize_data(too_long), Err(InvalidRealloc));
        let grow = |it: &mut BorrowedAccount<'_>| {
            *it.resize_delta = TRANSACTION_GROWTH_MAX;
            it.can_resize_data(3)
        };
        check(OTHER, false, grow, Err(MaxAccountsDataAllocationsExceeded));
    }

    #[test]
    fn owner_changes_only_if_data_are_zero() {
        let refused = || Err(InstructionError::ModifiedProgramId);
        check(PROGRAM, true, |it| it.set_owner(OTHER), Ok(()));
        check(PROGRAM, false, |it| it.set_owner(OTHER), refused());
        check(OTHER, true, |it| it.set_owner(PROGRAM), refused());
        let fill = |it: &mut BorrowedAccount<'_>| {
            it.set_data(&[0, 1])?;
            it.set_owner(OTHER)
        };
        check(PROGRAM, true, fill, refused());
    }

    #[test]
    fn lamports_delta_sums_over_accounts() {
        let accounts = [PROGRAM, OTHER].map(|key| (key, AccountSharedData::default()));
        let mut accounts = TransactionAccounts::new(accounts);
        let mut set = |index, lamports| {
            let account =
                InstructionAccount { index, first: index, is_signer: false, is_writable: true };
            accounts.borrow(account, &PROGRAM).unwrap().set_lamports(lamports).unwrap();
        };
        set(0, u64::MAX);
        set(1, 1);
        assert_eq!(accounts.lamports_delta(), i128::from(u64::MAX) + 1);
    }

    #[test]
    fn setting_equal_data_keeps_them_shared() {
        let account = AccountSharedData::from(Account {
            data: vec![7; 9],
            owner: PROGRAM,
            ..Account::default()
        });
        let mut accounts = TransactionAccounts::new([(OTHER, account.clone())]);
        let privileges =
            InstructionAccount { index: 0, first: 0, is_signer: false, is_writable: true };
        accounts.borrow(privileges, &PROGRAM).unwrap().set_data(&[7; 9]).unwrap();
        let after = accounts.get(0).unwrap();
        assert!(after.is_touched && after.account.data().as_ptr() == account.data().as_ptr());
    }
}
