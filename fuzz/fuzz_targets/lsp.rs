//! Edits any text in any way and sends a request at any position after each edit. The server must
//! answer all.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use lsp_server::{Connection, Message, Notification, Request};
use selkie_isa::Version;
use selkie_lsp::{Ended, Settings, serve};
use serde_json::{Value, json};

#[derive(Arbitrary, Debug)]
struct Change<'a> {
    start: (u8, u8),
    end: (u8, u8),
    text: &'a str,
    question: u8,
    place: (u8, u8),
}

const QUESTIONS: &[&str] = &[
    "hover",
    "signatureHelp",
    "completion",
    "definition",
    "references",
    "documentHighlight",
    "documentSymbol",
    "foldingRange",
    "semanticTokens/full",
    "prepareRename",
    "rename",
    "inlayHint",
    "codeAction",
    "formatting",
];

fuzz_target!(|input: (&str, bool, Vec<Change<'_>>)| {
    let (text, bytes, changes) = input;
    let (server, client) = Connection::memory();
    let settings = Settings { version: Version::V3, include_paths: vec![], defines: vec![] };
    let serving = std::thread::spawn(move || serve(server, settings));
    let say = |method: &str, params: Value| {
        let message = Notification::new(method.to_owned(), params);
        client.sender.send(message.into()).expect("the server listens");
    };
    let ask = |id: i32, method: &str, params: Value| {
        let message = Request::new(id.into(), method.to_owned(), params);
        client.sender.send(message.into()).expect("the server listens");
        loop {
            match client.receiver.recv().expect("the server answers") {
                Message::Response(response) if response.id == id.into() => return,
                _ => {}
            }
        }
    };
    let encoding = if bytes { "utf-8" } else { "utf-16" };
    let general = json!({ "positionEncodings": [encoding] });
    ask(0, "initialize", json!({ "capabilities": { "general": general } }));
    let uri = "file:///fuzz.s";
    let document = json!({ "uri": uri, "languageId": "sbpf", "version": 0, "text": text });
    say("textDocument/didOpen", json!({ "textDocument": document }));
    let position = |(line, character): (u8, u8)| json!({ "line": line, "character": character });
    for (number, change) in (1_i32..).zip(changes) {
        let range = json!({ "start": position(change.start), "end": position(change.end) });
        say(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": number },
                "contentChanges": [{ "range": range, "text": change.text }],
            }),
        );
        let question = QUESTIONS[usize::from(change.question) % QUESTIONS.len()];
        ask(
            number,
            &format!("textDocument/{question}"),
            json!({
                "textDocument": { "uri": uri },
                "position": position(change.place),
                "range": { "start": position((0, 0)), "end": position(change.place) },
                "context": { "includeDeclaration": true, "diagnostics": [] },
                "options": { "tabSize": 4, "insertSpaces": true },
                "newName": "renamed",
            }),
        );
    }
    ask(-1, "shutdown", Value::Null);
    say("exit", Value::Null);
    drop(client);
    assert_eq!(serving.join().expect("the server does not panic"), Ended::Orderly);
});
