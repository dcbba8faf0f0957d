//! `docs/rpc.md`, made from the tables.

use core::fmt::{self, Write as _};

use crate::{
    error::ERRORS,
    methods::{API_VERSION, METHODS, SUBSCRIPTIONS, UNSUPPORTED},
    options::Limits,
};

/// A request and its answer.
const EXAMPLE: &str = r#"```console
$ curl -s http://localhost:8899 -H 'Content-Type: application/json' \
    -d '{"jsonrpc": "2.0", "id": 1, "method": "getBalance", "params": ["ADDRESS"]}'
{"jsonrpc":"2.0","result":{"context":{"apiVersion":"4.4.0","slot":9},"value":5000000000},"id":1}
```

"#;

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
    writeln!(
        text,
        "may have unknown keys, and null fields but for the booleans of `sendTransaction`,"
    )?;
    writeln!(text, "`simulateTransaction` and `getSignatureStatuses`.\n")?;
    text.write_str(EXAMPLE)?;
    methods(text)?;
    cheatcodes(text)?;
    subscriptions(text)?;
    errors(text)?;
    limits(text)?;
    unsupported(text)
}

fn methods(text: &mut String) -> fmt::Result {
    writeln!(
        text,
        "## Methods\n\nThe last column is the version of agave with whose sources a method was compared.\n"
    )?;
    writeln!(text, "| method | parameters | answer | agave |\n|---|---|---|---|")?;
    for method in METHODS.iter().filter(|method| !method.is_cheat()) {
        let (name, params, result, compared) =
            (method.name, method.params, method.result, method.compared);
        writeln!(text, "| `{name}` | {params} | {result} | {compared} |")?;
    }
    Ok(())
}

fn cheatcodes(text: &mut String) -> fmt::Result {
    writeln!(text, "\n## Cheatcodes\n")?;
    writeln!(
        text,
        "They edit state and time. [cheatcodes.md](cheatcodes.md) calls each of them with curl."
    )?;
    writeln!(text, "They are for clients on the same machine alone, unless the node was")?;
    writeln!(
        text,
        "started with `--open-cheatcodes`. Pages that were served by this machine, whose"
    )?;
    writeln!(
        text,
        "`Origin` is `localhost` or a loopback address, may call them, as the programs are your"
    )?;
    writeln!(
        text,
        "own that serve them; other pages cannot. The `Host` of a request must be an address,"
    )?;
    writeln!(
        text,
        "`localhost`, or a name of `--rpc-host`: a page might let its own name mean this"
    )?;
    writeln!(text, "machine, and would then be asked for no origin.\n")?;
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

/// A limit: what it is on, its default, the field of `Limits`, and what a client sees beyond it.
type LimitRow = (&'static str, String, &'static str, &'static str);

/// The options of `selkie node` for limits, by the fields.
#[rustfmt::skip]
const NODE_OPTIONS: &[(&str, &str)] = &[
    ("body_bytes_max", "--rpc-max-request-body-size"),
    ("batch_max", "--rpc-max-batch"),
    ("scan_accounts_max", "--rpc-max-scan-accounts"),
    ("connections_max", "--rpc-max-connections"),
    ("address_connections_max", "--rpc-max-connections-per-address"),
    ("all_subscriptions_max", "--rpc-pubsub-max-active-subscriptions"),
    ("queues_bytes_max", "--rpc-pubsub-queue-capacity-bytes"),
];

fn limits(text: &mut String) -> fmt::Result {
    let limits = Limits::default();
    writeln!(text, "\n## Limits\n")?;
    writeln!(
        text,
        "Fields are those of `selkie_rpc::Limits`, for programs that embed the node; options are"
    )?;
    writeln!(
        text,
        "those of `selkie node`. The limits of WebSockets keep their share of the connections."
    )?;
    writeln!(
        text,
        "Connections speak HTTP/1.1 and WebSocket, no HTTP/2. One that waits for no answer"
    )?;
    writeln!(
        text,
        "makes way for a new one when there are too many. Answers of up to 16 KiB count towards"
    )?;
    writeln!(
        text,
        "no limit of all, so that short requests are answered when long ones are not.\n"
    )?;
    writeln!(text, "| what | default | option | field | beyond it |\n|---|---|---|---|---|")?;
    let rows = requests(&limits).into_iter().chain(connections(&limits)).chain(quic(&limits));
    let code = |name: &str| if name.is_empty() { "none".to_owned() } else { format!("`{name}`") };
    for (what, limit, field, beyond) in rows {
        let option = NODE_OPTIONS.iter().find(|(of, _)| *of == field).map_or("", |(_, it)| it);
        let (option, field) = (code(option), code(field));
        writeln!(text, "| {what} | {limit} | {option} | {field} | {beyond} |")?;
    }
    Ok(())
}

fn bytes(count: usize) -> String {
    const MIB: usize = 1024 * 1024;
    match count.checked_rem(MIB) {
        Some(0) => format!("{} MiB", count.checked_div(MIB).unwrap_or(0)),
        _ => format!("{count} bytes"),
    }
}

fn seconds(duration: core::time::Duration) -> String {
    format!("{} s", duration.as_secs())
}

#[rustfmt::skip]
fn requests(limits: &Limits) -> Vec<LimitRow> {
    vec![
        ("body of a request", bytes(limits.body_bytes_max), "body_bytes_max", "status 413"),
        ("body of a cheatcode", bytes(limits.cheat_body_bytes_max), "cheat_body_bytes_max", "status 413"),
        ("WebSocket message from a client", bytes(limits.message_bytes_max), "message_bytes_max", "the connection is closed"),
        ("requests in a batch", limits.batch_max.to_string(), "batch_max", "error -32600"),
        ("an answer, and all answers to a batch", bytes(limits.answer_bytes_max), "answer_bytes_max", "error -32600 in place of each result that does not fit"),
        ("all answers that are being made and sent", bytes(limits.answers_bytes_max), "answers_bytes_max", "error -32603 that says that the node is busy; status 503 for a long body"),
        ("accounts of a scan", limits.scan_accounts_max.to_string(), "scan_accounts_max", "error -32012"),
        ("base58 of a filter", "175 characters".to_owned(), "", "error -32602, as in agave"),
        ("time for a request's head, and silence of a connection", seconds(limits.head_timeout), "head_timeout", "the connection is closed"),
        ("time for a request's body", seconds(limits.body_timeout), "body_timeout", "status 408"),
        ("time to go on reading an answer or a notification", seconds(limits.send_timeout), "send_timeout", "the connection is closed"),
    ]
}

#[rustfmt::skip]
fn connections(limits: &Limits) -> Vec<LimitRow> {
    vec![
        ("connections", limits.connections_max.to_string(), "connections_max", "the one that is silent the longest is closed; if none is, the new one"),
        ("connections from an address; for IPv6, from a network of 64 bits", limits.address_connections_max.to_string(), "address_connections_max", "as for all of them"),
        ("WebSockets", limits.sockets_max.to_string(), "sockets_max", "status 503"),
        ("WebSockets from an address", limits.address_sockets_max.to_string(), "address_sockets_max", "status 503"),
        ("time between pings of a WebSocket, three of which may go unanswered", seconds(limits.ping_interval), "ping_interval", "the connection is closed"),
        ("subscriptions of a connection", limits.subscriptions_max.to_string(), "subscriptions_max", "error -32600"),
        ("subscriptions of all connections", limits.all_subscriptions_max.to_string(), "all_subscriptions_max", "error -32603"),
        ("notifications that wait for a client", limits.queue_max.to_string(), "queue_max", "the connection is closed"),
        ("their size together", bytes(limits.queue_bytes_max), "queue_bytes_max", "the connection is closed"),
        ("notifications that wait for all clients", bytes(limits.queues_bytes_max), "queues_bytes_max", "the connections of those who should get more are closed"),
    ]
}

#[rustfmt::skip]
fn quic(limits: &Limits) -> Vec<LimitRow> {
    vec![
        ("QUIC connections", limits.quic_connections_max.to_string(), "quic_connections_max", "as for connections"),
        ("QUIC connections from an address", limits.quic_address_connections_max.to_string(), "quic_address_connections_max", "as for connections"),
        ("transactions that a QUIC connection is sending", limits.quic_streams_max.to_string(), "quic_streams_max", "the client waits"),
        ("time for a QUIC handshake, and for a transaction", seconds(limits.quic_timeout), "quic_timeout", "it is dropped"),
        ("silence of a QUIC connection", seconds(limits.quic_silence_max), "quic_silence_max", "the connection is closed"),
    ]
}

fn unsupported(text: &mut String) -> fmt::Result {
    writeln!(text, "\n## Not served\n")?;
    writeln!(text, "These answer with error -32601.\n\n| method | why |\n|---|---|")?;
    for row in UNSUPPORTED {
        writeln!(text, "| {} | {} |", row.name, row.reason)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::METHODS;

    #[test]
    fn the_page_about_cheatcodes_calls_each() {
        let page = include_str!("../../../docs/cheatcodes.md");
        for method in METHODS.iter().filter(|it| it.is_cheat()) {
            // Loaded state is longer than an argument may be, so it is sent from a file.
            let calls = ["rpc {}", "method: \"{}\""].map(|call| call.replace("{}", method.name));
            assert!(calls.iter().any(|it| page.contains(it)), "no call of {}", method.name);
        }
    }
}
