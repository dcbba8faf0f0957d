//! `docs/rpc.md`, made from the tables.

use core::fmt::{self, Write as _};

use crate::{
    error::ERRORS,
    methods::{API_VERSION, METHODS, SUBSCRIPTIONS, UNSUPPORTED},
    options::Limits,
};

/// Returns the text of `docs/rpc.md`.
#[must_use]
pub fn documentation() -> String {
    let mut text = String::new();
    write(&mut text).expect("strings take everything");
    text
}

fn write(text: &mut String) -> fmt::Result {
    writeln!(text, "# JSON-RPC\n")?;
    writeln!(text, "What `selkie node` answers. The file is generated from the tables in")?;
    writeln!(text, "`crates/rpc/src/methods/table.rs` and `crates/rpc/src/error.rs`.\n")?;
    writeln!(
        text,
        "Requests come by HTTP POST and over WebSocket, one by one or in batches. Names,"
    )?;
    writeln!(
        text,
        "parameters and texts are those of agave {API_VERSION}, whose documentation describes"
    )?;
    writeln!(
        text,
        "them in full. Parameters in brackets may be absent or null, configuration objects"
    )?;
    writeln!(text, "may have null fields and unknown keys.\n")?;
    methods(text)?;
    cheatcodes(text)?;
    subscriptions(text)?;
    errors(text)?;
    limits(text)?;
    unsupported(text)
}

fn methods(text: &mut String) -> fmt::Result {
    writeln!(text, "## Methods\n\n| method | parameters | answer |\n|---|---|---|")?;
    for method in METHODS.iter().filter(|method| !method.is_cheat()) {
        writeln!(text, "| `{}` | {} | {} |", method.name, method.params, method.result)?;
    }
    Ok(())
}

fn cheatcodes(text: &mut String) -> fmt::Result {
    writeln!(text, "\n## Cheatcodes\n")?;
    writeln!(
        text,
        "They edit state and time, for clients on the same machine alone, unless the node was"
    )?;
    writeln!(text, "started with `--open-cheatcodes`. Pages of other origins cannot call them.\n")?;
    writeln!(text, "| method | alias | parameters | answer |\n|---|---|---|---|")?;
    for method in METHODS.iter().filter(|method| method.is_cheat()) {
        let alias = match method.alias {
            "" => String::new(),
            alias => format!("`{alias}`"),
        };
        let (name, params, result) = (method.name, method.params, method.result);
        writeln!(text, "| `{name}` | {alias} | {params} | {result} |")?;
    }
    Ok(())
}

fn subscriptions(text: &mut String) -> fmt::Result {
    writeln!(text, "\n## Subscriptions\n")?;
    writeln!(
        text,
        "Over WebSocket, on the port of HTTP and on the next one. `nameSubscribe` answers with a"
    )?;
    writeln!(
        text,
        "number, which `nameUnsubscribe` takes; notifications have the method `nameNotification`.\n"
    )?;
    writeln!(text, "| name | parameters | notification |\n|---|---|---|")?;
    for row in SUBSCRIPTIONS {
        writeln!(text, "| `{}` | {} | {} |", row.name, row.params, row.result)?;
    }
    Ok(())
}

fn errors(text: &mut String) -> fmt::Result {
    writeln!(text, "\n## Errors\n\n| code | name | message | data |\n|---|---|---|---|")?;
    for row in ERRORS {
        writeln!(text, "| {} | {} | {} | {} |", row.code, row.name, row.text, row.data)?;
    }
    Ok(())
}

fn limits(text: &mut String) -> fmt::Result {
    let limits = Limits::default();
    writeln!(text, "\n## Limits\n\n| what | limit | beyond it |\n|---|---|---|")?;
    for (what, limit, beyond) in [
        ("body of a request", format!("{} bytes", limits.body_bytes_max), "status 413"),
        ("body of a cheatcode", format!("{} bytes", limits.cheat_body_bytes_max), "status 413"),
        (
            "WebSocket message",
            format!("{} bytes", limits.message_bytes_max),
            "the connection is closed",
        ),
        ("requests in a batch", limits.batch_max.to_string(), "error -32600"),
        ("connections", limits.connections_max.to_string(), "the connection is closed"),
        ("subscriptions of a connection", limits.subscriptions_max.to_string(), "error -32600"),
        ("notifications that wait", limits.queue_max.to_string(), "the connection is closed"),
        (
            "their size together",
            format!("{} bytes", limits.queue_bytes_max),
            "the connection is closed",
        ),
        ("accounts of a scan", limits.scan_accounts_max.to_string(), "error -32012"),
        (
            "time for a request's head",
            format!("{} s", limits.head_timeout.as_secs()),
            "the connection is closed",
        ),
        ("time for a request's body", format!("{} s", limits.body_timeout.as_secs()), "status 408"),
        (
            "time to read a WebSocket message, or to go on reading an answer",
            format!("{} s", limits.send_timeout.as_secs()),
            "the connection is closed",
        ),
        ("QUIC connections", limits.quic_connections_max.to_string(), "the connection is refused"),
        (
            "transactions that a QUIC connection is sending",
            limits.quic_streams_max.to_string(),
            "the client waits",
        ),
        (
            "time for a QUIC handshake, and for a transaction",
            format!("{} s", limits.quic_timeout.as_secs()),
            "it is dropped",
        ),
        (
            "silence of a QUIC connection",
            format!("{} s", limits.quic_silence_max.as_secs()),
            "the connection is closed",
        ),
    ] {
        writeln!(text, "| {what} | {limit} | {beyond} |")?;
    }
    Ok(())
}

fn unsupported(text: &mut String) -> fmt::Result {
    writeln!(text, "\n## Not served\n")?;
    writeln!(text, "These answer with error -32601.\n\n| method | why |\n|---|---|")?;
    for row in UNSUPPORTED {
        writeln!(text, "| {} | {} |", row.name, row.reason)?;
    }
    Ok(())
}
