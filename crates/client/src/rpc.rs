//! A cluster's JSON-RPC server: accounts, blockhashes, and sending transactions.

mod answer;
mod clone;
#[cfg_attr(not(feature = "http"), path = "rpc/absent.rs")]
mod http;
mod replays;

use core::time::Duration;
use selkie_isa::failure::{Context as _, Failure, OrFailure as _, Result};
use std::thread;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{
    Account, AccountSharedData, FeatureSet, Hash, Pubkey, ReadableAccount as _, Signature,
    VersionedTransaction, ids,
};
use selkie_layout::loader::{PROGRAM_BYTES, PROGRAM_STATE, State};
use selkie_svm::features;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use self::answer::AtMost;

/// The largest answer, unless accounts or lists are asked for.
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// The largest answer that lists something.
const LIST_BYTES_MAX: u64 = 64 << 20;
/// The data of an account.
const ACCOUNT_BYTES_MAX: usize = 10 << 20;
/// The largest answer for an account, and for several: more are asked for in parts.
const ACCOUNT_ANSWER_BYTES_MAX: u64 = 15 << 20;
const ACCOUNTS_ANSWER_BYTES_MAX: u64 = 128 << 20;
/// The most addresses that `getMultipleAccounts` takes.
const ADDRESSES_MAX: usize = 100;
/// The most signatures that `getSignatureStatuses` takes.
const SIGNATURES_MAX: usize = 256;
/// How long to wait between two looks at transactions, at first and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// How often transactions are sent again without being signed again, at most.
const ATTEMPTS: u32 = 5;

/// Names of clusters that the Solana CLI knows.
const CLUSTERS: &[(&[&str], &str)] = &[
    (&["m", "mainnet", "mainnet-beta"], "https://api.mainnet-beta.solana.com"),
    (&["t", "testnet"], "https://api.testnet.solana.com"),
    (&["d", "devnet"], "https://api.devnet.solana.com"),
    (&["l", "localhost"], "http://localhost:8899"),
];

/// A cluster's RPC server.
#[derive(Debug)]
pub struct Client {
    http: http::Http,
    url: String,
}

#[derive(Deserialize)]
struct WithContext<T> {
    value: T,
}

#[derive(Deserialize)]
struct Encoded {
    lamports: u64,
    data: (String, String),
    owner: String,
    executable: bool,
}

/// An account of which only the address is read.
#[derive(Deserialize)]
struct Keyed {
    pubkey: String,
}

#[derive(Deserialize)]
struct Latest {
    blockhash: String,
}

/// A transaction that has landed.
#[derive(Clone, Debug)]
pub struct LandedIn {
    /// The slot.
    pub slot: u64,
    /// Why it failed, as the cluster says it.
    pub error: Option<Value>,
}

/// What a cluster says about a transaction that has landed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    slot: u64,
    err: Option<Value>,
    confirmation_status: Option<String>,
}

impl Client {
    /// Takes a URL or the name of a cluster.
    pub fn new(url: &str) -> Result<Self> {
        let named = CLUSTERS.iter().find(|(names, _)| names.contains(&url));
        let url = named.map_or(url, |(_, url)| url).to_owned();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(Failure::new(format!(
                "`{url}` is neither a URL nor the name of a cluster"
            )))
            .advise("for example localhost, devnet or http://127.0.0.1:8899");
        }
        Ok(Self { http: http::Http::new()?, url })
    }

    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Calls a method that gives a short answer.
    pub fn call<T: DeserializeOwned>(&self, method: &str, params: &Value) -> Result<T> {
        self.call_for(method, params, ANSWER_BYTES_MAX)
    }

    /// Calls a method that gives an answer of up to so many bytes.
    pub fn call_for<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &Value,
        bytes_max: u64,
    ) -> Result<T> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self
            .http
            .post(&self.url, body.to_string(), bytes_max)
            .with_context(|| format!("cannot ask {}", self.url))
            .advise("check that it runs; `selkie node` starts a local cluster")?;
        match answer::parse(&answer) {
            Ok(result) => Ok(result.or_failure()?),
            Err(error) if answer::is_answer(&answer) => {
                Err(error).with_context(|| format!("{} answers {method} in another form", self.url))
            }
            Err(error) => Err(error)
                .with_context(|| format!("{} does not answer as a Solana cluster does", self.url)),
        }
    }

    /// Returns the slot.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn slot(&self) -> Result<u64> {
        self.call("getSlot", &json!([{ "commitment": "confirmed" }]))
    }

    /// Returns the newest blockhash.
    ///
    /// # Errors
    /// If the server cannot be asked.
    pub fn latest_blockhash(&self) -> Result<Hash> {
        let params = json!([{ "commitment": "confirmed" }]);
        let latest: WithContext<Latest> = self.call("getLatestBlockhash", &params)?;
        latest.value.blockhash.parse().or_failure()
    }

    /// Returns the features that are active.
    pub fn features(&self) -> Result<FeatureSet> {
        let keys: Vec<Pubkey> = FeatureSet::all().iter().map(|it| it.address()).collect();
        let accounts = self.accounts(&keys)?;
        let found = keys.iter().zip(&accounts);
        Ok(features::from_accounts(found.filter_map(|(key, it)| Some((key, it.as_ref()?)))))
    }

    /// Returns the accounts at any number of addresses, in their order.
    pub fn accounts(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>> {
        let mut accounts = Vec::new();
        // Those that are left, first ones last: an answer that is too large is asked for in halves.
        let mut left: Vec<&[Pubkey]> = keys.chunks(ADDRESSES_MAX).rev().collect();
        while let Some(keys) = left.pop() {
            match self.accounts_at_once(keys) {
                Err(error) if keys.len() > 1 && http::is_too_large(&error) => {
                    let (first, second) = keys.split_at(keys.len() / 2);
                    left.extend([second, first]);
                }
                found => accounts.extend(found?),
            }
        }
        Ok(accounts)
    }

    fn accounts_at_once(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>> {
        let texts: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let params = json!([texts, { "encoding": "base64", "commitment": "confirmed" }]);
        let bytes_max = ACCOUNT_ANSWER_BYTES_MAX.saturating_mul(keys.len() as u64);
        let bytes_max = bytes_max.min(ACCOUNTS_ANSWER_BYTES_MAX);
        let found: WithContext<AtMost<Option<Encoded>, ADDRESSES_MAX>> =
            self.call_for("getMultipleAccounts", &params, bytes_max)?;
        let AtMost(found) = found.value;
        if found.len() != keys.len() {
            return Err(Failure::new(format!(
                "{} answers with {} accounts for {}",
                self.url,
                found.len(),
                keys.len()
            )));
        }
        let decoded = found.into_iter().zip(keys).map(|(account, key)| {
            let account = account.map(Encoded::decode).transpose();
            account.with_context(|| format!("{} answers for {key}", self.url))
        });
        decoded.collect()
    }

    /// Returns the accounts that exist, and the programdata accounts of programs among them.
    pub fn with_program_data(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<(Pubkey, Option<AccountSharedData>)>> {
        let mut found: Vec<_> = keys.iter().copied().zip(self.accounts(keys)?).collect();
        let programs = found.iter().filter_map(|(_, it)| program_data(it.as_ref()?));
        let data: Vec<Pubkey> = programs.collect();
        found.extend(data.iter().copied().zip(self.accounts(&data)?));
        Ok(found)
    }

    /// Returns the addresses of the programs of loader v3.
    pub fn programs(&self) -> Result<Vec<Pubkey>> {
        let tag = bs58::encode(PROGRAM_STATE.to_le_bytes()).into_string();
        let params = json!([ids::bpf_loader_upgradeable::ID.to_string(), {
            "commitment": "confirmed",
            "encoding": "base64",
            "dataSlice": { "offset": 0, "length": 0 },
            "filters": [{ "dataSize": PROGRAM_BYTES }, { "memcmp": { "offset": 0, "bytes": tag } }],
        }]);
        let programs: Vec<Keyed> = self.call_for("getProgramAccounts", &params, LIST_BYTES_MAX)?;
        programs.iter().map(|it| it.pubkey.parse().or_failure()).collect()
    }

    /// Returns the addresses of an owner's token accounts of a token program.
    pub fn tokens(&self, owner: &Pubkey, program: &Pubkey) -> Result<Vec<Pubkey>> {
        let params = json!([owner.to_string(), { "programId": program.to_string() }, {
            "commitment": "confirmed",
            "encoding": "base64",
        }]);
        let found: WithContext<Vec<Keyed>> =
            self.call_for("getTokenAccountsByOwner", &params, LIST_BYTES_MAX)?;
        found.value.iter().map(|it| it.pubkey.parse().or_failure()).collect()
    }

    /// Asks the faucet for lamports and waits until they are there.
    pub fn airdrop(&self, to: &Pubkey, lamports: u64) -> Result<()> {
        let params = json!([to.to_string(), lamports, { "commitment": "confirmed" }]);
        let signature: String = self.call("requestAirdrop", &params)?;
        let mut slots = [None];
        self.await_all(&[signature.parse().or_failure()?], &mut slots)?;
        match slots {
            [Some(_)] => Ok(()),
            [None] => Err(Failure::new(format!("the airdrop {signature} does not land"))),
        }
    }

    /// Sends a transaction that is signed, and waits until it is confirmed. Returns its slot.
    pub fn send(&self, transaction: &VersionedTransaction) -> Result<u64> {
        let sign = |_: Hash| vec![transaction.clone()];
        self.send_all(&sign, transaction.message.recent_blockhash()).map(|slots| slots[0])
    }

    /// Sends a transaction that is signed without the cluster's simulation before that, and waits until it
    /// is confirmed, also if it fails.
    pub fn send_unchecked(&self, transaction: &VersionedTransaction) -> Result<LandedIn> {
        self.submit(transaction, true)?;
        let signature = transaction.signatures.first().copied().unwrap_or_default();
        let mut landed = [None];
        self.await_landed(&[signature], &mut landed)?;
        let why = || Failure::new(format!("the transaction {signature} did not land"));
        let [landed] = landed;
        landed
            .ok_or_else(why)
            .advise("its fee payer may lack lamports, or its blockhash is too old")
    }

    /// Sends transactions in any order, and waits until all are confirmed. Returns their slots.
    /// They are signed for a new blockhash when the old one has expired.
    pub fn send_all(
        &self,
        sign: &dyn Fn(Hash) -> Vec<VersionedTransaction>,
        first: &Hash,
    ) -> Result<Vec<u64>> {
        let mut transactions = sign(*first);
        let mut slots: Vec<Option<u64>> = vec![None; transactions.len()];
        for _ in 0..ATTEMPTS {
            let is_alone = transactions.len() == 1;
            for (transaction, _) in transactions.iter().zip(&slots).filter(|it| it.1.is_none()) {
                self.submit(transaction, !is_alone)?;
            }
            let signatures = transactions.iter().map(|it| it.signatures.first().copied());
            let signatures: Vec<Signature> = signatures.map(Option::unwrap_or_default).collect();
            self.await_all(&signatures, &mut slots)?;
            if slots.iter().all(Option::is_some) {
                return Ok(slots.into_iter().flatten().collect());
            }
            let next = sign(self.latest_blockhash()?);
            for ((old, new), slot) in transactions.iter_mut().zip(next).zip(&slots) {
                if slot.is_none() {
                    *old = new;
                }
            }
        }
        let missing = slots.iter().filter(|slot| slot.is_none()).count();
        Err(Failure::new(format!("{missing} of {} transactions did not land", slots.len())))
            .advise("the cluster may be too busy; try again")
    }

    fn submit(&self, transaction: &VersionedTransaction, skip_preflight: bool) -> Result<()> {
        let wire = BASE64_STANDARD.encode(wincode::serialize(transaction).or_failure()?);
        let params = json!([wire, {
            "encoding": "base64",
            "skipPreflight": skip_preflight,
            "preflightCommitment": "confirmed",
        }]);
        self.call::<String>("sendTransaction", &params).map(drop)
    }

    /// Waits until transactions that succeed are confirmed, or have waited for as long as is worth it.
    fn await_all(&self, signatures: &[Signature], slots: &mut [Option<u64>]) -> Result<()> {
        let mut landed: Vec<Option<LandedIn>> =
            slots.iter().map(|slot| slot.map(|slot| LandedIn { slot, error: None })).collect();
        self.await_landed(signatures, &mut landed)?;
        for ((slot, landed), signature) in slots.iter_mut().zip(landed).zip(signatures) {
            let Some(landed) = landed else { continue };
            if let Some(error) = landed.error {
                return Err(Failure::new(format!("the transaction {signature} failed: {error}")));
            }
            *slot = Some(landed.slot);
        }
        Ok(())
    }

    /// Waits until transactions are confirmed, one has failed, or they have waited for as long as is worth
    /// it.
    fn await_landed(
        &self,
        signatures: &[Signature],
        landed: &mut [Option<LandedIn>],
    ) -> Result<()> {
        let (mut wait, most) = WAITS;
        // Until a blockhash that was new then has expired: about a minute.
        for _ in 0..120 {
            for (status, landed) in self.statuses(signatures)?.into_iter().zip(&mut *landed) {
                let Some(Status { slot, err, confirmation_status }) = status else { continue };
                let is_confirmed = confirmation_status.is_some_and(|it| it != "processed");
                if is_confirmed || err.is_some() {
                    *landed = Some(LandedIn { slot, error: err });
                }
            }
            let has_failed = landed.iter().flatten().any(|it: &LandedIn| it.error.is_some());
            if has_failed || landed.iter().all(Option::is_some) {
                break;
            }
            thread::sleep(wait);
            wait = wait.saturating_mul(2).min(most);
        }
        Ok(())
    }

    fn statuses(&self, signatures: &[Signature]) -> Result<Vec<Option<Status>>> {
        let mut all = Vec::new();
        for signatures in signatures.chunks(SIGNATURES_MAX) {
            let texts: Vec<String> = signatures.iter().map(ToString::to_string).collect();
            let found: WithContext<AtMost<Option<Status>, SIGNATURES_MAX>> =
                self.call("getSignatureStatuses", &json!([texts]))?;
            all.extend(found.value.0);
        }
        Ok(all)
    }
}

impl Encoded {
    fn decode(self) -> Result<AccountSharedData> {
        if self.data.0.len() > ACCOUNT_BYTES_MAX.div_ceil(3) * 4 {
            return Err(Failure::new(format!(
                "an account has more than {ACCOUNT_BYTES_MAX} bytes"
            )));
        }
        Ok(AccountSharedData::from(Account {
            lamports: self.lamports,
            data: BASE64_STANDARD.decode(self.data.0).or_failure()?,
            owner: self.owner.parse().or_failure()?,
            executable: self.executable,
            rent_epoch: u64::MAX,
        }))
    }
}

/// Returns the address of a program's data, if the account is a program of the upgradeable loader.
fn program_data(account: &AccountSharedData) -> Option<Pubkey> {
    let State::Program { program_data } = State::of_data(account.data())? else { return None };
    (*account.owner() == ids::bpf_loader_upgradeable::ID).then_some(program_data)
}
