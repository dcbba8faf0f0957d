//! Clients that ask for as much as they can, or for nothing, and what the node needs meanwhile.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::json;

use crate::{
    case::{Case, MEMORY_MB_MAX, PATIENCE, await_no_sockets},
    client::Client,
    process::Process,
    socket::Socket,
};

/// What is done to a running node, each to a new one.
pub(crate) const CASES: &[Case] = &[
    ("batches that ask for gigabytes", batches_of_gigabytes),
    ("answers that are read slowly", slow_readers),
    ("thousands of subscriptions to a large account", many_subscriptions),
    ("connections that begin and go silent", silent_connections),
    ("what open WebSockets cost", open_sockets),
];

/// The size of an account, the largest that there may be.
const ACCOUNT_BYTES: usize = 10 << 20;
/// Its address.
const ACCOUNT: &str = "SysvarC1ock11111111111111111111111111111112";
/// What an open WebSocket may cost, in bytes.
const SOCKET_BYTES_MAX: f64 = 32_000.0;

/// Creates the account, or changes it.
fn set_account(process: &Process, lamports: u64) -> Result<()> {
    let data = BASE64_STANDARD.encode(vec![7; ACCOUNT_BYTES]);
    let params = json!([ACCOUNT, { "lamports": lamports, "data": [data, "base64"] }]);
    let body = Client::body("selkie_setAccount", &params.to_string());
    let answer = Client::connect(&process.addresses.rpc)?.post(&body, "")?;
    let text = String::from_utf8_lossy(&answer.body);
    ensure!(text.contains(r#""result""#), "the account is not set: {text}");
    Ok(())
}

/// Sends a body and returns the connection, of whose answer nothing is read.
fn send(process: &Process, body: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(&process.addresses.rpc)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let len = body.len();
    stream.write_all(format!("{head}content-length: {len}\r\n\r\n{body}").as_bytes())?;
    Ok(stream)
}

/// Checks for a while that the node answers others and does not grow.
fn watch(process: &Process, rounds: usize) -> Result<()> {
    for _ in 0..rounds {
        process.answers(PATIENCE)?;
        let resident = process.resident_mb()?;
        ensure!(resident < MEMORY_MB_MAX, "the node needs {resident} MB");
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn batches_of_gigabytes(process: &Process) -> Result<()> {
    set_account(process, u64::MAX / 4)?;
    let schedules = vec![Client::body("getLeaderSchedule", "[]"); 700].join(",");
    let accounts = json!([vec![ACCOUNT; 100], { "encoding": "base64" }]).to_string();
    let accounts = vec![Client::body("getMultipleAccounts", &accounts); 8].join(",");
    let mut open = Vec::new();
    for body in [&schedules, &accounts].into_iter().cycle().take(12) {
        open.push(send(process, &format!("[{body}]"))?);
    }
    watch(process, 100)?;
    // Each gets an answer, if only that the node is busy, or is let go.
    for mut stream in open {
        let mut head = [0; 12];
        if stream.read(&mut head)? == head.len() {
            ensure!(&head == b"HTTP/1.1 200", "status {}", String::from_utf8_lossy(&head));
        }
    }
    Ok(())
}

fn slow_readers(process: &Process) -> Result<()> {
    set_account(process, u64::MAX / 4)?;
    let params = json!([ACCOUNT, { "encoding": "base64" }]).to_string();
    let body = Client::body("getAccountInfo", &params);
    let mut readers = Vec::new();
    for _ in 0..30 {
        readers.push(send(process, &body)?);
    }
    let mut part = vec![0; 100_000];
    for _ in 0..20 {
        for reader in &mut readers {
            // One that was too slow is let go.
            let _ = reader.read(&mut part);
        }
        watch(process, 2)?;
    }
    Ok(())
}

fn many_subscriptions(process: &Process) -> Result<()> {
    set_account(process, u64::MAX / 4)?;
    let mut slow = Socket::connect(&process.addresses.websocket)?;
    for offset in 0..3000 {
        // Every second one is another encoding.
        let slice = json!({ "offset": offset / 2 * 2, "length": ACCOUNT_BYTES });
        let params = json!([ACCOUNT, { "encoding": "base64", "dataSlice": slice }]);
        slow.subscribe("accountSubscribe", &params.to_string())?;
    }
    let mut quick = Socket::connect(&process.addresses.websocket)?;
    quick.subscribe("slotSubscribe", "[]")?;
    for change in 0..10 {
        set_account(process, u64::MAX / 4 - 1 - change)?;
        let notification = quick.next()?;
        ensure!(notification["method"] == "slotNotification", "{notification}");
        watch(process, 2)?;
    }
    drop(quick);
    await_no_sockets(&mut Client::connect(&process.addresses.rpc)?)
}

fn silent_connections(process: &Process) -> Result<()> {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let begun: [&[u8]; 4] = [b"", b"P", preface, b"POST / HTTP/1.1\r\nhost"];
    let mut connections = Vec::new();
    for begun in begun.iter().cycle().take(12_500) {
        // This process may have no more file descriptors.
        let Ok(mut connection) = TcpStream::connect(&process.addresses.rpc) else { break };
        // Those that make way, or speak HTTP/2, are closed.
        let _ = connection.write_all(begun);
        connections.push(connection);
    }
    connections.truncate(connections.len().saturating_sub(8));
    watch(process, 5)?;
    // After 30 s all are closed.
    thread::sleep(Duration::from_secs(35));
    for connection in &mut connections {
        connection.set_read_timeout(Some(PATIENCE))?;
        let ended = connection.read_to_end(&mut Vec::new());
        let is_open = ended.is_err_and(|it| it.kind() == std::io::ErrorKind::WouldBlock);
        ensure!(!is_open, "a silent connection stays open");
    }
    Ok(())
}

fn open_sockets(process: &Process) -> Result<()> {
    const SOCKETS: usize = 4000;
    let connect = || Socket::connect(&process.addresses.websocket);
    // What is allocated once.
    let first = (0..50).map(|_| connect()).collect::<Result<Vec<_>>>()?;
    let before = process.resident_mb()?;
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        let Ok(mut socket) = connect() else { break };
        socket.subscribe("rootSubscribe", "[]")?;
        sockets.push(socket);
    }
    ensure!(sockets.len() > 500, "only {} WebSockets", sockets.len());
    let each = (process.resident_mb()? - before) * 1e6 / sockets.len() as f64;
    ensure!(each <= SOCKET_BYTES_MAX, "an open WebSocket costs {each:.0} bytes");
    drop(first);
    process.answers(PATIENCE).context("with many WebSockets")
}
