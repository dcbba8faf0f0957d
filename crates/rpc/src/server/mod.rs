//! The server: listeners, connections, and the end of both.

mod dispatch;
mod feed;
mod http;
mod hub;
mod metrics;
mod notify;
mod port;
mod queue;
mod shared;
mod socket;
mod subscribe;
mod topic;

use core::{fmt, net::SocketAddr, time::Duration};
use std::{io, sync::Arc};

use axum::{Router, body::Body};
use hyper::{Request, body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use selkie_node::Node;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tower_service::Service as _;

use crate::{
    methods::Addresses,
    options::Options,
    server::{
        hub::Hub,
        metrics::Metrics,
        shared::{Peer, Shared},
    },
};

/// How long connections may take to end when the server stops.
const GRACE: Duration = Duration::from_millis(500);

/// A port that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    /// The address.
    pub address: SocketAddr,
    /// Why.
    pub error: io::Error,
    /// The process that holds the port, if the system tells.
    pub holder: Option<String>,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot listen on {}", self.address)?;
        match &self.holder {
            Some(holder) => write!(f, ", which {holder} holds"),
            None => write!(f, ": {}", self.error),
        }
    }
}

impl core::error::Error for BindError {}

/// A running server. Dropping it stops it without waiting for connections to end.
#[derive(Debug)]
pub struct Server {
    addresses: Addresses,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Server {
    /// Listens, and serves the node on the current Tokio runtime.
    ///
    /// # Errors
    /// If a port is in use or the address is not this machine's.
    pub async fn start(node: Node, options: Options) -> Result<Self, BindError> {
        let rpc = listen(SocketAddr::new(options.bind, options.rpc_port)).await?;
        let rpc_address = local(&rpc, &options);
        let websocket = websocket_listener(&options, rpc_address.port()).await?;
        let addresses = Addresses { rpc: rpc_address, websocket: local(&websocket, &options) };
        let (stop, stopping) = watch::channel(false);
        let connections = Arc::new(Semaphore::new(options.limits.connections_max));
        let shared = Arc::new(Shared {
            hub: Hub::new(options.limits.subscriptions_max),
            metrics: Metrics::default(),
            node,
            options,
            addresses,
            stopping,
        });
        let mut tasks = JoinSet::new();
        for listener in [rpc, websocket] {
            tasks.spawn(accept(listener, Arc::clone(&shared), Arc::clone(&connections)));
        }
        tasks.spawn(feed::run(Arc::clone(&shared)));
        tasks.spawn(feed::tick(shared));
        Ok(Self { addresses, stop, tasks })
    }

    /// Returns where it listens.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// Stops listening, answers what has been asked, closes WebSockets, and returns within a
    /// second. The node keeps running.
    pub async fn stop(mut self) {
        // Tasks end when they see this. Sending fails if all have ended.
        let _ = self.stop.send(true);
        while self.tasks.join_next().await.is_some() {}
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, BindError> {
    TcpListener::bind(address).await.map_err(|error| {
        let holder =
            (error.kind() == io::ErrorKind::AddrInUse).then(|| port::holder(address.port()));
        BindError { address, error, holder: holder.flatten() }
    })
}

fn local(listener: &TcpListener, options: &Options) -> SocketAddr {
    listener.local_addr().unwrap_or_else(|_| SocketAddr::new(options.bind, options.rpc_port))
}

/// Listens on the port behind that of HTTP. If that was picked and the next is taken, any will do:
/// WebSocket is served on both.
async fn websocket_listener(options: &Options, rpc: u16) -> Result<TcpListener, BindError> {
    let next = options.websocket_port.unwrap_or_else(|| rpc.saturating_add(1));
    match listen(SocketAddr::new(options.bind, next)).await {
        Err(_) if options.rpc_port == 0 && options.websocket_port.is_none() => {
            listen(SocketAddr::new(options.bind, 0)).await
        }
        other => other,
    }
}

/// Accepts connections until the server stops, then waits for them to end.
async fn accept(listener: TcpListener, shared: Arc<Shared>, connections: Arc<Semaphore>) {
    let router = http::router(&shared);
    let graceful = GracefulShutdown::new();
    let mut stopping = shared.stopping.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(_) => {
                // Out of file descriptors, most likely: others will be closed.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&connections).try_acquire_owned() else {
            shared.metrics.refuse_connection();
            continue;
        };
        let connection = serve(stream, address, router.clone(), &shared, &graceful);
        tokio::spawn(async move {
            connection.await;
            drop(permit);
        });
    }
    // What has not ended by then is cut off.
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// Serves the requests of a connection.
fn serve(
    stream: TcpStream,
    address: SocketAddr,
    router: Router,
    shared: &Shared,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + 'static {
    // Answers are small and awaited.
    let _ = stream.set_nodelay(true);
    let is_local = address.ip().to_canonical().is_loopback();
    let service = service_fn(move |mut request: Request<Incoming>| {
        let origin = request.headers().get(hyper::header::ORIGIN);
        let origin = origin.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
        request.extensions_mut().insert(Peer { is_local, origin });
        router.clone().call(request.map(Body::new))
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(shared.options.limits.head_timeout);
    let connection =
        builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    let connection = graceful.watch(connection);
    // A connection that fails is the client's affair.
    async move { drop(connection.await) }
}
