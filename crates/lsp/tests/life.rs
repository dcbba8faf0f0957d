//! The life cycle of a session: start, end, invalid requests, cancellation.

mod client;

use client::{Client, URI, place};
use lsp_server::Notification;
use selkie_lsp::Ended;
use serde_json::{Value, json};

const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const NOT_INITIALIZED: i32 = -32002;
const CANCELLED: i32 = -32800;

#[test]
fn shutdown_and_exit_end_a_session_in_order() {
    assert_eq!(Client::open("exit\n").leave(), Ended::Orderly);
}

#[test]
fn ending_without_shutdown_is_abrupt() {
    assert_eq!(Client::open("exit\n").ended(), Ended::Abrupt);
    assert_eq!(Client::new().ended(), Ended::Abrupt);
    let client = Client::open("exit\n");
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), Ended::Abrupt);
}

#[test]
fn requests_before_initialize_or_after_shutdown_are_refused() {
    let mut client = Client::new();
    assert_eq!(client.fail("textDocument/hover", place(0, 0)).0, NOT_INITIALIZED);
    client.notify("textDocument/didOpen", json!({}));
    client.ask("initialize", json!({ "capabilities": {} }));
    assert_eq!(client.fail("initialize", json!({ "capabilities": {} })).0, INVALID_REQUEST);
    client.ask("shutdown", Value::Null);
    assert_eq!(client.fail("textDocument/hover", place(0, 0)).0, INVALID_REQUEST);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), Ended::Orderly);
}

#[test]
fn invalid_requests_are_refused_and_invalid_notifications_ignored() {
    let mut client = Client::with(json!({ "capabilities": {}, "initializationOptions": [1] }));
    assert_eq!(client.fail("selkie/nonsense", Value::Null).0, METHOD_NOT_FOUND);
    assert_eq!(client.fail("textDocument/hover", json!({ "position": 1 })).0, INVALID_PARAMS);
    let (code, text) = client.fail("textDocument/hover", place(0, 0));
    assert_eq!((code, text.as_str()), (INVALID_PARAMS, "`file:///project/program.s` is not open"));
    for method in ["didOpen", "didChange", "didClose"] {
        client.notify(&format!("textDocument/{method}"), json!({ "textDocument": 7 }));
    }
    client.notify("workspace/didChangeConfiguration", json!({ "settings": 7 }));
    client.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": "file:///nowhere.s", "version": 2 },
            "contentChanges": [{ "text": "exit" }],
        }),
    );
    client.notify("$/anything", Value::Null);
    assert_eq!(client.leave(), Ended::Orderly);
}

#[test]
fn positions_beyond_the_text_are_moved_into_it() {
    let mut client = Client::open("exit\r\n\u{1f980}");
    let methods = ["hover", "completion", "definition", "documentHighlight", "foldingRange"];
    for (line, column) in [(0, 99), (1, 1), (1, 2), (2, 0), (u32::MAX, u32::MAX)] {
        for method in methods {
            client.at(&format!("textDocument/{method}"), (line, column));
        }
    }
    assert_eq!(client.leave(), Ended::Orderly);
}

#[test]
fn a_cancelled_request_fails_or_was_answered_before() {
    let mut client = Client::with(json!({ "capabilities": {} }));
    // It takes a while to assemble this; meanwhile the other messages come.
    client.open_at(URI, &".rept 100000\nmov64 r0, 0\n.endr\nexit\n".repeat(2));
    let hint = json!({
        "textDocument": { "uri": URI },
        "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } },
    });
    let slow = client.request("textDocument/inlayHint", hint);
    let hover = client.request("textDocument/hover", place(0, 0));
    let number: i32 = hover.to_string().parse().expect("the number is one");
    client.send(Notification::new("$/cancelRequest".to_owned(), json!({ "id": number })).into());
    assert!(client.response(&slow).response_result.is_ok());
    // It was cancelled in time, or answered before.
    if let Err(error) = client.response(&hover).response_result {
        assert_eq!(error.code, CANCELLED);
    }
    assert_eq!(client.leave(), Ended::Orderly);
}

#[test]
fn columns_are_counted_in_the_negotiated_encoding() {
    // A label after a comment with a character of four bytes, which are two units of UTF-16.
    let text = "/* \u{1f980} */ here: exit\nja here\n";
    for (offered, agreed, column) in [
        (json!(null), "utf-16", 9),
        (json!(["utf-16"]), "utf-16", 9),
        (json!(["utf-16", "utf-8"]), "utf-8", 11),
        (json!(["utf-32"]), "utf-32", 8),
    ] {
        let mut client = Client::new();
        let general = json!({ "positionEncodings": offered });
        let general = if offered.is_null() { json!({}) } else { general };
        let answer = client.ask("initialize", json!({ "capabilities": { "general": general } }));
        assert_eq!(answer["capabilities"]["positionEncoding"], agreed);
        client.open_at(URI, text);
        let found = client.at("textDocument/definition", (1, 4));
        assert_eq!(found[0]["range"]["start"]["character"], column, "{agreed}");
        assert_eq!(client.leave(), Ended::Orderly);
    }
}

#[test]
fn endless_sources_do_not_block_the_server() {
    for source in [
        ".macro m\nm\n.endm\nm\n",
        ".macro m\nm\nm\n.endm\nm\n",
        ".rept 1000000000\nexit\n.endr\n",
        ".rept 100000\n.rept 100000\n.endr\n.endr\n",
        ".include \"program.s\"\n",
        ".incbin \"/dev/zero\"\n",
        ".include \"/dev/stdin\"\n",
        ".include \"/\"\n",
        "/*",
        "\u{feff}",
    ] {
        let mut client = Client::open(source);
        client.diagnostics();
        for method in ["hover", "completion", "definition", "documentSymbol", "foldingRange"] {
            client.at(&format!("textDocument/{method}"), (0, 3));
        }
        assert_eq!(client.leave(), Ended::Orderly);
    }
}
