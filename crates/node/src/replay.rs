//! [`Recording`]: a landed transaction with the state before it, to be replayed.

use std::sync::Arc;

use selkie_ledger::{Landed, Meta};
use selkie_svm::{
    Environment, Fee, InnerInstruction, Processed, ReturnData, Transaction,
    check::verify_signatures,
};
use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::{error::NodeError, node::Node, recording::Kept};

/// A landed transaction with the state before it.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The transaction, and what is recorded of it.
    pub landed: Arc<Landed>,
    /// The runtime's result, with the transaction's accounts before and afterwards.
    pub processed: Processed,
    /// Features, sysvars, builtin programs and fees of its bank.
    pub environment: Environment,
    /// Its lookup tables and the programdata accounts of its programs, as they were before it.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
    /// Whether its blockhash was recent, and no durable nonce.
    pub is_blockhash_recent: bool,
    /// Whether all its signatures are valid: those of impersonated signers are not.
    pub is_signed: bool,
}

impl Node {
    /// Returns a landed transaction with the state before it; `None` if it is not in the history.
    ///
    /// # Errors
    /// If the state is not kept any longer: that of the newest 256 blocks is, and none from before
    /// the node was started.
    pub fn recording(&self, signature: &Signature) -> Result<Option<Recording>, NodeError> {
        let Some(landed) = self.transaction(signature) else { return Ok(None) };
        let recordings = self.shared().recordings();
        let kept = recordings.find(signature, landed.slot).ok_or(NodeError::NotKept)?;
        let environment = Environment::clone(&kept.environment);
        let features = environment.features;
        let transaction = Transaction::new(landed.transaction.clone(), features);
        Ok(Some(Recording {
            processed: processed(&landed, kept),
            environment,
            accounts: kept.accounts.clone(),
            is_blockhash_recent: kept.is_blockhash_recent,
            is_signed: transaction.is_ok_and(|it| verify_signatures(&it).is_ok()),
            landed,
        }))
    }
}

/// Puts the runtime's result together again.
fn processed(landed: &Landed, kept: &Kept) -> Processed {
    let meta: &Meta = &landed.meta;
    let mut inner_instructions: selkie_svm::InnerInstructions =
        core::iter::repeat_with(Vec::new).take(kept.inner_lists).collect();
    for called in &meta.inner_instructions {
        let instructions = called.instructions.iter().map(|it| InnerInstruction {
            program_index: it.program_index,
            accounts: it.accounts.clone(),
            data: it.data.clone(),
            stack_height: it.stack_height,
            compute_units: it.compute_units,
        });
        if let Some(list) = inner_instructions.get_mut(usize::from(called.index)) {
            list.extend(instructions);
        }
    }
    let return_data = meta.return_data.as_ref();
    Processed {
        result: landed.result.clone(),
        is_executed: kept.is_executed,
        fee: Fee {
            signatures: meta.fee.saturating_sub(meta.priority_fee),
            priority: meta.priority_fee,
        },
        compute_units: meta.compute_units,
        compute_unit_limit: meta.compute_unit_limit,
        instruction_compute_units: meta.instruction_compute_units.iter().copied().collect(),
        loaded_bytes: meta.loaded_bytes,
        logs: meta.logs.clone(),
        inner_instructions,
        return_data: return_data
            .map(|it| ReturnData { program_id: it.program, data: it.data.clone() }),
        // Which program's data were empty is not kept.
        return_program: return_data.map(|it| it.program).unwrap_or_default(),
        accounts: kept.changes.clone(),
        notes: meta.notes.clone(),
        stopped: None,
    }
}
