//! From a request's bytes to its answer.

use core::time::Duration;
use std::{sync::Arc, time::Instant};

use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    error::RpcError,
    methods::{self, Access, Call, Method, Reply, Weight},
    options::Options,
    params::Params,
    server::{
        shared::{Peer, Shared},
        subscribe::CatchUp,
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

/// An answer, whose fields are in the order of agave's.
#[derive(Debug, Serialize)]
pub(crate) struct Response {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Reply>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
    id: Value,
}

/// Returns the answer to a request with an id.
pub(crate) fn response(id: Value, result: Result<Reply, RpcError>) -> Response {
    let (result, error) = match result {
        Ok(result) => (Some(result), None),
        Err(error) => (None, Some(error)),
    };
    Response { jsonrpc: "2.0", result, error, id }
}

/// One answer, or those to a batch.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Answer {
    One(Response),
    Batch(Vec<Response>),
}

/// Answers a body: a request or a batch. `None` if there is nothing to answer.
pub(crate) async fn answer(shared: &Arc<Shared>, peer: &Peer, body: &[u8]) -> Option<Answer> {
    match serde_json::from_slice(body) {
        Err(_) => Some(refuse(RpcError::parse_error())),
        Ok(Value::Array(requests)) => answer_batch(shared, peer, requests).await,
        Ok(request) => answer_one(shared, peer, request).await.map(Answer::One),
    }
}

fn refuse(error: RpcError) -> Answer {
    Answer::One(response(Value::Null, Err(error)))
}

async fn answer_batch(shared: &Arc<Shared>, peer: &Peer, requests: Vec<Value>) -> Option<Answer> {
    let max = shared.options.limits.batch_max;
    if requests.is_empty() {
        return Some(refuse(RpcError::invalid_request()));
    }
    if requests.len() > max {
        let text = format!("{} requests in a batch, the limit is {max}", requests.len());
        return Some(refuse(RpcError::refused(text)));
    }
    let mut answers = Vec::new();
    for request in requests {
        answers.extend(answer_one(shared, peer, request).await);
    }
    (!answers.is_empty()).then_some(Answer::Batch(answers))
}

async fn answer_one(shared: &Arc<Shared>, peer: &Peer, request: Value) -> Option<Response> {
    let request = match Request::read(request) {
        Ok(request) => request,
        Err((id, error)) => return Some(response(id, Err(error))),
    };
    let id = request.id.clone();
    let result = call(shared, peer, request).await;
    id.map(|id| response(id, result))
}

/// Calls a method and counts it.
#[allow(clippy::disallowed_methods, reason = "durations of requests are for the metrics alone")]
pub(crate) async fn call(
    shared: &Arc<Shared>,
    peer: &Peer,
    request: Request,
) -> Result<Reply, RpcError> {
    let started = Instant::now();
    let method = methods::find(&request.method);
    let result = match method {
        Some(method) if method.access == Access::Loopback && !peer.may_cheat(&shared.options) => {
            let text = "Cheatcodes are for clients on the same machine; start the node with --open-cheatcodes to allow others";
            Err(RpcError::refused(text))
        }
        Some(method) => run(shared, method, request.params).await,
        None => Err(RpcError::method_not_found()),
    };
    let code = result.as_ref().err().map_or(0, |error| error.code);
    // Names of methods that do not exist are the client's, and might be many.
    let (name, took) = (method.map_or("unknown", |it| it.name), started.elapsed());
    tracing::debug!(method = name, code, seconds = took.as_secs_f64(), "request");
    shared.metrics.count(name, code, took);
    result
}

async fn run(
    shared: &Arc<Shared>,
    method: &'static Method,
    params: Option<Value>,
) -> Result<Reply, RpcError> {
    let (least, most) = method.arity();
    let mut params = Params::new(params, least, most)?;
    let mut work = move |shared: &Shared| {
        let Options { limits, fetches, .. } = &shared.options;
        let (node, addresses) = (&shared.node, &shared.addresses);
        let subscribers = CatchUp::new(shared);
        let call = Call { node, addresses, fetches: *fetches, limits, subscribers: &subscribers };
        let result = method.handler.answer(&call, &mut params);
        (result, subscribers.notified())
    };
    let weight = if shared.options.fetches { Weight::Slow } else { method.weight };
    let (result, notified) = match weight {
        Weight::Quick => work(shared),
        Weight::Slow => {
            let shared = Arc::clone(shared);
            let task = tokio::task::spawn_blocking(move || work(&shared));
            task.await.unwrap_or_else(|error| (Err(RpcError::internal(error)), Vec::new()))
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
    result
}

/// How long an answer waits for notifications of the same thing, which come first.
const NOTIFIED_WITHIN: Duration = Duration::from_millis(20);
