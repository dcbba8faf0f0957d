//! Freezing of a bank: blockhash, fees, slot history, bank hash (agave: `bank.rs`, `freeze` and
//! `hash_internal_state`; `fee_distribution.rs`).

use std::{sync::PoisonError, thread};

use selkie_builtins::vote_account::add_pending_rewards;
use selkie_svm::{AccountSharedData, AccountStore, Feature, Pubkey, ReadableAccount, RewardKind};
use sha2::{Digest, Sha256};
use solana_account::WritableAccount;
use solana_hash::Hash;
use solana_sdk_ids::{sysvar, vote};

use crate::{
    accounts::BankAccounts,
    alpenglow::{self, Footer},
    bank::{Bank, Frozen, Working},
    error::BankError,
    lattice::LatticeHash,
    phase::Phase,
    rewards::{self, BASIS_POINTS, Reward, credited},
    time,
};

/// The percentage of signature fees that is burned.
const BURNED_PERCENT: u64 = 50;

/// The minimum number of accounts per hashing thread.
const ACCOUNTS_PER_THREAD_MIN: usize = 64;

impl Bank {
    /// Freezes the bank, with a blockhash derived from its parent; returns the bank hash. Freezing again
    /// has no effect.
    ///
    /// After the migration to Alpenglow the blockhash is that of the block's last entry: of one entry
    /// with all transactions, and the tick. Before it, it is derived from the parent's hash and the slot.
    ///
    /// # Errors
    /// If the bank is dead or before the root.
    pub fn freeze(&self) -> Result<Hash, BankError> {
        self.freeze_with(None, &Footer::default())
    }

    /// Freezes the bank with this blockhash, e.g. from a leader's proof of history.
    ///
    /// # Errors
    /// If the bank is dead or before the root.
    pub fn freeze_with_blockhash(&self, blockhash: Hash) -> Result<Hash, BankError> {
        self.freeze_with(Some(blockhash), &Footer::default())
    }

    /// Freezes the bank with this time in its footer, in nanoseconds since the Unix epoch; the nearest
    /// one within [`time_bounds`](crate::alpenglow::time_bounds), as a leader's. It has no effect
    /// before the migration to Alpenglow.
    ///
    /// # Errors
    /// If the bank is dead or before the root.
    pub fn freeze_at(&self, now: i64) -> Result<Hash, BankError> {
        self.freeze_with_footer(&Footer { nanoseconds: Some(now), ..Footer::default() })
    }

    /// Freezes the bank with a footer, whose certificates change vote accounts: votes, roots, and the
    /// lamports that they earned as credits. Before the migration to Alpenglow its leader alone has an
    /// effect.
    ///
    /// # Errors
    /// If the bank is dead or before the root.
    pub fn freeze_with_footer(&self, footer: &Footer) -> Result<Hash, BankError> {
        self.freeze_with(None, footer)
    }

    fn freeze_with(&self, blockhash: Option<Hash>, footer: &Footer) -> Result<Hash, BankError> {
        let mut working = self.write();
        self.check_has_state()?;
        if let Some(frozen) = self.frozen.get() {
            return Ok(frozen.hash);
        }
        self.distribute_fees(&mut working, &footer.leader);
        let blockhash = blockhash.unwrap_or_else(|| self.last_entry(&working));
        let Working { blockhash_queue, changed, .. } = &mut *working;
        let accounts = &mut BankAccounts::new(&self.shared.accounts, &self.ancestors, changed);
        self.head.end(blockhash, self.counts, footer, blockhash_queue, accounts);
        let history = self.history();
        let lattice = self.lattice_after(&working, &history);
        let forks = &self.head.hard_forks;
        let after = self.parent.unwrap_or(0);
        let is_here = |fork: &&u64| after < **fork && **fork <= self.slot();
        let forks = forks.iter().filter(is_here).count() as u64;
        let hash = bank_hash(&self.parent_hash, working.signatures, &blockhash, &lattice, forks);
        let frozen = Frozen { hash, blockhash, lattice, history };
        self.frozen.set(frozen).expect("only one caller can hold `working`");
        self.set_phase(&mut working, Phase::Frozen);
        Ok(hash)
    }

    fn last_entry(&self, working: &Working) -> Hash {
        let environment = self.environment();
        if environment.is_alpenglow {
            alpenglow::blockhash(&environment.blockhash, &working.signature_bytes)
        } else {
            time::next_blockhash(&self.parent_hash, self.slot())
        }
    }

    /// Burns half of the signature fees. The rest and the priority fees go to the collector that the
    /// leader's vote account has chosen, or to that of the options; of them its delegators receive a part
    /// (SIMD-0123). Fees that an account cannot receive are burned.
    fn distribute_fees(&self, working: &mut Working, leader: &Pubkey) {
        let fees = working.fees;
        let burned = fees.signatures.saturating_mul(BURNED_PERCENT) / 100;
        let kept = fees.signatures.saturating_sub(burned).saturating_add(fees.priority);
        let features = self.environment().features;
        let epoch = time::schedule(&self.environment().sysvars).get_epoch(self.slot());
        let terms = self.head.stakes.terms(epoch, leader);
        let terms = terms.filter(|_| features.has(Feature::CustomCommissionCollector));
        let collector = terms.map(|it| it.block_collector).or(self.collector);
        let bps = terms.map_or(BASIS_POINTS, |it| it.block_commission_bps.min(BASIS_POINTS));
        let shares = features.has(Feature::BlockRevenueSharing);
        let of_leader = if shares { rewards::part(kept, bps) } else { kept };
        if let Some(collector) = collector {
            self.deposit(working, collector, of_leader, |account| {
                if collector == *leader {
                    let mut account = account;
                    return account.checked_add_lamports(of_leader).is_ok().then_some(account);
                }
                credited(&collector, account, of_leader, features, &self.environment().rent())
            });
        }
        let of_delegators = kept.saturating_sub(of_leader);
        self.deposit(working, *leader, of_delegators, |mut account| {
            let is_vote = *account.owner() == vote::ID;
            add_pending_rewards(account.data_as_mut_slice(), of_delegators).filter(|()| is_vote)?;
            account.checked_add_lamports(of_delegators).is_ok().then_some(account)
        });
    }

    /// Stores an account that received fees, if it can.
    fn deposit(
        &self,
        working: &mut Working,
        key: Pubkey,
        lamports: u64,
        receive: impl FnOnce(AccountSharedData) -> Option<AccountSharedData>,
    ) {
        let account = self.view().account(&key).unwrap_or_default();
        if let Some(account) = (lamports > 0).then(|| receive(account)).flatten() {
            let balance = account.lamports();
            working.collected.push(Reward::received(key, RewardKind::Fee, lamports, balance));
            self.put(working, key, account);
        }
    }

    /// Returns the hash of all accounts: the parent's, minus the old versions of changed accounts,
    /// plus the new ones.
    fn lattice_after(&self, working: &Working, history: &LatticeHash) -> LatticeHash {
        let (accounts, ancestors) = (&self.shared.accounts, &self.ancestors);
        let changed: Vec<Pubkey> = working
            .changed
            .iter()
            .copied()
            .filter(|key| *key != sysvar::slot_history::ID)
            .collect();
        let difference = in_parallel(&changed, self.shared.options.hashing_threads, |keys| {
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

    /// Returns the hash of the slot history account.
    pub(crate) fn history(&self) -> LatticeHash {
        let key = sysvar::slot_history::ID;
        let account = self.view().account(&key);
        LatticeHash::of(account.iter().map(|account| (&key, account)))
    }
}

/// Hashes accounts on several threads.
pub(crate) fn lattice_of(accounts: &[(Pubkey, AccountSharedData)], threads: usize) -> LatticeHash {
    in_parallel(accounts, threads, |accounts| {
        LatticeHash::of(accounts.iter().map(|(key, account)| (key, account)))
    })
}

/// Hashes parts on several threads and merges the hashes, whose order does not matter.
fn in_parallel<T: Sync>(
    all: &[T],
    threads: usize,
    hash: impl Fn(&[T]) -> LatticeHash + Sync,
) -> LatticeHash {
    let threads = threads.min(all.len() / ACCOUNTS_PER_THREAD_MIN).max(1);
    let mut parts = all.chunks(all.len().div_ceil(threads).max(1));
    let first = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let hash = &hash;
        let others: Vec<_> = parts.map(|part| scope.spawn(move || hash(part))).collect();
        let mut sum = hash(first);
        for other in others {
            match other.join() {
                Ok(part) => sum.merge(&part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        sum
    })
}

/// Returns the bank hash. It includes the number of hard forks since the parent.
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
    /// Returns the number of processed transactions in the status cache, on all forks.
    pub(crate) fn statuses_len(&self) -> usize {
        self.shared.statuses.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}
