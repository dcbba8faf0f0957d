//! A run of both chains: their blocks on forks, one of which becomes the root now and then.

use std::sync::Arc;

use selkie_bank::{BankOptions, Forks, Options, Stakes, State, Step, alpenglow};
use selkie_svm::{FeatureSet, ProgramCache, ReadableAccount};
use solana_entry::entry::next_hash;
use solana_hash::Hash;
use solana_runtime::{bank::Bank, block_component_processor::BlockComponentProcessor};
use solana_sdk_ids::sysvar;
use solana_transaction::Transaction;

use crate::{
    agave::{self, Agave, SLOTS_PER_EPOCH},
    compare,
    edits::Editor,
    release::RELEASE,
    rng::Rng,
    transactions::Maker,
};

/// How many forks grow at most.
const TIPS_MAX: usize = 3;

/// How a cluster agrees.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Consensus {
    Votes,
    Alpenglow,
    /// Votes, then Alpenglow from this slot on.
    Migrating(u64),
}

/// What the clusters of a run did.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) blocks: u64,
    pub(crate) epochs: u64,
    pub(crate) forks: u64,
    pub(crate) committed: u64,
    pub(crate) dropped: u64,
    pub(crate) partitions_max: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.epochs += other.epochs;
        self.forks += other.forks;
        self.committed += other.committed;
        self.dropped += other.dropped;
        self.partitions_max = self.partitions_max.max(other.partitions_max);
    }
}

impl core::fmt::Display for Counts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self { blocks, epochs, forks, committed, dropped, partitions_max } = self;
        write!(
            f,
            "{blocks} blocks on {forks} forks, {epochs} epochs with rewards in up to \
             {partitions_max} blocks, {committed} transactions, and {dropped} dropped"
        )
    }
}

struct Run {
    rng: Rng,
    agave: Agave,
    forks: Forks,
    consensus: Consensus,
    maker: Maker,
    /// The newest banks of the forks.
    tips: Vec<Arc<Bank>>,
    slot: u64,
    counts: Counts,
}

fn options() -> Options {
    Options { slot_milliseconds: 400, release: RELEASE, ..Options::default() }
}

fn import(bank: &Bank) -> State {
    let mut accounts: Vec<_> = bank.get_all_accounts_modified_since_parent();
    accounts.sort_unstable_by_key(|(key, _)| *key);
    State {
        slot: bank.slot(),
        block_height: bank.block_height(),
        hash: Some(bank.hash()),
        features: FeatureSet::mainnet(),
        blockhashes: vec![bank.last_blockhash()],
        lamports_per_signature: bank.get_lamports_per_signature(),
        stakes: Stakes::default(),
        processed: Vec::new(),
        lattice: None,
        accounts,
    }
}

/// Runs one cluster.
///
/// # Errors
/// If the chains differ: how.
pub(crate) fn run(seed: u64, slots: u64) -> Result<Counts, String> {
    let mut rng = Rng::new(seed, 1);
    let consensus = match seed % 3 {
        0 => Consensus::Votes,
        1 => Consensus::Alpenglow,
        _ => Consensus::Migrating(SLOTS_PER_EPOCH + 1 + rng.below(150) as u64),
    };
    // Several blocks pay the rewards of so many stakes.
    let stakes = if seed % 10 == 9 { 4000 + rng.below(8000) } else { 0 };
    let agave = Agave::new(&mut rng, consensus == Consensus::Alpenglow, stakes);
    let tips = vec![Arc::clone(&agave.genesis)];
    let forks = Forks::new(import(&tips[0]), Arc::new(ProgramCache::new()), options());
    let (maker, counts) = (Maker::default(), Counts::default());
    let mut run = Run { rng, agave, forks, consensus, maker, tips, slot: 0, counts };
    while run.slot < slots {
        run.step().map_err(|it| format!("{consensus:?}, slot {}: {it}", run.slot))?;
    }
    Ok(run.counts)
}

impl Run {
    fn step(&mut self) -> Result<(), String> {
        let skipped = if self.rng.chance(10) { self.rng.below(5) as u64 } else { 0 };
        self.slot += 1 + skipped;
        let tip = match self.rng.chance(70) {
            true => self.tips.len() - 1,
            false => self.rng.below(self.tips.len()),
        };
        let parent = Arc::clone(&self.tips[tip]);
        let is_fork = self.tips.len() < TIPS_MAX && self.rng.chance(10);
        if is_fork {
            self.counts.forks += 1;
        } else {
            self.tips.remove(tip);
        }
        let (ours, theirs) = self.block(&parent)?;
        let is_first = parent.epoch() < theirs.epoch();
        compare::end(&ours, &theirs, is_first)?;
        self.counts.blocks += 1;
        self.counts.epochs += u64::from(is_first);
        let partitions = ours.reward_partitions().unwrap_or(0);
        self.counts.partitions_max = self.counts.partitions_max.max(partitions);
        let is_rewarding = is_rewarding(&theirs);
        self.tips.push(theirs);
        if self.rng.chance(if is_rewarding { 40 } else { 25 }) {
            self.agave.set_root(self.slot);
            self.forks.set_root(self.slot).map_err(|it| it.to_string())?;
            self.tips.drain(..self.tips.len() - 1);
            if self.rng.chance(if is_rewarding { 80 } else { 8 }) {
                // Another process continues from what this one exports.
                let state = ours.export().map_err(|it| it.to_string())?;
                self.forks = Forks::new(state, Arc::new(ProgramCache::new()), options());
            }
        }
        Ok(())
    }

    /// Makes a block of both chains.
    fn block(&mut self, parent: &Arc<Bank>) -> Result<(Arc<selkie_bank::Bank>, Arc<Bank>), String> {
        let theirs = self.agave.open(&mut self.rng, parent, self.slot);
        let migrates = matches!(self.consensus, Consensus::Migrating(since) if since <= self.slot)
            && !theirs.is_alpenglow();
        if migrates {
            agave::migrate(&theirs);
        }
        let is_alpenglow = theirs.is_alpenglow();
        let timestamp = (!is_alpenglow || migrates).then(|| theirs.clock().unix_timestamp);
        let step = Step { unix_timestamp: timestamp, migrates, ..Step::default() };
        let options = BankOptions { step, collector: Some(theirs.leader().id) };
        let ours = self.forks.new_bank_with(parent.slot(), self.slot, &options);
        let ours = ours.map_err(|it| it.to_string())?;
        compare::begin(&ours, &theirs)?;
        self.edit(&ours, &theirs)?;
        let mut committed = Vec::new();
        let mut transactions = self.maker.block(&mut self.rng, &self.agave, &theirs);
        transactions.retain(|_| self.agave.has_leader(&theirs));
        for transaction in transactions {
            if compare::process(&ours, &theirs, &transaction)? {
                committed.push(transaction);
            } else {
                self.counts.dropped += 1;
            }
        }
        self.counts.committed += committed.len() as u64;
        self.close(&ours, &theirs, &committed)?;
        Ok((ours, theirs))
    }

    fn edit(&mut self, ours: &selkie_bank::Bank, theirs: &Bank) -> Result<(), String> {
        let certificate = theirs.get_alpenglow_genesis_certificate();
        let migration = certificate.map(|it| theirs.epoch_schedule().get_epoch(it.block.slot));
        let migrates = matches!(self.consensus, Consensus::Migrating(_));
        let (rng, agave) = (&mut self.rng, &mut self.agave);
        let mut editor = Editor { rng, agave, bank: theirs, migration };
        for (key, account) in editor.edits(is_rewarding(theirs), migrates) {
            agave::put(theirs, &key, &account);
            ours.set_account(key, account).map_err(|it| it.to_string())?;
        }
        Ok(())
    }

    /// Freezes both banks.
    fn close(
        &mut self,
        ours: &selkie_bank::Bank,
        theirs: &Bank,
        committed: &[Transaction],
    ) -> Result<(), String> {
        let mut footer = agave::footer(&mut self.rng, theirs);
        if !theirs.is_alpenglow() {
            ours.freeze_with_footer(&footer).map_err(|it| it.to_string())?;
            agave::close(theirs, &footer, ours.latest_blockhash());
            return Ok(());
        }
        let clock = theirs.clock().unix_timestamp * 1_000_000_000;
        let before = alpenglow::nanoseconds(ours).unwrap_or(clock);
        let wanted = before - 200_000_000 + self.rng.below(2_000_000_000) as i64;
        footer.nanoseconds = Some(wanted);
        ours.freeze_with_footer(&footer).map_err(|it| it.to_string())?;
        let time = alpenglow::nanoseconds(ours).ok_or("no alpenclock")?;
        let elapsed = theirs.slot_range_duration_nanos(theirs.parent_slot() + 1, theirs.slot());
        let (first, last) = BlockComponentProcessor::nanosecond_time_bounds(before, elapsed);
        if time != wanted.clamp(first, last) {
            return Err(format!("time {time}, not {wanted} within {first} to {last}"));
        }
        footer.nanoseconds = Some(time);
        agave::close(theirs, &footer, last_entry(theirs.last_blockhash(), committed));
        Ok(())
    }
}

/// Returns the hash of the last entry of a block: of one with all transactions, and of a tick.
fn last_entry(parent: Hash, transactions: &[Transaction]) -> Hash {
    let transactions: Vec<_> = transactions.iter().cloned().map(Into::into).collect();
    let count = u64::from(!transactions.is_empty());
    next_hash(&next_hash(&parent, count, &transactions), 1, &[])
}

fn is_rewarding(bank: &Bank) -> bool {
    let rewards = bank.get_account(&sysvar::epoch_rewards::ID);
    rewards.is_some_and(|it| it.data().last() == Some(&1))
}
