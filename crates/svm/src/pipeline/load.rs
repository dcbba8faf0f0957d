//! The third phase, *load*: the fee is taken, accounts and programs are found.
//!
//! From here on a transaction pays, whatever becomes of it. One whose accounts cannot be loaded
//! pays and is not executed (agave: `account_loader.rs`, `transaction_processor.rs` of
//! `solana-svm`).

use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
use solana_instruction::AccountMeta;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{native_loader, system_program, sysvar};
use solana_transaction_error::TransactionError;

use crate::{
    chain::{
        account::{AccountStore, Loader, is_same},
        cost::{LOADED_ACCOUNT_BYTES, LOADED_TABLE_BYTES},
        features::{Feature, FeatureSet},
        nonce::{NONCE_BYTES, Nonce, durable_nonce},
        rent::{Before, mark_exempt, set_rent_epoch},
        sysvars::{Rent, minimum_balance},
        transaction::Transaction,
    },
    pipeline::{
        check::{Checked, nonce_of},
        process::AccountChange,
    },
    programs::{
        cache::{ProgramCache, program_data_address},
        transaction_programs::TransactionPrograms,
    },
    runtime::{
        context::environment::Environment, instructions_sysvar::show_instructions,
        transaction_accounts::TransactionAccount, workspace,
    },
};

/// A transaction that has paid its fee.
#[derive(Debug)]
pub struct Loaded {
    /// What remains if it fails.
    pub rollback: Rollback,
    /// What its accounts count for together.
    pub loaded_bytes: u32,
    /// Its accounts, in the order of its addresses, or why it only pays.
    pub state: Result<Vec<TransactionAccount>, TransactionError>,
}

/// What remains of a transaction that fails: the payer without the fee, and the nonce advanced.
#[derive(Debug)]
pub struct Rollback {
    /// What the payer has left.
    lamports: u64,
    /// The payer's epoch of rent.
    rent_epoch: u64,
    /// The nonce, advanced. It may be the payer's.
    nonce: Option<Box<(Pubkey, AccountSharedData)>>,
}

/// Takes the fee and loads accounts and programs. `changes`, which is empty, says what is there where
/// it may be written to; the rest is lent, and noted when it comes back. Of addresses that loading
/// does not get to, it says nothing. `programs` get those that are among the accounts.
///
/// # Errors
/// If the payer cannot pay, or the nonce is not valid after all: the transaction is dropped.
#[inline(always)]
pub fn load(
    checked: &Checked<'_>,
    accounts: &impl AccountStore,
    environment: &Environment,
    cache: &ProgramCache,
    changes: &mut Vec<AccountChange>,
    programs: &mut TransactionPrograms,
) -> Result<Loaded, TransactionError> {
    let rent = environment.rent();
    let nonce = advance_nonce(checked, accounts, environment)?;
    let loaded = workspace::accounts();
    let bytes_max = checked.budget.loaded_bytes_max;
    let mut loading = Loading {
        checked,
        accounts,
        bytes: 0,
        bytes_max,
        data_loaded: Vec::new(),
        changes,
        loaded,
    };
    loading.find_all();
    let payer_key = checked.keys.first().copied().unwrap_or_default();
    let is_nonce = nonce.as_ref().is_some_and(|nonce| nonce.0 == payer_key);
    let rollback = loading.charge(environment, &rent, nonce)?;
    let result = loading.take_all(&rent, environment.features);
    let mut loaded_bytes = loading.bytes.min(bytes_max);
    if result.is_err() && !environment.features.has(Feature::FeesOnlyLoadedSize) {
        let len = |account: &AccountSharedData| account.data().len();
        let payer = loading.changes.first().and_then(|payer| payer.before.as_ref()).map_or(0, len);
        let nonce = rollback.nonce.as_ref().filter(|_| !is_nonce).map_or(0, |nonce| len(&nonce.1));
        loaded_bytes = u32::try_from(payer.saturating_add(nonce)).unwrap_or(u32::MAX);
    }
    let loaded = loading.loaded;
    if let Err(error) = result {
        workspace::keep_accounts(loaded);
        return Ok(Loaded { rollback, loaded_bytes, state: Err(error) });
    }
    programs.clear();
    // Whether or not they are called.
    for TransactionAccount { key, account, .. } in &loaded {
        if Loader::of(account.owner()).is_some() {
            programs.find(key, account, accounts, cache, environment.slot(), environment.features);
        }
    }
    Ok(Loaded { rollback, loaded_bytes, state: Ok(loaded) })
}

/// The nonce's account with the next nonce in it.
fn advance_nonce(
    checked: &Checked<'_>,
    accounts: &impl AccountStore,
    environment: &Environment,
) -> Result<Option<Box<(Pubkey, AccountSharedData)>>, TransactionError> {
    let Some(index) = checked.nonce else { return Ok(None) };
    let key = checked.keys.get(index).copied().unwrap_or_default();
    let mut account = accounts.account(&key).ok_or(TransactionError::AccountNotFound)?;
    let next = durable_nonce(&environment.blockhash);
    let nonce = nonce_of(&account, checked.transaction);
    let nonce = nonce.ok_or(TransactionError::BlockhashNotFound)?;
    if nonce.durable_nonce == next || !has_signed_first(checked.transaction, &nonce.authority) {
        return Err(TransactionError::BlockhashNotFound);
    }
    let lamports_per_signature = environment.lamports_per_signature;
    let data = Nonce { durable_nonce: next, lamports_per_signature, ..nonce }.write();
    if let Some(place) = account.data_as_mut_slice().first_chunk_mut::<NONCE_BYTES>() {
        *place = data;
    }
    Ok(Some(Box::new((key, account))))
}

/// Whether an address signs the first instruction.
fn has_signed_first(transaction: &Transaction, key: &Pubkey) -> bool {
    let Some(first) = transaction.instructions().first() else { return false };
    first.accounts.iter().map(|index| usize::from(*index)).any(|index| {
        index < transaction.signers() && transaction.static_keys().get(index) == Some(key)
    })
}

impl Rollback {
    /// Writes it, in place of what the instructions did.
    pub(crate) fn write(self, changes: &mut [AccountChange]) {
        if let Some(AccountChange { before: Some(before), write, .. }) = changes.first_mut() {
            let mut payer = before.clone();
            payer.set_lamports(self.lamports);
            set_rent_epoch(&mut payer, self.rent_epoch);
            *write = Some(payer);
        }
        let Some((key, nonce)) = self.nonce.map(|nonce| *nonce) else { return };
        match changes.iter_mut().find(|change| change.key == key).map(|change| &mut change.write) {
            // A payer that is the nonce keeps both changes.
            Some(Some(payer)) => payer.set_data_from_slice(nonce.data()),
            Some(write) => *write = Some(nonce),
            None => {}
        }
    }
}

/// The accounts while they are loaded.
struct Loading<'a, 't, S> {
    checked: &'a Checked<'t>,
    accounts: &'a S,
    bytes: u32,
    bytes_max: u32,
    /// Program data accounts that were counted besides the transaction's own.
    data_loaded: Vec<Pubkey>,
    changes: &'a mut Vec<AccountChange>,
    loaded: Vec<TransactionAccount>,
}

impl<S: AccountStore> Loading<'_, '_, S> {
    /// Takes what there is at each address to work on, and notes it where it may be written to. The
    /// rest is only lent, and noted when it comes back, so that no other owner is counted.
    #[inline(always)]
    fn find_all(&mut self) {
        let Self { checked, accounts, changes, loaded, .. } = self;
        // Extending makes values where they are to be, which pushing does not.
        loaded.extend(checked.keys.iter().map(|key| TransactionAccount {
            key: *key,
            account: accounts.account(key).unwrap_or_else(nothing),
            is_touched: false,
        }));
        changes.extend(loaded.iter().enumerate().map(|(place, found)| {
            let is_writable = checked.writable.has(place);
            let is_noted = (is_writable || place == 0) && found.account.lamports() > 0;
            let before = is_noted.then(|| found.account.clone());
            AccountChange { key: found.key, before, write: None, is_writable }
        }));
    }

    /// Takes the fee from the payer, the first account.
    #[inline(always)]
    fn charge(
        &mut self,
        environment: &Environment,
        rent: &Rent,
        nonce: Option<Box<(Pubkey, AccountSharedData)>>,
    ) -> Result<Rollback, TransactionError> {
        let found = self.changes.first().and_then(|payer| payer.before.as_ref());
        let found = found.ok_or(TransactionError::AccountNotFound)?;
        let payer = self.loaded.first_mut().ok_or(TransactionError::AccountNotFound)?;
        let payer = &mut payer.account;
        mark_exempt(payer, rent);
        let is_relaxed = environment.features.has(Feature::RelaxMinBalanceCheck);
        let min = match is_same(payer.owner(), &system_program::ID) {
            true if payer.data().is_empty() => 0,
            true if payer.data().len() == NONCE_BYTES && Nonce::read(payer.data()).is_some() => {
                minimum_balance(rent, NONCE_BYTES)
            }
            _ => return Err(TransactionError::InvalidAccountForFee),
        };
        let before = Before::of(found, payer.lamports(), rent, is_relaxed);
        let fee = self.checked.budget.fee.total();
        let left = payer.lamports().checked_sub(min).and_then(|left| left.checked_sub(fee));
        left.ok_or(TransactionError::InsufficientFundsForFee)?;
        payer.set_lamports(payer.lamports().saturating_sub(fee));
        before.check(0, &Pubkey::default(), payer, rent, is_relaxed)?;
        // Only with a nonce does a payer that fails keep the mark.
        let rent_epoch = if nonce.is_some() { payer.rent_epoch() } else { found.rent_epoch() };
        Ok(Rollback { lamports: payer.lamports(), rent_epoch, nonce })
    }

    fn take_all(&mut self, rent: &Rent, features: FeatureSet) -> Result<(), TransactionError> {
        let tables = u32::try_from(self.checked.tables).unwrap_or(u32::MAX);
        let mut result = self.count(u64::from(tables.saturating_mul(LOADED_TABLE_BYTES)));
        let mut place = 0;
        while result.is_ok() && place < self.checked.keys.len() {
            result = self.take(place, rent);
            place = place.saturating_add(1);
        }
        let result = result.and_then(|()| self.check_programs(features));
        if result.is_err() {
            for (change, found) in self.changes.iter_mut().zip(self.loaded.drain(..)) {
                if let Some(lender) = change.lender(&found.account) {
                    *lender = Some(found.account);
                }
            }
            // Nobody knows what is at addresses that loading does not get to.
            self.changes.iter_mut().skip(place.max(1)).for_each(|change| change.before = None);
        }
        result
    }

    fn count(&mut self, bytes: u64) -> Result<(), TransactionError> {
        let Ok(bytes) = u32::try_from(bytes) else {
            self.bytes = u32::MAX;
            return Err(TransactionError::MaxLoadedAccountsDataSizeExceeded);
        };
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.bytes_max {
            return Err(TransactionError::MaxLoadedAccountsDataSizeExceeded);
        }
        Ok(())
    }

    /// Takes an account: counts it, and what belongs to it.
    #[inline(always)]
    fn take(&mut self, place: usize, rent: &Rent) -> Result<(), TransactionError> {
        let (Some(change), Some(TransactionAccount { key, account, .. })) =
            (self.changes.get_mut(place), self.loaded.get_mut(place))
        else {
            return Ok(());
        };
        // This account is made for each transaction, whatever there is.
        if place > 0 && is_same(key, &sysvar::instructions::ID) {
            (change.before, *account) = (None, nothing());
            *account = instructions_sysvar(self.checked)?;
            return Ok(());
        }
        if !is_there(change, account) {
            return Ok(());
        }
        if change.is_writable {
            mark_exempt(account, rent);
        }
        let (bytes, owner) = (size(account), account.owner());
        let data_address = match Loader::of(owner) {
            Some(Loader::V3) => program_data_address(account.data()),
            _ => None,
        };
        self.count(bytes)?;
        if let Some(address) = data_address
            && !self.checked.keys.contains(&address)
            && !self.data_loaded.contains(&address)
            && let Some(bytes) = self.accounts.with_account(&address, |found| found.map(size))
        {
            self.count(bytes)?;
            self.data_loaded.push(address);
        }
        Ok(())
    }

    /// Every instruction's program must exist, and be something that can be run.
    fn check_programs(&self, features: FeatureSet) -> Result<(), TransactionError> {
        for instruction in self.checked.transaction.instructions() {
            let place = usize::from(instruction.program_id_index);
            let found = self.changes.get(place).zip(self.loaded.get(place));
            let account = found.map(|(change, loaded)| (change, &loaded.account));
            let account = account.filter(|(change, account)| is_there(change, account));
            let (_, account) = account.ok_or(TransactionError::ProgramAccountNotFound)?;
            let owner = account.owner();
            if !is_same(owner, &native_loader::ID) && Loader::of(owner).is_none() {
                return Err(TransactionError::InvalidProgramForExecution);
            }
            // Once it was this flag that told programs from files that are being written.
            if !account.executable() && !features.has(Feature::IgnoreExecutableFlag) {
                return Err(TransactionError::InvalidProgramForExecution);
            }
        }
        Ok(())
    }
}

/// Whether there is an account. One that was not noted is known by its lamports.
fn is_there(change: &AccountChange, account: &AccountSharedData) -> bool {
    change.before.is_some() || account.lamports() > 0
}

/// What is there where nothing is.
fn nothing() -> AccountSharedData {
    Account { rent_epoch: u64::MAX, ..Account::default() }.into()
}

fn size(account: &AccountSharedData) -> u64 {
    u64::from(LOADED_ACCOUNT_BYTES).saturating_add(account.data().len() as u64)
}

/// The account that shows a transaction's instructions to its programs.
fn instructions_sysvar(checked: &Checked<'_>) -> Result<AccountSharedData, TransactionError> {
    let transaction = checked.transaction;
    let account = |index: &u8| {
        let index = usize::from(*index);
        let key = checked.keys.get(index).copied().unwrap_or_default();
        let is_writable = checked.writable.has(index);
        AccountMeta { pubkey: key, is_signer: index < transaction.signers(), is_writable }
    };
    let shown = transaction.instructions().iter().map(|instruction| {
        let accounts = instruction.accounts.iter().map(account).collect();
        (transaction.program(instruction), accounts, &*instruction.data)
    });
    show_instructions(shown).ok_or(TransactionError::MaxLoadedAccountsDataSizeExceeded)
}
