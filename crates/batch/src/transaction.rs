//! Items of kind `transaction`.

use selkie_case::{Case, RunMemory};
use selkie_svm::{Processed, Workspace};
use solana_transaction_error::TransactionError;

use crate::{
    base::Base,
    effects,
    options::RunOptions,
    outcome::{Ended, Executed, Logs, Status},
};

pub(crate) fn run(case: &Case, base: &Base, options: &RunOptions, memory: &mut RunMemory) -> Ended {
    let ended = case.run(base.programs(), options.engine, None, memory);
    ended_as(ended, options.keeps_logs, &mut memory.workspace)
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
            effort: None,
            logs: Logs::of(&mut processed.logs, keeps_logs),
        };
        workspace.recycle(processed);
        executed
    });
    Ended { status, error, findings: None, error_index, executed, post, effects_hash }
}
