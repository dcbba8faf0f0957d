//! Processing of transactions in a bank, with or without committing the results.

use std::sync::PoisonError;

use selkie_svm::{
    BlockhashQueue, ChainState, ProcessOptions, Processed, Transaction, batch::process_batch,
    process,
};
use solana_transaction_error::TransactionError;

use crate::{
    accounts::View,
    bank::{Bank, Working},
    error::BankError,
    status_cache::{Key, key},
};

/// The result of a processed transaction, which paid its fee; or the error for which it was
/// dropped.
pub type Outcome = Result<Box<Processed>, TransactionError>;

impl Bank {
    /// Processes a transaction and commits its result.
    ///
    /// # Errors
    /// If the bank is not open.
    pub fn process(
        &self,
        transaction: &Transaction,
        options: &ProcessOptions,
    ) -> Result<Outcome, BankError> {
        let run = |runtime: &ChainState<'_, View<'_>>| {
            self.shared
                .workspaces
                .with(|workspace| vec![process(transaction, runtime, options, None, workspace)])
        };
        let outcomes = self.process_all(core::slice::from_ref(transaction), run)?;
        Ok(outcomes.into_iter().next().expect("one was processed"))
    }

    /// Processes transactions on several threads and commits the results, which are those of
    /// sequential processing.
    ///
    /// # Errors
    /// If the bank is not open.
    pub fn process_batch(
        &self,
        transactions: &[Transaction],
        options: &ProcessOptions,
        threads: usize,
    ) -> Result<Vec<Outcome>, BankError> {
        let run = |runtime: &ChainState<'_, View<'_>>| {
            self.shared
                .batch_workspaces
                .with(|workspace| process_batch(transactions, runtime, options, threads, workspace))
        };
        self.process_all(transactions, run)
    }

    fn process_all(
        &self,
        transactions: &[Transaction],
        run: impl FnOnce(&ChainState<'_, View<'_>>) -> Vec<Outcome>,
    ) -> Result<Vec<Outcome>, BankError> {
        // Hashing takes a while, so it is done before locking the bank.
        let known: Vec<Key> = transactions.iter().map(key).collect();
        let mut working = self.open()?;
        self.recall(&mut working.blockhash_queue, transactions, &known);
        let view = self.view();
        let outcomes = run(&self.runtime(&view, &working.blockhash_queue));
        self.commit(&mut working, &known, &outcomes);
        let signatures = signatures(transactions, &outcomes);
        working.signatures = working.signatures.saturating_add(signatures);
        if self.environment().is_alpenglow {
            let processed = transactions.iter().zip(&outcomes).filter(|(_, it)| it.is_ok());
            let signatures = processed.flat_map(|(transaction, _)| transaction.signatures());
            working.signature_bytes.extend(signatures.map(|it| <[u8; 64]>::from(*it)));
        }
        Ok(outcomes)
    }

    /// Processes a transaction without committing its result. The bank may be frozen.
    ///
    /// # Errors
    /// If the bank is dead or before the root.
    pub fn simulate(
        &self,
        transaction: &Transaction,
        options: &ProcessOptions,
    ) -> Result<Outcome, BankError> {
        let working = self.read();
        let view = self.view();
        let simulate = |blockhash_queue| {
            let chain = self.runtime(&view, blockhash_queue);
            let workspaces = &self.shared.workspaces;
            workspaces.with(|workspace| process(transaction, &chain, options, None, workspace))
        };
        let outcome = if self.has_processed(transaction) {
            let mut blockhash_queue = working.blockhash_queue.without_processed();
            let known = [key(transaction)];
            self.recall(&mut blockhash_queue, core::slice::from_ref(transaction), &known);
            simulate(&blockhash_queue)
        } else {
            simulate(&working.blockhash_queue)
        };
        self.check_has_state()?;
        Ok(outcome)
    }

    fn runtime<'a>(
        &'a self,
        accounts: &'a View<'a>,
        blockhash_queue: &'a BlockhashQueue,
    ) -> ChainState<'a, View<'a>> {
        let programs = &self.shared.programs;
        ChainState { accounts, environment: self.environment(), blockhash_queue, programs }
    }

    /// Adds those of the transactions to the queue that ancestors or this bank have processed. The
    /// runtime then drops them, after all checks that come first.
    fn recall(
        &self,
        blockhash_queue: &mut BlockhashQueue,
        transactions: &[Transaction],
        known: &[Key],
    ) {
        let statuses = self.statuses();
        for (transaction, known) in transactions.iter().zip(known) {
            if statuses.contains(known, &self.ancestors) {
                blockhash_queue.add_processed(*transaction.blockhash(), transaction.message_id());
            }
        }
    }

    fn commit(&self, working: &mut Working, known: &[Key], outcomes: &[Outcome]) {
        let mut statuses = self.shared.statuses.write().unwrap_or_else(PoisonError::into_inner);
        for (known, outcome) in known.iter().zip(outcomes) {
            let Ok(processed) = outcome else { continue };
            for (key, account) in processed.writes() {
                self.put(working, *key, account.clone());
            }
            statuses.insert(*known, self.id());
            working.processed.push(*known);
            let (fees, fee) = (&mut working.fees, processed.fee);
            fees.signatures = fees.signatures.saturating_add(fee.signatures);
            fees.priority = fees.priority.saturating_add(fee.priority);
        }
    }
}

/// Returns the number of signatures of the processed transactions.
fn signatures(transactions: &[Transaction], outcomes: &[Outcome]) -> u64 {
    let processed = transactions.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
    processed.map(|(transaction, _)| transaction.signers() as u64).sum()
}
