//! Replays: landed transactions with the state before them and their results.

use selkie_case::{Case, Expected, Inner, Replay, result_texts};
use selkie_ledger::{Landed, Meta};
use selkie_svm::{Processed, Transaction, check::verify_signatures};
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    error::NodeError,
    landed,
    node::Node,
    recording::{Kept, keep},
    view::{SimulateOptions, View},
};

impl Node {
    /// Returns a landed transaction with the state before it and its result; `None` if it is not in the
    /// history.
    ///
    /// # Errors
    /// If the state is not kept any longer: that of the newest 256 blocks is, and none from before
    /// the node was started.
    pub fn replay(&self, signature: &Signature) -> Result<Option<Replay>, NodeError> {
        self.kept(signature, |landed, case, kept| {
            let expected = expected(&landed.result, &landed.meta, kept);
            Replay::new(&signature.to_string(), &case, &expected)
        })
    }

    /// Returns the slot of a landed transaction, and the transaction with the state before it; `None` if it
    /// is not in the history.
    ///
    /// # Errors
    /// As [`Node::replay`].
    pub fn case(&self, signature: &Signature) -> Result<Option<(u64, Case)>, NodeError> {
        self.kept(signature, |landed, case, _| (landed.slot, case))
    }

    /// Reads what is kept of a landed transaction.
    fn kept<T>(
        &self,
        signature: &Signature,
        read: impl FnOnce(&Landed, Case, &Kept) -> T,
    ) -> Result<Option<T>, NodeError> {
        let Some(landed) = self.transaction(signature) else { return Ok(None) };
        let recordings = self.shared().recordings();
        let kept = recordings.find(signature, landed.slot).ok_or(NodeError::NotKept)?;
        let mut case = Case::clone(&kept.case);
        let transaction = Transaction::new(landed.transaction.clone(), case.environment.rules());
        // Signatures of impersonated signers are not valid.
        case.options.verifies_signatures =
            transaction.is_ok_and(|it| verify_signatures(&it).is_ok());
        Ok(Some(read(&landed, case, kept)))
    }
}

impl View {
    /// Simulates a transaction, whose signatures are not verified, and returns it with the state before it and
    /// its result.
    ///
    /// # Errors
    /// If it is malformed, or would be dropped.
    pub fn replay(
        &self,
        transaction: &VersionedTransaction,
        options: &SimulateOptions,
    ) -> Result<Replay, TransactionError> {
        let (kept, transaction, processed) = self.keep(transaction, options)?;
        let find = |key: &Pubkey| self.account(key);
        let result = processed.result.clone();
        let meta = landed::meta(transaction.message(), processed, &find);
        Ok(Replay::new("simulation", &kept.case, &expected(&result, &meta, &kept)))
    }

    /// Returns a transaction with the state in which a simulation runs it.
    ///
    /// # Errors
    /// If it is malformed, or would be dropped, or its signatures are to be verified and are not valid.
    pub fn case(
        &self,
        transaction: &VersionedTransaction,
        options: &SimulateOptions,
    ) -> Result<Case, TransactionError> {
        Ok(self.keep(transaction, options)?.0.case)
    }

    /// Simulates a transaction, and keeps it with the state before it.
    fn keep(
        &self,
        transaction: &VersionedTransaction,
        options: &SimulateOptions,
    ) -> Result<(Kept, Transaction, Processed), TransactionError> {
        let mut transaction = transaction.clone();
        if options.replace_blockhash {
            transaction.message.set_recent_blockhash(self.blockhash());
        }
        let transaction = Transaction::new(transaction, self.rules())?;
        if options.verify_signatures {
            self.verify(&transaction)?;
        }
        let (bank, outcome) = self.process(&transaction);
        let simulated = [(transaction, *outcome?)];
        let kept = keep(&bank, &simulated).pop();
        let mut kept = kept.ok_or(TransactionError::ClusterMaintenance)?;
        kept.case.options.verifies_signatures = false;
        let [(transaction, processed)] = simulated;
        Ok((kept, transaction, processed))
    }
}

/// Returns the result that a transaction had.
fn expected(result: &Result<(), TransactionError>, meta: &Meta, kept: &Kept) -> Expected {
    let (result, result_json) = result_texts(result);
    let mut inner = vec![Vec::new(); kept.inner_lists];
    for called in &meta.inner_instructions {
        if let Some(list) = inner.get_mut(usize::from(called.index)) {
            list.extend(called.instructions.iter().map(|it| Inner {
                program_index: it.program_index,
                accounts: it.accounts.clone(),
                data: it.data.clone(),
                stack_height: it.stack_height,
            }));
        }
    }
    Expected {
        stage: if kept.is_executed { "executed" } else { "fees_only" }.to_owned(),
        result,
        result_json,
        fee: meta.fee,
        compute_units: meta.compute_units,
        loaded_bytes: Some(meta.loaded_bytes),
        return_data: meta.return_data.as_ref().map(|it| (it.program, it.data.clone())),
        logs: meta.logs.clone(),
        inner,
        accounts: kept.after.clone(),
    }
}
