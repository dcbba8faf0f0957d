//! Transactions as Firedancer's protobuf fixtures (`.fix`).

use std::sync::Arc;

use selkie_builtins::native_accounts;
use selkie_fixture::{
    AddressTableLookup, CompiledInstruction, MessageVersion, Recorded, Schema,
    Transaction as Given, TransactionConfig, TransactionEffects as Effects, TransactionFixture,
};
use selkie_svm::{
    AccountChange, BlockhashQueue, Environment, EpochStake, InstructionError, Processed,
    SignedTransaction,
    cost::LAMPORTS_PER_SIGNATURE,
    error::{discriminant, transaction_discriminant},
};
use solana_account::ReadableAccount as _;
use solana_hash::Hash;
use solana_message::{VersionedMessage, v0::MessageAddressTableLookup};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use super::{
    account::{self, id_number, number, show, state},
    difference::{Comparison, Difference},
    error::Inexpressible,
    harness,
    instruction::returned,
    later_rules::{self, FEES_ONLY, Judged},
};
use crate::{
    accounts::Accounts,
    case::{Case, CaseOptions, Input},
    environment::sysvar_accounts,
};

/// Returns the transaction of a fixture with the state before it. Its signatures are not verified.
#[must_use]
pub fn transaction_case(given: &Given) -> Case {
    let features = harness::features(&given.features);
    let all: Vec<_> = given.accounts.iter().map(account::account).collect();
    // Fixtures without blockhashes name the default one.
    let blockhashes = match given.blockhashes.as_slice() {
        [] => &[[0; 32]],
        some => some,
    };
    let queue = BlockhashQueue::new(blockhashes.iter().copied().map(Hash::new_from_array));
    let price = given.lamports_per_signature.map_or(LAMPORTS_PER_SIGNATURE, u64::from);
    let environment = Environment {
        release: harness::release(given.schema),
        sysvars: harness::bank_sysvars(&all, given.slot, blockhashes, price),
        blockhash: queue.blockhash().copied().unwrap_or_default(),
        lamports_per_signature: price,
        epoch_stake: EpochStake {
            total: given.total_epoch_stake.unwrap_or_default(),
            ..EpochStake::default()
        },
        ..selkie_builtins::environment(features)
    };
    // If an address is given twice, the first account counts.
    let accounts = all.into_iter().rev().map(|(key, account)| (key, account.into()));
    let mut accounts: Accounts = accounts.collect();
    // Builtin programs and sysvars exist even if the fixture omits their accounts.
    for (key, account) in native_accounts(&environment).chain(sysvar_accounts(&environment)) {
        if accounts.get(&key).is_none_or(|it| it.lamports() == 0) {
            accounts.set(key, account);
        }
    }
    let mut given = given.clone();
    // The header counts the signers; fixtures may omit the count or the signatures.
    given.header[0] = given.header[0].max(1);
    given.signatures.resize(given.header[0].into(), vec![0; 64]);
    Case {
        environment: Arc::new(environment),
        blockhashes: Arc::new(queue),
        accounts,
        input: Input::decode(given.to_wire()),
        options: CaseOptions { verifies_signatures: false, ..CaseOptions::default() },
    }
}

/// Writes a transaction with the state before it, and the result that it has without checks of its
/// signatures. The format has the total stake, but not that of each vote account.
///
/// # Errors
/// If the format cannot express it: bytes that are no transaction, a transaction that was processed before,
/// a fee per signature above 2^32 - 1 lamports, or a feature that is inactive here and active in all
/// fixtures.
pub fn transaction_fixture(case: &Case) -> Result<TransactionFixture, Inexpressible> {
    let transaction = case.input.transaction().ok_or(Inexpressible::Input)?;
    let lookups = match transaction.message() {
        VersionedMessage::Legacy(_) => &[][..],
        VersionedMessage::V0(message) => &message.address_table_lookups,
        VersionedMessage::V1(_) => &[],
    };
    let mut case = case.clone();
    (case.options.verifies_signatures, case.options.checks_blockhash) = (false, true);
    let ended = case.run_once();
    if matches!(ended, Err(TransactionError::AlreadyProcessed)) {
        return Err(Inexpressible::Processed);
    }
    let environment = &case.environment;
    if let Some(feature) = harness::inexpressible(environment.features) {
        return Err(Inexpressible::Feature(feature.address()));
    }
    let price = u32::try_from(environment.lamports_per_signature);
    let accounts = case.all_accounts();
    let input = Given {
        accounts: accounts.iter().map(|(key, account)| state(*key, account)).collect(),
        lamports_per_signature: Some(price.map_err(|_| Inexpressible::Price)?),
        ..input(&case, transaction, lookups)
    };
    Ok(TransactionFixture { input, output: effects(ended.as_deref()) })
}

/// Returns a rule of the runtime that is younger than the fixture and explains these differences, if
/// there is one. A rule whose feature the fixture lists explains nothing.
#[must_use]
pub fn later_rule(
    fixture: &TransactionFixture,
    differences: &[Difference],
) -> Option<&'static str> {
    if differences.is_empty() {
        return None;
    }
    let case = transaction_case(&fixture.input);
    let (given, expected) = (&fixture.input, &fixture.output);
    later_rules::explain(&Judged { given, expected, case: &case, differences })
}

/// Returns a transaction and the settings of its chain as a fixture's input, without accounts.
fn input(
    case: &Case,
    transaction: &SignedTransaction,
    lookups: &[MessageAddressTableLookup],
) -> Given {
    let message = transaction.message();
    let header = message.header();
    let instructions = message.instructions().iter().map(|it| CompiledInstruction {
        program: it.program_id_index,
        accounts: it.accounts.clone(),
        data: it.data.clone(),
    });
    let lookups = lookups.iter().map(|it| AddressTableLookup {
        table: it.account_key,
        writable: it.writable_indexes.clone(),
        readonly: it.readonly_indexes.clone(),
    });
    let environment = &case.environment;
    let features = environment.features.iter().map(number);
    let features = features.chain(later_rules::always_followed().map(|it| id_number(&it)));
    Given {
        schema: Schema::SinceProtosol13,
        version: version(message),
        header: [
            header.num_required_signatures,
            header.num_readonly_signed_accounts,
            header.num_readonly_unsigned_accounts,
        ],
        keys: message.static_account_keys().to_vec(),
        blockhash: message.recent_blockhash().to_bytes(),
        instructions: instructions.collect(),
        lookups: lookups.collect(),
        signatures: transaction.signatures().iter().map(|it| it.as_ref().to_vec()).collect(),
        message_hash: message.hash().to_bytes().to_vec(),
        accounts: Vec::new(),
        blockhashes: case.blockhashes.blockhashes().map(Hash::to_bytes).collect(),
        slot: None,
        lamports_per_signature: None,
        total_epoch_stake: Some(environment.epoch_stake.total),
        features: features.collect(),
    }
}

fn version(message: &VersionedMessage) -> MessageVersion {
    match message {
        VersionedMessage::Legacy(_) => MessageVersion::Legacy,
        VersionedMessage::V0(_) => MessageVersion::V0,
        VersionedMessage::V1(message) => MessageVersion::V1(TransactionConfig {
            priority_fee: message.config.priority_fee,
            compute_unit_limit: message.config.compute_unit_limit,
            loaded_bytes_limit: message.config.loaded_accounts_data_size_limit,
            heap_bytes: message.config.heap_size,
        }),
    }
}

fn effects(ended: Result<&Processed, &TransactionError>) -> Effects {
    let error = ended.map_or_else(Some, |it| it.result.as_ref().err());
    let error_number =
        |error| transaction_discriminant(error).map_or(u32::MAX, |it| it.saturating_add(1));
    let mut effects = Effects { error: error.map_or(0, error_number), ..Effects::default() };
    if let Some(TransactionError::InstructionError(index, error)) = error {
        let number = u32::try_from(discriminant(error)).unwrap_or(u32::MAX);
        effects.instruction_error = number.saturating_add(1);
        effects.instruction_index = (*index).into();
        if let InstructionError::Custom(number) = error {
            effects.custom_error = *number;
        }
    }
    let Ok(processed) = ended else { return effects };
    let after = |change: &AccountChange| {
        state(change.key, &change.after().cloned().unwrap_or_default()).into()
    };
    let (accounts, rollback) = if error.is_none() {
        let writable = processed.accounts.iter().filter(|change| change.is_writable);
        (writable.map(after).collect(), Vec::new())
    } else {
        (Vec::new(), changes(processed).map(after).collect())
    };
    Effects {
        is_executed: true,
        return_data: returned(processed),
        compute_units: processed.compute_units,
        loaded_bytes: processed.loaded_bytes.into(),
        fees: Some((processed.fee.signatures, processed.fee.priority)),
        accounts,
        rollback,
        ..effects
    }
}

/// Compares a result with the recorded one. What the file does not record is not compared: fixtures from
/// before 2025 record neither the loaded size nor accounts after a failure.
#[must_use]
pub fn transaction_differences(
    fixture: &TransactionFixture,
    ended: Result<&Processed, &TransactionError>,
) -> Vec<Difference> {
    let (expected, found) = (&fixture.output, effects(ended));
    let mut differences = Comparison::default();
    let mut compare = |field: &str, value: &dyn Fn(&Effects) -> String| {
        differences.same(field, &value(expected), &value(&found));
    };
    let is_executed = ended.is_ok_and(|it| it.is_executed);
    let is_processed =
        is_executed || ended.is_ok() && fixture.input.features.contains(&id_number(&FEES_ONLY));
    compare("error", &|it| it.error.to_string());
    compare("instruction error", &|it| it.instruction_error.to_string());
    compare("index of the failed instruction", &|it| it.instruction_index.to_string());
    compare("custom error", &|it| it.custom_error.to_string());
    if expected.is_executed && is_executed {
        compare("compute units", &|it| it.compute_units.to_string());
        compare("return data", &|it| {
            it.return_data.clone().like(&expected.return_data).to_string()
        });
        if expected.fees.is_some() {
            compare("fees", &|it| format!("{:?}", it.fees));
        }
        if expected.loaded_bytes > 0 {
            compare("loaded bytes", &|it| it.loaded_bytes.to_string());
        }
    }
    differences.same("executed", &expected.is_executed.to_string(), &is_processed.to_string());
    let has_accounts = expected.error == 0 || expected.loaded_bytes > 0;
    if has_accounts && expected.error == found.error {
        let empty =
            Processed { result: Err(TransactionError::AccountNotFound), ..Processed::default() };
        compare_accounts(&mut differences, expected, ended.unwrap_or(&empty));
    }
    differences.finish()
}

/// Accounts after a failed transaction are not observable, except those of the rollback.
fn compare_accounts(differences: &mut Comparison, expected: &Effects, processed: &Processed) {
    let accounts = if processed.result.is_ok() { &expected.accounts } else { &expected.rollback };
    for before in accounts {
        let mut all = processed.accounts.iter();
        let after = all.find(|it| it.key == before.address);
        let after = after.and_then(AccountChange::after).cloned();
        // What an account without lamports still holds is not stored.
        let after = after.filter(|it| before.lamports > 0 || it.lamports() > 0);
        if after.is_none() && before.lamports == 0 {
            continue;
        }
        let after = state(before.address, &after.unwrap_or_default());
        let after = after.map(|data| Recorded::from(data).like(&before.data));
        differences.same(&account_field(&before.address), &show(before), &show(&after));
    }
    for change in changes(processed) {
        if !accounts.iter().any(|it| it.address == change.key) {
            differences.same(&account_field(&change.key), "unchanged", "changed");
        }
    }
}

fn account_field(address: &Pubkey) -> String {
    format!("account {address}")
}

fn changes(processed: &Processed) -> impl Iterator<Item = &AccountChange> {
    processed.accounts.iter().filter(|it| it.before.as_ref() != it.after())
}
