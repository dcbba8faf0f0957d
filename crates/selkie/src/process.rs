//! Runs a sanitized transaction against the chain.

use std::path::PathBuf;

use selkie_svm::{
    ChainState, ProcessOptions, Processed, blockhash_queue::BlockhashQueue, check::resolve_lookups,
    process, transaction::Transaction,
};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{recorder::FailureRecorder, registers::RegisterFiles, svm::Svm};

impl Svm {
    /// Writes the registers of every invocation from now on, as `SBF_TRACE_DIR` asks for: to its folder, and
    /// without that variable to `target/sbf/trace`.
    pub fn write_registers(&mut self) {
        self.register_files = Some(RegisterFiles::always());
    }

    /// Writes the registers of every invocation from now on to a folder, in files that are numbered as Anchor's command
    /// reads them: `0001__tx1.regs`, `.insns` and `.program_id`. The first transaction that executes a program
    /// removes those of an earlier run. Each transaction panics if the folder cannot be written. With a port, each
    /// invocation waits there for a debugger, as `SBF_DEBUG_PORT` asks for.
    pub fn number_registers(&mut self, folder: impl Into<PathBuf>, port: Option<u16>) {
        self.register_files = Some(RegisterFiles::numbered(folder.into(), port));
    }

    /// Returns the addresses that a transaction names, those of its lookup tables included.
    #[cold]
    pub(crate) fn named_keys(&self, transaction: &Transaction) -> Vec<Pubkey> {
        let state = self.journal.state();
        let lookups = transaction.message().address_table_lookups().unwrap_or_default();
        let loaded = resolve_lookups(lookups, &state.accounts, &state.environment);
        let (writable, readonly) = loaded.unwrap_or_default();
        [transaction.static_keys(), &writable, &readonly].concat()
    }

    /// Processes a transaction and writes the result into `processed`, reusing its allocations.
    pub(crate) fn process_sanitized(
        &self,
        transaction: &Transaction,
        recorder: &mut FailureRecorder<'_>,
        processed: &mut Box<Processed>,
    ) -> Result<(), TransactionError> {
        let state = self.journal.state();
        let any_blockhash;
        let blockhash_queue = if self.checks_blockhashes {
            &state.blockhash_queue
        } else {
            any_blockhash = BlockhashQueue::new([*transaction.blockhash()]);
            &any_blockhash
        };
        let chain = ChainState {
            accounts: &state.accounts,
            environment: &state.environment,
            blockhash_queue,
            programs: &self.programs,
        };
        let options = ProcessOptions {
            verify_signatures: self.verifies_signatures,
            engine: self.engine,
            budget: self.transaction_budget,
        };
        self.workspaces.with(|workspace| {
            let result = process(transaction, &chain, &options, Some(recorder), workspace)?;
            workspace.recycle(core::mem::replace(processed, result));
            Ok(())
        })
    }
}
