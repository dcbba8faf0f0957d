//! Instructions as JSON: what `jsonParsed` shows of the programs that clients know.
//!
//! Each instruction is a row: the bytes that its data starts with, its name, its accounts, and the
//! layout of the rest of its data. Names and order of checks are agave's (`transaction-status`).
//! What has no row, or does not fit it, is shown partially decoded: addresses and data.

mod accounts;
mod core;
mod row;
mod token;
mod token_extensions;

use serde_json::{Value, json};
use solana_message::compiled_instruction::CompiledInstruction;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{
    address_lookup_table, bpf_loader, bpf_loader_upgradeable, stake, system_program, vote,
};

use crate::{
    ids,
    parsed::instructions::{
        row::{Row, fields, find},
        token::TOKEN_TABLES,
    },
};

/// A program whose instructions are shown.
struct Program {
    id: Pubkey,
    name: &'static str,
    tables: &'static [&'static [Row]],
}

const PROGRAMS: &[Program] = &[
    Program { id: system_program::ID, name: "system", tables: &[core::SYSTEM] },
    Program { id: ids::TOKEN, name: "spl-token", tables: TOKEN_TABLES },
    Program { id: ids::TOKEN_2022, name: "spl-token", tables: TOKEN_TABLES },
    Program {
        id: ids::ASSOCIATED_TOKEN,
        name: "spl-associated-token-account",
        tables: &[core::ASSOCIATED_TOKEN],
    },
    Program {
        id: address_lookup_table::ID,
        name: "address-lookup-table",
        tables: &[core::ADDRESS_LOOKUP_TABLE],
    },
    Program { id: bpf_loader::ID, name: "bpf-loader", tables: &[core::LOADER_V2] },
    Program {
        id: bpf_loader_upgradeable::ID,
        name: "bpf-upgradeable-loader",
        tables: &[core::LOADER_V3],
    },
    Program { id: stake::ID, name: "stake", tables: &[core::STAKE] },
    Program { id: vote::ID, name: "vote", tables: &[core::VOTE] },
];

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
    if ids::MEMO.contains(id) {
        return Some(("spl-memo", json!(::core::str::from_utf8(data).ok()?)));
    }
    let program = PROGRAMS.iter().find(|program| program.id == *id)?;
    if accounts.is_empty() {
        return None;
    }
    let parsed = if program.tables.len() > 1 {
        token::parse(data, accounts)
    } else {
        find(program.tables, data).and_then(|row| fields(row, data, accounts))
    };
    Some((program.name, parsed?))
}

#[cfg(test)]
mod tests;
