//! The open bank after the newest block: in it transactions are simulated, and the next block is made.

use std::sync::Arc;

use selkie_bank::{Bank, BankError, BankOptions, Between, Step};
use solana_signer::Signer;

use crate::{error::NodeError, options::BlockMode, producer::Producer, timeline::Moment};

impl Producer {
    /// Returns when the next block is made.
    pub(crate) fn next_moment(&self) -> Moment {
        let mut moment = self.time.next(self.tip.slot());
        if self.mode != BlockMode::OnDemand {
            moment.counts = true;
        }
        moment
    }

    /// Makes sure that the working bank is that of a moment.
    pub(crate) fn open(&mut self, moment: Moment) -> Result<(), NodeError> {
        if self.working_for != (moment, self.time.timestamp()) {
            self.replace_working(moment)?;
        }
        Ok(())
    }

    /// Replaces the open bank by one for a moment.
    pub(crate) fn replace_working(&mut self, moment: Moment) -> Result<(), NodeError> {
        self.isolate(moment)?;
        self.shared.chain_mut().working = Arc::clone(&self.working);
        Ok(())
    }

    /// Does the same with a bank that no reader sees. It is published with its block, or replaced.
    pub(crate) fn isolate(&mut self, moment: Moment) -> Result<(), NodeError> {
        self.check_ledger()?;
        self.forks.mark_dead(self.working.slot())?;
        self.working = self.new_bank(moment)?;
        self.working_for = (moment, self.time.timestamp());
        Ok(())
    }

    /// Opens the bank that the next block will probably need.
    pub(crate) fn open_next(&mut self) -> Result<(), NodeError> {
        let moment = self.next_moment();
        self.working = self.new_bank(moment)?;
        self.working_for = (moment, self.time.timestamp());
        Ok(())
    }

    /// Replaces the open bank by one for the current time.
    pub(crate) fn open_again(&mut self) -> Result<(), NodeError> {
        self.open(self.time.next(self.tip.slot()))
    }

    fn new_bank(&mut self, moment: Moment) -> Result<Arc<Bank>, BankError> {
        let Moment { slot, counts } = moment;
        let options = BankOptions {
            collector: Some(self.shared.options.identity.pubkey()),
            step: Step {
                unix_timestamp: Some(self.time.timestamp()),
                counts,
                activates_features: self.feature_slots.iter().any(|since| *since <= slot),
                between: Between::Idle,
                ..Step::default()
            },
        };
        self.forks.new_bank_with(self.tip.slot(), slot, &options)
    }
}
