//! A cluster's JSON-RPC server: accounts, blockhashes, and sending transactions.

#[cfg_attr(not(feature = "node"), path = "client/absent.rs")]
mod http;

use core::{fmt, time::Duration};
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{
    Account, AccountSharedData, FeatureSet, Hash, Pubkey, ReadableAccount as _, Signature,
    VersionedTransaction, ids,
};
use selkie_isa::plain;
use selkie_svm::features;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::ui::Advise as _;

/// The most addresses that `getMultipleAccounts` takes.
const ADDRESSES_MAX: usize = 100;
/// The most signatures that `getSignatureStatuses` takes.
const SIGNATURES_MAX: usize = 256;
/// How long to wait between two looks at transactions, at first and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// The log lines of an error that are shown.
const LOG_LINES_MAX: usize = 1000;
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
pub(crate) struct Client {
    http: http::Http,
    url: String,
}

/// An error that the server answers with.
#[derive(Clone, Debug, Deserialize)]
struct Failure {
    message: String,
    #[serde(default)]
    data: Value,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain::line(&self.message))?;
        let logs = self.data["logs"].as_array().into_iter().flatten();
        let logs = logs.filter_map(Value::as_str).map(plain::line);
        logs.take(LOG_LINES_MAX).try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl core::error::Error for Failure {}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    result: Value,
    error: Option<Failure>,
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
    pub(crate) fn new(url: &str) -> Result<Self> {
        let named = CLUSTERS.iter().find(|(names, _)| names.contains(&url));
        let url = named.map_or(url, |(_, url)| url).to_owned();
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(anyhow!("`{url}` is neither a URL nor the name of a cluster"))
                .advise("for example localhost, devnet or http://127.0.0.1:8899");
        }
        Ok(Self { http: http::Http::new()?, url })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Calls a method.
    pub(crate) fn call<T: DeserializeOwned>(&self, method: &str, params: &Value) -> Result<T> {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = self
            .http
            .post(&self.url, body.to_string())
            .with_context(|| format!("cannot ask {}", self.url))
            .advise("check that it runs; `selkie node` starts a local cluster")?;
        let answer: Answer = serde_json::from_slice(&answer)
            .with_context(|| format!("{} does not answer as a Solana cluster does", self.url))?;
        match answer.error {
            Some(failure) => Err(failure.into()),
            None => serde_json::from_value(answer.result)
                .with_context(|| format!("{} answers {method} in another form", self.url)),
        }
    }

    pub(crate) fn slot(&self) -> Result<u64> {
        self.call("getSlot", &json!([{ "commitment": "confirmed" }]))
    }

    pub(crate) fn latest_blockhash(&self) -> Result<Hash> {
        let params = json!([{ "commitment": "confirmed" }]);
        let latest: WithContext<Latest> = self.call("getLatestBlockhash", &params)?;
        Ok(latest.value.blockhash.parse()?)
    }

    /// Returns the features that are active.
    pub(crate) fn features(&self) -> Result<FeatureSet> {
        let keys: Vec<Pubkey> = FeatureSet::all().iter().map(|it| it.address()).collect();
        let accounts = self.accounts(&keys)?;
        let found = keys.iter().zip(&accounts);
        Ok(features::from_accounts(found.filter_map(|(key, it)| Some((key, it.as_ref()?)))))
    }

    /// Returns the accounts at any number of addresses, in their order.
    pub(crate) fn accounts(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>> {
        let mut accounts = Vec::new();
        for keys in keys.chunks(ADDRESSES_MAX) {
            let texts: Vec<String> = keys.iter().map(ToString::to_string).collect();
            let params = json!([texts, { "encoding": "base64", "commitment": "confirmed" }]);
            let found: WithContext<Vec<Option<Encoded>>> =
                self.call("getMultipleAccounts", &params)?;
            if found.value.len() != keys.len() {
                bail!("{} answers with too few accounts", self.url);
            }
            for account in found.value {
                accounts.push(account.map(Encoded::decode).transpose()?);
            }
        }
        Ok(accounts)
    }

    /// Returns the accounts that exist, and the programdata accounts of programs among them.
    pub(crate) fn with_program_data(
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
    pub(crate) fn programs(&self) -> Result<Vec<Pubkey>> {
        let tag = bs58::encode(2_u32.to_le_bytes()).into_string();
        let params = json!([ids::bpf_loader_upgradeable::ID.to_string(), {
            "commitment": "confirmed",
            "encoding": "base64",
            "dataSlice": { "offset": 0, "length": 0 },
            "filters": [{ "dataSize": 36 }, { "memcmp": { "offset": 0, "bytes": tag } }],
        }]);
        let programs: Vec<Keyed> = self.call("getProgramAccounts", &params)?;
        programs.iter().map(|it| Ok(it.pubkey.parse()?)).collect()
    }

    /// Returns the addresses of an owner's token accounts of a token program.
    pub(crate) fn tokens(&self, owner: &Pubkey, program: &Pubkey) -> Result<Vec<Pubkey>> {
        let params = json!([owner.to_string(), { "programId": program.to_string() }, {
            "commitment": "confirmed",
            "encoding": "base64",
        }]);
        let found: WithContext<Vec<Keyed>> = self.call("getTokenAccountsByOwner", &params)?;
        found.value.iter().map(|it| Ok(it.pubkey.parse()?)).collect()
    }

    /// Asks the faucet for lamports and waits until they are there.
    pub(crate) fn airdrop(&self, to: &Pubkey, lamports: u64) -> Result<()> {
        let params = json!([to.to_string(), lamports, { "commitment": "confirmed" }]);
        let signature: String = self.call("requestAirdrop", &params)?;
        let mut slots = [None];
        self.await_all(&[signature.parse()?], &mut slots)?;
        match slots {
            [Some(_)] => Ok(()),
            [None] => bail!("the airdrop {signature} does not land"),
        }
    }

    /// Sends a transaction that is signed, and waits until it is confirmed. Returns its slot.
    pub(crate) fn send(&self, transaction: &VersionedTransaction) -> Result<u64> {
        let sign = |_: Hash| vec![transaction.clone()];
        self.send_all(&sign, transaction.message.recent_blockhash()).map(|slots| slots[0])
    }

    /// Sends transactions in any order, and waits until all are confirmed. Returns their slots.
    /// They are signed for a new blockhash when the old one has expired.
    pub(crate) fn send_all(
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
        Err(anyhow!("{missing} of {} transactions did not land", slots.len()))
            .advise("the cluster may be too busy; try again")
    }

    fn submit(&self, transaction: &VersionedTransaction, skip_preflight: bool) -> Result<()> {
        let wire = BASE64_STANDARD.encode(wincode::serialize(transaction)?);
        let params = json!([wire, {
            "encoding": "base64",
            "skipPreflight": skip_preflight,
            "preflightCommitment": "confirmed",
        }]);
        self.call::<String>("sendTransaction", &params).map(drop)
    }

    /// Waits until transactions are confirmed, or have waited for as long as is worth it.
    fn await_all(&self, signatures: &[Signature], slots: &mut [Option<u64>]) -> Result<()> {
        let (mut wait, most) = WAITS;
        // Until a blockhash that was new then has expired: about a minute.
        for _ in 0..120 {
            for ((status, slot), signature) in
                self.statuses(signatures)?.into_iter().zip(&mut *slots).zip(signatures)
            {
                let Some(status) = status else { continue };
                if let Some(error) = status.err {
                    bail!("the transaction {signature} failed: {error}");
                }
                if status.confirmation_status.is_some_and(|it| it != "processed") {
                    *slot = Some(status.slot);
                }
            }
            if slots.iter().all(Option::is_some) {
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
            let found: WithContext<Vec<Option<Status>>> =
                self.call("getSignatureStatuses", &json!([texts]))?;
            all.extend(found.value);
        }
        Ok(all)
    }
}

impl Encoded {
    fn decode(self) -> Result<AccountSharedData> {
        Ok(AccountSharedData::from(Account {
            lamports: self.lamports,
            data: BASE64_STANDARD.decode(self.data.0)?,
            owner: self.owner.parse()?,
            executable: self.executable,
            rent_epoch: u64::MAX,
        }))
    }
}

/// Returns the address of a program's data, if the account is a program of the upgradeable loader.
fn program_data(account: &AccountSharedData) -> Option<Pubkey> {
    let [2, 0, 0, 0, key @ ..] = account.data() else { return None };
    let is_program = *account.owner() == ids::bpf_loader_upgradeable::ID;
    is_program.then(|| key.try_into().ok().map(Pubkey::new_from_array)).flatten()
}
