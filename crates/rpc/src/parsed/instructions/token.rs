//! What the instructions of token programs have beyond their rows.

use selkie_layout::{program::ProgramRows, token::instruction::BATCH};
use serde_json::{Value, json};

use super::fields;

/// Reads an instruction of a token program.
pub(super) fn parse(program: &ProgramRows, data: &[u8], accounts: &[String]) -> Option<Value> {
    if let Some((&BATCH, batch)) = data.split_first() {
        return parse_batch(program, batch, accounts);
    }
    let row = program.instruction(data)?;
    let mut parsed = fields(row, data, accounts)?;
    // Authorities over an account are told from those over a mint by their type alone.
    if row.name == "SetAuthority"
        && let Some(info) = parsed.get_mut("info").and_then(Value::as_object_mut)
        && matches!(
            info.get("authorityType").and_then(Value::as_str),
            Some("accountOwner" | "closeAccount")
        )
        && let Some(account) = info.remove("mint")
    {
        info.insert("account".to_owned(), account);
    }
    Some(parsed)
}

/// Reads a batch: for each instruction the number of its accounts, the length of its data, and the
/// data.
fn parse_batch(program: &ProgramRows, mut batch: &[u8], mut accounts: &[String]) -> Option<Value> {
    let mut instructions = Vec::new();
    while let [count, len, rest @ ..] = batch {
        let (data, rest) = rest.split_at_checked(usize::from(*len))?;
        let (own, others) = accounts.split_at_checked(usize::from(*count))?;
        if own.is_empty() || data.first() == Some(&BATCH) {
            return None;
        }
        instructions.push(parse(program, data, own)?);
        (batch, accounts) = (rest, others);
    }
    batch.is_empty().then(|| json!({ "info": { "instructions": instructions }, "type": "batch" }))
}
