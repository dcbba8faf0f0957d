//! Single instructions as Firedancer's protobuf fixtures (`.fix`).

use std::sync::Arc;

use selkie_fixture::{
    Account as State, Instruction as Given, InstructionAccount, InstructionEffects as Effects,
    InstructionFixture, Recorded, Schema,
};
use selkie_svm::{
    ComputeBudget, FeatureSet, InstructionError, Processed, Rules, cost::HEAP_BYTES_MIN,
    error::discriminant,
};
use solana_instruction::{AccountMeta, Instruction};
use solana_transaction_error::TransactionError;

use super::{
    account::{self, number, show, state},
    difference::{Comparison, Difference},
    error::Inexpressible,
    harness,
};
use crate::case::{Case, CaseOptions, Input};

/// Returns the instruction of a fixture with the state before it, where these features are active.
#[must_use]
pub fn instruction_case(given: &Given, features: FeatureSet) -> Case {
    let accounts: Vec<_> = given.accounts.iter().map(account::account).collect();
    let metas = given.instruction_accounts.iter().filter_map(|it| {
        let pubkey = given.accounts.get(it.index)?.address;
        Some(AccountMeta { pubkey, is_signer: it.is_signer, is_writable: it.is_writable })
    });
    let instruction = Instruction {
        program_id: given.program_id,
        accounts: metas.collect(),
        data: given.data.clone(),
    };
    let compute_unit_limit = given.compute_unit_limit;
    let rules = Rules { features, release: harness::release(given.schema) };
    Case {
        environment: Arc::new(harness::environment(rules, &accounts)),
        input: Input::Instructions {
            instructions: vec![instruction],
            given: accounts.iter().map(|(key, _)| *key).collect(),
        },
        // Mollusk's fixtures give sysvars once more behind the accounts: of two the first counts.
        accounts: accounts.into_iter().rev().map(|(key, it)| (key, it.into())).collect(),
        options: CaseOptions {
            budget: Some(ComputeBudget { compute_unit_limit, heap_bytes: HEAP_BYTES_MIN }),
            ..CaseOptions::default()
        },
        ..Case::default()
    }
}

/// Writes a single instruction with the state before it, and its result.
///
/// # Errors
/// If the case is another one.
pub fn instruction_fixture(case: &Case) -> Result<InstructionFixture, Inexpressible> {
    let Input::Instructions { instructions, .. } = &case.input else {
        return Err(Inexpressible::Input);
    };
    let [instruction] = instructions.as_slice() else { return Err(Inexpressible::Input) };
    let processed = case.run_once().map_err(|_| Inexpressible::Input)?;
    let changes = processed.accounts.iter();
    let mut states: Vec<State> =
        changes.map(|it| state(it.key, &it.before.clone().unwrap_or_default())).collect();
    for (key, account) in case.all_accounts().iter() {
        if !states.iter().any(|state| state.address == *key) {
            states.push(state(*key, account));
        }
    }
    let instruction_accounts = instruction.accounts.iter().filter_map(|meta| {
        let index = states.iter().position(|state| state.address == meta.pubkey)?;
        let AccountMeta { is_signer, is_writable, .. } = *meta;
        Some(InstructionAccount { index, is_signer, is_writable })
    });
    let input = Given {
        schema: Schema::SinceProtosol13,
        program_id: instruction.program_id,
        instruction_accounts: instruction_accounts.collect(),
        accounts: states,
        data: instruction.data.clone(),
        compute_unit_limit: processed.compute_unit_limit,
        features: case.environment.features.iter().map(number).collect(),
    };
    Ok(InstructionFixture { input, output: effects(&processed) })
}

fn effects(processed: &Processed) -> Effects {
    let error = match &processed.result {
        Err(TransactionError::InstructionError(_, error)) => Some(error),
        _ => None,
    };
    let changed = processed.accounts.iter().filter_map(|it| Some((it.key, it.write.as_ref()?)));
    Effects {
        result: error.map_or(0, |error| discriminant(error).saturating_add(1)),
        custom_error: match error {
            Some(InstructionError::Custom(number)) => *number,
            _ => 0,
        },
        accounts: changed.map(|(key, account)| state(key, account).into()).collect(),
        compute_units: None,
        compute_units_left: Some(
            processed.compute_unit_limit.saturating_sub(processed.compute_units),
        ),
        return_data: returned(processed),
    }
}

/// Returns what the last program returned.
pub(super) fn returned(processed: &Processed) -> Recorded {
    processed.return_data.as_ref().map(|it| it.data.clone()).unwrap_or_default().into()
}

/// Compares a result with the recorded one.
#[must_use]
pub fn instruction_differences(
    fixture: &InstructionFixture,
    processed: &Processed,
) -> Vec<Difference> {
    let (expected, found) = (&fixture.output, effects(processed));
    let mut differences = Comparison::default();
    let mut compare = |what: &str, expected: String, found: String| {
        differences.same(what, &expected, &found);
    };
    let result = |it: &Effects| format!("{} ({})", it.result, it.custom_error);
    compare("result", result(expected), result(&found));
    if let Some(units) = expected.compute_units_left {
        let found = found.compute_units_left.unwrap_or(0);
        compare("compute units left", units.to_string(), found.to_string());
    }
    // Account changes of a failed instruction are not observable.
    if expected.result == 0 {
        let data = found.return_data.like(&expected.return_data);
        compare("return data", expected.return_data.to_string(), data.to_string());
        for state in &expected.accounts {
            let after = processed.accounts.iter().find(|it| it.key == state.address);
            let after = after.and_then(|it| it.write.as_ref().or(it.before.as_ref())).cloned();
            let after = self::state(state.address, &after.unwrap_or_default());
            let after = after.map(|data| Recorded::from(data).like(&state.data));
            compare(&format!("account {}", state.address), show(state), show(&after));
        }
    }
    differences.finish()
}
