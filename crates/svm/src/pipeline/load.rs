//! The third step, *load*: the fee is charged, accounts and programs are loaded.
//!
//! From here on the transaction pays its fee. If its accounts cannot be loaded, it pays and is not
//! executed (agave: `account_loader.rs`, `transaction_processor.rs` of `solana-svm`).

use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
use solana_instruction::AccountMeta;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{native_loader, system_program, sysvar};
use solana_transaction_error::TransactionError;

use crate::{
    chain::{
        account::{AccountStore, Loader, is_same},
        cost::{LOADED_ACCOUNT_BYTES, LOADED_TABLE_BYTES},
        features::{Feature, FeatureSet, Ungated},
        nonce::{NONCE_BYTES, Nonce, durable_nonce},
        rent::{Before, mark_exempt, set_rent_epoch},
        sysvars::{Rent, minimum_balance},
        transaction::Transaction,
    },
    pipeline::{
        chain_state::ChainState,
        check::{Checked, NonceAccount},
        outcome::AccountChange,
        workspace::Workspace,
    },
    programs::{cache::program_data_address, transaction_programs::TransactionPrograms},
    runtime::{
        context::environment::Environment, instructions_sysvar::show_instructions,
        transaction_accounts::TransactionAccount,
    },
};

/// A transaction that has paid its fee, with its accounts and programs.
#[derive(Debug)]
pub struct Loaded {
    /// The accounts as instructions will work on them, in the order of the transaction's addresses;
    /// or why they could not be loaded.
    pub accounts: Result<Vec<TransactionAccount>, TransactionError>,
    /// The accounts before the transaction, in the same order. A read-only account is in `accounts`
    /// alone, and comes back when the transaction is settled.
    pub changes: Vec<AccountChange>,
    /// The programs among the accounts, invoked or not.
    pub programs: TransactionPrograms,
    /// What is written if the transaction fails.
    pub rollback: Rollback,
    /// The loaded accounts data size, in bytes (SIMD-0186).
    pub loaded_bytes: u32,
    /// The bytes that were counted, which exceed the limit if that is why loading failed.
    pub counted_bytes: u32,
}

/// What a failed transaction writes: the payer without the fee, and the nonce advanced.
#[derive(Debug)]
pub struct Rollback {
    /// The payer's balance without the fee.
    lamports: u64,
    /// The payer's rent epoch.
    rent_epoch: u64,
    /// The nonce account with the nonce advanced. It may be the payer.
    nonce: Option<Box<(Pubkey, AccountSharedData)>>,
}

/// Charges the fee, and loads accounts and programs.
///
/// # Errors
/// If the payer cannot pay, or the nonce turns out to be invalid: the transaction is dropped.
#[inline(always)]
pub fn load<S: AccountStore>(
    checked: &Checked<'_>,
    chain: &ChainState<'_, S>,
    workspace: &mut Workspace,
) -> Result<Loaded, TransactionError> {
    let environment = chain.environment;
    let rent = environment.rent();
    let nonce = checked.nonce.as_deref();
    let nonce = nonce.map(|nonce| advance_nonce(checked, nonce, environment)).transpose()?;
    let mut loader = AccountLoader::new(checked, chain.accounts, workspace);
    loader.read_accounts();
    let rollback = loader.charge_fee(environment, &rent, nonce)?;
    let loaded = loader.load_accounts(&rent, environment.features);
    let AccountLoader { bytes, changes, accounts, .. } = loader;
    let counted_bytes = bytes;
    let mut loaded_bytes = bytes.min(checked.budget.loaded_bytes_max);
    let mut programs = core::mem::take(&mut workspace.programs);
    programs.clear();
    if let Err(error) = loaded {
        if !environment.features.has(Feature::FeesOnlyLoadedSize) {
            loaded_bytes = fees_only_bytes(&changes, &rollback);
        }
        workspace.recycle_accounts(accounts);
        let accounts = Err(error);
        return Ok(Loaded { accounts, changes, programs, rollback, loaded_bytes, counted_bytes });
    }
    let (slot, features) = (environment.slot(), environment.features);
    for TransactionAccount { key, account, .. } in &accounts {
        if Loader::of(account.owner()).is_some() {
            programs.find(key, account, chain.accounts, chain.programs, slot, features);
        }
    }
    let accounts = Ok(accounts);
    Ok(Loaded { accounts, changes, programs, rollback, loaded_bytes, counted_bytes })
}

/// Returns the loaded accounts data size of a transaction that only pays its fee, before SIMD-0186
/// counts what was loaded: that of the payer and of the nonce account.
fn fees_only_bytes(changes: &[AccountChange], rollback: &Rollback) -> u32 {
    let payer = changes.first();
    let payer_len = payer.and_then(|it| it.before.as_ref()).map_or(0, |it| it.data().len());
    let is_payer = |key: &Pubkey| payer.is_some_and(|payer| payer.key == *key);
    let nonce = rollback.nonce.as_ref().filter(|nonce| !is_payer(&nonce.0));
    let nonce_len = nonce.map_or(0, |nonce| nonce.1.data().len());
    u32::try_from(payer_len.saturating_add(nonce_len)).unwrap_or(u32::MAX)
}

/// Returns the nonce account with the nonce advanced.
fn advance_nonce(
    checked: &Checked<'_>,
    found: &NonceAccount,
    environment: &Environment,
) -> Result<Box<(Pubkey, AccountSharedData)>, TransactionError> {
    let NonceAccount { index, account, nonce } = found;
    let next = durable_nonce(&environment.blockhash);
    if nonce.durable_nonce == next || !signs_first(checked.transaction, &nonce.authority) {
        return Err(TransactionError::BlockhashNotFound);
    }
    let lamports_per_signature = environment.lamports_per_signature;
    let data = Nonce { durable_nonce: next, lamports_per_signature, ..*nonce }.write();
    let mut account = account.clone();
    if let Some(bytes) = account.data_as_mut_slice().get_mut(..data.len()) {
        bytes.copy_from_slice(&data);
    }
    let key = checked.keys.get(*index).copied().unwrap_or_default();
    Ok(Box::new((key, account)))
}

/// Returns whether an address signs the first instruction.
fn signs_first(transaction: &Transaction, key: &Pubkey) -> bool {
    let Some(first) = transaction.instructions().first() else { return false };
    first.accounts.iter().map(|index| usize::from(*index)).any(|index| {
        index < transaction.signers() && transaction.static_keys().get(index) == Some(key)
    })
}

impl Rollback {
    /// Replaces what the instructions wrote.
    pub(crate) fn write(self, changes: &mut [AccountChange]) {
        if let Some(AccountChange { before: Some(before), write, .. }) = changes.first_mut() {
            let mut payer = before.clone();
            payer.set_lamports(self.lamports);
            set_rent_epoch(&mut payer, self.rent_epoch);
            *write = Some(payer);
        }
        let Some((key, nonce)) = self.nonce.map(|nonce| *nonce) else { return };
        match changes.iter_mut().find(|change| change.key == key).map(|change| &mut change.write) {
            // A payer that is the nonce account keeps both changes.
            Some(Some(payer)) => payer.set_data_from_slice(nonce.data()),
            Some(write) => *write = Some(nonce),
            None => {}
        }
    }
}

/// The accounts of a transaction while they are loaded.
struct AccountLoader<'a, 't, S> {
    checked: &'a Checked<'t>,
    store: &'a S,
    /// The loaded accounts data size so far.
    bytes: u32,
    /// Programdata accounts that were counted without being among the transaction's accounts.
    counted_program_data: Vec<Pubkey>,
    changes: Vec<AccountChange>,
    accounts: Vec<TransactionAccount>,
}

impl<'a, 't, S: AccountStore> AccountLoader<'a, 't, S> {
    #[inline(always)]
    fn new(checked: &'a Checked<'t>, store: &'a S, workspace: &mut Workspace) -> Self {
        Self {
            checked,
            store,
            bytes: 0,
            counted_program_data: Vec::new(),
            changes: core::mem::take(&mut workspace.changes),
            accounts: core::mem::take(&mut workspace.accounts),
        }
    }

    /// Reads every account from the store, but for that of the nonce, which was read before.
    #[inline(always)]
    fn read_accounts(&mut self) {
        let Self { checked, store, changes, accounts, .. } = self;
        let nonce = checked.nonce.as_deref();
        // `extend` constructs the values in place, which `push` does not.
        accounts.extend(checked.keys.iter().enumerate().map(|(index, key)| {
            // A copy of a reference is written to its place; a value would be moved there in parts.
            let copy = |found: Option<&AccountSharedData>| match found {
                Some(account) => account.clone(),
                None => empty_account(),
            };
            let account = match nonce {
                Some(nonce) if nonce.index == index => copy(Some(&nonce.account)),
                _ => store.with_account(key, copy),
            };
            TransactionAccount { key: *key, account, is_touched: false }
        }));
        changes.extend(accounts.iter().enumerate().map(|(index, loaded)| {
            let is_writable = checked.writable.contains(index);
            let is_kept = (is_writable || index == 0) && loaded.account.lamports() > 0;
            let before = is_kept.then(|| loaded.account.clone());
            AccountChange { key: loaded.key, before, write: None, is_writable }
        }));
    }

    /// Charges the fee to the payer, the first account.
    #[inline(always)]
    fn charge_fee(
        &mut self,
        environment: &Environment,
        rent: &Rent,
        nonce: Option<Box<(Pubkey, AccountSharedData)>>,
    ) -> Result<Rollback, TransactionError> {
        let found = self.changes.first().and_then(|payer| payer.before.as_ref());
        let found =
            found.ok_or_else(|| match environment.rules().has(Ungated::PayerIsFiltered) {
                true => TransactionError::InvalidAccountForFee,
                false => TransactionError::AccountNotFound,
            })?;
        let payer = self.accounts.first_mut().ok_or(TransactionError::AccountNotFound)?;
        let payer = &mut payer.account;
        mark_exempt(payer, rent);
        let is_relaxed = environment.relaxes_min_balance();
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
        // A payer that fails keeps the new rent epoch only if the transaction uses a nonce.
        let rent_epoch = if nonce.is_some() { payer.rent_epoch() } else { found.rent_epoch() };
        Ok(Rollback { lamports: payer.lamports(), rent_epoch, nonce })
    }

    /// Counts all accounts, and checks that every invoked program can be executed. If that fails,
    /// read-only accounts are returned, and those that were not reached are unknown.
    fn load_accounts(&mut self, rent: &Rent, features: FeatureSet) -> Result<(), TransactionError> {
        let tables = u32::try_from(self.checked.tables).unwrap_or(u32::MAX);
        let mut result = self.count(u64::from(tables.saturating_mul(LOADED_TABLE_BYTES)));
        let mut index = 0;
        while result.is_ok() && index < self.checked.keys.len() {
            result = self.load_account(index, rent);
            index = index.saturating_add(1);
        }
        let result = result.and_then(|()| self.check_programs(features));
        if result.is_err() {
            for (change, loaded) in self.changes.iter_mut().zip(self.accounts.drain(..)) {
                if let Some(slot) = change.return_slot(&loaded.account) {
                    *slot = Some(loaded.account);
                }
            }
            self.changes.iter_mut().skip(index.max(1)).for_each(|change| change.before = None);
        }
        result
    }

    /// Adds to the loaded accounts data size.
    fn count(&mut self, bytes: u64) -> Result<(), TransactionError> {
        let Ok(bytes) = u32::try_from(bytes) else {
            self.bytes = u32::MAX;
            return Err(TransactionError::MaxLoadedAccountsDataSizeExceeded);
        };
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > self.checked.budget.loaded_bytes_max {
            return Err(TransactionError::MaxLoadedAccountsDataSizeExceeded);
        }
        Ok(())
    }

    /// Counts an account, and the programdata account that belongs to it.
    #[inline(always)]
    fn load_account(&mut self, index: usize, rent: &Rent) -> Result<(), TransactionError> {
        let (Some(change), Some(TransactionAccount { key, account, .. })) =
            (self.changes.get_mut(index), self.accounts.get_mut(index))
        else {
            return Ok(());
        };
        // This account is made for each transaction, whatever the store holds.
        if index > 0 && is_same(key, &sysvar::instructions::ID) {
            (change.before, *account) = (None, empty_account());
            *account = instructions_sysvar(self.checked)?;
            return Ok(());
        }
        if !exists(change, account) {
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
            && !self.counted_program_data.contains(&address)
            && let Some(bytes) = self.store.with_account(&address, |found| found.map(size))
        {
            self.count(bytes)?;
            self.counted_program_data.push(address);
        }
        Ok(())
    }

    /// Checks that the program of every instruction exists and can be executed.
    fn check_programs(&self, features: FeatureSet) -> Result<(), TransactionError> {
        for instruction in self.checked.transaction.instructions() {
            let index = usize::from(instruction.program_id_index);
            let found = self.changes.get(index).zip(self.accounts.get(index));
            let account = found.map(|(change, loaded)| (change, &loaded.account));
            let account = account.filter(|(change, account)| exists(change, account));
            let (_, account) = account.ok_or(TransactionError::ProgramAccountNotFound)?;
            let owner = account.owner();
            if !is_same(owner, &native_loader::ID) && Loader::of(owner).is_none() {
                return Err(TransactionError::InvalidProgramForExecution);
            }
            // Before SIMD-0162 this flag told programs from files that are being written.
            if !account.executable() && !features.has(Feature::IgnoreExecutableFlag) {
                return Err(TransactionError::InvalidProgramForExecution);
            }
        }
        Ok(())
    }
}

/// Returns whether an account exists. A read-only account is not in `change` now; its lamports tell.
fn exists(change: &AccountChange, account: &AccountSharedData) -> bool {
    change.before.is_some() || account.lamports() > 0
}

/// Returns the account at an address that holds none.
fn empty_account() -> AccountSharedData {
    Account { rent_epoch: u64::MAX, ..Account::default() }.into()
}

/// Returns the bytes that an account adds to the loaded accounts data size.
fn size(account: &AccountSharedData) -> u64 {
    u64::from(LOADED_ACCOUNT_BYTES).saturating_add(account.data().len() as u64)
}

/// Returns the instructions sysvar of a transaction.
fn instructions_sysvar(checked: &Checked<'_>) -> Result<AccountSharedData, TransactionError> {
    let transaction = checked.transaction;
    let account = |index: &u8| {
        let index = usize::from(*index);
        let key = checked.keys.get(index).copied().unwrap_or_default();
        let is_writable = checked.writable.contains(index);
        AccountMeta { pubkey: key, is_signer: index < transaction.signers(), is_writable }
    };
    let instructions = transaction.instructions().iter().map(|instruction| {
        let accounts = instruction.accounts.iter().map(account).collect();
        (transaction.program(instruction), accounts, &*instruction.data)
    });
    show_instructions(instructions).ok_or(TransactionError::MaxLoadedAccountsDataSizeExceeded)
}
