//! Items of kind `transaction`.

use selkie_svm::{ChainState, Engine, ProcessOptions, Processed, Transaction, Workspace, process};
use solana_hash::Hash;
use solana_transaction_error::TransactionError;

use crate::{
    base::Base,
    effects,
    item::Item,
    outcome::{Ended, Executed, Status},
    state::ItemAccounts,
};

pub(crate) fn run(
    item: &Item<'_>,
    accounts: &ItemAccounts<'_>,
    base: &Base,
    engine: Engine,
    workspace: &mut Workspace,
) -> Ended {
    let moment = accounts.moment();
    let options =
        ProcessOptions { verify_signatures: item.verify_signatures, engine, budget: None };
    let features = moment.environment.features;
    let ended = Transaction::from_wire(item.message, features).and_then(|transaction| {
        let blockhash: &Hash = transaction.blockhash();
        let chain = ChainState {
            accounts,
            environment: &moment.environment,
            blockhash_queue: &moment.blockhash_queue(item, blockhash),
            programs: base.programs(),
        };
        process(&transaction, &chain, &options, None, workspace)
    });
    ended_as(ended)
}

fn ended_as(ended: Result<Box<Processed>, TransactionError>) -> Ended {
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
    let executed = ended.ok().map(|processed| Executed {
        compute_units: processed.compute_units,
        fee: processed.fee.total(),
        return_data: processed.return_data.map(|it| it.data),
        logs: processed.logs,
    });
    Ended { status, error, error_index, executed, post, effects_hash }
}
