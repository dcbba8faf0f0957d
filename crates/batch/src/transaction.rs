//! Items of kind `transaction`.

use selkie_svm::{
    BlockhashQueue, ChainState, ProcessOptions, Processed, Transaction, Workspace, process,
};
use solana_transaction_error::TransactionError;

use crate::{
    base::Base,
    effects,
    item::Item,
    options::RunOptions,
    outcome::{Ended, Executed, Logs, Status},
    state::{ItemAccounts, Moment},
};

/// What a thread keeps from one transaction to the next.
#[derive(Default)]
pub(crate) struct Memory {
    workspace: Workspace,
    /// The blockhash of the last transaction that was not checked for it.
    unchecked: BlockhashQueue,
}

pub(crate) fn run(
    item: &Item<'_>,
    accounts: &ItemAccounts<'_>,
    base: &Base,
    options: &RunOptions,
    memory: &mut Memory,
) -> Ended {
    let Memory { workspace, unchecked } = memory;
    let Moment { environment, blockhash_queue, .. } = accounts.moment();
    let process_options = ProcessOptions {
        verify_signatures: item.verify_signatures,
        engine: options.engine,
        budget: None,
    };
    let ended =
        Transaction::from_wire(item.message, environment.features).and_then(|transaction| {
            let blockhash = transaction.blockhash();
            if !item.check_blockhash && unchecked.blockhash() != Some(blockhash) {
                *unchecked = BlockhashQueue::new([*blockhash]);
            }
            let chain = ChainState {
                accounts,
                environment,
                blockhash_queue: if item.check_blockhash { blockhash_queue } else { unchecked },
                programs: base.programs(),
            };
            process(&transaction, &chain, &process_options, None, workspace)
        });
    ended_as(ended, options.keeps_logs, workspace)
}

fn ended_as(
    ended: Result<Box<Processed>, TransactionError>,
    keeps_logs: bool,
    workspace: &mut Workspace,
) -> Ended {
    let post = ended.as_ref().map(|it| effects::written(it)).unwrap_or_default();
    let effects_hash = effects::hash(ended.as_deref(), &post);
    let (status, error) = match &ended {
        Ok(processed) => match &processed.result {
            Ok(()) => (Status::Success, None),
            Err(error) if processed.is_executed => (Status::Failed, Some(error)),
            Err(error) => (Status::FeesOnly, Some(error)),
        },
        Err(error) => (Status::Dropped, Some(error)),
    };
    let error_index = match error {
        Some(TransactionError::InstructionError(index, _)) => Some(*index),
        _ => None,
    };
    let error = error.map(effects::error_text);
    let executed = ended.ok().map(|mut processed| {
        let executed = Executed {
            compute_units: processed.compute_units,
            fee: processed.fee.total(),
            return_data: processed.return_data.take().map(|it| it.data),
            logs: Logs::of(&mut processed.logs, keeps_logs),
        };
        workspace.recycle(processed);
        executed
    });
    Ended { status, error, error_index, executed, post, effects_hash }
}
