//! Transactions over QUIC, as clients send them to the TPU port of a leader: one on each
//! unidirectional stream, without an answer. What is no transaction is counted and dropped.

use core::net::SocketAddr;
use std::{io, sync::Arc};

use quinn::{
    ConnectionError, Endpoint, IdleTimeout, Incoming, RecvStream, ServerConfig, TransportConfig,
    VarInt, crypto::rustls::QuicServerConfig, rustls,
};
use selkie_node::SendOptions;
use solana_signature::Signature;
use tokio::time::{error::Elapsed, timeout};

use crate::{
    methods::{TRANSACTION_BYTES_MAX, raw_transaction},
    options::Limits,
    server::{
        connections::{Connections, Permit},
        shared::{GRACE, Shared},
    },
};

/// The protocol that clients ask for in the handshake (agave: `ALPN_TPU_PROTOCOL_ID`).
const PROTOCOL: &[u8] = b"solana-tpu";

/// The name in the certificate. Clients check neither.
const NAME: &str = "localhost";

/// Listens for QUIC, with a certificate of its own.
///
/// # Errors
/// If the port is in use or the address is not this machine's.
pub(super) fn listen(address: SocketAddr, limits: &Limits) -> io::Result<Endpoint> {
    Endpoint::server(config(limits).map_err(io::Error::other)?, address)
}

fn config(limits: &Limits) -> Result<ServerConfig, Box<dyn core::error::Error + Send + Sync>> {
    let own = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    config.migration(false).transport_config(Arc::new(transport(limits)?));
    Ok(config)
}

/// Returns the limits that clients are told: streams of one kind, each with one transaction.
fn transport(limits: &Limits) -> Result<TransportConfig, quinn::VarIntBoundsExceeded> {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_uni_streams(limits.quic_streams_max.into())
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(None)
        .stream_receive_window(VarInt::try_from(TRANSACTION_BYTES_MAX)?)
        .max_idle_timeout(Some(IdleTimeout::try_from(limits.quic_silence_max)?));
    Ok(transport)
}

/// Accepts connections until the server stops.
pub(super) async fn serve(endpoint: Endpoint, shared: Arc<Shared>) {
    let connections = Connections::quic(&shared.options.limits);
    let mut stopping = shared.stopping.clone();
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            _ = stopping.changed() => break,
        };
        let Some(incoming) = incoming else { break };
        let address = incoming.remote_address().ip();
        let Some(permit) = connections.open(address) else {
            shared.metrics.refuse_connection();
            incoming.refuse();
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            tokio::select! {
                // A connection that fails is the client's affair.
                ended = connection(incoming, &shared, &permit) => drop(ended),
                () = permit.closed() => {}
            }
        });
    }
    endpoint.close(VarInt::from_u32(0), b"the node stops");
    // Clients that do not confirm the end find out by themselves.
    let _ = timeout(GRACE, endpoint.wait_idle()).await;
}

/// Takes the streams of a connection until it ends. The transport limits how many are open at once.
async fn connection(
    incoming: Incoming,
    shared: &Arc<Shared>,
    permit: &Permit,
) -> Result<(), ConnectionError> {
    let handshake = timeout(shared.options.limits.quic_timeout, incoming.accept()?);
    let connection = handshake.await.map_err(|_| ConnectionError::TimedOut)??;
    loop {
        let stream = connection.accept_uni().await?;
        let (shared, busy) = (Arc::clone(shared), permit.busy());
        tokio::spawn(async move {
            transaction(stream, shared).await;
            drop(busy);
        });
    }
}

/// Reads the transaction of a stream.
async fn transaction(mut stream: RecvStream, shared: Arc<Shared>) {
    let bytes = stream.read_to_end(TRANSACTION_BYTES_MAX);
    let bytes = timeout(shared.options.limits.quic_timeout, bytes).await;
    let Ok(bytes) = bytes.unwrap_or_else(|Elapsed { .. }| Err(quinn::ReadToEndError::TooLong))
    else {
        return shared.metrics.refuse_transaction();
    };
    if shared.options.fetches {
        // Fetching waits for another cluster.
        let work = move || receive(&shared, &bytes);
        drop(tokio::task::spawn_blocking(work).await);
    } else {
        receive(&shared, &bytes);
    }
}

/// Queues a transaction, and returns its signature; `None` if it is none or cannot be taken.
pub(super) fn receive(shared: &Shared, bytes: &[u8]) -> Option<Signature> {
    let options = SendOptions { skip_preflight: true, ..SendOptions::default() };
    let sent = raw_transaction(bytes).and_then(|it| shared.node.send(it, &options).ok());
    match sent {
        Some(_) => shared.metrics.take_transaction(),
        None => shared.metrics.refuse_transaction(),
    }
    sent
}
