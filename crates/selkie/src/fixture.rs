//! Fixtures: transactions recorded with the state they need and their results, to be replayed
//! anywhere.
//!
//! A fixture is a line of JSON in the format of conformance vectors of kind `svm` (see `selkie
//! conform`), so that what a test or fuzzer finds becomes a vector.
//!
//! ```
//! use selkie::{fixture::Fixture, keypair, system, Signer, Svm};
//!
//! let alice = keypair("alice");
//! let mut svm = Svm::new();
//! svm.airdrop(&alice.pubkey(), 1_000_000_000)?;
//! let transfer = system::transfer(&alice.pubkey(), &alice.pubkey(), 7);
//! let transaction = svm.sign(&[transfer], &[&alice])?;
//!
//! let fixture = Fixture::record(&svm, "mine/transfer", &transaction);
//! let line = fixture.to_string();
//! let receipt = Fixture::parse(&line)?.replay()?;
//! assert_eq!(receipt.compute_units, 150);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;
use std::{collections::BTreeSet, sync::Arc};

use selkie_svm::{
    BlockhashQueue, EpochStake, Feature, FeatureSet, program_cache::program_data_address,
    transaction::Transaction as Sanitized,
};
use serde_json::{Value, json};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    fixture_state::{self, hex},
    json::{base64, case_account, read_case_account, to_base64},
    receipt::{Receipt, Stage},
    svm::Svm,
};
#[cfg(feature = "fixtures")]
pub use crate::{instruction_fixture::InstructionFixture, transaction_fixture::TransactionFixture};

/// The feature set to which fixtures list differences.
const MAINNET: &str = "mainnet-2026-09-27";

/// A transaction with the state before it and its result.
#[derive(Clone, PartialEq, Debug)]
pub struct Fixture(Value);

/// A fixture that is malformed, or whose replay has another result.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FixtureError {
    /// Not a valid fixture.
    Format(String),
    /// The replay has another result: one sentence per difference.
    Differs(Vec<String>),
}

impl fmt::Display for FixtureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(why) => write!(f, "not a valid fixture: {why}"),
            Self::Differs(all) => {
                f.write_str("the replay has another result than the fixture")?;
                all.iter().try_for_each(|one| write!(f, "\n  {one}"))
            }
        }
    }
}

impl core::error::Error for FixtureError {}

/// Prints one line of JSON.
impl fmt::Display for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Fixture {
    /// Records a transaction with the accounts and sysvars it needs, and its simulated result.
    #[must_use]
    pub fn record(svm: &Svm, id: &str, transaction: &VersionedTransaction) -> Self {
        let receipt = svm.simulate(transaction).unwrap_or_else(|failed| failed.receipt);
        let environment = svm.environment();
        let accounts: Vec<Value> = needed_accounts(svm, &receipt)
            .iter()
            .filter_map(|key| Some(case_account(key, &svm.shared_account(key)?)))
            .collect();
        let queue = svm.journal.state().blockhash_queue.blockhashes().map(ToString::to_string);
        let stakes = environment.epoch_stake.vote_accounts.iter();
        let stakes = stakes.map(|(key, stake)| (key.to_string(), json!(stake)));
        Self(json!({
            "id": id,
            "slot": svm.slot(),
            "epoch": svm.epoch(),
            "features": features_to_json(svm.features()),
            "sigverify": svm.verifies_signatures,
            "lamports_per_signature": environment.lamports_per_signature,
            "blockhash_queue": queue.collect::<Vec<_>>(),
            "already_processed": false,
            "epoch_total_stake": environment.epoch_stake.total,
            "vote_stakes": Value::Object(stakes.collect()),
            "accounts": accounts,
            "tx": to_base64(&wincode::serialize(transaction).unwrap_or_default()),
            "expect": expectation(&receipt),
        }))
    }

    /// Parses a line of JSON.
    ///
    /// # Errors
    /// If the line is not JSON. [`Fixture::replay`] finds other errors.
    pub fn parse(line: &str) -> Result<Self, FixtureError> {
        let value = serde_json::from_str(line);
        value.map(Self).map_err(|error| FixtureError::Format(error.to_string()))
    }

    /// Returns the fixture's name.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.get("id").and_then(Value::as_str).unwrap_or_default()
    }

    /// Replays the transaction and compares the result with the recorded one.
    ///
    /// # Errors
    /// If the fixture is malformed or the result differs.
    pub fn replay(&self) -> Result<Arc<Receipt>, FixtureError> {
        self.replay_with(&|_| None)
    }

    /// Replays like [`Fixture::replay`]; `blob` returns the account data that the fixture refers to
    /// by name.
    ///
    /// # Errors
    /// As [`Fixture::replay`].
    pub fn replay_with(
        &self,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Arc<Receipt>, FixtureError> {
        let (mut svm, wire) = self.svm(blob).map_err(FixtureError::Format)?;
        let receipt = fixture_state::send(&mut svm, &wire);
        let expected = self.0.get("expect").unwrap_or(&Value::Null);
        let differences = self.differences(expected, &receipt, blob);
        if differences.is_empty() { Ok(receipt) } else { Err(FixtureError::Differs(differences)) }
    }

    /// Returns a chain in the recorded state, and the wire bytes of the transaction.
    fn svm(&self, blob: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<(Svm, Vec<u8>), String> {
        let field = |name: &str| self.0.get(name).ok_or_else(|| format!("`{name}` is missing"));
        let list =
            |name: &str| field(name)?.as_array().ok_or_else(|| format!("`{name}` is not a list"));
        let wire = base64(field("tx")?.as_str().ok_or("`tx` is not a string")?)?;
        let accounts: Result<Vec<_>, _> =
            list("accounts")?.iter().map(|account| read_case_account(account, blob)).collect();
        let hashes = list("blockhash_queue")?.iter();
        let hashes = hashes.map(|it| it.as_str().and_then(|text| text.parse().ok()));
        let hashes: Option<Vec<_>> = hashes.collect();
        let blockhash_queue =
            BlockhashQueue::new(hashes.ok_or("`blockhash_queue` contains an invalid hash")?);
        let price = field("lamports_per_signature")?.as_u64();
        let price = price.ok_or("`lamports_per_signature` is not a number")?;
        let features = features_from_json(field("features")?)?;
        let mut svm = fixture_state::cluster(features, &accounts?, blockhash_queue, price);
        svm.journal.environment_mut().epoch_stake = self.epoch_stake();
        if self.0.get("already_processed") == Some(&Value::Bool(true)) {
            let transaction = Sanitized::from_wire(&wire, svm.features()).ok();
            if let Some(it) = transaction {
                svm.journal.add_processed(*it.blockhash(), it.message_id());
            }
        }
        svm.verifies_signatures = self.0.get("sigverify") != Some(&Value::Bool(false));
        Ok((svm, wire))
    }

    fn epoch_stake(&self) -> EpochStake {
        let stakes = self.0.get("vote_stakes").and_then(Value::as_object).into_iter().flatten();
        let stakes = stakes.filter_map(|(key, stake)| Some((key.parse().ok()?, stake.as_u64()?)));
        let total = self.0.get("epoch_total_stake").and_then(Value::as_u64);
        EpochStake { total: total.unwrap_or(0), vote_accounts: stakes.collect() }
    }

    fn differences(
        &self,
        expected: &Value,
        receipt: &Receipt,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Vec<String> {
        let found = expectation(receipt);
        let mut differences = Vec::new();
        let is_dropped = receipt.stage == Stage::Dropped;
        for field in FIELDS.iter().take(if is_dropped { 1 } else { FIELDS.len() }) {
            let (expected, found) = (&expected[*field], &found[*field]);
            if expected != found {
                differences.push(format!("{field}: expected {expected}, found {found}"));
            }
        }
        let posts = expected["post"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut expected_keys = BTreeSet::new();
        for post in posts {
            match read_case_account(post, blob) {
                Ok((key, account)) => {
                    expected_keys.insert(key);
                    let after = receipt.account(&key).and_then(|change| change.after());
                    if !is_same(&account, after) {
                        differences
                            .push(format!("account {key}: expected {account:?}, found {after:?}"));
                    }
                }
                Err(why) => differences.push(format!("`post`: {why}")),
            }
        }
        let others = receipt.changes().filter(|change| !expected_keys.contains(&change.key));
        differences.extend(others.map(|change| format!("account {}: changed", change.key)));
        differences
    }
}

/// The compared fields besides accounts. Of dropped transactions only the first is compared.
const FIELDS: &[&str] =
    &["result_str", "fee", "cu", "loaded_accounts_data_size", "return_data", "logs", "inner"];

fn is_same(expected: &AccountSharedData, found: Option<&AccountSharedData>) -> bool {
    match found {
        Some(found) => expected == found,
        None => expected.lamports() == 0,
    }
}

/// Lists the accounts that a transaction needs: its accounts, lookup tables, programdata accounts,
/// sysvars.
pub(crate) fn needed_accounts(svm: &Svm, receipt: &Receipt) -> BTreeSet<Pubkey> {
    let message = receipt.message();
    let mut keys: BTreeSet<Pubkey> = message.static_account_keys().iter().copied().collect();
    keys.extend(receipt.accounts.iter().map(|change| change.key));
    let tables = message.address_table_lookups().into_iter().flatten();
    keys.extend(tables.map(|lookup| lookup.account_key));
    let files = keys.iter().filter_map(|key| {
        let account = svm.shared_account(key)?;
        program_data_address(account.data())
    });
    keys.extend(files.collect::<Vec<_>>());
    keys.extend(svm.environment().sysvars.iter().map(|(id, _)| *id));
    keys
}

/// Renders the result of a transaction.
fn expectation(receipt: &Receipt) -> Value {
    let result_str = match &receipt.result {
        Ok(()) => "Ok".to_owned(),
        Err(error) => format!("{error:?}"),
    };
    let result = match &receipt.result {
        Ok(()) => json!("Ok"),
        Err(error) => json!({ "Err": error }),
    };
    let inner = receipt.inner_instructions.iter().map(|called| {
        let called = called.iter().map(|it| {
            json!({
                "program_idx": it.program_index,
                "accounts": it.accounts,
                "data": hex(&it.data),
                "stack_height": it.stack_height,
            })
        });
        Value::Array(called.collect())
    });
    let post = receipt.changes().map(|change| {
        let none = AccountSharedData::default();
        case_account(&change.key, change.after().unwrap_or(&none))
    });
    json!({
        "stage": stage(receipt),
        "result": result,
        "result_str": result_str,
        "fee": receipt.fee.total(),
        "cu": receipt.compute_units,
        "loaded_accounts_data_size": receipt.loaded_bytes,
        "return_data": receipt.return_data.as_ref().map(|it| json!({
            "program": it.program_id.to_string(),
            "data": to_base64(&it.data),
        })),
        "logs": receipt.logs,
        "inner": inner.collect::<Vec<_>>(),
        "post": post.collect::<Vec<_>>(),
    })
}

/// Returns the vectors' name of the stage at which the transaction ended, including the phase that
/// dropped it.
fn stage(receipt: &Receipt) -> &'static str {
    use TransactionError as Error;
    match (receipt.stage, &receipt.result) {
        (Stage::Executed, _) => "executed",
        (Stage::FeesOnly, _) => "fees_only",
        (Stage::Dropped, Ok(())) => "svm_rejected",
        (Stage::Dropped, Err(error)) => match error {
            Error::SanitizeFailure
            | Error::UnsupportedVersion
            | Error::AddressLookupTableNotFound
            | Error::InvalidAddressLookupTableOwner
            | Error::InvalidAddressLookupTableData
            | Error::InvalidAddressLookupTableIndex => "sanitize",
            Error::SignatureFailure => "sigverify",
            Error::AccountLoadedTwice | Error::TooManyAccountLocks => "locks",
            Error::DuplicateInstruction(_)
            | Error::InstructionError(..)
            | Error::InvalidLoadedAccountsDataSizeLimit => "budget",
            Error::BlockhashNotFound => "age",
            Error::AlreadyProcessed => "status_cache",
            _ => "svm_rejected",
        },
    }
}

fn features_to_json(features: FeatureSet) -> Value {
    let mainnet = FeatureSet::mainnet();
    let ids = |set: FeatureSet, other: FeatureSet| -> Vec<String> {
        let ids = set.iter().filter(|feature| !other.has(*feature));
        ids.map(|feature| feature.address().to_string()).collect()
    };
    let (on, off) = (ids(features, mainnet), ids(mainnet, features));
    if on.is_empty() && off.is_empty() {
        return json!(MAINNET);
    }
    json!({ "base": MAINNET, "on": on, "off": off })
}

fn features_from_json(value: &Value) -> Result<FeatureSet, String> {
    let base = value.as_str().or_else(|| value.get("base")?.as_str());
    if base != Some(MAINNET) {
        return Err(format!("`features` is based on {base:?}, not on {MAINNET}"));
    }
    let list = |name: &str| -> Vec<Feature> {
        let ids = value.get(name).and_then(Value::as_array).into_iter().flatten();
        let ids = ids.filter_map(|id| id.as_str()?.parse().ok());
        // Features that the runtime does not depend on have no row.
        ids.filter_map(|id: Pubkey| Feature::from_address(&id)).collect()
    };
    let features = list("on").into_iter().fold(FeatureSet::mainnet(), FeatureSet::with);
    Ok(list("off").into_iter().fold(features, FeatureSet::without))
}
