//! Converts cases to and from conformance vectors of the kind `svm`.

use std::{collections::HashMap, fs, io, path::Path, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    agave::RELEASE,
    case::{Account, Accounts, Case, Features, Key},
    observed::{Inner, Observed, Stage, name},
};

/// The features from which all vectors list their differences.
const MAINNET: &str = "mainnet-2026-09-27";

#[derive(Deserialize)]
struct Vector {
    id: String,
    slot: u64,
    epoch: u64,
    features: Value,
    sigverify: bool,
    lamports_per_signature: u64,
    blockhash_queue: Vec<String>,
    already_processed: bool,
    epoch_total_stake: u64,
    vote_stakes: HashMap<String, u64>,
    accounts: Vec<AccountRow>,
    tx: String,
    expect: Expect,
}

#[derive(Deserialize, Serialize)]
struct AccountRow {
    k: String,
    l: u64,
    o: String,
    x: bool,
    r: String,
    d: String,
}

#[derive(Deserialize)]
struct Expect {
    stage: Stage,
    result: Value,
    result_str: String,
    fee: u64,
    cu: u64,
    loaded_accounts_data_size: u64,
    return_data: Option<ReturnRow>,
    logs: Vec<String>,
    inner: Vec<Vec<InnerRow>>,
    post: Vec<AccountRow>,
}

#[derive(Deserialize, Serialize)]
struct ReturnRow {
    program: String,
    data: String,
}

#[derive(Deserialize, Serialize)]
struct InnerRow {
    program_idx: u8,
    accounts: Vec<u8>,
    data: String,
    stack_height: u8,
}

/// Large data by name, read once: the same data is then the same memory.
pub(crate) struct Blobs<'a> {
    folders: &'a [&'a Path],
    read: HashMap<String, Arc<Vec<u8>>>,
}

impl<'a> Blobs<'a> {
    pub(crate) fn new(folders: &'a [&'a Path]) -> Self {
        Self { folders, read: HashMap::new() }
    }

    fn data(&mut self, text: &str) -> io::Result<Arc<Vec<u8>>> {
        let Some(hash) = text.strip_prefix("blob:") else {
            return Ok(Arc::new(STANDARD.decode(text).map_err(io::Error::other)?));
        };
        if let Some(found) = self.read.get(hash) {
            return Ok(Arc::clone(found));
        }
        let file = format!("{hash}.bin");
        let path = self.folders.iter().map(|folder| folder.join(&file)).find(|it| it.exists());
        let path = path.ok_or_else(|| io::Error::other(format!("no blob {file}")))?;
        let data = Arc::new(fs::read(path)?);
        self.read.insert(hash.to_owned(), Arc::clone(&data));
        Ok(data)
    }

    fn account(&mut self, row: &AccountRow) -> io::Result<(Key, Account)> {
        let account = Account {
            lamports: row.l,
            owner: key(&row.o)?,
            executable: row.x,
            rent_epoch: row.r.parse().map_err(io::Error::other)?,
            data: self.data(&row.d)?,
        };
        Ok((key(&row.k)?, account))
    }
}

pub(crate) fn key(text: &str) -> io::Result<Key> {
    let bytes = bs58::decode(text).into_vec().map_err(io::Error::other)?;
    bytes.try_into().map_err(|_| io::Error::other(format!("not an address: {text}")))
}

/// Reads one line.
pub(crate) fn read(line: &str, blobs: &mut Blobs<'_>) -> io::Result<(Case, Observed)> {
    let vector: Vector = serde_json::from_str(line)?;
    let list = |name: &str| -> io::Result<Vec<Key>> {
        let ids = vector.features.get(name).and_then(Value::as_array);
        ids.into_iter().flatten().map(|id| key(id.as_str().unwrap_or_default())).collect()
    };
    let mut accounts = Accounts::new();
    for row in &vector.accounts {
        let (key, account) = blobs.account(row)?;
        accounts.insert(key, account);
    }
    let case = Case {
        slot: vector.slot,
        epoch: vector.epoch,
        features: Features { on: list("on")?, off: list("off")? },
        sigverify: vector.sigverify,
        lamports_per_signature: vector.lamports_per_signature,
        blockhashes: vector.blockhash_queue.iter().map(|it| key(it)).collect::<io::Result<_>>()?,
        already_processed: vector.already_processed,
        epoch_total_stake: vector.epoch_total_stake,
        vote_stakes: vector
            .vote_stakes
            .iter()
            .map(|(vote, stake)| Ok((key(vote)?, *stake)))
            .collect::<io::Result<_>>()?,
        accounts,
        transactions: vec![STANDARD.decode(&vector.tx).map_err(io::Error::other)?],
        id: vector.id,
    };
    Ok((case, observed(&vector.expect, blobs)?))
}

fn observed(expect: &Expect, blobs: &mut Blobs<'_>) -> io::Result<Observed> {
    let decode = |text: &str| STANDARD.decode(text).map_err(io::Error::other);
    let inner = |row: &InnerRow| -> io::Result<Inner> {
        Ok(Inner {
            program_index: row.program_idx,
            accounts: row.accounts.clone(),
            data: unhex(&row.data)?,
            stack_height: row.stack_height,
        })
    };
    let return_data = expect.return_data.as_ref();
    Ok(Observed {
        stage: expect.stage,
        result: expect.result_str.clone(),
        result_json: expect.result.clone(),
        fee: expect.fee,
        compute_units: expect.cu,
        loaded_accounts_data_size: expect.loaded_accounts_data_size,
        logs: expect.logs.clone(),
        inner: expect
            .inner
            .iter()
            .map(|rows| rows.iter().map(inner).collect())
            .collect::<io::Result<_>>()?,
        return_data: return_data
            .map(|it| -> io::Result<_> { Ok((key(&it.program)?, decode(&it.data)?)) })
            .transpose()?,
        post: expect.post.iter().map(|row| blobs.account(row)).collect::<io::Result<_>>()?,
    })
}

/// Writes the first transaction of `case` with its expected result as one line. Data is written in
/// full, whatever its size.
pub(crate) fn write(case: &Case, expected: &Observed) -> String {
    let transaction = case.transactions.first().map(Vec::as_slice).unwrap_or_default();
    let names = |keys: &[Key]| keys.iter().map(name).collect::<Vec<_>>();
    let Features { on, off } = &case.features;
    let features = if on.is_empty() && off.is_empty() {
        json!(MAINNET)
    } else {
        json!({ "base": MAINNET, "on": names(on), "off": names(off) })
    };
    let inner = |it: &Inner| {
        json!({
            "program_idx": it.program_index, "accounts": it.accounts,
            "data": hex(&it.data), "stack_height": it.stack_height,
        })
    };
    let stakes = case.vote_stakes.iter().map(|(vote, stake)| (name(vote), json!(stake)));
    json!({
        "id": case.id,
        "release": RELEASE.to_string(),
        "slot": case.slot,
        "epoch": case.epoch,
        "features": features,
        "sigverify": case.sigverify,
        "lamports_per_signature": case.lamports_per_signature,
        "blockhash_queue": names(&case.blockhashes),
        "already_processed": case.already_processed,
        "epoch_total_stake": case.epoch_total_stake,
        "vote_stakes": stakes.collect::<serde_json::Map<_, _>>(),
        "accounts": rows(&case.accounts),
        "tx": STANDARD.encode(transaction),
        "expect": {
            "stage": expected.stage,
            "result": expected.result_json,
            "result_str": expected.result,
            "fee": expected.fee,
            "cu": expected.compute_units,
            "loaded_accounts_data_size": expected.loaded_accounts_data_size,
            "return_data": expected.return_data.as_ref().map(|(program, data)| {
                json!({ "program": name(program), "data": STANDARD.encode(data) })
            }),
            "logs": expected.logs,
            "inner": expected
                .inner
                .iter()
                .map(|list| list.iter().map(inner).collect::<Vec<_>>())
                .collect::<Vec<_>>(),
            "post": rows(&expected.post),
        },
    })
    .to_string()
}

/// The data of inner instructions is hexadecimal, unlike all other data.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> io::Result<Vec<u8>> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2).unwrap_or("-"), 16);
    (0..text.len()).step_by(2).map(byte).collect::<Result<_, _>>().map_err(io::Error::other)
}

fn rows(accounts: &Accounts) -> Vec<AccountRow> {
    let row = |(key, account): (&Key, &Account)| AccountRow {
        k: name(key),
        l: account.lamports,
        o: name(&account.owner),
        x: account.executable,
        r: account.rent_epoch.to_string(),
        d: STANDARD.encode(account.data.as_slice()),
    };
    accounts.iter().map(row).collect()
}
