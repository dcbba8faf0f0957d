//! A WebSocket: requests come in, answers and notifications go out.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use serde_json::Value;
use tokio::time::timeout;

use crate::{
    error::RpcError,
    methods::Reply,
    server::{
        dispatch::{self, Request, Response, response},
        hub::Connection,
        queue::{Overrun, Receiver, queue},
        shared::{Peer, Permit, Shared},
        subscribe,
    },
};

/// Numbers of connections; they only have to differ.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// How many intervals without a sign of life end a connection.
const SILENT_INTERVALS: u32 = 3;

/// How long a client may take to read the last message.
const FAREWELL: Duration = Duration::from_millis(100);

/// Serves a WebSocket until either side closes it; until then it counts as a connection.
pub(super) async fn serve(socket: WebSocket, shared: Arc<Shared>, peer: Peer, permit: Permit) {
    let (queue, notifications) = queue(&shared.options.limits);
    let connection = Connection { id: NEXT.fetch_add(1, Relaxed), queue };
    shared.metrics.open_socket();
    let overrun = notifications.overrun();
    let mut session = Session { socket, shared: &shared, peer, connection, overrun };
    let close = session.run(notifications).await;
    if let Some(frame) = close {
        // The client may be gone already, or read nothing.
        let _ = timeout(FAREWELL, session.socket.send(Message::Close(Some(frame)))).await;
    }
    shared.hub.remove_connection(session.connection.id);
    shared.metrics.close_socket();
    drop(permit);
}

struct Session<'a> {
    socket: WebSocket,
    shared: &'a Arc<Shared>,
    peer: Peer,
    connection: Connection,
    overrun: Overrun,
}

impl Session<'_> {
    /// Serves until the end, and returns what to close with; `None` if the client has closed.
    async fn run(&mut self, mut notifications: Receiver) -> Option<CloseFrame> {
        let mut stopping = self.shared.stopping.clone();
        let mut ping = tokio::time::interval(self.shared.options.limits.ping_interval);
        let mut silent = 0_u32;
        loop {
            tokio::select! {
                message = self.socket.recv() => {
                    silent = 0;
                    self.receive(message?.ok()?).await?;
                }
                text = notifications.next() => {
                    self.write(Message::text(text?)).await?;
                    notifications.wrote_one();
                }
                _ = ping.tick() => {
                    silent = silent.saturating_add(1);
                    if silent > SILENT_INTERVALS {
                        return Some(frame(close_code::POLICY, "no sign of life"));
                    }
                    self.write(Message::Ping(Vec::new().into())).await?;
                }
                () = self.overrun.wait() => {
                    self.shared.metrics.drop_socket();
                    tracing::warn!("a client reads notifications too slowly and is let go");
                    return Some(frame(close_code::POLICY, "notifications are read too slowly"));
                }
                _ = stopping.changed() => return Some(frame(close_code::AWAY, "the node stops")),
            }
        }
    }

    /// Answers a message. `None` if the client has closed.
    async fn receive(&mut self, message: Message) -> Option<()> {
        let body = match &message {
            Message::Text(text) => text.as_bytes(),
            Message::Binary(bytes) => bytes,
            Message::Close(_) => return None,
            Message::Ping(_) | Message::Pong(_) => return Some(()),
        };
        let answer = match serde_json::from_slice(body) {
            Err(_) => Some(response(Value::Null, Err(RpcError::parse_error()))),
            Ok(Value::Array(requests)) => return self.batch(requests).await,
            Ok(request) => self.one(request).await,
        };
        self.send(answer).await
    }

    async fn batch(&mut self, requests: Vec<Value>) -> Option<()> {
        let mut answers = Vec::new();
        for request in requests {
            answers.extend(self.one(request).await);
        }
        let began: Vec<u64> = answers.iter().filter_map(id_of).collect();
        if answers.is_empty() {
            return Some(());
        }
        self.write(Message::text(serde_json::to_string(&answers).ok()?)).await?;
        for id in began {
            subscribe::catch_up_soon(self.shared, id);
        }
        Some(())
    }

    async fn one(&mut self, request: Value) -> Option<Response> {
        let request = match Request::read(request) {
            Ok(request) => request,
            Err((id, error)) => return Some(response(id, Err(error))),
        };
        let id = request.id.clone();
        let (method, params) = (request.method.as_str(), request.params.as_ref());
        let result = match subscribe::handle(self.shared, &self.connection, method, params) {
            Some(result) => result.map(Reply::Value),
            // Clients send the notification `ping` to keep connections open.
            None if id.is_none() => return None,
            None => dispatch::call(self.shared, &self.peer, request).await,
        };
        id.map(|id| response(id, result))
    }

    /// Writes a message. `None` if the client has closed, or does not read it in time or while its
    /// queue overflows.
    async fn write(&mut self, message: Message) -> Option<()> {
        let limit = self.shared.options.limits.send_timeout;
        let written = tokio::select! {
            biased;
            written = timeout(limit, self.socket.send(message)) => written.ok(),
            () = self.overrun.wait() => None,
        };
        if written.is_none() {
            self.shared.metrics.drop_socket();
        }
        written?.ok()
    }

    /// Sends an answer, and what a subscription that it begins has missed.
    async fn send(&mut self, answer: Option<Response>) -> Option<()> {
        let Some(answer) = answer else { return Some(()) };
        let began = id_of(&answer);
        self.write(Message::text(serde_json::to_string(&answer).ok()?)).await?;
        if let Some(id) = began {
            subscribe::catch_up_soon(self.shared, id);
        }
        Some(())
    }
}

/// Returns the id of the subscription that an answer may announce.
fn id_of(answer: &Response) -> Option<u64> {
    match &answer.result {
        Some(Reply::Value(value)) => value.as_u64(),
        _ => None,
    }
}

fn frame(code: u16, reason: &'static str) -> CloseFrame {
    CloseFrame { code, reason: reason.into() }
}
