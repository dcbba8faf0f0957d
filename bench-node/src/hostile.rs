//! Treats nodes badly, and checks that they live, answer others, and say what is wrong.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    attacks,
    case::{Case, MEMORY_MB_MAX, PATIENCE, await_no_sockets},
    client::Client,
    damage,
    process::{Launch, Process},
    socket::Socket,
    transfers::{Payers, key},
};

/// Connections that are opened at once; fewer if the system does not allow as many.
const CONNECTIONS: usize = 10_000;
/// What is done to a running node, each to a new one.
const CASES: &[Case] = &[
    ("connections that say nothing", idle_connections),
    ("requests that never end", unfinished_requests),
    ("a client that does not read bursts", slow_reader_of_bursts),
    ("a client that does not read a trickle", slow_reader_of_a_trickle),
    ("batches that are too long", long_batches),
    ("JSON that is too deep", deep_json),
    ("bodies and heads that are too large", large_requests),
    ("frames that are too large, or no frames", bad_frames),
    ("cheatcodes called by pages of other origins", foreign_pages),
];

/// Runs all cases and prints them. The error is that some failed.
pub(crate) fn run(launch: &Launch, scratch: &Path) -> Result<()> {
    let mut failed = 0;
    let mut report = |name: &str, result: Result<()>| match result {
        Ok(()) => println!("ok      {name}"),
        Err(error) => {
            failed += 1;
            println!("FAILED  {name}: {error:#}");
        }
    };
    for (name, case) in CASES.iter().chain(attacks::CASES) {
        report(name, on_new_node(launch, *case));
    }
    for (name, case) in damage::CASES {
        let folder = scratch.join(name.replace(' ', "-"));
        report(
            name,
            std::fs::create_dir(&folder).map_err(Into::into).and_then(|()| case(launch, &folder)),
        );
    }
    ensure!(failed == 0, "{failed} cases failed");
    Ok(())
}

/// Does something to a new node, and checks that it lives, answers, is small and stops.
fn on_new_node(launch: &Launch, case: fn(&Process) -> Result<()>) -> Result<()> {
    let mut process = launch.start()?;
    let result = case(&process);
    process.is_alive()?;
    result?;
    process.answers(PATIENCE)?;
    let resident = process.resident_mb()?;
    ensure!(resident < MEMORY_MB_MAX, "the node needs {resident} MB");
    let stop = process.stop()?;
    ensure!(stop < PATIENCE, "the node takes {stop:?} to stop");
    Ok(())
}

fn idle_connections(process: &Process) -> Result<()> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        match TcpStream::connect(&process.addresses.rpc) {
            Ok(connection) => connections.push(connection),
            // This process has no more file descriptors; one is for the client of `answers`.
            Err(_) => break,
        }
    }
    connections.truncate(connections.len().saturating_sub(8));
    ensure!(connections.len() > 100, "only {} connections", connections.len());
    process.answers(PATIENCE)
}

fn unfinished_requests(process: &Process) -> Result<()> {
    let parts: [&[u8]; 4] = [
        b"POST / HTT",
        b"POST / HTTP/1.1\r\nhost: localhost\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n{",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n{",
    ];
    let mut connections = Vec::new();
    for part in parts.iter().cycle().take(800) {
        let mut connection = TcpStream::connect(&process.addresses.rpc)?;
        connection.write_all(part)?;
        connections.push(connection);
    }
    process.answers(PATIENCE)
}

/// The client's queue is full long before the system's buffers are.
fn slow_reader_of_bursts(process: &Process) -> Result<()> {
    let transfers = 500;
    do_not_read(process, 500, transfers)
}

/// The system's buffers are full before the client's queue is.
fn slow_reader_of_a_trickle(process: &Process) -> Result<()> {
    let transfers = 4000;
    do_not_read(process, 20, transfers)
}

/// A client gets more notifications than any buffer holds, and must be let go.
fn do_not_read(process: &Process, subscriptions: usize, transfers: usize) -> Result<()> {
    let mut socket = Socket::connect(&process.addresses.websocket)?;
    for _ in 0..subscriptions {
        socket.subscribe("logsSubscribe", r#"["all",{"commitment":"processed"}]"#)?;
    }
    let mut client = Client::connect(&process.addresses.rpc)?;
    let signed = Payers::fund(&mut client, 1)?.sign(&mut client, transfers)?;
    for signed in &signed {
        client.post(&signed.body(true), "")?;
    }
    process.answers(PATIENCE)?;
    await_no_sockets(&mut client)
}

/// Sends a body and returns status and answer.
fn ask(process: &Process, body: &str, headers: &str) -> Result<(u16, Value)> {
    let answer = Client::connect(&process.addresses.rpc)?.post(body, headers)?;
    Ok((answer.status, serde_json::from_slice(&answer.body).unwrap_or_default()))
}

fn long_batches(process: &Process) -> Result<()> {
    let batch = |count| {
        format!("[{}]", vec![r#"{"jsonrpc":"2.0","id":1,"method":"getSlot"}"#; count].join(","))
    };
    let (_, answer) = ask(process, &batch(1000), "")?;
    ensure!(answer.as_array().is_some_and(|it| it.len() == 1000), "1000 requests are answered");
    for count in [1001, 100_000] {
        let (status, answer) = ask(process, &batch(count), "")?;
        let is_refused = status == 413 || answer["error"].is_object();
        ensure!(is_refused, "{count} requests: status {status}");
    }
    Ok(())
}

fn deep_json(process: &Process) -> Result<()> {
    for open in ["[", r#"{"a":"#] {
        for depth in [200, 8_000] {
            let body = open.repeat(depth);
            let (status, answer) = ask(process, &body, "")?;
            ensure!(answer["error"]["code"] == -32700, "depth {depth}: status {status}, {answer}");
            let params = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"getSlot","params":{body}"#);
            let (status, answer) = ask(process, &params, "")?;
            ensure!(answer["error"]["code"] == -32700, "depth {depth}: status {status}, {answer}");
        }
        let mut socket = Socket::connect(&process.addresses.websocket)?;
        socket.send(open.repeat(600))?;
        let answer = socket.next()?;
        ensure!(answer["error"]["code"] == -32700, "WebSocket: {answer}");
    }
    Ok(())
}

fn large_requests(process: &Process) -> Result<()> {
    let body = Client::body("getSlot", &format!(r#"["{}"]"#, "x".repeat(60_000)));
    let (status, _) = ask(process, &body, "")?;
    ensure!(status == 413, "a body of 60 kB: status {status}");
    // As long as the node likes to listen; it may close, but must not keep all of it.
    let heads = [
        format!("POST / HTTP/1.1\r\nx: {}", "x".repeat(1 << 20)),
        format!("POST / HTTP/1.1\r\n{}", "x: y\r\n".repeat(100_000)),
        "POST / HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n{"
            .into(),
        "POST / HTTP/1.1\r\ncontent-length: -1\r\n\r\n".into(),
        "POST / HTTP/1.1\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}".into(),
        "\0\u{1}\u{2}\r\n\r\n".into(),
    ];
    for head in &heads {
        let mut connection = TcpStream::connect(&process.addresses.rpc)?;
        connection.set_write_timeout(Some(PATIENCE))?;
        // The node may close before everything is written.
        let _ = connection.write_all(head.as_bytes());
        process.answers(PATIENCE)?;
    }
    Ok(())
}

fn bad_frames(process: &Process) -> Result<()> {
    let host = &process.addresses.websocket;
    let mut socket = Socket::connect(host)?;
    socket.send("x".repeat(5000))?;
    ensure!(socket.next().is_err(), "a message of 5000 bytes is answered");
    // Behind the handshake: a reserved opcode, a length of 2^63, a client's frame without a mask,
    // a ping that is too long, a continuation of nothing.
    let long_ping = [b"\x89\xfe\x01\0\0\0\0\0".as_slice(), &[0; 256]].concat();
    let frames: [&[u8]; 5] = [
        b"\x83\x80\0\0\0\0",
        b"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",
        b"\x81\x02{}",
        &long_ping,
        b"\x80\x80\0\0\0\0",
    ];
    for frame in frames {
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")?;
        let mut head = [0; 1024];
        ensure!(stream.read(&mut head)? > 0, "no handshake");
        stream.write_all(frame)?;
        let mut rest = Vec::new();
        // Either way the connection ends.
        let ended = stream.read_to_end(&mut rest);
        let is_timeout = ended.is_err_and(|it| it.kind() == std::io::ErrorKind::WouldBlock);
        ensure!(!is_timeout, "a connection with the frame {frame:02x?} stays open");
    }
    Ok(())
}

fn foreign_pages(process: &Process) -> Result<()> {
    use solana_signer::Signer as _;
    let params = json!([key(4, 0).pubkey().to_string(), 5_000_000]).to_string();
    for method in ["selkie_setBalance", "selkie_reset", "surfnet_pauseClock"] {
        let body = Client::body(method, &params);
        for origin in [
            "https://example.com",
            "null",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com:8899",
        ] {
            let (_, answer) = ask(process, &body, &format!("origin: {origin}\r\n"))?;
            ensure!(answer["error"].is_object(), "{method} for {origin}: {answer}");
            let text = answer["error"]["message"].as_str().unwrap_or_default();
            ensure!(text.contains("Cheatcodes are for"), "{method} for {origin}: {answer}");
        }
    }
    let body = Client::body("selkie_setBalance", &params);
    let plain = "content-type: text/plain\r\n";
    let (status, answer) = ask_as(process, &body, plain)?;
    ensure!(status == 415, "text/plain, which pages may send unasked: {status} {answer}");
    let (_, answer) = ask(process, &body, "")?;
    ensure!(answer["error"].is_null(), "a client on this machine: {answer}");
    Ok(())
}

/// Sends a body with no other headers than these.
fn ask_as(process: &Process, body: &str, headers: &str) -> Result<(u16, Value)> {
    let mut client = Client::connect(&process.addresses.rpc)?;
    client.write_raw(&format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    ))?;
    let answer = client.read()?;
    Ok((answer.status, serde_json::from_slice(&answer.body).unwrap_or_default()))
}
