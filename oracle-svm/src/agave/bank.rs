//! The part of a bank that the processor uses: accounts, stakes, precompiles, commits.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use agave_feature_set::FeatureSet;
use agave_precompiles::{get_precompile, is_precompile};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_address_lookup_table_interface::{error::AddressLookupError, state::AddressLookupTable};
use solana_hash::Hash;
use solana_message::{
    AddressLoader,
    inner_instruction::InnerInstruction,
    v0::{LoadedAddresses, MessageAddressTableLookup},
};
use solana_precompile_error::PrecompileError;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::{address_lookup_table, sysvar};
use solana_svm::transaction_processing_result::ProcessedTransaction;
use solana_svm_callback::InvokeContextCallback;
use solana_svm_transaction::svm_message::{SVMMessage, SVMStaticMessage};
use solana_transaction_error::AddressLoaderError;

use super::{Processor, Transaction};
use crate::{
    case::{Account, Accounts, Case},
    observed::Inner,
};

pub(super) struct Bank<'a> {
    case: &'a Case,
    features: &'a FeatureSet,
    stakes: BTreeMap<Pubkey, u64>,
    pub(super) accounts: Accounts,
    /// Blockhashes and message hashes of processed transactions.
    pub(super) processed: HashSet<(Hash, Hash)>,
    pub(super) rent: Rent,
}

impl<'a> Bank<'a> {
    pub(super) fn new(case: &'a Case, features: &'a FeatureSet) -> Self {
        let mut accounts = case.accounts.clone();
        accounts.retain(|_, account| account.lamports > 0);
        let rent = accounts.get(&sysvar::rent::ID.to_bytes());
        let rent = rent.and_then(|it| bincode::deserialize(&it.data).ok()).unwrap_or_default();
        let stakes = case.vote_stakes.iter().map(|(vote, stake)| (Pubkey::from(*vote), *stake));
        let stakes = stakes.collect();
        Self { case, features, stakes, accounts, processed: HashSet::new(), rent }
    }

    pub(super) fn last_blockhash(&self) -> Hash {
        Hash::new_from_array(self.case.blockhashes.last().copied().unwrap_or_default())
    }

    pub(super) fn shared(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.accounts.get(&key.to_bytes()).map(shared_of)
    }

    /// Commits the accounts of `processed`, and returns those that changed.
    pub(super) fn commit(
        &mut self,
        transaction: &Transaction,
        processed: &ProcessedTransaction,
    ) -> Accounts {
        let stored: Vec<(Pubkey, AccountSharedData)> = match processed {
            ProcessedTransaction::Executed(executed) if executed.was_successful() => {
                let loaded = &executed.loaded_transaction;
                let is_stored = |index: usize| {
                    transaction.is_writable(index)
                        && loaded.touched_flags[index]
                        && (!transaction.is_invoked(index)
                            || transaction.is_instruction_account(index))
                };
                let accounts = loaded.accounts.iter().enumerate();
                accounts.filter(|(index, _)| is_stored(*index)).map(|(_, it)| it.clone()).collect()
            }
            ProcessedTransaction::Executed(executed) => {
                executed.loaded_transaction.rollback_accounts.iter().cloned().collect()
            }
            ProcessedTransaction::FeesOnly(fees_only) => {
                fees_only.rollback_accounts.iter().cloned().collect()
            }
            ProcessedTransaction::NoOp(_) => Vec::new(),
        };
        let mut post = Accounts::new();
        for (key, account) in stored {
            let (key, account) = (key.to_bytes(), account_of(&account));
            let was = self.accounts.get(&key);
            let is_as_it_was = match was {
                Some(was) => *was == account,
                None => account.lamports == 0,
            };
            if is_as_it_was {
                continue;
            }
            if account.lamports == 0 {
                self.accounts.remove(&key);
            } else {
                self.accounts.insert(key, account.clone());
            }
            post.insert(key, account);
        }
        post
    }

    pub(super) fn lookup_tables(&self, processor: &'a Processor) -> LookupTables<'_> {
        LookupTables { bank: self, processor }
    }
}

/// Resolves address lookups.
#[derive(Clone)]
pub(super) struct LookupTables<'a> {
    bank: &'a Bank<'a>,
    processor: &'a Processor,
}

impl AddressLoader for LookupTables<'_> {
    fn load_addresses(
        self,
        lookups: &[MessageAddressTableLookup],
    ) -> Result<LoadedAddresses, AddressLoaderError> {
        let slot = self.bank.case.slot;
        let hashes = self.processor.sysvar_cache().get_slot_hashes();
        let hashes = hashes.map_err(|_| AddressLoaderError::SlotHashesSysvarNotFound)?;
        let mut loaded = LoadedAddresses::default();
        for lookup in lookups {
            let account = self.bank.shared(&lookup.account_key);
            let account = account.ok_or(AddressLoaderError::LookupTableAccountNotFound)?;
            if *account.owner() != address_lookup_table::ID {
                return Err(AddressLoaderError::InvalidAccountOwner);
            }
            let table = AddressLookupTable::deserialize(account.data())
                .map_err(|_| AddressLoaderError::InvalidAccountData)?;
            // Both lists are opened before the first index is looked up, as in the bank.
            let writable = table.lookup_iter(slot, &lookup.writable_indexes, &hashes);
            let writable = writable.map_err(loader_error)?;
            let readonly = table.lookup_iter(slot, &lookup.readonly_indexes, &hashes);
            let readonly = readonly.map_err(loader_error)?;
            for address in writable {
                loaded.writable.push(address.ok_or(AddressLoaderError::InvalidLookupIndex)?);
            }
            for address in readonly {
                loaded.readonly.push(address.ok_or(AddressLoaderError::InvalidLookupIndex)?);
            }
        }
        Ok(loaded)
    }
}

fn loader_error(error: AddressLookupError) -> AddressLoaderError {
    match error {
        AddressLookupError::LookupTableAccountNotFound => {
            AddressLoaderError::LookupTableAccountNotFound
        }
        AddressLookupError::InvalidAccountOwner => AddressLoaderError::InvalidAccountOwner,
        AddressLookupError::InvalidAccountData => AddressLoaderError::InvalidAccountData,
        AddressLookupError::InvalidLookupIndex => AddressLoaderError::InvalidLookupIndex,
    }
}

impl InvokeContextCallback for Bank<'_> {
    fn get_epoch_stake(&self) -> u64 {
        self.case.epoch_total_stake
    }

    fn get_epoch_stake_for_vote_account(&self, vote: &Pubkey) -> u64 {
        self.stakes.get(vote).copied().unwrap_or(0)
    }

    fn is_precompile(&self, program: &Pubkey) -> bool {
        is_precompile(program, |feature| self.features.is_active(feature))
    }

    fn process_precompile(
        &self,
        program: &Pubkey,
        data: &[u8],
        instructions: Vec<&[u8]>,
    ) -> Result<(), PrecompileError> {
        get_precompile(program, |feature| self.features.is_active(feature))
            .ok_or(PrecompileError::InvalidPublicKey)?
            .verify(data, &instructions, self.features)
    }
}

#[expect(deprecated, reason = "cases may have any rent epoch")]
fn shared_of(account: &Account) -> AccountSharedData {
    AccountSharedData::create_from_existing_shared_data(
        account.lamports,
        Arc::clone(&account.data),
        Pubkey::from(account.owner),
        account.executable,
        account.rent_epoch,
    )
}

pub(super) fn account_of(account: &AccountSharedData) -> Account {
    Account {
        lamports: account.lamports(),
        owner: account.owner().to_bytes(),
        executable: account.executable(),
        rent_epoch: account.rent_epoch(),
        data: account.data_clone(),
    }
}

pub(super) fn observed_inner(inner: &InnerInstruction) -> Inner {
    Inner {
        program_index: inner.instruction.program_id_index,
        accounts: inner.instruction.accounts.clone(),
        data: inner.instruction.data.clone(),
        stack_height: inner.stack_height,
    }
}
