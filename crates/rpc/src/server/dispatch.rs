//! From a request's bytes to its answer.

use core::time::Duration;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Instant,
};

use serde::Serialize;
use serde_json::{Value, json};
use solana_account::ReadableAccount as _;
use solana_commitment_config::CommitmentLevel::Processed;
use tokio::time::timeout;

use crate::{
    budget::{QUICK_BYTES_MAX, Text},
    error::RpcError,
    methods::{self, Access, Call, Method, Weight},
    options::Options,
    params::Params,
    server::{
        hub::Connection,
        shared::{Peer, Shared},
        subscribe::{self, CatchUp},
    },
};

/// A request of the protocol.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) params: Option<Value>,
    /// `None` for notifications, which get no answer.
    pub(crate) id: Option<Value>,
}

impl Request {
    /// Reads a request. The error comes with the id, as far as there is one.
    pub(crate) fn read(value: Value) -> Result<Self, (Value, RpcError)> {
        let Value::Object(mut fields) = value else {
            return Err((Value::Null, RpcError::invalid_request()));
        };
        let id = fields.remove("id");
        let is_id = id.as_ref().is_none_or(|id| id.is_null() || id.is_number() || id.is_string());
        let known = id.clone().filter(|_| is_id).unwrap_or_default();
        let Some(Value::String(method)) = fields.remove("method").filter(|_| is_id) else {
            return Err((known, RpcError::invalid_request()));
        };
        if fields.get("jsonrpc") != Some(&json!("2.0")) {
            let text = "Unsupported JSON-RPC protocol version";
            return Err((known, RpcError::refused(text)));
        }
        Ok(Self { method, params: fields.remove("params"), id })
    }
}

/// An answer that is an error, with the fields in the order of agave's.
#[derive(Debug, Serialize)]
struct Refusal<'a> {
    jsonrpc: &'static str,
    error: &'a RpcError,
    id: &'a Value,
}

fn end(text: &mut Text, id: &Value) -> Result<(), RpcError> {
    text.raw(r#","id":"#)?;
    text.json(id)?;
    text.raw("}")
}

/// Adds an error. One that does not fit any more loses its data.
fn refuse(text: &mut Text, id: &Value, error: &RpcError) {
    let start = text.len();
    let jsonrpc = "2.0";
    if let Err(full) = text.json(&Refusal { jsonrpc, error, id }) {
        text.truncate(start);
        let short = RpcError { code: error.code, message: error.message.clone(), data: None };
        let error = if error.data.is_some() { &full } else { &short };
        let refusal = serde_json::to_vec(&Refusal { jsonrpc, error, id });
        text.force(&refusal.unwrap_or_default());
    }
}

/// After how many bytes of answers a batch lets other tasks have their turn.
const TURN_BYTES: usize = 64 * 1024;

/// Who asks.
#[derive(Debug)]
pub(crate) struct Client<'a> {
    pub(crate) shared: &'a Arc<Shared>,
    pub(crate) peer: &'a Peer,
    /// The WebSocket over which it asks.
    pub(crate) connection: Option<&'a Connection>,
    /// The subscriptions that it has begun.
    pub(crate) began: Vec<u64>,
}

impl<'a> Client<'a> {
    /// Creates a client that asks over HTTP.
    pub(crate) const fn new(shared: &'a Arc<Shared>, peer: &'a Peer) -> Self {
        Self { shared, peer, connection: None, began: Vec::new() }
    }

    /// Returns the answer to a body, a request or a batch; an empty text if there is nothing to answer.
    pub(crate) async fn answer(&mut self, body: &[u8]) -> Text {
        let mut text = self.shared.answer();
        match serde_json::from_slice(body) {
            Err(_) => refuse(&mut text, &Value::Null, &RpcError::parse_error()),
            Ok(Value::Array(requests)) => return self.batch(requests, text).await,
            Ok(request) => return self.one(request, text).await,
        }
        text
    }

    /// Adds the answers to a batch.
    async fn batch(&mut self, requests: Vec<Value>, mut text: Text) -> Text {
        let max = self.shared.options.limits.batch_max;
        if requests.is_empty() || requests.len() > max {
            let error = match requests.len() {
                0 => RpcError::invalid_request(),
                count => {
                    RpcError::refused(format!("{count} requests in a batch, the limit is {max}"))
                }
            };
            refuse(&mut text, &Value::Null, &error);
            return text;
        }
        let mut turn = 0;
        text.force(b"[");
        for request in requests {
            let separated = text.len();
            if separated > 1 {
                text.force(b",");
            }
            let start = text.len();
            text = self.one(request, text).await;
            if text.len() == start {
                text.truncate(separated);
            }
            if text.len().saturating_sub(turn) > TURN_BYTES {
                turn = text.len();
                tokio::task::yield_now().await;
            }
        }
        match text.len() {
            // Notifications get no answer.
            1 => text.truncate(0),
            _ => text.force(b"]"),
        }
        text
    }

    /// Adds the answer to a request: what the method adds is the result. If that fails, or is more than
    /// there is space for, the answer is the error.
    async fn one(&mut self, request: Value, mut text: Text) -> Text {
        let request = match Request::read(request) {
            Ok(request) => request,
            Err((id, error)) => {
                refuse(&mut text, &id, &error);
                return text;
            }
        };
        let (start, id) = (text.len(), request.id.clone());
        let begun = text.raw(r#"{"jsonrpc":"2.0","result":"#);
        let (mut text, result) = match begun {
            Ok(()) => self.result(request, text).await,
            Err(error) => (text, Err(error)),
        };
        let Some(id) = id else {
            text.truncate(start);
            return text;
        };
        if let Err(error) = result.and_then(|()| end(&mut text, &id)) {
            text.truncate(start);
            refuse(&mut text, &id, &error);
        }
        text
    }

    /// Adds the result of a request.
    async fn result(&mut self, request: Request, mut text: Text) -> (Text, Result<(), RpcError>) {
        let Some(connection) = self.connection else {
            return call(self.shared, self.peer, request, text).await;
        };
        let (method, params) = (request.method.as_str(), request.params.as_ref());
        match subscribe::handle(self.shared, connection, method, params) {
            Some(Ok(value)) => {
                self.began.extend(value.as_u64());
                let written = text.json(&value);
                (text, written)
            }
            Some(Err(error)) => (text, Err(error)),
            // Clients send the notification `ping` to keep connections open.
            None if request.id.is_none() => (text, Ok(())),
            None => call(self.shared, self.peer, request, text).await,
        }
    }
}

/// Calls a method, which adds its result to a text, and counts it.
#[allow(clippy::disallowed_methods, reason = "durations of requests are for the metrics alone")]
async fn call(
    shared: &Arc<Shared>,
    peer: &Peer,
    request: Request,
    text: Text,
) -> (Text, Result<(), RpcError>) {
    let started = Instant::now();
    let method = methods::find(&request.method);
    let (text, result) = match method {
        Some(method) if method.access == Access::Loopback && !peer.may_cheat(&shared.options) => {
            let reason = "Cheatcodes are for clients on the same machine; start the node with --open-cheatcodes to allow others";
            (text, Err(RpcError::refused(reason)))
        }
        Some(_) if shared.surfnet.is_disabled(&request.method) => {
            let name = &request.method;
            let reason = format!("Cheatcode rpc method: {name} is currently disabled");
            (text, Err(RpcError::refused(reason)))
        }
        Some(method) => run(shared, method, request.params, text).await,
        None => (text, Err(RpcError::method_not_found())),
    };
    let code = result.as_ref().err().map_or(0, |error| error.code);
    // Names of methods that do not exist are the client's, and might be many.
    let (name, took) = (method.map_or("unknown", |it| it.name), started.elapsed());
    tracing::debug!(method = name, code, seconds = took.as_secs_f64(), "request");
    shared.metrics.count(name, code, took);
    (text, result)
}

async fn run(
    shared: &Arc<Shared>,
    method: &'static Method,
    params: Option<Value>,
    text: Text,
) -> (Text, Result<(), RpcError>) {
    let (least, most) = method.arity();
    let mut params = match Params::new(params, least, most) {
        Ok(params) => params,
        Err(error) => return (text, Err(error)),
    };
    let is_slow = shared.options.fetches || is_slow(shared, method, &params);
    let another = text.another();
    let mut work = move |shared: &Shared, mut text: Text| {
        let Options { limits, fetches, explainer, .. } = &shared.options;
        let (node, addresses, schedules) = (&shared.node, &shared.addresses, &shared.schedules);
        let surfnet = &shared.surfnet;
        let subscribers = CatchUp::new(shared);
        let call = Call {
            node,
            addresses,
            fetches: *fetches,
            limits,
            explainer: explainer.as_deref(),
            schedules,
            surfnet,
            interfaces: &shared.interfaces,
            subscribers: &subscribers,
        };
        // A panic is a bug, and must not cost the answers before it.
        let result =
            catch_unwind(AssertUnwindSafe(|| method.handler.answer(&call, &mut params, &mut text)));
        let result = result.unwrap_or_else(|_| Err(RpcError::internal("the method panicked")));
        (text, result, subscribers.notified())
    };
    let (text, result, notified) = match is_slow {
        false => work(shared, text),
        true => {
            let shared = Arc::clone(shared);
            let task = tokio::task::spawn_blocking(move || work(&shared, text));
            let lost = |error| (another, Err(RpcError::internal(error)), Vec::new());
            task.await.unwrap_or_else(lost)
        }
    };
    if !notified.is_empty() {
        let written = async {
            for connection in &notified {
                connection.queue.written().await;
            }
        };
        // Writing takes longer to a client that reads slowly, and must wait where the request came over
        // the same WebSocket.
        let _ = timeout(NOTIFIED_WITHIN, written).await;
    }
    (text, result)
}

/// Returns whether a method gets a thread of its own.
fn is_slow(shared: &Shared, method: &Method, params: &Params) -> bool {
    match method.weight {
        Weight::Quick => false,
        Weight::Slow => true,
        Weight::OfAccount => {
            let key = params.peek(0).as_str().and_then(|text| text.parse().ok());
            let account = key.and_then(|key| shared.node.view(Processed).account(&key));
            account.is_some_and(|account| account.data().len() > QUICK_BYTES_MAX)
        }
    }
}

/// How long an answer waits for notifications of the same thing, which come first.
const NOTIFIED_WITHIN: Duration = Duration::from_millis(20);
