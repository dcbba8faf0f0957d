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
    account::{AccountStore, Loader, is_same},
    check::{Checked, nonce_of},
    cost::{LOADED_ACCOUNT_BYTES, LOADED_TABLE_BYTES},
    environment::Environment,
    features::{Feature, FeatureSet},
    nonce::{NONCE_BYTES, Nonce, durable_nonce},
    process::AccountChange,
    program_cache::{ProgramCache, program_data_address},
    programs::TransactionPrograms,
    rent::{Before, mark_exempt, minimum_balance, set_rent_epoch},
    sysvars::Rent,
    transaction::Transaction,
    transaction_accounts::TransactionAccount,
    workspace,
};

/// A transaction that has paid its fee.
#[derive(Debug)]
pub struct Loaded<'t> {
    /// The transaction.
    pub checked: Checked<'t>,
    /// What remains if it fails.
    pub rollback: Rollback,
    /// Its accounts as they were found; nothing is written yet. Those that loading did not get to
    /// are not there.
    pub changes: Vec<AccountChange>,
    /// What its accounts count for together.
    pub loaded_bytes: u32,
    /// Its accounts and programs, or why it only pays.
    pub state: Result<Ready, TransactionError>,
}

/// What remains of a transaction that fails.
#[derive(Debug)]
pub struct Rollback {
    /// The payer without the fee.
    pub payer: AccountSharedData,
    /// The nonce, advanced, if it is not the payer.
    pub nonce: Option<(Pubkey, AccountSharedData)>,
}

/// What a transaction is executed with.
#[derive(Default, Debug)]
pub struct Ready {
    /// Its accounts, in the order of its addresses.
    pub accounts: Vec<TransactionAccount>,
    /// The programs among them.
    pub programs: TransactionPrograms,
}

/// Takes the fee and loads accounts and programs.
///
/// # Errors
/// If the payer cannot pay, or the nonce is not valid after all: the transaction is dropped.
pub fn load<'t>(
    checked: Checked<'t>,
    accounts: &impl AccountStore,
    environment: &Environment,
    cache: &ProgramCache,
) -> Result<Loaded<'t>, TransactionError> {
    let rent = environment.rent();
    let nonce = advance_nonce(&checked, accounts, environment)?;
    let payer_key = checked.keys.first().copied().unwrap_or_default();
    let found_payer = accounts.account(&payer_key).ok_or(TransactionError::AccountNotFound)?;
    let payer = charge(&checked, &found_payer, environment, &rent)?;
    let rollback = rollback(payer_key, &payer, found_payer.rent_epoch(), nonce);
    let mut loading = Loading {
        checked: &checked,
        accounts,
        bytes: 0,
        bytes_max: checked.budget.loaded_bytes_max,
        data_loaded: Vec::new(),
        changes: Vec::with_capacity(checked.keys.len()),
        loaded: workspace::accounts(),
    };
    loading.loaded.reserve(checked.keys.len());
    loading.find(0, payer_key, Some(found_payer));
    let result = loading.load_all(payer_key, payer, &rent, environment.features);
    let Loading { bytes, bytes_max, changes, loaded, .. } = loading;
    let mut loaded_bytes = bytes.min(bytes_max);
    if result.is_err() && !environment.features.has(Feature::FeesOnlyLoadedSize) {
        let nonce = rollback.nonce.as_ref().map_or(0, |(_, nonce)| nonce.data().len());
        let bytes = rollback.payer.data().len().saturating_add(nonce);
        loaded_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    }
    let state = result.map(|()| Ready {
        programs: load_programs(&loaded, accounts, environment, cache),
        accounts: loaded,
    });
    Ok(Loaded { checked, rollback, changes, loaded_bytes, state })
}

/// The nonce's account with the next nonce in it.
fn advance_nonce(
    checked: &Checked<'_>,
    accounts: &impl AccountStore,
    environment: &Environment,
) -> Result<Option<(Pubkey, AccountSharedData)>, TransactionError> {
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
    Ok(Some((key, account)))
}

/// Whether an address signs the first instruction.
fn has_signed_first(transaction: &Transaction, key: &Pubkey) -> bool {
    let Some(first) = transaction.instructions().first() else { return false };
    first.accounts.iter().map(|index| usize::from(*index)).any(|index| {
        index < transaction.signers() && transaction.static_keys().get(index) == Some(key)
    })
}

/// Takes the fee from the payer's account.
fn charge(
    checked: &Checked<'_>,
    found: &AccountSharedData,
    environment: &Environment,
    rent: &Rent,
) -> Result<AccountSharedData, TransactionError> {
    let mut payer = found.clone();
    mark_exempt(&mut payer, rent);
    let is_relaxed = environment.features.has(Feature::RelaxMinBalanceCheck);
    let fee = checked.budget.fee.total();
    let min = match *payer.owner() == system_program::ID {
        true if payer.data().is_empty() => 0,
        true if payer.data().len() == NONCE_BYTES && Nonce::read(payer.data()).is_some() => {
            minimum_balance(rent, NONCE_BYTES)
        }
        _ => return Err(TransactionError::InvalidAccountForFee),
    };
    let before = Before::of(found, payer.lamports(), rent, is_relaxed);
    let left = payer.lamports().checked_sub(min).and_then(|left| left.checked_sub(fee));
    left.ok_or(TransactionError::InsufficientFundsForFee)?;
    payer.set_lamports(payer.lamports().saturating_sub(fee));
    before.check(0, &Pubkey::default(), &payer, rent, is_relaxed)?;
    Ok(payer)
}

/// What is written if the transaction fails. A payer that is the nonce keeps both changes.
fn rollback(
    payer_key: Pubkey,
    payer: &AccountSharedData,
    rent_epoch: u64,
    nonce: Option<(Pubkey, AccountSharedData)>,
) -> Rollback {
    let mut payer = payer.clone();
    match nonce {
        Some((key, nonce)) if key == payer_key => {
            payer.set_data_from_slice(nonce.data());
            Rollback { payer, nonce: None }
        }
        Some(nonce) => Rollback { payer, nonce: Some(nonce) },
        None => {
            set_rent_epoch(&mut payer, rent_epoch);
            Rollback { payer, nonce: None }
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
    changes: Vec<AccountChange>,
    loaded: Vec<TransactionAccount>,
}

impl<S: AccountStore> Loading<'_, '_, S> {
    /// Notes what was found at an address.
    fn find(&mut self, place: usize, key: Pubkey, before: Option<AccountSharedData>) {
        let is_writable = self.checked.writable.has(place);
        self.changes.push(AccountChange { key, before, write: None, is_writable });
    }

    fn load_all(
        &mut self,
        payer_key: Pubkey,
        payer: AccountSharedData,
        rent: &Rent,
        features: FeatureSet,
    ) -> Result<(), TransactionError> {
        let tables = u32::try_from(self.checked.tables).unwrap_or(u32::MAX);
        self.count(u64::from(tables.saturating_mul(LOADED_TABLE_BYTES)))?;
        self.take(payer_key, payer, true)?;
        for (place, key) in self.checked.keys.iter().enumerate().skip(1) {
            if is_same(key, &sysvar::instructions::ID) {
                self.find(place, *key, None);
                let account = instructions_sysvar(self.checked)?;
                self.loaded.push(TransactionAccount { key: *key, account, is_touched: false });
                continue;
            }
            let found = self.accounts.account(key);
            self.find(place, *key, found.clone());
            match found {
                Some(mut account) => {
                    if self.checked.writable.has(place) {
                        mark_exempt(&mut account, rent);
                    }
                    self.take(*key, account, true)?;
                }
                None => {
                    let account = Account { rent_epoch: u64::MAX, ..Account::default() };
                    self.take(*key, account.into(), false)?;
                }
            }
        }
        self.check_programs(features)
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

    fn take(
        &mut self,
        key: Pubkey,
        account: AccountSharedData,
        exists: bool,
    ) -> Result<(), TransactionError> {
        if exists {
            self.count(size(&account))?;
        }
        if Loader::of(account.owner()) == Some(Loader::V3)
            && let Some(address) = program_data_address(account.data())
            && !self.checked.keys.contains(&address)
            && !self.data_loaded.contains(&address)
            && let Some(data) = self.accounts.account(&address)
        {
            self.count(size(&data))?;
            self.data_loaded.push(address);
        }
        self.loaded.push(TransactionAccount { key, account, is_touched: false });
        Ok(())
    }

    /// Every instruction's program must exist, and be something that can be run.
    fn check_programs(&self, features: FeatureSet) -> Result<(), TransactionError> {
        for instruction in self.checked.transaction.instructions() {
            let place = usize::from(instruction.program_id_index);
            let exists = self.changes.get(place).is_some_and(|it| it.before.is_some());
            let account = self.loaded.get(place).filter(|_| exists);
            let account = account.ok_or(TransactionError::ProgramAccountNotFound)?;
            let owner = account.account.owner();
            if !is_same(owner, &native_loader::ID) && Loader::of(owner).is_none() {
                return Err(TransactionError::InvalidProgramForExecution);
            }
            // Once it was this flag that told programs from files that are being written.
            if !account.account.executable() && !features.has(Feature::IgnoreExecutableFlag) {
                return Err(TransactionError::InvalidProgramForExecution);
            }
        }
        Ok(())
    }
}

fn size(account: &AccountSharedData) -> u64 {
    u64::from(LOADED_ACCOUNT_BYTES).saturating_add(account.data().len() as u64)
}

/// The programs among the accounts, whether or not they are called.
fn load_programs(
    loaded: &[TransactionAccount],
    accounts: &impl AccountStore,
    environment: &Environment,
    cache: &ProgramCache,
) -> TransactionPrograms {
    let mut programs = TransactionPrograms::default();
    let slot = environment.slot();
    for TransactionAccount { key, account, .. } in loaded {
        if Loader::of(account.owner()).is_some()
            && let Some(entry) = cache.get(key, account, accounts, slot, environment.features)
        {
            programs.insert(*key, entry);
        }
    }
    programs
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

/// The account that shows programs with their accounts and data (SDK: `solana-instructions-sysvar`):
/// how many, where each starts, each with its accounts, program and data, and at the end the place
/// of the one that runs. `None` if they are too long for it.
pub(crate) fn show_instructions<'a>(
    instructions: impl ExactSizeIterator<Item = (Pubkey, Vec<AccountMeta>, &'a [u8])>,
) -> Option<AccountSharedData> {
    let short = |len: usize| u16::try_from(len).ok().map(u16::to_le_bytes);
    let mut data = Vec::new();
    data.extend(short(instructions.len())?);
    let offsets = data.len();
    data.resize(offsets.saturating_add(instructions.len().saturating_mul(2)), 0);
    for (place, (program, accounts, instruction)) in instructions.enumerate() {
        let start = short(data.len())?;
        let offset = offsets.saturating_add(place.saturating_mul(2));
        if let Some(slot) = data.get_mut(offset..).and_then(|rest| rest.first_chunk_mut()) {
            *slot = start;
        }
        data.extend(short(accounts.len())?);
        for account in accounts {
            data.push(u8::from(account.is_signer) | u8::from(account.is_writable) << 1);
            data.extend_from_slice(account.pubkey.as_ref());
        }
        data.extend_from_slice(program.as_ref());
        data.extend(short(instruction.len())?);
        data.extend_from_slice(instruction);
    }
    data.extend([0; 2]);
    let account = Account { data, owner: sysvar::ID, ..Account::default() };
    Some(account.into())
}
