//! Snapshots of a running node, and the replacement of its whole state.

use std::{collections::BTreeSet, sync::Arc};

use selkie_bank::{Bank, Forks, Options as BankSettings, State};
use selkie_ledger::{Block, Header, dump::Dump};
use selkie_svm::ProgramCache;
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;

use crate::{
    chain::Tip,
    committer::Kind,
    error::NodeError,
    events::Event,
    genesis,
    index::{Index, IndexChange},
    producer::{Producer, Snapshot},
    timeline::Moment,
};

/// The number of snapshots that are kept at most: the banks since the oldest one stay in memory.
const SNAPSHOTS_MAX: usize = 1024;

impl Producer {
    /// Takes a snapshot, which costs nothing: it keeps the banks from now on.
    pub(crate) fn snapshot(&mut self) -> Result<u64, NodeError> {
        if self.snapshots.len() >= SNAPSHOTS_MAX {
            return Err(NodeError::TooManySnapshots(SNAPSHOTS_MAX));
        }
        self.snapshots_made = self.snapshots_made.saturating_add(1);
        let snapshot = Snapshot {
            slot: self.tip.slot(),
            time: self.time.now(),
            transaction_count: self.transaction_count,
            feature_slots: self.feature_slots.clone(),
        };
        self.snapshots.insert(self.snapshots_made, snapshot);
        Ok(self.snapshots_made)
    }

    /// Returns to a snapshot, and drops it and later ones.
    pub(crate) fn revert(&mut self, id: u64) -> Result<u64, NodeError> {
        let snapshot = self.snapshots.get(&id).cloned().ok_or(NodeError::NoSnapshot(id))?;
        self.snapshots.split_off(&id);
        let changed = self.drop_tips_after(snapshot.slot)?;
        self.transaction_count = snapshot.transaction_count;
        self.number = self.number.saturating_add(1);
        self.feature_slots = snapshot.feature_slots;
        self.time.set(snapshot.time);
        self.open_next()?;
        let mut chain = self.shared.chain_mut();
        chain.working = Arc::clone(&self.working);
        chain.history.revert_to(snapshot.slot);
        chain.confirmed = chain.confirmed.min(snapshot.slot);
        chain.finalized = chain.finalized.min(snapshot.slot);
        chain.send(Event::Reverted { slot: snapshot.slot });
        drop(chain);
        let tip = Arc::clone(&self.tip);
        let account = |key: Pubkey| Ok((key, tip.get_account(&key)?.unwrap_or_default()));
        let accounts = changed.into_iter().map(account).collect::<Result<Vec<_>, NodeError>>()?;
        self.forget_fetched(&accounts);
        self.write(&tip, accounts, Kind::Revert(snapshot.slot));
        self.schedule_tick();
        Ok(snapshot.slot)
    }

    /// Lets accounts be fetched again that are gone after a revert.
    fn forget_fetched(&self, changed: &[(Pubkey, AccountSharedData)]) {
        let gone = changed.iter().filter(|(_, account)| account.lamports() == 0);
        let gone: BTreeSet<Pubkey> = gone.map(|(key, _)| *key).collect();
        self.shared.fetched().forget(|key| gone.contains(key));
    }

    /// Drops the banks after a slot, which becomes the tip. Returns the addresses that they changed.
    fn drop_tips_after(&mut self, slot: u64) -> Result<BTreeSet<Pubkey>, NodeError> {
        let mut changed = BTreeSet::new();
        let mut first = self.working.slot();
        let mut chain = self.shared.chain_mut();
        while chain.tip().bank.slot() > slot
            && let Some(tip) = chain.tips.pop_back()
        {
            changed.extend(tip.bank.changed_addresses());
            self.shared.index_mut().revert(&tip.index);
            first = tip.bank.slot();
        }
        self.tip = Arc::clone(&chain.tip().bank);
        drop(chain);
        self.forks.mark_dead(first)?;
        Ok(changed)
    }

    /// Drops a snapshot, so that the banks since then need not be kept for it.
    pub(crate) fn drop_snapshot(&mut self, id: u64) -> Result<(), NodeError> {
        self.snapshots.remove(&id).map(|_| ()).ok_or(NodeError::NoSnapshot(id))
    }

    /// Returns to the genesis.
    pub(crate) fn reset(&mut self) -> Result<u64, NodeError> {
        let state = genesis::state(&self.shared.options, self.time.timestamp());
        let header = Header { transaction_count: 0, ..self.header.clone() };
        self.replace(state, header, Vec::new())?;
        let block = Arc::new(genesis::block(&self.tip));
        self.shared.chain_mut().history.push(block);
        self.first_block()
    }

    /// Continues from a dump.
    pub(crate) fn load(&mut self, dump: Dump) -> Result<u64, NodeError> {
        let Dump { header, accounts, blocks } = dump;
        let state = genesis::from_ledger(&header, accounts, blocks.iter().map(|block| &**block));
        let time = header.clock_milliseconds;
        // The genesis hash of a running node does not change: clients have seen it.
        let Header { genesis_hash, created, .. } = self.header;
        let header = Header { genesis_hash, created, ..header };
        self.replace(state, header, blocks)?;
        self.time.set(time.max(self.time.now()));
        Ok(self.tip.slot())
    }

    /// Returns the whole state.
    pub(crate) fn dump(&self) -> Result<Dump, NodeError> {
        let header = Header {
            transaction_count: self.transaction_count,
            clock_milliseconds: self.time.now(),
            clock_offset_milliseconds: self.time.offset(),
            ..self.header.clone()
        };
        let chain = self.shared.chain();
        let blocks = chain.history.blocks(0..=u64::MAX).filter(|it| !it.transactions.is_empty());
        Ok(Dump {
            header: genesis::to_header(&self.tip, header),
            accounts: self.tip.accounts()?,
            blocks: blocks.cloned().collect(),
        })
    }

    /// Replaces everything.
    fn replace(
        &mut self,
        state: State,
        header: Header,
        blocks: Vec<Arc<Block>>,
    ) -> Result<(), NodeError> {
        self.transaction_count = header.transaction_count;
        self.header = header;
        self.number = self.number.saturating_add(1);
        self.snapshots.clear();
        self.scheduled.clear();
        self.shared.fetched().clear();
        self.shared.recordings().clear();
        let accounts = state.accounts.clone();
        self.forks = new_forks(state, &self.shared.options);
        self.tip = self.forks.root();
        self.feature_slots = genesis::feature_slots(&accounts, self.tip.slot());
        self.time.restart(self.time.now());
        self.open_next()?;
        *self.shared.index_mut() = index_of(&accounts);
        let slot = self.tip.slot();
        let mut chain = self.shared.chain_mut();
        chain.tips.clear();
        chain.tips.push_back(first_tip(&self.tip, self.transaction_count, self.number));
        chain.working = Arc::clone(&self.working);
        chain.history.clear();
        blocks.iter().for_each(|block| {
            chain.history.push(Arc::clone(block));
        });
        (chain.confirmed, chain.finalized) = (slot, slot);
        chain.send(Event::Reverted { slot });
        drop(chain);
        let tip = Arc::clone(&self.tip);
        self.write(&tip, accounts, Kind::Replace(blocks));
        self.schedule_tick();
        Ok(())
    }

    /// Makes the first block of a new cluster.
    pub(crate) fn first_block(&mut self) -> Result<u64, NodeError> {
        let slot = self.shared.options.first_slot.max(1);
        let moment = Moment { slot, counts: true };
        self.block_at(moment, Vec::new(), true)?;
        self.time.restart(self.time.now());
        self.schedule_tick();
        Ok(self.tip.slot())
    }
}

/// Creates the banks of a state.
pub(crate) fn new_forks(state: State, options: &crate::options::Options) -> Forks {
    let defaults = BankSettings::default();
    let settings = BankSettings {
        release: options.release,
        slot_milliseconds: options.slot_milliseconds.max(1),
        log_bytes_max: options.log_bytes_max.unwrap_or(defaults.log_bytes_max),
        compute_unit_limit: options.compute_unit_limit,
        ..defaults
    };
    Forks::new(state, Arc::new(ProgramCache::new()), settings)
}

/// Creates the indexes of all accounts.
pub(crate) fn index_of(accounts: &[(Pubkey, AccountSharedData)]) -> Index {
    let mut index = Index::default();
    accounts.iter().for_each(|(key, account)| index.add_first(key, account));
    index
}

/// Creates the tip of a state that was imported.
pub(crate) fn first_tip(bank: &Arc<Bank>, transaction_count: u64, number: u64) -> Tip {
    Tip { bank: Arc::clone(bank), transaction_count, number, index: IndexChange::default() }
}
