//! Kills the node at random moments, and compares what it knows afterwards with what it had said.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::{
    client::Client,
    process::{Launch, Process},
    report::{Figure, Goal, percentile},
    transfers::{FEE_LAMPORTS, Payers, Signed},
};

/// How long the node runs at most before it is killed.
const LIFE_MILLISECONDS_MAX: u64 = 700;
/// Transfers that are signed for a life; it may end before all are sent.
const TRANSFERS: usize = 3000;
/// How many addresses pay; fewer than the transfers of a life by a factor below 1000, which is the
/// most that a request for an address's history returns.
const PAYERS: u64 = 8;
/// After so many kills a line says how far it is.
const KILLS_PER_LINE: usize = 50;
/// Statuses of a request.
const STATUSES_MAX: usize = 256;

/// What the node has said is finalized: the slot of each signature.
type Finalized = BTreeMap<String, u64>;

/// Kills a node with a ledger so many times. The error is what was lost.
pub(crate) fn run(launch: &Launch, scratch: &Path, kills: usize) -> Result<Vec<Figure>> {
    let launch = Launch { ledger: Some(scratch.join("ledger")), ..launch.clone() };
    let mut process = launch.start()?;
    let mut client = Client::connect(&process.addresses.rpc)?;
    let mut payers = Payers::fund(&mut client, PAYERS)?;
    let mut books = Books::open(&mut client, &payers)?;
    let mut moments = Moments::new();
    let (mut times, mut count) = (Vec::new(), 0);
    for kill in 1..=kills {
        let life = moments.next();
        let signed = payers.sign(&mut Client::connect(&process.addresses.rpc)?, TRANSFERS)?;
        let finalized = live(process, &signed, life)?;
        process = launch.start().with_context(|| format!("after kill {kill}"))?;
        times.push(process.ready.as_secs_f64() * 1e3);
        count += finalized.len();
        let mut client = Client::connect(&process.addresses.rpc)?;
        books
            .check(&mut client, &finalized, &signed)
            .with_context(|| format!("after kill {kill}, {life:?} into its life"))?;
        show_progress(kill);
    }
    Ok(vec![
        Figure::new("kills survived", kills as f64, "", Goal::None),
        Figure::new("finalized transactions found again", count as f64, "", Goal::None),
        Figure::new("transactions in the history", books.landed as f64, "", Goal::None),
        start("start after a kill, median", percentile(&mut times, 0.5)),
        start("start after a kill, longest", percentile(&mut times, 1.0)),
    ])
}

fn start(name: &str, milliseconds: f64) -> Figure {
    Figure::new(name, milliseconds, "ms", Goal::Below(200.0))
}

fn show_progress(kills: usize) {
    if kills.is_multiple_of(KILLS_PER_LINE) {
        eprintln!("{kills} kills survived");
    }
}

/// Random moments, different in each run: what was found is in the error, and in the ledger.
struct Moments(u64);

impl Moments {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(now.as_secs() ^ u64::from(now.subsec_nanos()))
    }

    fn next(&mut self) -> Duration {
        // Knuth's multiplier; its high bits are the random ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        Duration::from_millis((self.0 >> 33) % LIFE_MILLISECONDS_MAX)
    }
}

/// Sends transfers until the node is killed, and returns which it had reported as finalized.
fn live(process: Process, signed: &[Signed], life: Duration) -> Result<Finalized> {
    let over = AtomicBool::new(false);
    let rpc = process.addresses.rpc.clone();
    thread::scope(|scope| {
        for part in signed.chunks(TRANSFERS / 4) {
            let (rpc, over) = (&rpc, &over);
            // What is not accepted any more is not lost.
            scope.spawn(move || send(rpc, part, over).ok());
        }
        let finalized = watch(&rpc, signed, Instant::now() + life);
        over.store(true, Relaxed);
        process.kill()?;
        finalized
    })
}

fn send(rpc: &str, signed: &[Signed], over: &AtomicBool) -> Result<()> {
    let mut client = Client::connect(rpc)?;
    for signed in signed.iter().take_while(|_| !over.load(Relaxed)) {
        client.post(&signed.body(true), "")?;
    }
    Ok(())
}

/// Asks for statuses until the deadline, and returns what is finalized.
fn watch(rpc: &str, signed: &[Signed], deadline: Instant) -> Result<Finalized> {
    let mut client = Client::connect(rpc)?;
    let mut finalized = Finalized::new();
    for part in signed.chunks(STATUSES_MAX / 4).cycle() {
        for (signature, status) in statuses(&mut client, part)? {
            if status["confirmationStatus"] == "finalized" {
                finalized.insert(signature, status["slot"].as_u64().context("no slot")?);
            }
        }
        if Instant::now() >= deadline {
            break;
        }
    }
    Ok(finalized)
}

fn statuses(client: &mut Client, signed: &[Signed]) -> Result<Vec<(String, Value)>> {
    let signatures: Vec<String> = signed.iter().map(|it| it.signature.clone()).collect();
    let statuses = client.statuses(&signatures)?;
    Ok(signatures.into_iter().zip(statuses).collect())
}

/// What all balances and the number of transactions must be.
struct Books {
    balances: BTreeMap<String, u64>,
    transactions: u64,
    landed: usize,
}

impl Books {
    fn open(client: &mut Client, payers: &Payers) -> Result<Self> {
        let addresses = payers.addresses();
        let balances: Result<_> = addresses
            .into_iter()
            .map(|it| client.balance(&it, "finalized").map(|balance| (it, balance)))
            .collect();
        let transactions = client.transaction_count()?;
        Ok(Self { balances: balances?, transactions, landed: 0 })
    }

    /// Checks that what was finalized still is, and that statuses, history, balances and the count
    /// of transactions tell the same story.
    fn check(
        &mut self,
        client: &mut Client,
        finalized: &Finalized,
        signed: &[Signed],
    ) -> Result<()> {
        let mut landed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for part in signed.chunks(STATUSES_MAX) {
            for (signed, (signature, status)) in part.iter().zip(statuses(client, part)?) {
                let slot = status["slot"].as_u64();
                if let Some(before) = finalized.get(&signature) {
                    ensure!(slot == Some(*before), "{signature} was in slot {before}: {status}");
                }
                if slot.is_some() {
                    ensure!(status["err"].is_null(), "{signature} has failed: {status}");
                    self.enter(signed);
                    landed.entry(&signed.to).or_default().push(&signed.signature);
                }
            }
        }
        self.check_balances(client)?;
        landed.iter().try_for_each(|(to, signatures)| check_history(client, to, signatures))
    }

    fn enter(&mut self, signed: &Signed) {
        *self.balances.entry(signed.from.clone()).or_default() -= signed.lamports + FEE_LAMPORTS;
        *self.balances.entry(signed.to.clone()).or_default() += signed.lamports;
        self.transactions += 1;
        self.landed += 1;
    }

    fn check_balances(&self, client: &mut Client) -> Result<()> {
        for (address, expected) in &self.balances {
            for commitment in ["finalized", "processed"] {
                let balance = client.balance(address, commitment)?;
                ensure!(
                    balance == *expected,
                    "{address} has {balance} lamports ({commitment}), the history says {expected}"
                );
            }
        }
        let (count, expected) = (client.transaction_count()?, self.transactions);
        ensure!(count == expected, "{count} transactions, the history says {expected}");
        Ok(())
    }
}

/// Checks that the newest entries of an address's history are these.
fn check_history(client: &mut Client, address: &str, signatures: &[&str]) -> Result<()> {
    let params = json!([address, { "limit": signatures.len() }]).to_string();
    let Value::Array(rows) = client.call("getSignaturesForAddress", &params)? else {
        anyhow::bail!("the history of {address} is no list");
    };
    let mut found: Vec<&str> = rows.iter().filter_map(|row| row["signature"].as_str()).collect();
    let mut expected = signatures.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    ensure!(
        found == expected,
        "the history of {address} has {} of {} transactions",
        found.iter().filter(|it| expected.contains(it)).count(),
        expected.len()
    );
    Ok(())
}
