//! Accounts of another cluster, over its RPC.

use core::time::Duration;

use anyhow::{Context as _, Result, bail};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::{
    Account, AccountSharedData, Pubkey, ReadableAccount as _, ids::bpf_loader_upgradeable,
};
use selkie_node::Fetch;
use serde::Deserialize;
use serde_json::json;

/// The most addresses that one request may have.
const ADDRESSES_MAX: usize = 100;
/// The largest answer: a hundred of the largest accounts, in base64.
const ANSWER_BYTES_MAX: u64 = 1 << 31;
const TIMEOUT: Duration = Duration::from_secs(30);

/// Names of clusters that the Solana CLI knows.
const CLUSTERS: &[(&[&str], &str)] = &[
    (&["m", "mainnet", "mainnet-beta"], "https://api.mainnet-beta.solana.com"),
    (&["t", "testnet"], "https://api.testnet.solana.com"),
    (&["d", "devnet"], "https://api.devnet.solana.com"),
    (&["l", "localhost"], "http://localhost:8899"),
];

/// Another cluster's RPC server.
#[derive(Debug)]
pub(super) struct Remote {
    agent: ureq::Agent,
    url: String,
}

#[derive(Deserialize)]
struct Answer {
    result: Option<Found>,
    error: Option<Failure>,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
}

#[derive(Deserialize)]
struct Found {
    value: Vec<Option<Encoded>>,
}

#[derive(Deserialize)]
struct Encoded {
    lamports: u64,
    data: (String, String),
    owner: String,
    executable: bool,
}

impl Remote {
    /// Takes a URL or the name of a cluster.
    pub(super) fn new(url: &str) -> Self {
        let named = CLUSTERS.iter().find(|(names, _)| names.contains(&url));
        let url = named.map_or(url, |(_, url)| url).to_owned();
        let config = ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).build();
        Self { agent: config.into(), url }
    }

    /// Returns the accounts at any number of addresses, in their order.
    pub(super) fn accounts(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>> {
        let mut accounts = Vec::new();
        for keys in keys.chunks(ADDRESSES_MAX) {
            let found = self.request(keys).with_context(|| format!("cannot ask {}", self.url))?;
            accounts.extend(found);
        }
        Ok(accounts)
    }

    /// Returns accounts that have to exist, and the programdata accounts of programs among them.
    pub(super) fn clone_accounts(
        &self,
        keys: &[Pubkey],
    ) -> Result<Vec<(Pubkey, AccountSharedData)>> {
        let mut found = Vec::new();
        for (key, account) in keys.iter().zip(self.accounts(keys)?) {
            let account = account.with_context(|| format!("{} has no account {key}", self.url))?;
            found.push((*key, account));
        }
        let data: Vec<Pubkey> = found.iter().filter_map(|(_, it)| program_data(it)).collect();
        for (key, account) in data.iter().zip(self.accounts(&data)?) {
            found.extend(account.map(|account| (*key, account)));
        }
        Ok(found)
    }

    fn request(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>> {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "getMultipleAccounts",
            "params": [keys, { "encoding": "base64" }],
        });
        let mut response = self
            .agent
            .post(&self.url)
            .header("content-type", "application/json")
            .send(body.to_string())?;
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec()?;
        match serde_json::from_slice(&body)? {
            Answer { result: Some(found), .. } if found.value.len() == keys.len() => {
                found.value.into_iter().map(|it| it.map(Encoded::decode).transpose()).collect()
            }
            Answer { error: Some(failure), .. } => bail!(failure.message),
            _ => bail!("the answer is not that of getMultipleAccounts"),
        }
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
    let is_program = *account.owner() == bpf_loader_upgradeable::ID;
    is_program.then(|| key.try_into().ok().map(Pubkey::new_from_array)).flatten()
}

impl Fetch for Remote {
    fn fetch(&self, keys: &[Pubkey]) -> Result<Vec<Option<AccountSharedData>>, String> {
        self.accounts(keys).map_err(|error| format!("{error:#}"))
    }
}
