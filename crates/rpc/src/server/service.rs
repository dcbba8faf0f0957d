//! [`Service`]: what answers requests, without sockets.

use std::sync::Arc;

use axum::{Router, body::Body};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
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
        dispatch, feed, http,
        hub::Hub,
        metrics::Metrics,
        quic,
        shared::{Peer, Permit, Shared},
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
        let shared = Arc::new(Shared {
            hub: Hub::new(options.limits.subscriptions_max),
            metrics: Metrics::default(),
            node,
            options,
            addresses,
            stopping,
        });
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
        let answer = dispatch::answer(&self.shared, &Peer::LOCAL, body).await?;
        serde_json::to_vec(&answer).ok()
    }

    /// Serves HTTP and WebSocket on a connection from this machine until it ends.
    pub async fn serve<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (router, options) = (http::router(&self.shared), &self.shared.options);
        connection(stream, true, router, options, &GracefulShutdown::new(), Permit(None)).await;
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

/// Serves the requests of a connection.
pub(super) fn connection<S>(
    stream: S,
    is_local: bool,
    router: Router,
    options: &Options,
    graceful: &GracefulShutdown,
    permit: Permit,
) -> impl Future<Output = ()> + Send + use<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        let origin = request.headers().get(hyper::header::ORIGIN);
        let origin = origin.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
        request.extensions_mut().insert(Peer { is_local, origin });
        request.extensions_mut().insert(permit.clone());
        router.clone().call(request.map(Body::new))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(options.limits.head_timeout);
    let stream = TokioIo::new(WriteTimeout::new(stream, options.limits.send_timeout));
    let connection = builder.serve_connection_with_upgrades(stream, service).into_owned();
    let connection = graceful.watch(connection);
    // A connection that fails is the client's affair.
    async move { drop(connection.await) }
}
