//! Why a transaction failed and what a program consists of, by what the server was given for that.

use selkie_isa::failure::{Failure, OrFailure as _};
use selkie_node::{AddressQuery, SimulateOptions};
use serde::Deserialize;
use serde_json::Value;
use solana_commitment_config::CommitmentLevel;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    config::TransactionEncoding,
    error::RpcError,
    methods::{call::Call, wire},
    options::{Asked, Explainer},
    params::{Params, parse_signature},
};

/// What the names of transactions begin with that `selkie inspect` has opened; their number follows.
const OPENED: &str = "replay-";
/// How many transactions are run again by default to see what they use, and at most.
const RUNS: usize = 20;
const RUNS_MAX: usize = 100;
/// The most characters of a signature in base58.
const SIGNATURE_CHARS_MAX: usize = 88;

/// Runs a transaction again, and returns its calls and where in the sources it failed; null if it is not in the
/// history.
pub(super) fn explain_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let (explainer, wanted) = (explainer(call)?, Wanted::read(params)?);
    let Some(asked) = wanted.find(call).map_err(refused)? else { return Ok(Value::Null) };
    explainer.explain(asked).map_err(refused)
}

/// Runs a transaction again, and returns where its compute units go; null if it is not in the history.
pub(super) fn flame_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let (explainer, wanted) = (explainer(call)?, Wanted::read(params)?);
    let format: Option<String> = params.optional(1)?;
    let Some(asked) = wanted.find(call).map_err(refused)? else { return Ok(Value::Null) };
    explainer.flame(asked, format.as_deref()).map_err(refused)
}

/// Runs the newest transactions of a program again, or all that were opened, and returns what they use.
pub(super) fn program_usage(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let explainer = explainer(call)?;
    let limit: usize = params.optional(1)?.unwrap_or(RUNS);
    if params.peek(0).as_str().and_then(|it| it.strip_prefix(OPENED)) == Some("all") {
        return explainer.usage(vec![Asked::AllOpened], None).map_err(refused);
    }
    let program = params.key(0)?;
    let query = AddressQuery {
        limit: limit.min(RUNS_MAX),
        commitment: CommitmentLevel::Processed,
        before: None,
        until: None,
    };
    let landed = call.node.signatures_for_address(&program, &query).unwrap_or_default();
    // Of those whose state is not kept any longer, nothing is known.
    let replays = landed.iter().filter_map(|it| call.node.replay(&it.signature).ok().flatten());
    let asked = replays.map(|it| Asked::Replay(Box::new(it))).collect();
    explainer.usage(asked, Some(&program)).map_err(refused)
}

/// Answers a question about the steps of a transaction; null if it is not in the history.
pub(super) fn debug_transaction(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let (explainer, wanted) = (explainer(call)?, Wanted::read(params)?);
    let question: Value = params.required(1)?;
    let text = params.peek(0).as_str().unwrap_or_default();
    let name = match &wanted {
        // After a revert it may land again, in another state.
        Wanted::Landed(signature) => match call.node.transaction(signature) {
            Some(landed) => format!("{text} in slot {}", landed.slot),
            None => return Ok(Value::Null),
        },
        Wanted::Simulated(_) | Wanted::Opened(_) | Wanted::AllOpened => text.to_owned(),
    };
    explainer.ask(&name, &|| wanted.find(call), &question).map_err(refused)
}

/// The transaction that is asked about.
enum Wanted {
    /// The one that has landed with a signature.
    Landed(Signature),
    /// One in base64, which is simulated with the newest blockhash and without signatures.
    Simulated(Box<VersionedTransaction>),
    /// One of those that `selkie inspect` has opened.
    Opened(usize),
    /// All of them together.
    AllOpened,
}

impl Wanted {
    /// Reads the first parameter.
    fn read(params: &Params) -> Result<Self, RpcError> {
        let text = params.peek(0).as_str();
        let text = text.ok_or_else(|| {
            RpcError::invalid_params("the transaction is neither a signature nor base64")
        })?;
        if text.strip_prefix(OPENED) == Some("all") {
            return Ok(Self::AllOpened);
        }
        if let Some(number) = text.strip_prefix(OPENED).and_then(|it| it.parse().ok()) {
            return Ok(Self::Opened(number));
        }
        if text.len() <= SIGNATURE_CHARS_MAX {
            return parse_signature(text).map(Self::Landed);
        }
        let transaction = wire::transaction(text, Some(TransactionEncoding::Base64))?;
        Ok(Self::Simulated(Box::new(transaction)))
    }

    /// Returns the transaction; `None` if it is not in the history.
    fn find(&self, call: &Call<'_>) -> Result<Option<Asked>, Failure> {
        let replay = match self {
            Self::Opened(number) => return Ok(Some(Asked::Opened(*number))),
            Self::AllOpened => return Ok(Some(Asked::AllOpened)),
            Self::Landed(signature) => call.node.replay(signature).or_failure()?,
            Self::Simulated(transaction) => {
                let options = SimulateOptions { verify_signatures: false, replace_blockhash: true };
                let view = call.node.view(CommitmentLevel::Processed);
                Some(view.replay(transaction, &options).or_failure()?)
            }
        };
        Ok(replay.map(|it| Asked::Replay(Box::new(it))))
    }
}

/// Returns the transactions that the server looks into instead of the node's; null if it is a node's.
pub(super) fn list_replays(call: &Call<'_>, _: &mut Params) -> Result<Value, RpcError> {
    Ok(call.explainer.and_then(Explainer::opened).unwrap_or_default())
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors, which are passed by value")]
fn refused(failure: Failure) -> RpcError {
    RpcError::refused(failure.chain())
}

/// Which instructions of a program an answer has.
#[derive(Deserialize, Default, Debug)]
#[serde(default)]
struct Page {
    from: usize,
    count: Option<usize>,
    /// The first slot of a function whose blocks are wanted instead.
    graph: Option<u32>,
}

/// Returns a program's version, its functions, and a part of its instructions; null if there is none.
pub(super) fn disassemble_program(call: &Call<'_>, params: &mut Params) -> Result<Value, RpcError> {
    let id: Pubkey = params.key(0)?;
    let Page { from, count, graph } = params.or_default(1)?;
    let explainer = explainer(call)?;
    let view = call.node.view(CommitmentLevel::Processed);
    let elf = view.program_elf(&id);
    let listed = elf.and_then(|elf| match graph {
        Some(function) => explainer.graph(id, elf, function),
        None => explainer.disassemble(id, elf, from, count),
    });
    Ok(listed.unwrap_or_default())
}

fn explainer<'a>(call: &Call<'a>) -> Result<&'a dyn Explainer, RpcError> {
    call.explainer
        .ok_or_else(|| RpcError::refused("this server reads no debug information".to_owned()))
}
