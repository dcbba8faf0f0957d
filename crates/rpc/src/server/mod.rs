//! The server: listeners, connections, and the end of both.

mod connections;
mod dispatch;
mod feed;
mod http;
mod hub;
mod metrics;
mod notify;
mod pages;
mod payload;
mod port;
mod queue;
mod quic;
mod service;
mod shared;
mod socket;
mod subscribe;
mod topic;
mod write_timeout;

use core::{fmt, net::SocketAddr, time::Duration};
use std::{io, sync::Arc};

use selkie_node::Node;
use tokio::net::TcpListener;

pub use self::service::Service;
use crate::{
    methods::Addresses,
    options::Options,
    server::{
        connections::Connections,
        shared::{GRACE, Shared},
    },
};

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
    service: Service,
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
        let quic = quic_endpoint(&options)?;
        let addresses = Addresses {
            rpc: rpc_address,
            websocket: local(&websocket, &options),
            quic: quic.as_ref().and_then(|endpoint| endpoint.local_addr().ok()),
        };
        let mut service = Service::start(node, options, addresses);
        let shared = Arc::clone(&service.shared);
        let connections = Connections::tcp(&shared.options.limits);
        for listener in [rpc, websocket] {
            let connections = Arc::clone(&connections);
            service.tasks.spawn(accept(listener, Arc::clone(&shared), connections));
        }
        if let Some(endpoint) = quic {
            service.tasks.spawn(quic::serve(endpoint, shared));
        }
        Ok(Self { service })
    }

    /// Returns where it listens.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.service.addresses()
    }

    /// Stops listening, answers what has been asked, closes WebSockets, and returns within a
    /// second. The node keeps running.
    pub async fn stop(self) {
        self.service.stop().await;
    }
}

async fn listen(address: SocketAddr) -> Result<TcpListener, BindError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| bind_error(address, error, port::TCP))
}

/// Listens for transactions over QUIC if that is wanted.
fn quic_endpoint(options: &Options) -> Result<Option<quinn::Endpoint>, BindError> {
    let Some(port) = options.quic_port else { return Ok(None) };
    let address = SocketAddr::new(options.bind, port);
    let endpoint = quic::listen(address, &options.limits);
    endpoint.map(Some).map_err(|error| bind_error(address, error, port::UDP))
}

fn bind_error(address: SocketAddr, error: io::Error, protocol: &port::Protocol) -> BindError {
    let is_held = error.kind() == io::ErrorKind::AddrInUse;
    let holder = is_held.then(|| port::holder(protocol, address.port())).flatten();
    BindError { address, error, holder }
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
async fn accept(listener: TcpListener, shared: Arc<Shared>, connections: Arc<Connections>) {
    let router = http::router(&shared);
    // Closed when the last connection has ended.
    let (open, mut ended) = tokio::sync::mpsc::channel::<()>(1);
    let mut stopping = shared.stopping.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.changed() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(_) => {
                // Out of file descriptors, most likely.
                connections.make_way();
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let Some(permit) = connections.open(address.ip()) else {
            shared.metrics.refuse_connection();
            continue;
        };
        // Answers are small and awaited.
        let _ = stream.set_nodelay(true);
        let is_local = address.ip().to_canonical().is_loopback();
        let (router, shared) = (router.clone(), Arc::clone(&shared));
        let connection = service::connection(stream, is_local, router, shared, permit);
        let open = open.clone();
        tokio::spawn(async move {
            connection.await;
            drop(open);
        });
    }
    drop(open);
    // What has not ended by then is cut off.
    let _ = tokio::time::timeout(GRACE, ended.recv()).await;
}
