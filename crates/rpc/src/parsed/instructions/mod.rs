//! Instructions as JSON: what `jsonParsed` shows of the programs that clients know.
//!
//! The rows are those of `selkie-layout`. Names and order of checks are agave's (`transaction-status`).
//! What has no row, or does not fit it, is shown partially decoded: addresses and data.

mod accounts;
mod token;

use selkie_layout::{instruction::Instruction, memo, program};
use serde_json::{Map, Value, json};
use solana_message::compiled_instruction::CompiledInstruction;
use solana_pubkey::Pubkey;

use crate::{
    ids,
    parsed::{
        instructions::accounts::name_accounts,
        layout::{insert_all, lower},
    },
};

/// Returns an instruction with names of its parts, or partially decoded.
///
/// `keys` are the transaction's addresses, those loaded from lookup tables included.
pub(crate) fn parse(
    instruction: &CompiledInstruction,
    keys: &[Pubkey],
    stack_height: Option<u32>,
) -> Value {
    let key = |index: u8| keys.get(usize::from(index)).map(Pubkey::to_string).unwrap_or_default();
    let program_id = keys.get(usize::from(instruction.program_id_index));
    let parsed = program_id.and_then(|id| {
        let accounts: Option<Vec<String>> = instruction
            .accounts
            .iter()
            .map(|&index| keys.get(usize::from(index)).map(Pubkey::to_string))
            .collect();
        parse_as(id, &instruction.data, &accounts?)
    });
    match parsed {
        Some((program, parsed)) => json!({
            "parsed": parsed,
            "program": program,
            "programId": key(instruction.program_id_index),
            "stackHeight": stack_height,
        }),
        None => json!({
            "accounts": instruction.accounts.iter().map(|&it| key(it)).collect::<Vec<_>>(),
            "data": bs58::encode(&instruction.data).into_string(),
            "programId": key(instruction.program_id_index),
            "stackHeight": stack_height,
        }),
    }
}

/// Returns the program's name and the instruction's parts.
fn parse_as(id: &Pubkey, data: &[u8], accounts: &[String]) -> Option<(&'static str, Value)> {
    let program = program::find(id)?;
    let name = program.parsed_name?;
    // Of a memo there is the text alone.
    if memo::ALL.contains(id) {
        return Some((name, json!(::core::str::from_utf8(data).ok()?)));
    }
    if accounts.is_empty() {
        return None;
    }
    let parsed = if [ids::TOKEN, ids::TOKEN_2022].contains(id) {
        token::parse(program, data, accounts)
    } else {
        program.instruction(data).and_then(|row| fields(row, data, accounts))
    };
    Some((name, parsed?))
}

/// Reads an instruction by its row.
fn fields(row: &Instruction, data: &[u8], accounts: &[String]) -> Option<Value> {
    let mut info = Map::new();
    insert_all(&row.read(data).ok()?, &mut info);
    // Without lamports there is no funding account.
    let is_free =
        row.name == "CreateAccountAllowPrefund" && info.get("lamports") == Some(&json!(0));
    let roles = if is_free { row.roles.get(..1)? } else { &row.roles };
    if is_free {
        info.remove("lamports");
    }
    if accounts.len() < row.accounts_min {
        return None;
    }
    name_accounts(roles, accounts, &mut info)?;
    let name = lower(&row.name);
    Some(match info.is_empty() {
        true => json!({ "type": name }),
        false => json!({ "info": info, "type": name }),
    })
}

#[cfg(test)]
mod tests;
