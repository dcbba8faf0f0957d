//! Why a transaction failed and what a program consists of, by what the server was given for that.

use serde::Deserialize;
use serde_json::Value;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signature::Signature;

use crate::{error::RpcError, methods::call::Call, options::Explainer, params::Params};

/// Runs a landed transaction again, and returns its calls and where in the sources it failed; null if it
/// is not in the history.
pub(super) fn explain_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let signature: Signature = params.signature(0)?;
    let explainer = explainer(call)?;
    let replay = call.node.replay(&signature);
    let replay = replay.map_err(|error| RpcError::refused(error.to_string()))?;
    let Some(replay) = replay else { return Ok(Value::Null) };
    (explainer.explain)(replay).map_err(|error| RpcError::refused(error.to_string()))
}

/// Which instructions of a program an answer has.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Page {
    from: usize,
    count: Option<usize>,
}

/// Returns a program's version, its functions, and a part of its instructions; null if there is none.
pub(super) fn disassemble_program(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let id: Pubkey = params.key(0)?;
    let Page { from, count } = params.or_default(1)?;
    let explainer = explainer(call)?;
    let view = call.node.view(CommitmentLevel::Processed);
    let listed =
        view.program_elf(&id).and_then(|elf| (explainer.disassemble)(id, elf, from, count));
    Ok(listed.unwrap_or_default())
}

fn explainer(call: &Call<'_>) -> Result<Explainer, RpcError> {
    call.explainer
        .ok_or_else(|| RpcError::refused("this server reads no debug information".to_owned()))
}
