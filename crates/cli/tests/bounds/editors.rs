//! Messages to the language server.

use serde_json::json;

use crate::{bound::run_with, common::folder};

fn framed(body: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

/// Sends messages between `initialize` and `shutdown`, which the server must answer.
fn check(name: &str, messages: &str) {
    let folder = folder(&format!("bounds-lsp-{name}"));
    let begin = json!({ "id": 1, "method": "initialize", "params": { "capabilities": {} } });
    let [shutdown, exit] = [json!({ "id": 2, "method": "shutdown" }), json!({ "method": "exit" })];
    let [begin, shutdown, exit] = [begin, shutdown, exit].map(|it| framed(&it.to_string()));
    let input = [&begin, messages, &shutdown, &exit].concat();
    let output = run_with(&folder, input.len(), &["lsp"], input.as_bytes());
    assert!(output.stdout.contains("\"id\":2"), "{name}: {:.300}", output.text());
    assert_eq!(output.code, Some(0), "{name}");
}

#[test]
fn wrong_content_lengths_are_rejected() {
    let folder = folder("bounds-lsp-length");
    for length in ["7600000000", "33554432", "18446744073709551615"] {
        let input = format!("Content-Length: {length}\r\n\r\n{{}}");
        let output = run_with(&folder, input.len(), &["lsp"], input.as_bytes());
        assert_eq!(output.code, Some(1), "{output:?}");
    }
}

#[test]
fn messages_with_very_many_values() {
    check("values", &framed(&format!("[{}0]", "0,".repeat(500_000))));
    let objects = "{\"a\":{}},".repeat(3_000);
    let params = format!("{{\"method\":\"x\",\"params\":[{objects}0]}}");
    check("objects", &framed(&params).repeat(10));
}

#[test]
fn malformed_messages() {
    check("nested", &framed(&"[".repeat(1_000_000)));
    check("garbage", &framed("{{{").repeat(1_000));
}

#[test]
fn sources_with_a_name_of_a_megabyte() {
    let open = |text: String| {
        let document =
            json!({ "uri": "file:///a.s", "languageId": "s", "version": 1, "text": text });
        let params = json!({ "textDocument": document });
        framed(&json!({ "method": "textDocument/didOpen", "params": params }).to_string())
    };
    check("name", &open(format!("ja {}", "a".repeat(1_000_000))));
    check("labels", &open("a:".repeat(200_000)));
}
