//! What is measured.

use std::{
    path::Path,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use solana_signer::Signer as _;

use crate::{
    client::Client,
    process::{Addresses, Launch, Process, folder_bytes},
    report::{Figure, Goal, percentile},
    socket::Socket,
    transfers::{Payers, Signed, key},
};

/// Connections that send.
const SENDERS: usize = 32;
/// Connections that read.
const READERS: usize = 64;
/// How many payers take turns.
const PAYERS: u64 = 64;
/// The newest transactions whose statuses are asked for; the node's history holds more.
const STATUSES: usize = 4096;
/// Statuses of a request.
const STATUSES_MAX: usize = 256;
/// How long the last transaction may take to land.
const LAND_MAX: Duration = Duration::from_secs(60);
/// How often the cost of a transfer is measured; the least counts.
const COST_TURNS: u32 = 3;
/// Subscriptions of a connection.
const SUBSCRIPTIONS_EACH: usize = 1000;

/// How much is measured.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Transfers before the memory is looked at.
    pub(crate) transfers: usize,
    /// Reads of each kind.
    pub(crate) reads: usize,
    /// Notifications that are waited for.
    pub(crate) notifications: usize,
    pub(crate) subscriptions: usize,
    pub(crate) idle: Duration,
}

/// A list that grows with each row.
pub(crate) type Figures = Vec<Figure>;

/// The time from the start to a healthy answer: the least and the median of several.
pub(crate) fn start(launch: &Launch, turns: usize, figures: &mut Figures) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..turns {
        times.push(launch.start()?.ready.as_secs_f64() * 1e3);
    }
    figures.push(Figure::new(
        "start to healthy, median",
        percentile(&mut times, 0.5),
        "ms",
        Goal::Below(100.0),
    ));
    figures.push(Figure::new(
        "start to healthy, least",
        percentile(&mut times, 0.0),
        "ms",
        Goal::None,
    ));
    Ok(())
}

/// Memory, before and after transactions.
pub(crate) fn memory(
    process: &Process,
    name: &str,
    goal: f64,
    figures: &mut Figures,
) -> Result<()> {
    let name = format!("resident memory {name}");
    figures.push(Figure::new(name, process.resident_mb()?, "MB", Goal::Below(goal)));
    Ok(())
}

/// Measures processor time and disk writes of an idle node.
pub(crate) fn idle(
    launch: &Launch,
    ledger: &Path,
    time: Duration,
    figures: &mut Figures,
) -> Result<()> {
    let launch = Launch { ledger: Some(ledger.to_owned()), ..launch.clone() };
    let process = launch.start()?;
    let mut client = Client::connect(&process.addresses.rpc)?;
    Payers::fund(&mut client, 1)?;
    // What follows the last block is over by then.
    thread::sleep(Duration::from_secs(2));
    let size = |ledger| folder_bytes(ledger).or_else(|_| Ok(std::fs::metadata(ledger)?.len()));
    let (cpu, written) = (process.cpu_seconds()?, process.written_bytes()?);
    let before: Result<u64> = size(ledger);
    let before = before?;
    thread::sleep(time);
    let seconds = process.cpu_seconds()? - cpu;
    let goal = Goal::Below(0.5 * (time.as_secs_f64() / 600.0).max(0.1));
    let name = format!("processor in {} idle seconds", time.as_secs());
    figures.push(Figure::new(name, seconds, "s", goal));
    let bytes = (process.written_bytes()? - written) as f64;
    figures.push(Figure::new("written to disk meanwhile", bytes, "B", Goal::Below(1.0)));
    let grown = size(ledger)?.saturating_sub(before) as f64;
    figures.push(Figure::new("growth of the ledger meanwhile", grown, "B", Goal::Below(1.0)));
    let stop = process.stop()?.as_secs_f64() * 1e3;
    figures.push(Figure::new("stop after a signal", stop, "ms", Goal::Below(1000.0)));
    Ok(())
}

/// Signed transfers that land in a second, over HTTP.
pub(crate) fn landed(
    addresses: &Addresses,
    count: usize,
    skip_preflight: bool,
    figures: &mut Figures,
) -> Result<()> {
    let mut client = Client::connect(&addresses.rpc)?;
    let mut payers = Payers::fund(&mut client, PAYERS)?;
    payers.skip(figures.len() as u64 * 10_000_000);
    // A blockhash is valid for a minute.
    let (mut seconds, mut remaining, mut accepting) = (0.0, count, 0.0);
    while remaining > 0 {
        let signed = payers.sign(&mut client, remaining.min(50_000))?;
        remaining -= signed.len();
        let before = client.transaction_count()?;
        let started = Instant::now();
        send_all(addresses, &signed, skip_preflight)?;
        accepting += started.elapsed().as_secs_f64();
        await_landed(&mut client, before, &signed)?;
        seconds += started.elapsed().as_secs_f64();
    }
    let how = if skip_preflight { "without preflight" } else { "with preflight" };
    let mut push = |name: &str, seconds: f64, goal| {
        figures.push(Figure::new(format!("{name}, {how}"), count as f64 / seconds, "1/s", goal));
    };
    push("transfers landed", seconds, Goal::AtLeast(10_000.0));
    push("transfers accepted", accepting, Goal::None);
    Ok(())
}

/// Sends all transactions over several connections, each as soon as the answer to the one before
/// is there.
fn send_all(addresses: &Addresses, signed: &[Signed], skip_preflight: bool) -> Result<()> {
    share(signed, SENDERS, |part| {
        let mut client = Client::connect(&addresses.rpc)?;
        for signed in part {
            let answer = client.post(&signed.body(skip_preflight), "")?;
            let text = String::from_utf8_lossy(&answer.body);
            ensure!(text.contains(&signed.signature), "a transfer is not accepted: {text}");
        }
        Ok(())
    })
}

/// Deals the work out to threads, one item after the other, so that the last items come last.
fn share<T: Sync>(
    items: &[T],
    threads: usize,
    work: impl Fn(&mut dyn Iterator<Item = &T>) -> Result<()> + Sync,
) -> Result<()> {
    let failure = Mutex::new(Ok(()));
    thread::scope(|scope| {
        for first in 0..threads {
            let (work, failure) = (&work, &failure);
            scope.spawn(move || {
                if let Err(error) = work(&mut items.iter().skip(first).step_by(threads)) {
                    *failure.lock().expect("no thread panics with it") = Err(error);
                }
            });
        }
    });
    failure.into_inner().expect("no thread panics with it")
}

/// Waits until as many transactions have landed, and checks that the newest have succeeded.
fn await_landed(client: &mut Client, before: u64, signed: &[Signed]) -> Result<()> {
    let deadline = Instant::now() + LAND_MAX;
    let wanted = before + signed.len() as u64;
    loop {
        let count = client.transaction_count()?;
        if count >= wanted {
            break;
        }
        let missing = wanted - count;
        ensure!(Instant::now() < deadline, "{missing} transactions have not landed");
        thread::sleep(Duration::from_millis(2));
    }
    let newest: Vec<String> =
        signed.iter().rev().take(STATUSES).map(|it| it.signature.clone()).collect();
    for part in newest.chunks(STATUSES_MAX) {
        for (signature, status) in part.iter().zip(client.statuses(part)?) {
            let has_succeeded = status["err"].is_null() && status["slot"].is_u64();
            ensure!(has_succeeded, "the status of {signature} is {status}");
        }
    }
    Ok(())
}

/// Reads in a second, with many connections.
pub(crate) fn reads(addresses: &Addresses, count: usize, figures: &mut Figures) -> Result<()> {
    let address = key(1, 0).pubkey().to_string();
    let account = json!([address, { "encoding": "base64" }]).to_string();
    for (method, params) in [
        ("getSlot", "[]"),
        ("getLatestBlockhash", "[]"),
        ("getBalance", &json!([address]).to_string()),
        ("getAccountInfo", &account),
    ] {
        let body = Client::body(method, params);
        let turns = vec![(); count];
        let started = Instant::now();
        share(&turns, READERS, |part| {
            let mut client = Client::connect(&addresses.rpc)?;
            for () in part {
                let answer = client.post(&body, "")?;
                ensure!(answer.status == 200, "{method}: status {}", answer.status);
            }
            Ok(())
        })?;
        let rate = count as f64 / started.elapsed().as_secs_f64();
        let name = format!("{method}, {READERS} connections");
        figures.push(Figure::new(name, rate, "1/s", Goal::AtLeast(30_000.0)));
    }
    Ok(())
}

/// The time from sending to the notification that a transaction is processed.
pub(crate) fn notifications(
    addresses: &Addresses,
    count: usize,
    figures: &mut Figures,
) -> Result<()> {
    let mut client = Client::connect(&addresses.rpc)?;
    let mut payers = Payers::fund(&mut client, 1)?;
    payers.skip(figures.len() as u64 * 10_000_000);
    let signed = payers.sign(&mut client, count)?;
    let mut socket = Socket::connect(&addresses.websocket)?;
    let mut times = Vec::with_capacity(count);
    for signed in &signed {
        let params = json!([signed.signature, { "commitment": "processed" }]).to_string();
        socket.subscribe("signatureSubscribe", &params)?;
        let started = Instant::now();
        client.write(&signed.body(false), "")?;
        let notification = socket.next()?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        client.read()?;
        let error = &notification["params"]["result"]["value"]["err"];
        ensure!(error.is_null(), "a transfer fails: {notification}");
    }
    for (name, share, goal) in [("p50", 0.5, 5.0), ("p99", 0.99, 20.0)] {
        let name = format!("send to processed notification, {name}");
        figures.push(Figure::new(name, percentile(&mut times, share), "ms", Goal::Below(goal)));
    }
    Ok(())
}

/// Measures a transaction's cost without subscriptions, and with many to other accounts.
pub(crate) fn subscriptions(
    process: &Process,
    subscriptions: usize,
    transfers: usize,
    figures: &mut Figures,
) -> Result<()> {
    let addresses = &process.addresses;
    let mut skip = figures.len() as u64 * 10_000_000;
    let mut least_cost = || -> Result<f64> {
        let mut least = f64::INFINITY;
        for _ in 0..COST_TURNS {
            skip += transfers as u64;
            least = least.min(cost(process, transfers, skip)?);
        }
        Ok(least)
    };
    let before = least_cost()?;
    let sockets = subscribe(addresses, subscriptions)?;
    let after = least_cost()?;
    drop(sockets);
    let mut push = |name: &str, value| {
        let name = format!("processor per transfer with {name} subscriptions");
        figures.push(Figure::new(name, value, "us", Goal::None));
    };
    push("no", before);
    push(&subscriptions.to_string(), after);
    figures.push(Figure::new("ratio of the two", after / before, "x", Goal::Below(1.2)));
    Ok(())
}

/// Subscribes to accounts that nothing changes.
fn subscribe(addresses: &Addresses, count: usize) -> Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    for number in 0..count {
        if number % SUBSCRIPTIONS_EACH == 0 {
            sockets.push(Socket::connect(&addresses.websocket)?);
        }
        let address = key(3, number as u64).pubkey().to_string();
        let params = json!([address, { "encoding": "base64" }]).to_string();
        let socket = sockets.last_mut().context("a socket was added")?;
        socket.subscribe("accountSubscribe", &params)?;
    }
    Ok(sockets)
}

/// Returns the processor time of the node per transfer, in microseconds.
fn cost(process: &Process, transfers: usize, skip: u64) -> Result<f64> {
    let mut client = Client::connect(&process.addresses.rpc)?;
    let mut payers = Payers::fund(&mut client, 1)?;
    payers.skip(skip);
    let signed = payers.sign(&mut client, transfers)?;
    let before = client.transaction_count()?;
    let cpu = process.cpu_seconds()?;
    for signed in &signed {
        client.post(&signed.body(true), "")?;
    }
    await_landed(&mut client, before, &signed)?;
    Ok((process.cpu_seconds()? - cpu) * 1e6 / transfers as f64)
}

/// All rows that need a process, in order.
pub(crate) fn of_process(launch: &Launch, scratch: &Path, scale: &Scale) -> Result<Figures> {
    let mut figures = Figures::new();
    start(launch, 11, &mut figures)?;
    let process = launch.start()?;
    memory(&process, "at the start", 100.0, &mut figures)?;
    of_server(&process.addresses, scale, &mut figures)?;
    let name = format!("after {} transfers and all reads", scale.transfers * 3 / 2);
    memory(&process, &name, 150.0, &mut figures)?;
    subscriptions(&process, scale.subscriptions, 2000, &mut figures)?;
    drop(process);
    idle(launch, &scratch.join("idle"), scale.idle, &mut figures)?;
    Ok(figures)
}

/// All rows that need an address only.
pub(crate) fn of_server(addresses: &Addresses, scale: &Scale, figures: &mut Figures) -> Result<()> {
    landed(addresses, scale.transfers, true, figures)?;
    landed(addresses, scale.transfers / 2, false, figures)?;
    reads(addresses, scale.reads, figures)?;
    notifications(addresses, scale.notifications, figures)
}
