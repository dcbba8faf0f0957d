//! Random instructions as inputs: one JSON object each, with the accounts as they are before it.

use anyhow::Result;
use selkie::{AccountMeta, Engine, Instruction, ReadableAccount as _, Svm, ids};
use serde_json::{Value, json};

use super::{ROUND, keys::Family, random::Random, shapes, world::World};

/// Runs random instructions, and returns them as inputs, one on each line.
pub(super) fn inputs(family: Family, file: &Vec<u8>, count: u64) -> Result<String> {
    let mut lines = String::new();
    for round in 0..count.div_ceil(ROUND) {
        let mut random = Random::new(round);
        let mut world = World::new(family, file, Engine::default())?;
        for _ in 0..ROUND.min(count - round * ROUND) {
            let instruction = shapes::instruction(family, &world.keys, &mut random);
            lines += &format!("{}\n", input(&world.svm, &instruction));
            let processed = world.svm.process_instruction(&instruction, &[]);
            if processed.result.is_ok() {
                world.svm.commit(&processed);
            }
        }
    }
    Ok(lines)
}

fn input(svm: &Svm, instruction: &Instruction) -> Value {
    let accounts: Vec<Value> = instruction.accounts.iter().map(|it| account(svm, it)).collect();
    json!({
        "program_id": instruction.program_id.to_string(),
        "accounts": accounts,
        "instruction_data": instruction.data,
    })
}

fn account(svm: &Svm, meta: &AccountMeta) -> Value {
    let account = svm.account(&meta.pubkey).unwrap_or_default();
    // Files of programs are large, and every cluster has these.
    let data = if account.executable() { &[] } else { account.data() };
    let owner = account.owner();
    let owner = if account.executable() { &ids::bpf_loader_upgradeable::ID } else { owner };
    json!({
        "key": meta.pubkey.to_string(),
        "owner": owner.to_string(),
        "is_signer": meta.is_signer,
        "is_writable": meta.is_writable,
        "lamports": account.lamports(),
        "data": data,
    })
}
