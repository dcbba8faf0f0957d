//! Bundles: transactions that land together, in a block of their own, or not at all.
//!
//! They run one after the other in a bank that no reader sees. It becomes the block if all succeed, and is
//! dropped otherwise.

use std::sync::{Arc, PoisonError};

use selkie_bank::{Bank, Outcome};
use selkie_ledger::{Landed, Meta};
use selkie_svm::{ProcessOptions, Processed, Transaction};
use solana_account::AccountSharedData;
use solana_commitment_config::CommitmentLevel;
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    error::{BUNDLE_TRANSACTIONS_MAX, BundleError, NodeError},
    landed,
    node::Node,
    producer::Producer,
    view::{SimulateOptions, Simulation},
};

/// Signatures are verified before.
const OPTIONS: ProcessOptions =
    ProcessOptions { verify_signatures: false, engine: selkie_svm::Engine::Auto, budget: None };

/// A transaction of a bundle that is simulated.
#[derive(Clone, Debug)]
pub struct BundleStep {
    /// The transaction.
    pub transaction: VersionedTransaction,
    /// The accounts that are wanted as they are before it.
    pub before: Vec<Pubkey>,
    /// The accounts that are wanted as they are after it.
    pub after: Vec<Pubkey>,
}

/// What the simulation of a transaction of a bundle gave.
#[derive(Clone, Debug)]
pub struct BundleResult {
    /// The result.
    pub simulation: Simulation,
    /// The accounts that were wanted before it; `None` for those that do not exist.
    pub before: Vec<Option<AccountSharedData>>,
    /// The accounts that were wanted after it.
    pub after: Vec<Option<AccountSharedData>>,
}

/// The transactions of a bundle, or the index of the one that failed, and why.
type LandedOrNot = Result<Vec<Arc<Landed>>, (usize, TransactionError)>;

/// A step whose transaction is sanitized, and the last block height of its new blockhash if it was given one.
struct Prepared {
    transaction: Transaction,
    before: Vec<Pubkey>,
    after: Vec<Pubkey>,
    replacement: Option<(Hash, u64)>,
}

impl Node {
    /// Lands up to five transactions in one block, in their order, if all succeed. They are not simulated
    /// before. Returns them when the block is made.
    ///
    /// # Errors
    /// If there are none or too many, if one fails, is malformed or would be dropped, or the node cannot make
    /// a block. Then nothing has changed.
    pub fn send_bundle(
        &self,
        transactions: Vec<VersionedTransaction>,
    ) -> Result<Vec<Arc<Landed>>, BundleError> {
        let step = |transaction| BundleStep { transaction, before: Vec::new(), after: Vec::new() };
        let steps = transactions.into_iter().map(step).collect();
        let options = SimulateOptions { verify_signatures: true, replace_blockhash: false };
        let prepared = self.prepare_bundle(steps, &options)?;
        let transactions = prepared.into_iter().map(|it| it.transaction).collect();
        let landed = self.call(move |producer| producer.land_bundle(transactions));
        let landed = landed.map_err(BundleError::Node)?;
        landed.map_err(|(index, error)| BundleError::Transaction { index, error })
    }

    /// Simulates the transactions of a bundle one after the other, up to the first that fails; those after it
    /// have no result.
    ///
    /// # Errors
    /// As [`Node::send_bundle`], but for transactions that fail or would be dropped.
    pub fn simulate_bundle(
        &self,
        steps: Vec<BundleStep>,
        options: &SimulateOptions,
    ) -> Result<Vec<BundleResult>, BundleError> {
        let prepared = self.prepare_bundle(steps, options)?;
        self.call(move |producer| producer.simulate_bundle(prepared)).map_err(BundleError::Node)
    }

    fn prepare_bundle(
        &self,
        steps: Vec<BundleStep>,
        options: &SimulateOptions,
    ) -> Result<Vec<Prepared>, BundleError> {
        match steps.len() {
            0 => return Err(BundleError::Empty),
            BUNDLE_TRANSACTIONS_MAX.. if steps.len() > BUNDLE_TRANSACTIONS_MAX => {
                return Err(BundleError::TooLong);
            }
            _ => {}
        }
        for step in &steps {
            self.fetch_for_message(&step.transaction.message).map_err(BundleError::Node)?;
        }
        let steps = steps.into_iter().enumerate();
        let prepare = |(index, step)| {
            let prepared = self.prepare(step, options);
            prepared.map_err(|error| BundleError::Transaction { index, error })
        };
        steps.map(prepare).collect()
    }

    fn prepare(
        &self,
        step: BundleStep,
        options: &SimulateOptions,
    ) -> Result<Prepared, TransactionError> {
        let BundleStep { mut transaction, before, after } = step;
        let view = self.view(CommitmentLevel::Processed);
        let impersonated = self.shared().impersonated.read();
        let impersonated = impersonated.unwrap_or_else(PoisonError::into_inner);
        impersonated.complete(&mut transaction);
        let replacement =
            options.replace_blockhash.then(|| (view.blockhash(), view.last_valid_block_height()));
        if let Some((blockhash, _)) = replacement {
            transaction.message.set_recent_blockhash(blockhash);
        }
        let transaction = Transaction::new(transaction, view.rules())?;
        if options.verify_signatures {
            impersonated.verify(&transaction)?;
        }
        Ok(Prepared { transaction, before, after, replacement })
    }
}

impl Producer {
    /// Makes a block of a bundle. What waits goes into a block before it.
    fn land_bundle(&mut self, transactions: Vec<Transaction>) -> Result<LandedOrNot, NodeError> {
        self.block(Vec::new(), false)?;
        let moment = self.next_moment();
        self.isolate(moment)?;
        let mut landed: Vec<(Transaction, Processed)> = Vec::with_capacity(transactions.len());
        for (index, transaction) in transactions.into_iter().enumerate() {
            let failed = match run(&self.working, &transaction)? {
                Ok(processed) => match &processed.result {
                    Err(error) => error.clone(),
                    Ok(()) => {
                        landed.push((transaction, *processed));
                        continue;
                    }
                },
                Err(error) => error,
            };
            self.replace_working(moment)?;
            return Ok(Err((index, failed)));
        }
        Ok(Ok(self.finish(landed, true, moment)?.transactions.clone()))
    }

    fn simulate_bundle(&mut self, steps: Vec<Prepared>) -> Result<Vec<BundleResult>, NodeError> {
        let moment = self.next_moment();
        self.isolate(moment)?;
        let results = simulate(&self.working, steps);
        self.replace_working(moment)?;
        results
    }
}

fn run(bank: &Bank, transaction: &Transaction) -> Result<Outcome, NodeError> {
    let outcomes = bank.process_batch(core::slice::from_ref(transaction), &OPTIONS, 1)?;
    Ok(outcomes.into_iter().next().unwrap_or(Err(TransactionError::ClusterMaintenance)))
}

fn simulate(bank: &Bank, steps: Vec<Prepared>) -> Result<Vec<BundleResult>, NodeError> {
    let find = |key: &Pubkey| bank.get_account(key).ok().flatten();
    let mut results = Vec::with_capacity(steps.len());
    for step in steps {
        let before = step.before.iter().map(find).collect();
        let outcome = run(bank, &step.transaction)?;
        let after = step.after.iter().map(find).collect();
        let message = step.transaction.message();
        let (result, is_processed, meta) = match outcome {
            Ok(processed) => {
                (processed.result.clone(), true, landed::meta(message, *processed, &find))
            }
            Err(error) => (Err(error), false, Meta::default()),
        };
        let has_failed = result.is_err();
        let simulation = Simulation {
            slot: bank.slot(),
            result,
            is_processed,
            meta,
            accounts: Vec::new(),
            replacement_blockhash: step.replacement,
        };
        results.push(BundleResult { simulation, before, after });
        if has_failed {
            break;
        }
    }
    Ok(results)
}
