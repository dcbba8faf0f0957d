//! [`Service`]: what answers requests, without sockets.

use core::pin::pin;
use std::sync::Arc;

use axum::{Router, body::Body};
use hyper::{
    Request,
    body::Incoming,
    header::{self, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use selkie_node::Node;
use solana_signature::Signature;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    task::JoinSet,
};
use tower_service::Service as _;

use crate::{
    methods::Addresses,
    options::Options,
    server::{
        connections::Permit,
        dispatch::Client,
        feed, http, quic,
        shared::{Peer, Shared},
        write_timeout::WriteTimeout,
    },
};

/// Answers requests and serves connections of any kind. [`Server`](crate::Server) is a service with
/// listeners.
///
/// It belongs to the Tokio runtime in which it was started.
#[derive(Debug)]
pub struct Service {
    pub(super) shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    pub(super) tasks: JoinSet<()>,
}

impl Service {
    /// Starts a service for a node; `addresses` is what it tells clients.
    #[must_use]
    pub fn start(node: Node, options: Options, addresses: Addresses) -> Self {
        let (stop, stopping) = watch::channel(false);
        let shared = Arc::new(Shared::new(node, options, addresses, stopping));
        let mut tasks = JoinSet::new();
        tasks.spawn(feed::run(Arc::clone(&shared)));
        tasks.spawn(feed::tick(Arc::clone(&shared)));
        Self { shared, stop, tasks }
    }

    /// Returns the addresses that it tells clients.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.shared.addresses
    }

    /// Answers the body of a request from this machine. `None` if there is nothing to answer.
    pub async fn answer(&self, body: &[u8]) -> Option<Vec<u8>> {
        let answer = Client::new(&self.shared, &Peer::LOCAL).answer(body).await.into_bytes();
        (!answer.is_empty()).then_some(answer)
    }

    /// Serves HTTP and WebSocket on a connection from this machine until it ends.
    pub async fn serve<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let router = http::router(&self.shared);
        connection(stream, true, router, Arc::clone(&self.shared), Permit::UNLIMITED).await;
    }

    /// Takes a transaction as it comes over QUIC, and returns its signature; `None` if it is no
    /// transaction or the node cannot take it.
    #[must_use]
    pub fn receive(&self, bytes: &[u8]) -> Option<Signature> {
        quic::receive(&self.shared, bytes)
    }

    /// Answers what has been asked, closes WebSockets, and returns within a second.
    pub async fn stop(mut self) {
        // Tasks end when they see this. Sending fails if all have ended.
        let _ = self.stop.send(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Serves the requests of a connection, until it ends or must make way for another.
///
/// It speaks HTTP/1.1 alone, as all clients of a local node do: a connection of HTTP/2 may ask for many
/// answers and take none of them while it looks alive.
pub(super) async fn connection<S>(
    stream: S,
    is_local: bool,
    router: Router,
    shared: Arc<Shared>,
    permit: Permit,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let closed = permit.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let header = |name| request.headers().get(name).map(|it: &HeaderValue| it.as_bytes());
        let text = |name| header(name).map(|it| String::from_utf8_lossy(it).into_owned());
        let peer = Peer { is_local, origin: text(header::ORIGIN), host: text(header::HOST) };
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(permit.clone());
        router.clone().call(request.map(Body::new))
    });
    let limits = &shared.options.limits;
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.head_timeout);
    let stream = TokioIo::new(WriteTimeout::new(stream, limits.send_timeout));
    let mut connection = pin!(builder.serve_connection(stream, service).with_upgrades());
    let mut stopping = shared.stopping.clone();
    tokio::select! {
        // A connection that fails is the client's affair.
        ended = connection.as_mut() => return drop(ended),
        () = closed.closed() => return,
        _ = stopping.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    drop(connection.await);
}
