//! How long an editor waits: `cargo run --release -p selkie-lsp --example keystroke`.
//!
//! Prints the time from a change to the findings, and to the answers that editors ask for after
//! each, for a source of 10,000 lines and for sources that make as much of little as they may.

#![allow(clippy::print_stdout, reason = "printing is what this is for")]

use std::{fmt::Write as _, thread, time::Instant};

use lsp_server::{Connection, Message, Notification, Request};
use selkie_isa::Version;
use selkie_lsp::{Settings, serve};
use serde_json::{Value, json};

const URI: &str = "file:///program.s";
const METHODS: [&str; 5] =
    ["completion", "semanticTokens/full", "inlayHint", "documentSymbol", "hover"];
/// The best of so many rounds counts: a busy machine only makes it slower.
const ROUNDS: i32 = 9;

fn main() {
    let repeat = |body: &str| format!("entrypoint:\n.rept 240000\n{body}\n.endr\nexit\n");
    for (name, source) in [
        ("10,000 lines", program()),
        ("a loop of 240,000 instructions", repeat("mov64 r0, 0\n")),
        ("a macro that calls itself twice", ".macro m\nm\nm\n.endm\nm\nexit\n".to_owned()),
        ("a loop of 240,000 errors", repeat("mvo64 r0, 0\n")),
    ] {
        measure(name, &source);
    }
}

fn program() -> String {
    let mut text = String::from(".globl entrypoint\nentrypoint:\n");
    for block in 0..1250 {
        let _ = write!(
            text,
            "block_{block}:\n    ldxdw r2, [r1 + 8]\n    add64 r2, 0x10  ; a comment\n    \
             mov64 r3, r2\n    stxdw [r10 - 8], r3\n    jne r2, 9, block_{}\n    lsh64 r3, 4\n    \
             call sol_log_64_\n",
            (block + 7) % 1250
        );
    }
    text + "    exit\n"
}

fn measure(name: &str, source: &str) {
    let (server, client) = Connection::memory();
    let settings = Settings { version: Version::V3, include_paths: vec![], defines: vec![] };
    thread::spawn(move || serve(server, settings));
    let say = |method: &str, params: Value| {
        let message = Notification::new(method.to_owned(), params);
        client.sender.send(message.into()).expect("the server listens");
    };
    let ask = |id: i32, method: &str, params: Value| {
        let message = Request::new(id.into(), method.to_owned(), params);
        client.sender.send(message.into()).expect("the server listens");
        while !matches!(hear(&client), Message::Response(it) if it.id == id.into()) {}
    };
    ask(0, "initialize", json!({ "capabilities": {} }));
    let document = json!({ "uri": URI, "languageId": "sbpf", "version": 0, "text": source });
    say("textDocument/didOpen", json!({ "textDocument": document }));
    while !matches!(hear(&client), Message::Notification(_)) {}
    let place = json!({ "line": 1, "character": 0 });
    let range = json!({ "start": place, "end": { "line": 99, "character": 0 } });
    let mut findings = f64::MAX;
    let mut answers = METHODS.map(|method| (method, f64::MAX));
    for round in 1..=ROUNDS {
        let start = Instant::now();
        say(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": URI, "version": round },
                "contentChanges": [{ "range": { "start": place, "end": place }, "text": " " }],
            }),
        );
        while !matches!(hear(&client), Message::Notification(_)) {}
        findings = findings.min(start.elapsed().as_secs_f64());
        for (method, best) in &mut answers {
            let start = Instant::now();
            ask(
                round,
                &format!("textDocument/{method}"),
                json!({
                    "textDocument": { "uri": URI }, "position": place, "range": range,
                }),
            );
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    let formatted = Instant::now();
    let result = selkie_asm::format(source, "program.s").map_or("left alone", |_| "formatted");
    let formatted = formatted.elapsed().as_secs_f64() * 1e3;
    println!("{name}: findings after {:.1} ms, {result} in {formatted:.1} ms", findings * 1e3);
    let answers = answers.map(|(method, best)| format!("{method} {:.1}", best * 1e3));
    println!("    answers in ms: {}", answers.join(", "));
}

fn hear(client: &Connection) -> Message {
    client.receiver.recv().expect("the server answers")
}
