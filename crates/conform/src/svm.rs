//! Kind `svm`: a transaction with all the state that it needs, and its result according to agave's
//! batch processor and the checks of a bank around it.

use core::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_case::{Case, Expected, Replay, ReplayError, RunMemory};
use selkie_svm::{
    Account, AccountSharedData, Processed, ProgramCache, Pubkey, account::AccountStore, check,
};
use serde_json::Value;
use solana_transaction_error::TransactionError;

use crate::{BadVector, Check, Context, Verdict, vector::is_kind};

/// Returns whether a line is of this kind.
#[must_use]
pub fn matches(line: &Value) -> bool {
    let has = |field| line.get(field).is_some();
    is_kind(line, "svm") || has("tx") && has("expect") && has("accounts")
}

/// Processes the transaction and compares the stage that it reached, its result, the accounts, the
/// fee, compute units, logs, inner instructions, return data and the size of loaded accounts.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let replay = Replay::try_from(line.clone())?;
    if let Some(id) = replay.unknown_features().first() {
        return Ok(Verdict::Skipped(format!("feature {id} cannot be switched")));
    }
    let missing = RefCell::new(None);
    let blob = |name: &str| match context.blob(name) {
        Ok(bytes) => Some(bytes.to_vec()),
        Err(why) => {
            missing.replace(Some(why));
            None
        }
    };
    let case = match (replay.case(&blob), missing.take()) {
        (Err(_), Some(why)) => return Ok(why.into()),
        (case, _) => context.ruled(case?),
    };
    let expected = replay.expected(&blob)?.ok_or_else(|| "it expects nothing".to_owned())?;
    let mut check = Check::default();
    for (single, engine) in context.engine().each_of_runtime() {
        check.set_prefix(single.prefix());
        let ended = case.run(&ProgramCache::new(), engine, None, &mut RunMemory::default());
        let mut found = Expected::of(ended.as_deref());
        if matches!(ended, Err(TransactionError::BlockhashNotFound)) && passes_checks(&case) {
            "svm_rejected".clone_into(&mut found.stage);
        }
        compare(&mut check, &case, &expected, ended.as_deref().ok(), &found);
    }
    check.finish()
}

/// Returns whether a bank's checks accept a transaction. The processor refuses some of these with an
/// error that is also one of the checks: a nonce whose authority has not signed.
fn passes_checks(case: &Case) -> bool {
    let Case { environment, blockhashes, .. } = case;
    let transaction = case.sanitized_transaction();
    transaction.is_some_and(|it| check::check(&it, case, environment, blockhashes).is_ok())
}

fn compare(
    check: &mut Check,
    case: &Case,
    expected: &Expected,
    processed: Option<&Processed>,
    found: &Expected,
) {
    check.same("stage", &expected.stage, &found.stage);
    check.same("result", &expected.result, &found.result);
    check.same("fee", expected.fee, found.fee);
    let Some(processed) = processed else {
        check.same("post", expected.accounts.len(), 0);
        return;
    };
    compare_accounts(check, case, expected, processed);
    check.same("cu", expected.compute_units, found.compute_units);
    check.same("logs", &expected.logs, &found.logs);
    // A transaction that only pays its fee has no list of inner instructions.
    if processed.is_executed {
        check.same("inner", &expected.inner, &found.inner);
    }
    let returned = |it: &Expected| {
        it.return_data.as_ref().map(|(program, data)| (*program, BASE64_STANDARD.encode(data)))
    };
    check.same("return_data", returned(expected), returned(found));
    check.equal("loaded_accounts_data_size", expected.loaded_bytes, processed.loaded_bytes);
}

/// Compares every account, changed or not.
fn compare_accounts(check: &mut Check, case: &Case, expected: &Expected, processed: &Processed) {
    let before = case.accounts.iter().map(|(key, account)| (*key, account.clone()));
    let mut after: BTreeMap<Pubkey, AccountSharedData> = before.collect();
    let mut wanted = after.clone();
    wanted.extend(expected.accounts.iter().cloned());
    after.extend(processed.writes().map(|(key, account)| (*key, account.clone())));
    let keys: BTreeSet<_> = wanted.keys().chain(after.keys()).collect();
    for key in keys {
        // The store returns `None` for accounts without lamports.
        let (expected, got) = (wanted.account(key), after.account(key));
        if expected != got {
            compare_account(check, key, expected, got);
        }
    }
}

/// Records the differences of two accounts, at least one of which exists.
fn compare_account(
    check: &mut Check,
    key: &Pubkey,
    expected: Option<AccountSharedData>,
    got: Option<AccountSharedData>,
) {
    let (expected, got) = match (expected.map(Account::from), got.map(Account::from)) {
        (Some(expected), Some(got)) => (expected, got),
        (expected, got) => {
            let existence =
                |account: Option<Account>| if account.is_some() { "exists" } else { "deleted" };
            check.differ(&key.to_string(), existence(expected), existence(got));
            return;
        }
    };
    check.same(&format!("{key} lamports"), expected.lamports, got.lamports);
    check.same(&format!("{key} owner"), expected.owner, got.owner);
    check.same(&format!("{key} executable"), expected.executable, got.executable);
    check.same(&format!("{key} rent_epoch"), expected.rent_epoch, got.rent_epoch);
    if expected.data != got.data {
        let at = expected.data.iter().zip(&got.data).position(|(expected, got)| expected != got);
        let len = |data: &[u8]| format!("{} bytes", data.len());
        let at = at.map_or_else(String::new, |at| format!(", different from byte {at} on"));
        check.differ(&format!("{key} data"), len(&expected.data), len(&got.data) + &at);
    }
}

impl From<ReplayError> for BadVector {
    fn from(error: ReplayError) -> Self {
        Self(error.to_string())
    }
}
