//! [`Replay`]: a case with its recorded result as a line of JSON, in the format of conformance vectors of
//! kind `svm` (see `selkie conform`).
//!
//! ```text
//! id, suite, number       its name; the test executable, and which transaction of its test it is
//! features                `mainnet-2026-09-27`, or an object with `base`, `on` and `off`
//! release, alpenglow      the release of agave whose behaviour holds, and whether the cluster has migrated
//! accounts                all accounts before it, those of sysvars included
//! blockhash_queue         oldest first; already_processed, lamports_per_signature, sigverify
//! epoch_total_stake       and vote_stakes, by vote account
//! tx                      the transaction in base64; or in its place:
//! instructions, given     instructions outside of one, and which accounts were given with them
//! compute_unit_limit      and heap_bytes: the budget, if it is not what the transaction requests
//! log_bytes_max           and fixed_compute_unit_limit: limits that are not those of all clusters
//! empty_below_rent        whether accounts without data may keep fewer lamports than rent asks for
//! names, symbols          names of accounts; files that may have debug information
//! expect                  the result
//! ```

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use selkie_svm::{
    BlockhashQueue, ComputeBudget, Environment, EpochStake, Feature, FeatureSet, Processed,
    Release, Sysvars,
    cost::{HEAP_BYTES_MAX, LOG_BYTES_MAX},
};
use serde_json::{Map, Value, json};
use solana_hash::Hash;
use solana_instruction::{AccountMeta, Instruction};
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{
    accounts::Accounts,
    case::{Case, CaseOptions, INSTRUCTION_BUDGET, Input, blockhashes},
    environment::set_sysvars,
    error::{ReplayError, malformed},
    expected::{Expected, hex},
    json::{account_to_json, base64, read_account, to_base64, unhex},
};

/// The feature set to which replays list differences.
const MAINNET: &str = "mainnet-2026-09-27";

/// The highest compute unit limit that a replay sets. It bounds how long it takes; that of transactions is
/// 1.4 million.
const COMPUTE_UNIT_LIMIT_MAX: u64 = 1_000_000_000;

/// A case with its recorded result, as a line of a replay file. It is decoded when it is asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Replay(Value);

/// The recorded result of a replay, in short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recorded<'a> {
    /// `Ok`, or the error as `{:?}` prints it; empty if none was recorded.
    pub result: &'a str,
    /// The compute units that were consumed.
    pub compute_units: Option<u64>,
}

impl Recorded<'_> {
    /// Returns whether the transaction failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(self.result, "" | "Ok")
    }
}

/// Prints one line of JSON.
impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the line.
impl From<Replay> for Value {
    fn from(replay: Replay) -> Self {
        replay.0
    }
}

/// Takes a line.
impl TryFrom<Value> for Replay {
    type Error = ReplayError;

    /// # Errors
    /// If it lacks accounts or blockhashes. Reading its parts finds other errors.
    fn try_from(line: Value) -> Result<Self, ReplayError> {
        let replay = Self(line);
        for name in ["accounts", "blockhash_queue"] {
            replay.field(name)?;
        }
        Ok(replay)
    }
}

impl Replay {
    /// Writes a case with its result.
    #[must_use]
    pub fn new(id: &str, case: &Case, expected: &Expected) -> Self {
        let environment = &*case.environment;
        let accounts = case.all_accounts();
        let accounts = accounts.iter().map(|(key, account)| account_to_json(key, account));
        let stakes = environment.epoch_stake.vote_accounts.iter();
        let stakes = stakes.map(|(key, stake)| (key.to_string(), json!(stake)));
        let hashes = needed_blockhashes(case).into_iter().map(|it| it.to_string());
        let mut value = json!({
            "id": id,
            "slot": environment.slot(),
            "epoch": case.epoch(),
            "features": features_to_json(environment.features),
            "release": environment.release.to_string(),
            "sigverify": case.options.verifies_signatures,
            "lamports_per_signature": environment.lamports_per_signature,
            "blockhash_queue": hashes.collect::<Vec<_>>(),
            "already_processed": is_processed(case),
            "epoch_total_stake": environment.epoch_stake.total,
            "vote_stakes": Value::Object(stakes.collect()),
            "accounts": accounts.collect::<Vec<_>>(),
            "expect": expected.to_json(),
        });
        if let Some(fields) = value.as_object_mut() {
            if environment.is_alpenglow {
                fields.insert("alpenglow".to_owned(), json!(true));
            }
            fields.extend(input_to_json(case));
        }
        Self(value)
    }

    /// Parses a line.
    ///
    /// # Errors
    /// If it is not JSON, or lacks accounts or blockhashes. Reading its parts finds other errors.
    pub fn parse(line: &str) -> Result<Self, ReplayError> {
        let value: Value = serde_json::from_str(line).map_err(|it| malformed(it.to_string()))?;
        value.try_into()
    }

    /// Returns its name: of a recording that of the test, or else the signature.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0["id"].as_str().unwrap_or_default()
    }

    /// Returns the name of the test executable that recorded it, if one did.
    #[must_use]
    pub fn suite(&self) -> Option<&str> {
        self.0["suite"].as_str()
    }

    /// Returns which transaction of its test it is, from 1, if a test recorded it.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        self.0["number"].as_u64()
    }

    /// Returns the recorded result in short, as far as it is recorded.
    #[must_use]
    pub fn recorded(&self) -> Recorded<'_> {
        let expected = &self.0["expect"];
        Recorded {
            result: expected["result_str"].as_str().unwrap_or_default(),
            compute_units: expected["cu"].as_u64(),
        }
    }

    /// Returns the recorded result, if there is one. `blob` returns account data that the line refers to by
    /// name.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn expected(
        &self,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Option<Expected>, ReplayError> {
        self.0.get("expect").map(|it| Expected::read(it, blob)).transpose()
    }

    /// Compares a result with the recorded one. Returns a sentence for each difference.
    ///
    /// # Errors
    /// If the recorded result is malformed.
    pub fn differences(
        &self,
        ended: Result<&Processed, &TransactionError>,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Vec<String>, ReplayError> {
        let expected = self.expected(blob)?;
        Ok(expected.map(|it| it.differences(ended)).unwrap_or_default())
    }

    /// Returns the names of accounts.
    #[must_use]
    pub fn names(&self) -> BTreeMap<Pubkey, String> {
        let names = self.0["names"].as_object().into_iter().flatten();
        names.filter_map(|(key, name)| Some((key.parse().ok()?, name.as_str()?.into()))).collect()
    }

    /// Adds names of accounts, which change no result.
    #[must_use]
    pub fn with_names(mut self, names: &BTreeMap<Pubkey, String>) -> Self {
        if !names.is_empty() {
            let names = names.iter().map(|(key, name)| (key.to_string(), json!(name)));
            self.0["names"] = Value::Object(names.collect());
        }
        self
    }

    /// Sets the release of agave that the line follows. Its recorded result stays that of the earlier one.
    #[must_use]
    pub fn with_release(mut self, release: Release) -> Self {
        self.0["release"] = json!(release.to_string());
        self
    }

    /// Returns the features that the line switches and that no result depends on any longer.
    #[must_use]
    pub fn unknown_features(&self) -> Vec<Pubkey> {
        let features = &self.0["features"];
        let all = ["on", "off"].into_iter().flat_map(|name| feature_ids(features, name));
        all.filter(|id| Feature::from_address(id).is_none()).collect()
    }

    /// Returns the case. `blob` returns account data that the line refers to by name.
    ///
    /// # Errors
    /// If it is malformed.
    pub fn case(&self, blob: &dyn Fn(&str) -> Option<Vec<u8>>) -> Result<Case, ReplayError> {
        let accounts = self.list("accounts")?.iter();
        let accounts: Result<Accounts, _> = accounts.map(|it| read_account(it, blob)).collect();
        let accounts = accounts?;
        let environment = self.environment(&accounts)?;
        let mut case = Case {
            environment: Arc::new(environment),
            accounts,
            options: CaseOptions {
                verifies_signatures: self.0["sigverify"] != Value::Bool(false),
                budget: self.budget(),
                ..CaseOptions::default()
            },
            ..Case::default()
        };
        if self.0.get("instructions").is_some() {
            case.input = self.instructions()?;
            case.blockhashes = Arc::new(self.blockhashes()?);
            return Ok(case);
        }
        let wire = self.field("tx")?.as_str().ok_or_else(|| malformed("`tx` is not a string"))?;
        case.input = Input::decode(base64(wire)?);
        let mut blockhashes = self.blockhashes()?;
        if self.0["already_processed"] == Value::Bool(true)
            && let Some(it) = case.sanitized_transaction()
        {
            blockhashes.add_processed(*it.blockhash(), it.message_id());
        }
        case.blockhashes = Arc::new(blockhashes);
        Ok(case)
    }

    fn environment(&self, accounts: &Accounts) -> Result<Environment, ReplayError> {
        let features = features_from_json(self.field("features")?)?;
        let mut sysvars = Sysvars::empty();
        set_sysvars(&mut sysvars, accounts.iter());
        let price = self.field("lamports_per_signature")?.as_u64();
        let number = |name: &str| self.0[name].as_u64();
        let limit = number("fixed_compute_unit_limit").filter(|it| *it <= COMPUTE_UNIT_LIMIT_MAX);
        let log_bytes_max = number("log_bytes_max").and_then(|it| usize::try_from(it).ok());
        Ok(Environment {
            release: self.release()?,
            is_alpenglow: self.0["alpenglow"] == Value::Bool(true),
            sysvars,
            blockhash: self.blockhashes()?.blockhash().copied().unwrap_or_default(),
            lamports_per_signature: price
                .ok_or_else(|| malformed("`lamports_per_signature` is not a number"))?,
            epoch_stake: self.epoch_stake(),
            log_bytes_max: log_bytes_max.unwrap_or(LOG_BYTES_MAX),
            compute_unit_limit: limit,
            empty_below_rent: self.0["empty_below_rent"] == Value::Bool(true),
            ..selkie_builtins::environment(features)
        })
    }

    /// Returns the release of agave that the line follows. Lines of earlier versions do not say; they
    /// follow that of their time.
    fn release(&self) -> Result<Release, ReplayError> {
        let Some(text) = self.0.get("release") else { return Ok(Release::V4_3) };
        let known = text.as_str().and_then(|text| text.parse().ok());
        known.ok_or_else(|| malformed(format!("`release` is {text}, not one of 4.2 to 4.5")))
    }

    fn blockhashes(&self) -> Result<BlockhashQueue, ReplayError> {
        let hashes = self.list("blockhash_queue")?.iter();
        let hashes = hashes.map(|it| it.as_str().and_then(|text| text.parse().ok()));
        let hashes: Option<Vec<Hash>> = hashes.collect();
        let wrong = || malformed("`blockhash_queue` contains an invalid hash");
        Ok(BlockhashQueue::new(hashes.ok_or_else(wrong)?))
    }

    fn epoch_stake(&self) -> EpochStake {
        let stakes = self.0["vote_stakes"].as_object().into_iter().flatten();
        let stakes = stakes.filter_map(|(key, stake)| Some((key.parse().ok()?, stake.as_u64()?)));
        let total = self.0["epoch_total_stake"].as_u64();
        EpochStake { total: total.unwrap_or(0), vote_accounts: stakes.collect() }
    }

    /// Returns the compute budget, if there is one.
    fn budget(&self) -> Option<ComputeBudget> {
        let limit = self.0["compute_unit_limit"].as_u64();
        let heap_bytes = self.0["heap_bytes"].as_u64().and_then(|it| u32::try_from(it).ok());
        Some(ComputeBudget {
            compute_unit_limit: limit.filter(|it| *it <= COMPUTE_UNIT_LIMIT_MAX)?,
            heap_bytes: heap_bytes.filter(|it| *it <= HEAP_BYTES_MAX)?,
        })
    }

    /// Returns the instructions outside of a transaction.
    fn instructions(&self) -> Result<Input, ReplayError> {
        let instructions = self.list("instructions")?.iter().map(read_instruction);
        let given = self.list("given")?.iter().map(read_key);
        if self.budget().is_none() {
            return Err(malformed(format!(
                "`compute_unit_limit` is not a number up to {COMPUTE_UNIT_LIMIT_MAX}, or \
                 `heap_bytes` none up to {HEAP_BYTES_MAX}"
            )));
        }
        Ok(Input::Instructions {
            instructions: instructions.collect::<Result<_, _>>()?,
            given: given.collect::<Result<_, _>>()?,
        })
    }

    fn field(&self, name: &str) -> Result<&Value, ReplayError> {
        self.0.get(name).ok_or_else(|| malformed(format!("`{name}` is missing")))
    }

    fn list(&self, name: &str) -> Result<&[Value], ReplayError> {
        let list = self.field(name)?.as_array();
        list.map(Vec::as_slice).ok_or_else(|| malformed(format!("`{name}` is not a list")))
    }
}

fn read_key(value: &Value) -> Result<Pubkey, ReplayError> {
    let key = value.as_str().and_then(|text| text.parse().ok());
    key.ok_or_else(|| malformed(format!("{value} is not an address")))
}

fn read_instruction(value: &Value) -> Result<Instruction, ReplayError> {
    let accounts = value["accounts"].as_array();
    let accounts = accounts.ok_or_else(|| malformed("`accounts` is not a list"))?.iter();
    let accounts = accounts.map(|meta| {
        let flags = meta[1].as_str().unwrap_or_default();
        let (is_signer, is_writable) = (flags.contains('s'), flags.contains('w'));
        Ok(AccountMeta { pubkey: read_key(&meta[0])?, is_signer, is_writable })
    });
    let data = value["data"].as_str().and_then(unhex);
    Ok(Instruction {
        program_id: read_key(&value["program"])?,
        accounts: accounts.collect::<Result<_, ReplayError>>()?,
        data: data.ok_or_else(|| malformed("`data` is not hexadecimal"))?,
    })
}

/// Returns whether the transaction of a case was processed before.
fn is_processed(case: &Case) -> bool {
    let transaction = case.sanitized_transaction();
    transaction.is_some_and(|it| case.blockhashes.has_processed(it.blockhash(), it.message_id()))
}

/// Returns the blockhashes that the transaction needs, oldest first: its own if it is recent, and the last
/// one.
fn needed_blockhashes(case: &Case) -> Vec<Hash> {
    let own = case.input.transaction().map(|it| *it.message().recent_blockhash());
    let is_recent = |own: &Hash| !case.options.checks_blockhash || case.blockhashes.is_recent(own);
    let (own, is_recent) = own.map_or_else(Default::default, |own| (own, is_recent(&own)));
    blockhashes(own, is_recent, &case.environment).blockhashes().copied().collect()
}

/// Returns what is run, and the limits that are not those of all clusters.
fn input_to_json(case: &Case) -> Map<String, Value> {
    let Environment { log_bytes_max, compute_unit_limit, empty_below_rent, .. } = *case.environment;
    let mut fields = Vec::new();
    let mut budget = case.options.budget;
    match &case.input {
        Input::Transaction(it) => fields.push(("tx", json!(to_base64(&it.to_wire())))),
        Input::Wire(wire) => fields.push(("tx", json!(to_base64(wire)))),
        Input::Instructions { instructions, given } => {
            let instructions = instructions.iter().map(instruction_to_json);
            let given = given.iter().map(ToString::to_string);
            fields.push(("instructions", instructions.collect()));
            fields.push(("given", given.collect()));
            budget = budget.or(Some(INSTRUCTION_BUDGET));
        }
    }
    if let Some(ComputeBudget { compute_unit_limit, heap_bytes }) = budget {
        fields.push(("compute_unit_limit", json!(compute_unit_limit)));
        fields.push(("heap_bytes", json!(heap_bytes)));
    }
    let limits = [
        ("log_bytes_max", (log_bytes_max != LOG_BYTES_MAX).then(|| json!(log_bytes_max))),
        ("fixed_compute_unit_limit", compute_unit_limit.map(|it| json!(it))),
        ("empty_below_rent", empty_below_rent.then_some(Value::Bool(true))),
    ];
    fields.extend(limits.into_iter().filter_map(|(name, value)| Some((name, value?))));
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn instruction_to_json(it: &Instruction) -> Value {
    let accounts = it.accounts.iter().map(|meta| {
        let flags = [(meta.is_signer, 's'), (meta.is_writable, 'w')];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag);
        json!([meta.pubkey.to_string(), flags.collect::<String>()])
    });
    json!({
        "program": it.program_id.to_string(),
        "accounts": accounts.collect::<Vec<_>>(),
        "data": hex(&it.data),
    })
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

fn feature_ids<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = Pubkey> + use<'a> {
    let ids = value.get(name).and_then(Value::as_array).into_iter().flatten();
    ids.filter_map(|id| id.as_str()?.parse().ok())
}

fn features_from_json(value: &Value) -> Result<FeatureSet, ReplayError> {
    let base = value.as_str().or_else(|| value["base"].as_str());
    if base != Some(MAINNET) {
        return Err(malformed(format!("`features` is based on {base:?}, not on {MAINNET}")));
    }
    // Features that the runtime does not depend on have no row.
    let list = |name| feature_ids(value, name).filter_map(|id| Feature::from_address(&id));
    let features = list("on").fold(FeatureSet::mainnet(), FeatureSet::with);
    Ok(list("off").fold(features, FeatureSet::without))
}
