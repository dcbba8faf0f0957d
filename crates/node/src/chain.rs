//! The state that readers see: recent banks, commitments and history.
//!
//! The writer thread changes it once per block; readers lock it for a moment. Events are sent while it
//! is locked, so that their order is that of the changes.

use std::{collections::VecDeque, sync::Arc};

use selkie_bank::Bank;
use selkie_ledger::{Block, History};
use solana_commitment_config::CommitmentLevel;
use tokio::sync::broadcast::Sender;

use crate::{events::Event, index::IndexChange, options::Finality};

/// After how many slots a block is confirmed and finalized, which is the same under Alpenglow.
const FINALIZED_AFTER: u64 = 1;

/// A frozen bank.
#[derive(Debug)]
pub(crate) struct Tip {
    pub(crate) bank: Arc<Bank>,
    pub(crate) transaction_count: u64,
    /// The number of the block: later blocks have higher ones, even if they replace others.
    pub(crate) number: u64,
    pub(crate) index: IndexChange,
}

/// What readers see.
#[derive(Debug)]
pub(crate) struct Chain {
    /// The root of the banks, and the frozen banks after it, oldest first; never empty.
    pub(crate) tips: VecDeque<Tip>,
    /// The open bank after the last tip, in which simulations run.
    pub(crate) working: Arc<Bank>,
    pub(crate) confirmed: u64,
    pub(crate) finalized: u64,
    /// The highest number of a block that is on disk.
    pub(crate) durable: u64,
    pub(crate) finality: Finality,
    pub(crate) history: History,
    pub(crate) events: Sender<Event>,
}

impl Chain {
    /// Returns the newest frozen bank.
    pub(crate) fn tip(&self) -> &Tip {
        self.tips.back().expect("there is always a frozen bank")
    }

    /// Returns the newest bank at a commitment.
    pub(crate) fn at(&self, commitment: CommitmentLevel) -> &Tip {
        let slot = self.slot(commitment);
        let found = self.tips.iter().rev().find(|tip| tip.bank.slot() <= slot);
        found.or(self.tips.front()).expect("there is always a frozen bank")
    }

    /// Returns the newest slot at a commitment.
    pub(crate) fn slot(&self, commitment: CommitmentLevel) -> u64 {
        match commitment {
            CommitmentLevel::Processed => self.tip().bank.slot(),
            CommitmentLevel::Confirmed => self.confirmed,
            CommitmentLevel::Finalized => self.finalized,
        }
    }

    /// Returns the highest commitment of a slot.
    pub(crate) fn commitment_of(&self, slot: u64) -> CommitmentLevel {
        if slot <= self.finalized {
            CommitmentLevel::Finalized
        } else if slot <= self.confirmed {
            CommitmentLevel::Confirmed
        } else {
            CommitmentLevel::Processed
        }
    }

    /// Makes a block visible. Returns the first slot of the history if older blocks were dropped.
    pub(crate) fn publish(
        &mut self,
        tip: Tip,
        working: Arc<Bank>,
        block: &Arc<Block>,
        time: u64,
    ) -> Option<u64> {
        self.tips.push_back(tip);
        self.working = working;
        let pruned = self.history.push(Arc::clone(block));
        let (slot, parent) = (block.slot, block.parent_slot);
        self.send(Event::Slot { slot, parent, root: self.finalized, time });
        self.send_block(CommitmentLevel::Processed, block);
        self.advance();
        pruned
    }

    /// Raises the confirmed and finalized slots as far as they may be, and sends the events.
    pub(crate) fn advance(&mut self) {
        let tip = self.tip().bank.slot();
        let durable = self.tips.iter().rev().find(|tip| tip.number <= self.durable);
        let durable = durable.map_or(0, |tip| tip.bank.slot());
        let after = |slots| self.last_slot_up_to(tip.saturating_sub(slots));
        let (confirmed, finalized) = match self.finality {
            Finality::Immediate => (durable, durable),
            Finality::Realistic => {
                let finalized = after(FINALIZED_AFTER).min(durable);
                (finalized, finalized)
            }
        };
        let (confirmed, finalized) = (confirmed.max(self.confirmed), finalized.max(self.finalized));
        let confirmed_before = core::mem::replace(&mut self.confirmed, confirmed.max(finalized));
        let finalized_before = core::mem::replace(&mut self.finalized, finalized);
        self.send_blocks(CommitmentLevel::Confirmed, confirmed_before, self.confirmed);
        self.send_blocks(CommitmentLevel::Finalized, finalized_before, finalized);
    }

    /// Returns the newest slot with a bank that is not after `slot`.
    fn last_slot_up_to(&self, slot: u64) -> u64 {
        let mut slots = self.tips.iter().rev().map(|tip| tip.bank.slot());
        slots.find(|found| *found <= slot).unwrap_or(0)
    }

    fn send_blocks(&self, commitment: CommitmentLevel, after: u64, up_to: u64) {
        if after >= up_to {
            return;
        }
        for block in self.history.blocks(after.saturating_add(1)..=up_to) {
            self.send_block(commitment, block);
            if commitment == CommitmentLevel::Finalized {
                self.send(Event::Root(block.slot));
            }
        }
    }

    fn send_block(&self, commitment: CommitmentLevel, block: &Arc<Block>) {
        self.send(Event::Block { commitment, block: Arc::clone(block) });
    }

    pub(crate) fn send(&self, event: Event) {
        // There may be no subscriber.
        let _ = self.events.send(event);
    }
}
