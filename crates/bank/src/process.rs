//! Transactions in a bank: processed and committed, or only tried.

use std::sync::PoisonError;

use selkie_svm::{
    ProcessOptions, Processed, Recent, Transaction,
    batch::process_batch,
    process::{self, process},
};
use solana_transaction_error::TransactionError;

use crate::{
    accounts::View,
    bank::{Bank, Working},
    error::BankError,
    statuses::key,
};

/// What became of a transaction: it was processed, which it has paid for; or it was dropped.
pub type Outcome = Result<Processed, TransactionError>;

impl Bank {
    /// Processes a transaction, and keeps what it leaves behind.
    ///
    /// # Errors
    /// If the bank is not open.
    pub fn process(
        &self,
        transaction: &Transaction,
        options: &ProcessOptions,
    ) -> Result<Outcome, BankError> {
        let mut working = self.open()?;
        self.recall(&mut working.recent, core::slice::from_ref(transaction));
        let view = self.view();
        let outcome = process(transaction, &self.runtime(&view, &working.recent), options, None);
        self.commit(&mut working, core::iter::once((transaction, &outcome)));
        Ok(outcome)
    }

    /// Processes transactions on some threads, and keeps what they leave behind. What becomes of
    /// them is what would become of them one after the other.
    ///
    /// # Errors
    /// If the bank is not open.
    pub fn process_batch(
        &self,
        transactions: &[Transaction],
        options: &ProcessOptions,
        threads: usize,
    ) -> Result<Vec<Outcome>, BankError> {
        let mut working = self.open()?;
        self.recall(&mut working.recent, transactions);
        let view = self.view();
        let runtime = self.runtime(&view, &working.recent);
        let outcomes = process_batch(transactions, &runtime, options, threads);
        self.commit(&mut working, transactions.iter().zip(&outcomes));
        Ok(outcomes)
    }

    /// Processes a transaction, and forgets what it would leave behind. The bank may be frozen.
    ///
    /// # Errors
    /// If the bank has no state of its own any more.
    pub fn simulate(
        &self,
        transaction: &Transaction,
        options: &ProcessOptions,
    ) -> Result<Outcome, BankError> {
        let working = self.read();
        let view = self.view();
        let simulate = |recent| process(transaction, &self.runtime(&view, recent), options, None);
        let outcome = if self.has_processed(transaction) {
            let mut recent = Recent::new(working.recent.blockhashes().copied());
            self.recall(&mut recent, core::slice::from_ref(transaction));
            simulate(&recent)
        } else {
            simulate(&working.recent)
        };
        self.check_has_state()?;
        Ok(outcome)
    }

    fn runtime<'a>(
        &'a self,
        accounts: &'a View<'a>,
        recent: &'a Recent,
    ) -> process::Bank<'a, View<'a>> {
        let programs = &self.ledger.programs;
        process::Bank { accounts, environment: &self.environment, recent, programs }
    }

    /// Notes which of these were processed by ancestors, or by the bank itself: the runtime says so
    /// when all that is checked before is right.
    fn recall(&self, recent: &mut Recent, transactions: &[Transaction]) {
        let statuses = self.statuses();
        for known in transactions.iter().map(key) {
            if statuses.contains(&known, &self.ancestors) {
                recent.add_processed(known.0, known.1);
            }
        }
    }

    fn commit<'a>(
        &self,
        working: &mut Working,
        outcomes: impl Iterator<Item = (&'a Transaction, &'a Outcome)>,
    ) {
        let mut statuses = self.ledger.statuses.write().unwrap_or_else(PoisonError::into_inner);
        for (transaction, outcome) in outcomes {
            let Ok(processed) = outcome else { continue };
            for (key, account) in processed.writes() {
                self.put(working, *key, account.clone());
            }
            statuses.insert(key(transaction), self.id());
            working.processed.push(key(transaction));
            let signatures = transaction.signatures().len() as u64;
            working.signatures = working.signatures.saturating_add(signatures);
            let (fees, fee) = (&mut working.fees, processed.fee);
            fees.signatures = fees.signatures.saturating_add(fee.signatures);
            fees.priority = fees.priority.saturating_add(fee.priority);
        }
    }
}
