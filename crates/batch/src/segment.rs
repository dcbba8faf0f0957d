//! Items of kind `segment`: blocks that follow each other, executed from the state of the item.
//!
//! Each block is a bank on that of the block before, so it sees its effects, and sysvars change as on
//! a cluster. The item's environment and accounts are the state at the end of the block before the
//! first one, whose slot is that of the clock.

use std::{collections::BTreeSet, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_bank::{
    Bank, BankOptions, Forks, Options, Outcome as Processed, RUNTIME_ACCOUNTS, Stakes, State, Step,
};
use selkie_case::Case;
use selkie_svm::{ProcessOptions, ProgramCache, Pubkey, ReadableAccount as _, Transaction};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256 as Hasher};
use solana_hash::Hash;
use solana_sdk_ids::sysvar;

use crate::{
    effects::{self, Written},
    environment::{blockhash, pubkey},
    error::Malformed,
    item::Item,
    options::RunOptions,
    outcome::{Ended, Executed, Logs, Status},
    sha256,
};

/// The version of the file.
const VERSION: u32 = 1;
/// The most blocks of an item, and the most transactions of all of them.
const BLOCKS_MAX: usize = 4096;
const TRANSACTIONS_MAX: usize = 1 << 15;

/// Blocks: the `message` of an item of kind `segment`, in JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SegmentFile {
    /// The version of this form: 1.
    pub version: u32,
    /// The blocks, each on the one before: from 1 to 4,096, with up to 32,768 transactions.
    pub blocks: Vec<SegmentBlock>,
}

/// A block of a segment.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SegmentBlock {
    /// The slot, after that of the block before.
    pub slot: u64,
    /// The time of the clock sysvar in seconds; without it, it follows from the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_timestamp: Option<i64>,
    /// The block's own blockhash, which transactions of later blocks may name; without it, one that
    /// follows from the slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockhash: Option<String>,
    /// Who receives the fees; without it, they are burned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collector: Option<String>,
    /// The transactions in their order, in base64 as they are sent.
    #[serde(default)]
    pub transactions: Vec<String>,
}

impl SegmentFile {
    /// Creates a file of these blocks.
    #[must_use]
    pub fn new(blocks: Vec<SegmentBlock>) -> Self {
        Self { version: VERSION, blocks }
    }

    /// Returns the file's bytes, for the column `message`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and numbers are JSON")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let file: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("`message` is not a segment: {error}"))?;
        if file.version != VERSION {
            let version = file.version;
            return Err(Malformed::from(format!(
                "the segment has version {version}, and only {VERSION} is known"
            )));
        }
        let transactions: usize = file.blocks.iter().map(|it| it.transactions.len()).sum();
        let blocks = file.blocks.len();
        if !(1..=BLOCKS_MAX).contains(&blocks) || transactions > TRANSACTIONS_MAX {
            return Err(Malformed::from(format!(
                "a segment has from 1 to {BLOCKS_MAX} blocks and up to {TRANSACTIONS_MAX} \
                 transactions, but this one has {blocks} and {transactions}: make several items of it"
            )));
        }
        Ok(file)
    }
}

/// Executes the blocks of an item.
pub(crate) fn run(item: &Item<'_>, case: &Case, options: &RunOptions) -> Result<Ended, Malformed> {
    let file = SegmentFile::parse(item.message)?;
    if !item.check_blockhash {
        return Err(Malformed::from(
            "blocks are executed with their blockhashes: set `check_blockhash`",
        ));
    }
    let process = ProcessOptions {
        verify_signatures: item.verify_signatures,
        engine: options.engine,
        budget: None,
    };
    let state = state(case);
    let mut slot = state.slot;
    let settings = Options { release: case.environment.release, ..Options::default() };
    let forks = Forks::new(state, Arc::new(ProgramCache::new()), settings);
    let mut segment = Segment::new();
    for (index, block) in file.blocks.iter().enumerate() {
        let place = format!("block {index} (slot {})", block.slot);
        let bank = segment.execute(&forks, slot, (block, &place), &process)?;
        segment.changed.extend(bank.changed_addresses());
        slot = block.slot;
        // What earlier blocks have overwritten is not needed any more.
        forks.set_root(slot).map_err(|error| format!("{place}: {error}"))?;
    }
    Ok(segment.ended(&forks.root(), options.keeps_logs))
}

/// Returns the state before the first block.
fn state(case: &Case) -> State {
    let environment = &case.environment;
    let clock = environment.sysvars.clock().unwrap_or_default();
    let epochs = clock.epoch..=clock.leader_schedule_epoch;
    State {
        slot: clock.slot,
        block_height: 0,
        hash: None,
        features: environment.features,
        blockhashes: case.blockhashes.blockhashes().copied().collect(),
        lamports_per_signature: environment.lamports_per_signature,
        stakes: Stakes::constant(environment.epoch_stake.clone(), epochs),
        processed: Vec::new(),
        lattice: None,
        accounts: case.accounts.iter().map(|(key, it)| (*key, it.clone())).collect(),
    }
}

/// What the blocks have done so far.
struct Segment {
    effort: Effort,
    compute_units: u64,
    fee: u64,
    logs: Vec<String>,
    /// The first transaction that was dropped, and why.
    dropped: Option<String>,
    changed: BTreeSet<Pubkey>,
    effects: Hasher,
}

/// What was executed: the column `effort`.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Effort {
    blocks: u64,
    transactions: u64,
    /// How many of them failed and paid their fee, and how many were dropped.
    failed: u64,
    dropped: u64,
}

impl Segment {
    fn new() -> Self {
        Self {
            effort: Effort::default(),
            compute_units: 0,
            fee: 0,
            logs: Vec::new(),
            dropped: None,
            changed: BTreeSet::new(),
            effects: Hasher::new_with_prefix(b"selkie segment 1"),
        }
    }

    /// Executes `block` on a child of the parent's bank; errors start with the text beside it.
    fn execute(
        &mut self,
        forks: &Forks,
        parent: u64,
        (block, place): (&SegmentBlock, &str),
        options: &ProcessOptions,
    ) -> Result<Arc<Bank>, Malformed> {
        let of_block = |why: Malformed| Malformed::from(format!("{place}: {why}"));
        let collector = block.collector.as_deref().map(pubkey).transpose().map_err(of_block)?;
        let hash = block.blockhash.as_deref().map(blockhash).transpose().map_err(of_block)?;
        let step = Step { unix_timestamp: block.unix_timestamp, ..Step::default() };
        let bank_options = BankOptions { collector, step };
        let bank = forks.new_bank_with(parent, block.slot, &bank_options);
        let bank = bank.map_err(|error| of_block(error.to_string().into()))?;
        for (index, text) in block.transactions.iter().enumerate() {
            let place = || format!("{place}, transaction {index}");
            let ended = decode(text, &bank).and_then(|transaction| {
                Ok(bank.process(&transaction, options).map_err(|error| error.to_string())?)
            });
            self.add(ended.map_err(|why| format!("{}: {why}", place()))?, &place);
        }
        freeze(&bank, hash).map_err(of_block)?;
        self.effort.blocks = self.effort.blocks.saturating_add(1);
        self.effects.update(block.slot.to_le_bytes());
        Ok(bank)
    }

    fn add(&mut self, ended: Processed, place: &dyn Fn() -> String) {
        self.effects.update(effects::hash(ended.as_deref(), &[]));
        let effort = &mut self.effort;
        effort.transactions = effort.transactions.saturating_add(1);
        match ended {
            Ok(processed) => {
                effort.failed = effort.failed.saturating_add(processed.result.is_err().into());
                self.compute_units = self.compute_units.saturating_add(processed.compute_units);
                self.fee = self.fee.saturating_add(processed.fee.total());
                self.logs.extend(processed.logs);
            }
            Err(error) => {
                effort.dropped = effort.dropped.saturating_add(1);
                let why = effects::error_text(&error);
                self.dropped.get_or_insert_with(|| format!("{}: {why}", place()));
            }
        }
    }

    /// Returns the result, with the accounts as the last block left them.
    fn ended(mut self, last: &Bank, keeps_logs: bool) -> Ended {
        let post: Vec<Written> = self.changed.iter().filter_map(|key| written(key, last)).collect();
        effects::add_accounts(&mut self.effects, &post);
        let effort = serde_json::to_string(&self.effort).expect("numbers are JSON");
        let status = if self.dropped.is_some() { Status::Dropped } else { Status::Success };
        let executed = Executed {
            compute_units: self.compute_units,
            fee: self.fee,
            return_data: None,
            effort: Some(effort),
            logs: Logs::of(&mut self.logs, keeps_logs),
        };
        Ended {
            status,
            error: self.dropped,
            findings: None,
            error_index: None,
            executed: Some(executed),
            post,
            effects_hash: self.effects.finalize().into(),
        }
    }
}

fn decode(text: &str, bank: &Bank) -> Result<Transaction, Malformed> {
    let wire = BASE64_STANDARD.decode(text).map_err(|error| format!("no base64: {error}"))?;
    Ok(Transaction::from_wire(&wire, bank.environment().rules())
        .map_err(|error| error.to_string())?)
}

fn freeze(bank: &Bank, blockhash: Option<Hash>) -> Result<Hash, Malformed> {
    let frozen = match blockhash {
        Some(blockhash) => bank.freeze_with_blockhash(blockhash),
        None => bank.freeze(),
    };
    Ok(frozen.map_err(|error| error.to_string())?)
}

/// Returns an account at the end. A deleted one has no lamports. Sysvars and the runtime's other accounts
/// are left out: they change in each block, and sysvars contain the hash of all accounts, of which an item has but
/// some.
fn written(key: &Pubkey, bank: &Bank) -> Option<Written> {
    let account = bank.get_account(key).expect("the last bank is the root").unwrap_or_default();
    let is_runtimes = *account.owner() == sysvar::ID || RUNTIME_ACCOUNTS.contains(key);
    let data_hash = sha256(account.data());
    (!is_runtimes).then_some(Written { pubkey: *key, account, data_hash })
}
