//! Runs a case.

use selkie_svm::{
    BlockhashQueue, ChainState, Engine, Inspector, Options, ProcessOptions, Processed,
    ProgramCache, Transaction, Workspace, process,
};
use solana_transaction_error::TransactionError;

use crate::{
    case::{Case, INSTRUCTION_BUDGET, Input},
    instructions::{Overlay, process_instructions},
};

/// What runs share. No result depends on it.
#[derive(Default, Debug)]
pub struct RunMemory {
    /// The scratch memory of the pipeline.
    pub workspace: Workspace,
    /// The blockhash of the last transaction that was not checked for it.
    unchecked: BlockhashQueue,
}

impl Case {
    /// Runs the case under observation. Nothing changes, so all runs are equal.
    ///
    /// # Errors
    /// If the transaction is dropped: it pays no fee and writes no account.
    pub fn run(
        &self,
        programs: &ProgramCache,
        engine: Engine,
        inspector: Option<&mut dyn Inspector>,
        memory: &mut RunMemory,
    ) -> Result<Box<Processed>, TransactionError> {
        match (&self.input, self.sanitized()) {
            (_, Some(transaction)) => {
                self.run_transaction(&transaction?, programs, engine, inspector, memory)
            }
            (Input::Instructions { instructions, given }, None) => {
                let account = |key: &_| self.accounts.get(key).cloned().unwrap_or_default();
                let given = given.iter().map(|key| (*key, account(key))).collect();
                let overlay = Overlay { given, base: self };
                let budget = self.options.budget.unwrap_or(INSTRUCTION_BUDGET);
                let options = Options { budget, engine };
                let environment = &self.environment;
                let workspace = &mut memory.workspace;
                Ok(process_instructions(
                    instructions,
                    &overlay,
                    environment,
                    programs,
                    &options,
                    inspector,
                    workspace,
                )
                .0)
            }
            (_, None) => Err(TransactionError::SanitizeFailure),
        }
    }

    /// Runs the case once, with fresh memory.
    ///
    /// # Errors
    /// As [`Case::run`].
    pub fn run_once(&self) -> Result<Box<Processed>, TransactionError> {
        self.run(&ProgramCache::new(), Engine::default(), None, &mut RunMemory::default())
    }

    fn run_transaction(
        &self,
        transaction: &Transaction,
        programs: &ProgramCache,
        engine: Engine,
        inspector: Option<&mut dyn Inspector>,
        memory: &mut RunMemory,
    ) -> Result<Box<Processed>, TransactionError> {
        let RunMemory { workspace, unchecked } = memory;
        let blockhash = transaction.blockhash();
        let checks_blockhash = self.options.checks_blockhash;
        if !checks_blockhash && unchecked.blockhash() != Some(blockhash) {
            *unchecked = BlockhashQueue::new([*blockhash]);
        }
        let chain = ChainState {
            accounts: self,
            environment: &self.environment,
            blockhash_queue: if checks_blockhash { &self.blockhashes } else { unchecked },
            programs,
        };
        let options = ProcessOptions {
            verify_signatures: self.options.verifies_signatures,
            engine,
            budget: self.options.budget,
        };
        process(transaction, &chain, &options, inspector, workspace)
    }
}
