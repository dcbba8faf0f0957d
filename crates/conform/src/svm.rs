//! Kind `svm`: a transaction with all the state that it needs, and its result according to agave's
//! batch processor and the checks of a bank around it.

use std::{collections::BTreeMap, str::FromStr};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_svm::{
    Account, AccountSharedData, BlockhashQueue, ChainState, Engine, EpochStake, FeatureSet,
    ProcessOptions, Processed, Pubkey, Sysvars, Transaction, Workspace,
    account::AccountStore,
    check::{check, verify_signatures},
    features::Feature,
    process,
    program_cache::ProgramCache,
};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use solana_hash::Hash;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    BadVector, Check, Context, Verdict, runtime,
    vector::{hex, is_kind},
};

/// The name of the runtime's mainnet features in vectors.
const MAINNET: &str = "mainnet-2026-09-27";

#[derive(Deserialize)]
struct Vector {
    features: Features,
    #[serde(default)]
    sigverify: bool,
    #[serde(default)]
    lamports_per_signature: u64,
    /// Oldest first.
    blockhash_queue: Vec<Text<Hash>>,
    #[serde(default)]
    already_processed: bool,
    #[serde(default)]
    epoch_total_stake: u64,
    #[serde(default)]
    vote_stakes: BTreeMap<String, u64>,
    accounts: Vec<State>,
    tx: String,
    expect: Expected,
}

/// The features of a vector: those of mainnet, with changes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Features {
    Base(String),
    Changed { base: String, on: Vec<Key>, off: Vec<Key> },
}

/// An account in a vector: key, lamports, owner, executable flag, data, rent epoch.
#[derive(Deserialize)]
struct State {
    k: Key,
    l: u64,
    o: Key,
    x: bool,
    d: String,
    r: Option<Text<u64>>,
}

/// A value encoded as a string: a number, or an address or hash in base 58.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Text<T>(T);

type Key = Text<Pubkey>;

impl<'de, T: FromStr<Err: core::fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
struct Expected {
    stage: String,
    result_str: String,
    fee: u64,
    cu: u64,
    loaded_accounts_data_size: Option<u32>,
    return_data: Option<Returned>,
    logs: Vec<String>,
    #[serde(default)]
    inner: Vec<Vec<Inner>>,
    post: Vec<State>,
}

#[derive(Deserialize)]
struct Returned {
    program: Key,
    data: String,
}

/// An inner instruction: the account indices of its program and accounts, its data in hex, and its
/// stack height.
#[derive(PartialEq, Eq, Deserialize, Debug)]
struct Inner {
    program_idx: u8,
    accounts: Vec<u8>,
    data: String,
    stack_height: u8,
}

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
    let vector = Vector::deserialize(line)?;
    match Case::new(&vector, context)? {
        Ok(case) => case.judge(&vector.expect, context),
        Err(why) => Ok(Verdict::Skipped(why)),
    }
}

/// The decoded state and transaction of a vector.
struct Case<'v> {
    vector: &'v Vector,
    wire: Vec<u8>,
    accounts: BTreeMap<Pubkey, AccountSharedData>,
    environment: selkie_svm::Environment,
    blockhash_queue: BlockhashQueue,
}

/// The outcome of a transaction: dropped at a stage with an error, or processed.
enum Outcome {
    Dropped(&'static str, String),
    Processed(Box<Processed>),
}

impl<'v> Case<'v> {
    /// Decodes a vector, or returns the reason to skip it.
    fn new(vector: &'v Vector, context: &Context) -> Result<Result<Self, String>, BadVector> {
        let features = match vector.features.set()? {
            Ok(features) => features,
            Err(why) => return Ok(Err(why)),
        };
        let wire = BASE64_STANDARD.decode(&vector.tx).map_err(|error| error.to_string())?;
        let mut accounts = BTreeMap::new();
        let mut sysvars = Sysvars::empty();
        for state in &vector.accounts {
            let account = match state.account(context) {
                Ok(account) => account,
                Err(why) => return Ok(Err(why)),
            };
            if state.o.0 == runtime::SYSVAR_OWNER {
                // Setting succeeds only for the sysvars that programs can read.
                let _ = sysvars.set(state.k.0, &account.data);
            }
            accounts.insert(state.k.0, account.into());
        }
        let mut environment = runtime::environment(features, sysvars);
        let stake = |(key, stake): (&String, &u64)| {
            Pubkey::from_str(key).map(|key| (key, *stake)).map_err(|error| error.to_string())
        };
        let vote_accounts = vector.vote_stakes.iter().map(stake).collect::<Result<_, _>>()?;
        environment.epoch_stake = EpochStake { total: vector.epoch_total_stake, vote_accounts };
        environment.lamports_per_signature = vector.lamports_per_signature;
        let blockhash_queue = BlockhashQueue::new(vector.blockhash_queue.iter().map(|hash| hash.0));
        environment.blockhash = blockhash_queue.blockhash().copied().unwrap_or_default();
        Ok(Ok(Self { vector, wire, accounts, environment, blockhash_queue }))
    }

    fn judge(&self, expect: &Expected, context: &Context) -> Result<Verdict, BadVector> {
        let mut check = Check::default();
        for (single, engine) in context.engine().each_of_runtime() {
            check.set_prefix(single.prefix());
            match self.process(engine) {
                Outcome::Dropped(stage, result) => {
                    check.same("stage", expect.stage.as_str(), stage);
                    check.same("result", &expect.result_str, &result);
                    check.same("post", expect.post.len(), 0);
                    check.same("fee", expect.fee, 0);
                }
                Outcome::Processed(processed) => {
                    self.compare(&mut check, expect, &processed, context)?;
                }
            }
        }
        check.finish()
    }

    fn process(&self, engine: Engine) -> Outcome {
        let dropped = |stage, error| Outcome::Dropped(stage, format!("{error:?}"));
        let features = self.environment.features;
        // The vectors' maker does not ask how long a transaction is on the wire.
        let read = wincode::deserialize_exact::<VersionedTransaction>(&self.wire);
        let transaction = match read.map(|read| Transaction::new(read, features)) {
            Err(_) => return Outcome::Dropped("sanitize", "SanitizeFailure".to_owned()),
            Ok(Ok(transaction)) => transaction,
            Ok(Err(error)) => return dropped("sanitize", error),
        };
        if self.vector.sigverify
            && let Err(error) = verify_signatures(&transaction)
        {
            return dropped("sigverify", error);
        }
        let mut blockhash_queue = self.blockhash_queue.clone();
        if self.vector.already_processed {
            blockhash_queue.add_processed(*transaction.blockhash(), transaction.message_id());
        }
        if let Err(error) = check(&transaction, &self.accounts, &self.environment, &blockhash_queue)
        {
            let text = format!("{error:?}");
            return Outcome::Dropped(stage(&text), text);
        }
        let chain = ChainState {
            accounts: &self.accounts,
            environment: &self.environment,
            blockhash_queue: &blockhash_queue,
            programs: &ProgramCache::new(),
        };
        let options = ProcessOptions { verify_signatures: false, engine, budget: None };
        match process(&transaction, &chain, &options, None, &mut Workspace::default()) {
            Ok(processed) => Outcome::Processed(processed),
            Err(error) => dropped("svm_rejected", error),
        }
    }

    fn compare(
        &self,
        check: &mut Check,
        expect: &Expected,
        processed: &Processed,
        context: &Context,
    ) -> Result<(), BadVector> {
        let stage = if processed.is_executed { "executed" } else { "fees_only" };
        check.same("stage", expect.stage.as_str(), stage);
        let result = processed.result.as_ref();
        let result = result.map_or_else(|error| format!("{error:?}"), |()| "Ok".to_owned());
        check.same("result", &expect.result_str, &result);
        self.compare_accounts(check, expect, processed, context)?;
        check.same("fee", expect.fee, processed.fee.total());
        check.same("cu", expect.cu, processed.compute_units);
        check.same("logs", &expect.logs, &processed.logs);
        let inner =
            processed.inner_instructions.iter().map(|list| list.iter().map(Inner::of).collect());
        let inner: Vec<Vec<Inner>> = inner.collect();
        // A transaction that only pays its fee has no list of inner instructions.
        if processed.is_executed {
            check.same("inner", &expect.inner, &inner);
        }
        let expected = expect.return_data.as_ref().map(|it| (it.program.0, it.data.clone()));
        let got = processed.return_data.as_ref();
        let got = got.map(|it| (it.program_id, BASE64_STANDARD.encode(&it.data)));
        check.same("return_data", expected, got);
        let loaded = expect.loaded_accounts_data_size;
        check.equal("loaded_accounts_data_size", loaded, processed.loaded_bytes);
        Ok(())
    }

    /// Compares every account, changed or not.
    fn compare_accounts(
        &self,
        check: &mut Check,
        expect: &Expected,
        processed: &Processed,
        context: &Context,
    ) -> Result<(), BadVector> {
        let mut after = self.accounts.clone();
        for (key, account) in processed.writes() {
            after.insert(*key, account.clone());
        }
        let mut expected = self.accounts.clone();
        for state in &expect.post {
            expected.insert(state.k.0, state.account(context)?.into());
        }
        let keys: std::collections::BTreeSet<_> = expected.keys().chain(after.keys()).collect();
        for key in keys {
            // The store returns `None` for accounts without lamports.
            let (expected, got) = (expected.account(key), after.account(key));
            if expected != got {
                compare_account(check, key, expected, got);
            }
        }
        Ok(())
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

/// Returns the stage that reports an error.
fn stage(error: &str) -> &'static str {
    const STAGES: [(&str, &[&str]); 5] = [
        ("sanitize", &["SanitizeFailure", "AddressLookup", "InvalidAddressLookup"]),
        ("locks", &["AccountLoadedTwice", "TooManyAccountLocks"]),
        ("age", &["BlockhashNotFound"]),
        ("status_cache", &["AlreadyProcessed"]),
        ("budget", &["InstructionError", "DuplicateInstruction", "InvalidLoadedAccounts"]),
    ];
    let begins = |names: &[&str]| names.iter().any(|name| error.starts_with(name));
    STAGES.iter().find(|(_, names)| begins(names)).map_or("unknown", |(stage, _)| stage)
}

impl Inner {
    fn of(called: &selkie_svm::InnerInstruction) -> Self {
        Self {
            program_idx: called.program_index,
            accounts: called.accounts.clone(),
            data: hex(&called.data),
            stack_height: called.stack_height,
        }
    }
}

impl Features {
    /// Returns the feature set, or the reason to skip the vector.
    fn set(&self) -> Result<Result<FeatureSet, String>, BadVector> {
        let (base, on, off) = match self {
            Self::Base(base) => (base, &[][..], &[][..]),
            Self::Changed { base, on, off } => (base, &on[..], &off[..]),
        };
        if base != MAINNET {
            return Err(BadVector(format!("unknown features {base}")));
        }
        let mut features = FeatureSet::mainnet();
        for (keys, is_on) in [(on, true), (off, false)] {
            for Text(key) in keys {
                let Some(feature) = Feature::from_address(key) else {
                    return Ok(Err(format!("feature {key} cannot be switched")));
                };
                features = if is_on { features.with(feature) } else { features.without(feature) };
            }
        }
        Ok(Ok(features))
    }
}

impl State {
    fn data(&self, context: &Context) -> Result<Vec<u8>, String> {
        match self.d.strip_prefix("blob:") {
            Some(sha) => context.blob(sha).map(|bytes| bytes.to_vec()),
            None => BASE64_STANDARD.decode(&self.d).map_err(|error| error.to_string()),
        }
    }

    fn account(&self, context: &Context) -> Result<Account, String> {
        let data = self.data(context)?;
        let (owner, executable) = (self.o.0, self.x);
        let rent_epoch = self.r.map_or(u64::MAX, |it| it.0);
        Ok(Account { lamports: self.l, data, owner, executable, rent_epoch })
    }
}
