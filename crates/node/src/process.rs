//! The transactions of a block: those that fit run, others wait or are dropped.

use std::sync::atomic::Ordering;

use selkie_svm::{ProcessOptions, Processed, Transaction};
use solana_transaction_error::TransactionError;

use crate::{
    cost,
    error::NodeError,
    events::Event,
    packing::{self, Cost, Packing},
    producer::{Producer, Reply, Submission},
};

/// The number of transactions for which starting one more thread is worth it.
const TRANSACTIONS_PER_THREAD: usize = 32;
/// The number of dropped transactions that are tried again.
const RETRIES_MAX: usize = 4096;

impl Producer {
    /// Processes as many transactions in the working bank as its limits allow; others stay in the queue.
    /// Returns those that landed, and the replies to them with their index.
    #[expect(clippy::type_complexity, reason = "the two lists are taken apart at once")]
    pub(crate) fn process(
        &mut self,
        submissions: Vec<Submission>,
    ) -> Result<(Vec<(Transaction, Processed)>, Vec<(Reply, usize)>), NodeError> {
        let (mut landed, mut replies) = (Vec::new(), Vec::new());
        let mut packing = Packing::new(&self.working);
        let is_free = {
            let transactions = submissions.iter().map(|it| &it.transaction);
            packing::fit_anyway(transactions, &self.working)
        };
        let cost = |it: &Submission| match is_free {
            true => Cost::default(),
            false => Cost::most(&it.transaction, &self.working),
        };
        let mut waiting: Vec<(Submission, Cost)> = submissions
            .into_iter()
            .map(|it| {
                let cost = cost(&it);
                (it, cost)
            })
            .collect();
        loop {
            let (now, later): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|(_, cost)| packing.reserve(cost));
            waiting = later;
            if now.is_empty() {
                break;
            }
            self.process_packed(now, &mut packing, &mut landed, &mut replies)?;
        }
        self.queue.splice(0..0, waiting.into_iter().map(|(submission, _)| submission));
        Ok((landed, replies))
    }

    /// Processes transactions for which there is space in the block.
    fn process_packed(
        &mut self,
        submissions: Vec<(Submission, Cost)>,
        packing: &mut Packing,
        landed: &mut Vec<(Transaction, Processed)>,
        replies: &mut Vec<(Reply, usize)>,
    ) -> Result<(), NodeError> {
        let options = ProcessOptions { verify_signatures: false, ..ProcessOptions::default() };
        let (transactions, rest): (Vec<Transaction>, Vec<_>) = submissions
            .into_iter()
            .map(|(it, cost)| (it.transaction, (it.reply, it.retries, cost)))
            .unzip();
        let worth = transactions.len() / TRANSACTIONS_PER_THREAD;
        let threads = self.shared.options.threads.min(worth).max(1);
        let outcomes = self.working.process_batch(&transactions, &options, threads)?;
        for ((transaction, outcome), (reply, retries, cost)) in
            transactions.into_iter().zip(outcomes).zip(rest)
        {
            match outcome {
                Ok(processed) => {
                    packing.settle(&cost, cost::of(transaction.message(), &processed));
                    replies.extend(reply.map(|reply| (reply, landed.len())));
                    landed.push((transaction, *processed));
                }
                Err(error) => {
                    packing.release(&cost);
                    self.drop_transaction(Submission { transaction, reply, retries }, error);
                }
            }
        }
        Ok(())
    }

    /// Reports a dropped transaction, unless it is tried again with the next block.
    fn drop_transaction(&mut self, mut submission: Submission, error: TransactionError) {
        let may_pass = matches!(
            error,
            TransactionError::AccountNotFound | TransactionError::InsufficientFundsForFee
        );
        if may_pass && submission.retries > 0 && self.retries.len() < RETRIES_MAX {
            submission.retries = submission.retries.saturating_sub(1);
            self.retries.push_back(submission);
            return;
        }
        self.shared.counters.dropped.fetch_add(1, Ordering::Relaxed);
        let signature = submission.transaction.signatures().first().copied().unwrap_or_default();
        if let Some(reply) = submission.reply {
            let _ = reply.send(Err(error.clone()));
        }
        self.shared.chain().send(Event::Dropped { signature, error });
    }
}
