//! Replays: landed transactions with the state before them and their results.

use selkie_case::{Case, Expected, Inner, Replay, result_texts};
use selkie_ledger::Landed;
use selkie_svm::{Transaction, check::verify_signatures};
use solana_signature::Signature;

use crate::{error::NodeError, node::Node, recording::Kept};

impl Node {
    /// Returns a landed transaction with the state before it and its result; `None` if it is not in the
    /// history.
    ///
    /// # Errors
    /// If the state is not kept any longer: that of the newest 256 blocks is, and none from before
    /// the node was started.
    pub fn replay(&self, signature: &Signature) -> Result<Option<Replay>, NodeError> {
        let Some(landed) = self.transaction(signature) else { return Ok(None) };
        let recordings = self.shared().recordings();
        let kept = recordings.find(signature, landed.slot).ok_or(NodeError::NotKept)?;
        let mut case = Case::clone(&kept.case);
        let transaction = Transaction::new(landed.transaction.clone(), case.environment.features);
        // Signatures of impersonated signers are not valid.
        case.options.verifies_signatures =
            transaction.is_ok_and(|it| verify_signatures(&it).is_ok());
        Ok(Some(Replay::new(&signature.to_string(), &case, &expected(&landed, kept))))
    }
}

/// Returns the result that a transaction had.
fn expected(landed: &Landed, kept: &Kept) -> Expected {
    let meta = &landed.meta;
    let (result, result_json) = result_texts(&landed.result);
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
