//! The blocks of a saved cluster: what the method `selkie_dumpState` of a node returns.
//!
//! A dump has the accounts at its end, and of each transaction what it changed. So the state before a
//! transaction is found by undoing all of those after it, from the last one on. Changes that no
//! transaction made are not in a dump, nor are long changes of data; a transaction that does not end as
//! recorded on the state that was found is left out.

use selkie_isa::failure::{Context as _, OrFailure as _};
use std::{collections::BTreeMap, path::Path, sync::Arc};

use selkie::{AccountSharedData, Pubkey, Svm, WritableAccount as _, ids::sysvar};
use selkie_builtins::{builtins, precompiles};
use selkie_case::{Case, CaseOptions, KeyedAccount};
use selkie_isa::input;
use selkie_ledger::{
    AccountDiff, Block, Landed,
    dump::{self, Dump},
};
use selkie_svm::{BlockhashQueue, Environment, FeatureSet, ReadableAccount as _, Sysvars};

use super::{Importer, Result, status};
use crate::{
    Sha256,
    item::{Expectation, Item},
    record,
};

/// Why transactions before one of many changes are left out.
const LONG: &str = "a later transaction has changed more than a dump tells";
const OTHERWISE: &str = "it ends otherwise than recorded on the state that the dump tells";

/// Adds the transactions of a dump, oldest first.
pub(super) fn add(path: &Path, importer: &mut Importer) -> Result<()> {
    let mut file = input::open(path)?;
    let dump = dump::read(&mut file).or_failure()?;
    let mut svm = chain(&dump)?;
    let env_ref = importer.environment(svm.environment(), svm.recent_blockhashes());
    let mut found = Vec::new();
    let mut is_known = true;
    for block in dump.blocks.iter().rev() {
        begin(&mut svm, block);
        for landed in block.transactions.iter().rev() {
            is_known = is_known && undo(&mut svm, landed).is_some();
            match is_known.then(|| recorded(&svm, landed)) {
                Some(Some(it)) => found.push(it),
                Some(None) => importer.skip(path, OTHERWISE.to_owned()),
                None => importer.skip(path, LONG.to_owned()),
            }
        }
    }
    found.iter().rev().try_for_each(|it| it.push(env_ref, importer))
}

/// Returns the chain at the end of a dump.
fn chain(dump: &Dump) -> Result<Svm> {
    let Dump { header, accounts, .. } = dump;
    let features = FeatureSet::from_addresses(header.features.iter());
    let mut sysvars = Sysvars::empty();
    for (key, account) in accounts.iter().filter(|(_, it)| *it.owner() == sysvar::ID) {
        // The slot history is an account only.
        let _ = sysvars.set(*key, account.data());
    }
    let epoch = sysvars.clock().context("the dump has no clock")?.epoch;
    let stakes: BTreeMap<_, _> = header.stakes.iter().cloned().collect();
    let stake = stakes.get(&epoch).unwrap_or(&header.additional_stake);
    let environment = Environment {
        features,
        sysvars,
        builtins: builtins(features),
        precompiles: precompiles(),
        blockhash: header.blockhashes.last().copied().unwrap_or_default(),
        lamports_per_signature: header.lamports_per_signature,
        epoch_stake: stake.clone().into_stake(),
        ..Environment::default()
    };
    let case = Case {
        blockhashes: Arc::new(BlockhashQueue::new([environment.blockhash])),
        environment: Arc::new(environment),
        accounts: accounts.iter().cloned().collect(),
        options: CaseOptions { checks_blockhash: false, ..CaseOptions::default() },
        ..Case::default()
    };
    Ok(Svm::of_case(&case).with_duplicate_checks(false))
}

/// Goes back to the end of a block's transactions.
fn begin(svm: &mut Svm, block: &Block) {
    let mut clock = svm.clock();
    clock.slot = block.slot;
    clock.epoch = svm.epoch_schedule().get_epoch(block.slot);
    clock.unix_timestamp = block.block_time;
    svm.set_clock(&clock);
    for reward in &block.rewards {
        let mut account = svm.shared_account(&reward.address).unwrap_or_default();
        account.set_lamports(reward.post_balance.saturating_sub(reward.lamports.unsigned_abs()));
        set(svm, reward.address, account);
    }
}

/// Returns to the state before a transaction; `None` if that is not known.
fn undo(svm: &mut Svm, landed: &Landed) -> Option<()> {
    let keys = landed.account_keys();
    for (key, lamports) in keys.iter().zip(&landed.meta.pre_balances) {
        let mut account = svm.shared_account(key).unwrap_or_default();
        if account.lamports() != *lamports {
            account.set_lamports(*lamports);
            set(svm, *key, account);
        }
    }
    for diff in &landed.meta.account_diffs {
        let key = keys.get(usize::from(diff.account_index))?;
        let mut account = svm.shared_account(key).unwrap_or_default();
        undo_diff(&mut account, diff)?;
        set(svm, *key, account);
    }
    Some(())
}

fn undo_diff(account: &mut AccountSharedData, diff: &AccountDiff) -> Option<()> {
    if diff.is_truncated || diff.bytes_before > DATA_BYTES_MAX {
        return None;
    }
    account.set_owner(diff.owner_before);
    let mut data = account.data().to_vec();
    data.resize(usize::try_from(diff.bytes_before).ok()?, 0);
    for range in &diff.ranges {
        let start = usize::try_from(range.offset).ok()?;
        let place = data.get_mut(start..)?.get_mut(..range.before.len())?;
        place.copy_from_slice(&range.before);
    }
    account.set_data_from_slice(&data);
    Some(())
}

/// The maximum length of an account's data in bytes.
const DATA_BYTES_MAX: u64 = 10 << 20;

fn set(svm: &mut Svm, key: Pubkey, account: AccountSharedData) {
    // Sysvars change in each slot, and not by transactions.
    if svm.sysvar(&key).is_none() {
        let _ = svm.set_account(key, account);
    }
}

/// A transaction with the state before it.
struct Found {
    wire: Vec<u8>,
    slot: u64,
    epoch: u64,
    unix_timestamp: i64,
    accounts: Vec<KeyedAccount>,
    status: &'static str,
    error: Option<String>,
    compute_units: u64,
}

/// Returns a transaction, if it ends as recorded on this state.
fn recorded(svm: &Svm, landed: &Landed) -> Option<Found> {
    let transaction = &landed.transaction;
    let receipt = svm.simulate(transaction).unwrap_or_else(|failed| failed.receipt);
    let is_same = receipt.result == landed.result
        && receipt.compute_units == landed.meta.compute_units
        && receipt.fee.total() == landed.meta.fee;
    let clock = svm.clock();
    let (status, error) = status(receipt.ended());
    is_same.then(|| Found {
        wire: wincode::serialize(transaction).expect("transactions can be serialized"),
        slot: clock.slot,
        epoch: clock.epoch,
        unix_timestamp: clock.unix_timestamp,
        accounts: record::accounts(&svm.case(transaction)),
        status,
        error,
        compute_units: receipt.compute_units,
    })
}

impl Found {
    fn push(&self, env_ref: Sha256, importer: &mut Importer) -> Result<()> {
        let accounts = importer.accounts(&self.accounts);
        let item = Item {
            slot: Some(self.slot),
            epoch: Some(self.epoch),
            unix_timestamp: Some(self.unix_timestamp),
            env_ref,
            message: &self.wire,
            accounts,
            verify_signatures: true,
            expect: Some(Expectation {
                status: Some(self.status),
                error: self.error.as_deref(),
                compute_units: Some(self.compute_units),
                effects_hash: None,
            }),
            ..Item::default()
        };
        importer.push_item(&item)?;
        Ok(())
    }
}
