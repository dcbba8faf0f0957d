//! How a bank comes to its end: the blockhash, fees, the history of slots, and the hash (agave:
//! `bank.rs`, `freeze` and `hash_internal_state`; `fee_distribution.rs`).

use std::{sync::PoisonError, thread};

use selkie_svm::{
    AccountSharedData, AccountStore, Feature, Pubkey, ReadableAccount, check::is_reserved,
    sysvars::minimum_balance,
};
use sha2::{Digest, Sha256};
use solana_account::WritableAccount;
use solana_hash::Hash;
use solana_sdk_ids::{incinerator, system_program, sysvar};

use crate::{
    bank::{Bank, Frozen, Working},
    error::BankError,
    lattice::LatticeHash,
    life::Life,
    sysvars, time,
};

/// The percentage of fees for signatures that nobody gets.
const BURNED_PERCENT: u64 = 50;

/// Threads are started if each has so many accounts to hash.
const HASHED_AT_LEAST: usize = 64;

impl Bank {
    /// Makes an end of the bank, whose blockhash follows from its parent's hash and its slot. One
    /// that is frozen stays what it is.
    ///
    /// # Errors
    /// If the bank has no state of its own any more.
    pub fn freeze(&self) -> Result<Hash, BankError> {
        self.freeze_with_blockhash(time::next_blockhash(&self.parent_hash, self.slot))
    }

    /// Makes an end of the bank with this blockhash, as a leader's clock of hashes has it.
    ///
    /// # Errors
    /// If the bank has no state of its own any more.
    pub fn freeze_with_blockhash(&self, blockhash: Hash) -> Result<Hash, BankError> {
        let mut working = self.write();
        self.check_has_state()?;
        if let Some(frozen) = self.frozen.get() {
            return Ok(frozen.hash);
        }
        self.register(&mut working, blockhash);
        self.distribute_fees(&mut working);
        let before = self.view().account(&sysvar::slot_history::ID);
        let before = before.as_ref().map(ReadableAccount::data).unwrap_or_default();
        let history = sysvars::slot_history(before, self.slot);
        self.set_sysvar(&mut working, sysvar::slot_history::ID, history);
        self.run_incinerator(&mut working);
        let history = self.history();
        let lattice = self.lattice_after(&working, &history);
        let forks = &self.ledger.options.hard_forks;
        let after = self.parent.unwrap_or(0);
        let is_here = |fork: &&u64| after < **fork && **fork <= self.slot;
        let forks = forks.iter().filter(is_here).count() as u64;
        let hash = bank_hash(&self.parent_hash, working.signatures, &blockhash, &lattice, forks);
        let frozen = Frozen { hash, blockhash, lattice, history };
        self.frozen.set(frozen).expect("whoever freezes the bank holds `working`");
        self.set_life(&mut working, Life::Frozen);
        Ok(hash)
    }

    /// The slot's last tick makes its blockhash known.
    fn register(&self, working: &mut Working, blockhash: Hash) {
        working.blockhash_queue.register(blockhash);
        let price = self.environment.lamports_per_signature;
        let list = sysvars::recent_blockhashes(working.blockhash_queue.blockhashes().rev(), price);
        self.set_sysvar(working, sysvar::recent_blockhashes::ID, list);
    }

    fn set_sysvar(&self, working: &mut Working, id: Pubkey, data: Vec<u8>) {
        let before = self.view().account(&id);
        let account = sysvars::account(before.as_ref(), data, &self.environment.rent());
        self.put(working, id, account);
    }

    /// Half of the fees for signatures is burned; the rest, and what was paid to be preferred, the
    /// collector gets.
    fn distribute_fees(&self, working: &mut Working) {
        let fees = working.fees;
        let burned = fees.signatures.saturating_mul(BURNED_PERCENT) / 100;
        let kept = fees.signatures.saturating_sub(burned).saturating_add(fees.priority);
        if let Some(collector) = self.collector.filter(|_| kept > 0)
            && let Some(account) = self.with_fees(&collector, kept)
        {
            self.put(working, collector, account);
        }
    }

    /// The collector's account with the fees, if it may have them.
    fn with_fees(&self, collector: &Pubkey, lamports: u64) -> Option<AccountSharedData> {
        let features = self.environment.features;
        let mut account = self.view().account(collector).unwrap_or_default();
        let before = account.lamports();
        account.checked_add_lamports(lamports).ok()?;
        let is_custom = features.has(Feature::CustomCommissionCollector);
        if *account.owner() != system_program::ID || is_custom && is_reserved(collector) {
            return None;
        }
        let rent = self.environment.rent();
        let minimum = minimum_balance(&rent, account.data().len());
        let is_enough = account.lamports() >= minimum
            || features.has(Feature::RelaxMinBalanceCheck) && before > 0;
        // What is paid to the incinerator is never too little: it is burned at once.
        (is_enough || is_custom && *collector == incinerator::ID).then_some(account)
    }

    /// What was sent to the incinerator in this slot is burned.
    fn run_incinerator(&self, working: &mut Working) {
        if working.changed.contains(&incinerator::ID) {
            self.put(working, incinerator::ID, AccountSharedData::default());
        }
    }

    /// The hash of all accounts: the parent's, without what changed as it was, and with it as it is.
    fn lattice_after(&self, working: &Working, history: &LatticeHash) -> LatticeHash {
        let (accounts, ancestors) = (&self.ledger.accounts, &self.ancestors);
        let changed: Vec<Pubkey> = working
            .changed
            .iter()
            .copied()
            .filter(|key| *key != sysvar::slot_history::ID)
            .collect();
        let difference = in_parallel(&changed, self.ledger.options.hashing_threads, |keys| {
            let mut difference = LatticeHash::default();
            for key in keys {
                let (before, after) =
                    (accounts.before(key, ancestors), accounts.get(key, ancestors));
                if before != after {
                    before.iter().for_each(|account| difference.remove(key, account));
                    after.iter().for_each(|account| difference.add(key, account));
                }
            }
            difference
        });
        let mut lattice = self.parent_lattice.clone();
        lattice.merge(&difference);
        lattice.separate(&self.parent_history);
        lattice.merge(history);
        lattice
    }

    /// The hash of the history of slots alone.
    pub(crate) fn history(&self) -> LatticeHash {
        let key = sysvar::slot_history::ID;
        let account = self.view().account(&key);
        LatticeHash::of(account.iter().map(|account| (&key, account)))
    }
}

/// The hash of these accounts.
pub(crate) fn lattice_of(accounts: &[(Pubkey, AccountSharedData)], threads: usize) -> LatticeHash {
    in_parallel(accounts, threads, |accounts| {
        LatticeHash::of(accounts.iter().map(|(key, account)| (key, account)))
    })
}

/// The sum of the hashes of parts, whose order makes no difference.
fn in_parallel<T: Sync>(
    all: &[T],
    threads: usize,
    hash: impl Fn(&[T]) -> LatticeHash + Sync,
) -> LatticeHash {
    let threads = threads.min(all.len() / HASHED_AT_LEAST).max(1);
    let mut parts = all.chunks(all.len().div_ceil(threads).max(1));
    let own = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let hash = &hash;
        let others: Vec<_> = parts.map(|part| scope.spawn(move || hash(part))).collect();
        let mut sum = hash(own);
        for other in others {
            match other.join() {
                Ok(part) => sum.merge(&part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sum
    })
}

/// The hash of a bank. Restarts of the cluster since the parent are part of it.
pub(crate) fn bank_hash(
    parent: &Hash,
    signatures: u64,
    blockhash: &Hash,
    lattice: &LatticeHash,
    hard_forks: u64,
) -> Hash {
    let sha = |parts: &[&[u8]]| -> [u8; 32] {
        parts.iter().fold(Sha256::new(), |hasher, part| hasher.chain_update(part)).finalize().into()
    };
    let block = sha(&[parent.as_ref(), &signatures.to_le_bytes(), blockhash.as_ref()]);
    let mut hash = sha(&[&block, &lattice.to_bytes()]);
    if hard_forks > 0 {
        hash = sha(&[&hash, &hard_forks.to_le_bytes()]);
    }
    Hash::new_from_array(hash)
}

impl Bank {
    /// How many transactions are remembered on all forks together.
    pub(crate) fn statuses_len(&self) -> usize {
        self.ledger.statuses.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}
