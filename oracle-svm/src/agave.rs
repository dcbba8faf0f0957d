//! Agave's side: its transaction batch processor, and the checks that its bank makes before.
//!
//! The order of checks is that of a validator: static sanitizing, signatures, compute budget
//! instructions, lookup tables, locks, age, status cache, and then the processor.

mod bank;
mod programs;
#[cfg_attr(feature = "next", path = "agave/release/v4_5.rs")]
#[cfg_attr(not(feature = "next"), path = "agave/release/v4_4.rs")]
mod release;
mod trace;

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, RwLock},
};

use agave_feature_set::{FeatureSet, enable_tx_v1};
use agave_reserved_account_keys::ReservedAccountKeys;
use solana_compute_budget::compute_budget::{ComputeBudget, SVMTransactionExecutionBudget};
use solana_fee::{FeeFeatures, calculate_fee_details};
use solana_nonce::state::DurableNonce;
use solana_program_runtime::{
    execution_budget::SVMTransactionExecutionAndFeeBudgetLimits,
    loaded_programs::{ProgramRuntimeEnvironment, ProgramRuntimeEnvironments},
    program_cache_entry::ProgramCacheEntry,
};
use solana_pubkey::Pubkey;
use solana_runtime_transaction::{
    runtime_transaction::RuntimeTransaction, transaction_meta::TransactionMeta,
};
use solana_svm::{
    account_loader::CheckedTransactionDetails,
    transaction_execution_result::{ExecutedTransaction, TransactionExecutionDetails},
    transaction_processing_result::ProcessedTransaction,
    transaction_processor::{
        ExecutionRecordingConfig, TransactionBatchProcessor, TransactionProcessingConfig,
        TransactionProcessingEnvironment,
    },
};
use solana_svm_transaction::svm_message::{SVMMessage, SVMStaticMessage};
use solana_syscalls::create_program_runtime_environment;
use solana_transaction::{
    sanitized::MessageHash,
    versioned::{TransactionVersion, VersionedTransaction},
};
use solana_transaction_error::TransactionError;

pub(crate) use self::release::TRACES;
use self::{
    bank::{Bank, observed_inner},
    programs::{Graph, Ready, enter_interpreted},
    release::Transaction,
};
use crate::{
    case::{Accounts, Case, Features},
    observed::{Observed, Stage},
};

/// Mainnet's features with their activation slots, the same as in the vectors.
pub(crate) const MAINNET: &str = include_str!("../data/features-mainnet.tsv");

pub(crate) use self::{
    programs::{Runs, elf},
    trace::{Trace, Traced},
};

type Processor = TransactionBatchProcessor<Graph>;

/// The reason why a lock of agave's program cache succeeds.
const NOT_POISONED: &str = "no thread panicked while it held the lock";

/// Agave's processor. Environments and large compiled programs are kept from case to case.
#[derive(Default)]
pub(crate) struct Agave {
    environments: HashMap<Features, Arc<Environment>>,
    ready: Ready,
    keeps_nothing: bool,
    interprets: bool,
    /// How often programs were run in the last case, if no program is kept between cases.
    pub(crate) runs: Runs,
}

/// Everything that is derived from the features.
struct Environment {
    features: FeatureSet,
    reserved: HashSet<Pubkey>,
    programs: ProgramRuntimeEnvironment,
    /// The same, with register traces.
    traced: ProgramRuntimeEnvironment,
    budget: ComputeBudget,
}

impl Environment {
    fn new(changes: &Features) -> Self {
        let mut features = FeatureSet::default();
        for line in MAINNET.lines() {
            let (id, slot) = line.split_once('\t').expect("the list has two columns");
            let slot = slot.parse().expect("the second is a slot");
            features.activate(&id.parse().expect("the first is an address"), slot);
        }
        changes.on.iter().for_each(|id| features.activate(&Pubkey::from(*id), 0));
        changes.off.iter().for_each(|id| features.deactivate(&Pubkey::from(*id)));
        let mut reserved = ReservedAccountKeys::default();
        reserved.update_active_set(&features);
        let budget =
            ComputeBudget::new_with_defaults(features.snapshot().raise_cpi_nesting_limit_to_8);
        let programs = create_program_runtime_environment(
            &features.runtime_features(),
            &budget.to_budget(),
            false,
            false,
        );
        let programs = programs.expect("every feature set has an environment");
        Self {
            reserved: reserved.active.clone(),
            traced: trace::with_traces(&programs),
            programs,
            budget,
            features,
        }
    }
}

impl Agave {
    /// Returns a processor that compiles every program anew for every case.
    pub(crate) fn forgetful() -> Self {
        Self { keeps_nothing: true, ..Self::default() }
    }

    /// Returns a processor that interprets programs of the upgradeable loader.
    pub(crate) fn interpreter() -> Self {
        Self { interprets: true, ..Self::forgetful() }
    }

    /// Runs the transactions of `case` one after the other.
    pub(crate) fn run(&mut self, case: &Case) -> Vec<Observed> {
        self.run_with_states(case, |_| {})
    }

    /// Like [`Agave::run`], but calls `before` with the accounts before each transaction.
    pub(crate) fn run_with_states(
        &mut self,
        case: &Case,
        mut before: impl FnMut(&Accounts),
    ) -> Vec<Observed> {
        let environment = self.environment(&case.features);
        let mut bank = Bank::new(case, &environment.features);
        let graph = Arc::new(RwLock::new(Graph));
        let processor = processor(case, &environment, &graph, &bank);
        self.ready.enter(case, &environment.programs, &processor);
        if self.interprets {
            enter_interpreted(case, &environment.programs, &processor);
        }
        let mut session = Session { case, environment: &environment, processor: &processor };
        let mut observed = Vec::new();
        for (index, bytes) in case.transactions.iter().enumerate() {
            before(&bank.accounts);
            if index == 0 && case.already_processed {
                session.remember(bytes, &mut bank);
            }
            observed.push(session.transaction(bytes, &mut bank));
        }
        if self.keeps_nothing {
            self.runs = Runs::of(&processor);
        } else {
            self.ready.leave(case, &environment.programs, &processor);
        }
        observed
    }

    fn environment(&mut self, features: &Features) -> Arc<Environment> {
        let environment = self
            .environments
            .entry(features.clone())
            .or_insert_with(|| Arc::new(Environment::new(features)));
        Arc::clone(environment)
    }
}

fn processor(
    case: &Case,
    environment: &Environment,
    graph: &Arc<RwLock<Graph>>,
    bank: &Bank<'_>,
) -> Processor {
    let mut processor = Processor::new_uninitialized(case.slot, case.epoch);
    processor
        .global_program_cache
        .write()
        .expect(NOT_POISONED)
        .set_fork_graph(Arc::downgrade(graph));
    processor.program_runtime_environment = environment.programs.clone();
    processor.set_execution_cost(environment.budget.to_cost());
    for builtin in solana_builtins::BUILTINS {
        let is_active = |feature| environment.features.is_active(&feature);
        if builtin.enable_feature_id.is_none_or(is_active) {
            let entry = ProgramCacheEntry::new_builtin(builtin.register_fn);
            processor.add_builtin(builtin.program_id, entry);
        }
    }
    processor.fill_missing_sysvar_cache_entries(bank);
    processor
}

/// What a transaction may use, and the nonce account if it uses a durable nonce.
type Checked = (Option<Pubkey>, SVMTransactionExecutionAndFeeBudgetLimits);

/// The stage at which a transaction was dropped, and the error.
type Dropped = (Stage, TransactionError);

struct Session<'a> {
    case: &'a Case,
    environment: &'a Environment,
    processor: &'a Processor,
}

impl Session<'_> {
    fn remember(&self, bytes: &[u8], bank: &mut Bank<'_>) {
        if let Ok(transaction) = wincode::deserialize_exact::<VersionedTransaction>(bytes) {
            let hash = *transaction.message.recent_blockhash();
            bank.processed.insert((hash, transaction.message.hash()));
        }
    }

    fn transaction(&mut self, bytes: &[u8], bank: &mut Bank<'_>) -> Observed {
        let checked = self.sanitize(bytes, bank).and_then(|transaction| {
            let checked = self.check(&transaction, bank)?;
            Ok((transaction, checked))
        });
        match checked {
            Err((stage, error)) => dropped(stage, &error),
            Ok((transaction, checked)) => self.process(&transaction, checked, bank),
        }
    }

    /// Deserializes and sanitizes a transaction, and resolves its lookups.
    fn sanitize(&self, bytes: &[u8], bank: &Bank<'_>) -> Result<Transaction, Dropped> {
        let read = wincode::deserialize_exact::<VersionedTransaction>(bytes);
        let is_v1 = read.is_ok_and(|it| it.version() == TransactionVersion::Number(1));
        if is_v1 && !self.environment.features.is_active(&enable_tx_v1::id()) {
            return Err((Stage::Sanitize, TransactionError::UnsupportedVersion));
        }
        let loader = bank.lookup_tables(self.processor);
        release::sanitize(bytes, self.case.sigverify, loader, &self.environment.reserved)
    }

    /// Makes the checks that the bank makes before it passes a transaction to the processor.
    fn check(&self, transaction: &Transaction, bank: &Bank<'_>) -> Result<Checked, Dropped> {
        let features = &self.environment.features;
        let lock_limit = if features.snapshot().increase_tx_account_lock_limit { 128 } else { 64 };
        release::check_locks(transaction, lock_limit)?;
        let configuration = transaction
            .transaction_configuration(features)
            .map_err(|error| (Stage::Budget, error))?;
        let fee_details = calculate_fee_details(
            transaction,
            self.case.lamports_per_signature,
            configuration.priority_fee_lamports,
            FeeFeatures {},
        );
        let limits = SVMTransactionExecutionAndFeeBudgetLimits {
            budget: SVMTransactionExecutionBudget {
                compute_unit_limit: u64::from(configuration.compute_unit_limit),
                heap_size: configuration.updated_heap_bytes,
                ..SVMTransactionExecutionBudget::new_with_defaults(
                    features.snapshot().raise_cpi_nesting_limit_to_8,
                )
            },
            loaded_accounts_data_size_limit: configuration.loaded_accounts_data_size_limit,
            fee_details,
        };
        let nonce = self.age(transaction, bank)?;
        let key = (*transaction.recent_blockhash(), *transaction.message_hash());
        if bank.processed.contains(&key) {
            return Err((Stage::StatusCache, TransactionError::AlreadyProcessed));
        }
        Ok((nonce, limits))
    }

    /// Checks the blockhash. Returns the nonce account if the transaction uses a durable nonce.
    fn age(&self, transaction: &Transaction, bank: &Bank<'_>) -> Result<Option<Pubkey>, Dropped> {
        let blockhash = transaction.recent_blockhash();
        let recent = self.case.blockhashes.iter().rev().take(151);
        if recent.into_iter().any(|it| *it == blockhash.to_bytes()) {
            return Ok(None);
        }
        let next = DurableNonce::from_blockhash(&bank.last_blockhash());
        let nonce = release::durable_nonce(transaction).filter(|_| blockhash != next.as_hash());
        nonce
            .filter(|nonce| {
                let account = bank.shared(nonce);
                account.is_some_and(|account| {
                    solana_nonce_account::verify_nonce_account(&account, blockhash).is_some()
                })
            })
            .map(|nonce| Some(*nonce))
            .ok_or((Stage::Age, TransactionError::BlockhashNotFound))
    }

    fn process(
        &mut self,
        transaction: &Transaction,
        (nonce, limits): Checked,
        bank: &mut Bank<'_>,
    ) -> Observed {
        let details = CheckedTransactionDetails::new(nonce, limits);
        let mut output = self.processor.load_and_execute_sanitized_transactions(
            bank,
            std::slice::from_ref(transaction),
            vec![Ok(details)],
            &self.processing_environment(bank),
            &processing_config(),
        );
        let processed = match output.processing_results.pop().expect("one for each transaction") {
            Err(error) => return dropped(Stage::SvmRejected, &error),
            Ok(processed) => processed,
        };
        bank.processed.insert((*transaction.recent_blockhash(), *transaction.message_hash()));
        let post = bank.commit(transaction, &processed);
        let mut observed = match &processed {
            ProcessedTransaction::Executed(executed) => {
                release::keep_deployed(self.processor, self.case.slot, executed);
                observe_execution(&executed.execution_details)
            }
            ProcessedTransaction::FeesOnly(_) | ProcessedTransaction::NoOp(_) => {
                outcome(Stage::FeesOnly, &processed.status())
            }
        };
        observed.fee = processed.fee_details().total_fee();
        observed.compute_units = processed.executed_units();
        observed.loaded_accounts_data_size = u64::from(processed.loaded_accounts_data_size());
        observed.post = post;
        observed
    }

    fn processing_environment(&self, bank: &Bank<'_>) -> TransactionProcessingEnvironment {
        TransactionProcessingEnvironment {
            blockhash: bank.last_blockhash(),
            blockhash_lamports_per_signature: self.case.lamports_per_signature,
            alpenglow_migration_succeeded: false,
            epoch_total_stake: self.case.epoch_total_stake,
            feature_set: self.environment.features.runtime_features(),
            program_runtime_environments: ProgramRuntimeEnvironments::new(
                self.environment.programs.clone(),
                self.environment.programs.clone(),
            ),
            rent: bank.rent.clone(),
        }
    }
}

/// Records everything that is compared.
fn processing_config() -> TransactionProcessingConfig<'static> {
    TransactionProcessingConfig {
        recording_config: ExecutionRecordingConfig {
            enable_cpi_recording: true,
            enable_log_recording: true,
            enable_return_data_recording: true,
            enable_transaction_balance_recording: false,
        },
        ..TransactionProcessingConfig::default()
    }
}

fn observe_execution(details: &TransactionExecutionDetails) -> Observed {
    let mut observed = outcome(Stage::Executed, &details.status);
    observed.logs = details.log_messages.clone().unwrap_or_default();
    let inner = details.inner_instructions.iter().flatten();
    observed.inner = inner.map(|list| list.iter().map(observed_inner).collect()).collect();
    let return_data = details.return_data.as_ref();
    observed.return_data = return_data.map(|it| (it.program_id.to_bytes(), it.data.clone()));
    observed
}

/// Returns the stage at which the bank finds an error of sanitizing.
fn stage_of(error: &TransactionError) -> Stage {
    match error {
        TransactionError::DuplicateInstruction(_) | TransactionError::InstructionError(..) => {
            Stage::Budget
        }
        _ => Stage::Sanitize,
    }
}

fn dropped(stage: Stage, error: &TransactionError) -> Observed {
    outcome(stage, &Err(error.clone()))
}

fn outcome(stage: Stage, status: &Result<(), TransactionError>) -> Observed {
    let (text, json) = match status {
        Ok(()) => ("Ok".to_owned(), serde_json::json!("Ok")),
        Err(error) => (format!("{error:?}"), serde_json::json!({ "Err": error })),
    };
    Observed::dropped(stage, text, json)
}
