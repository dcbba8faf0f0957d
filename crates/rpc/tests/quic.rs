//! Transactions over QUIC, from a client that is made as agave's are: it offers the protocol
//! `solana-tpu`, checks the signatures of the handshake but not the certificate, and sends each
//! transaction on a unidirectional stream of its own.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use quinn::{
    ClientConfig, Connection, Endpoint,
    crypto::rustls::QuicClientConfig,
    rustls::{
        self, DigitallySignedStruct, Error, SignatureScheme,
        client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
        pki_types::{CertificateDer, ServerName, UnixTime},
    },
};
use selkie_node::{Node, Options};
use selkie_rpc::{Limits, LocalNode};
use solana_commitment_config::CommitmentLevel;
use solana_instruction::{AccountMeta, Instruction};
use solana_keypair::Keypair;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_signer::Signer as _;
use solana_transaction::versioned::VersionedTransaction;

#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

async fn connect(server: SocketAddr, protocol: &str) -> Result<Connection, quinn::ConnectionError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    let mut endpoint = Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    endpoint.set_default_client_config(config);
    endpoint.connect(server, "server").unwrap().await
}

async fn send(connection: &Connection, bytes: &[u8]) -> Result<(), quinn::WriteError> {
    let mut stream = connection.open_uni().await?;
    stream.write_all(bytes).await?;
    let _ = stream.finish();
    Ok(())
}

/// Returns a signed transfer as bytes.
fn transfer(node: &Node, from: &Keypair, to: &Pubkey, lamports: u64) -> Vec<u8> {
    let accounts = vec![AccountMeta::new(from.pubkey(), true), AccountMeta::new(*to, false)];
    let data = [&2_u32.to_le_bytes()[..], &lamports.to_le_bytes()].concat();
    let program_id = solana_sdk_ids::system_program::ID;
    let instruction = Instruction { program_id, accounts, data };
    let blockhash = node.view(CommitmentLevel::Finalized).blockhash();
    let payer = from.pubkey();
    let message = Message::new_with_blockhash(&[instruction], Some(&payer), &blockhash);
    let message = VersionedMessage::Legacy(message);
    let transaction = VersionedTransaction::try_new(message, &[from]).unwrap();
    wincode::serialize(&transaction).unwrap()
}

async fn await_balance(node: &Node, key: &Pubkey, lamports: u64) {
    for _ in 0..1000 {
        if node.view(CommitmentLevel::Finalized).balance(key) == lamports {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the balance is {}", node.view(CommitmentLevel::Finalized).balance(key));
}

fn start() -> (LocalNode, SocketAddr, Keypair) {
    let local = LocalNode::start(Options::default()).unwrap();
    let from = Keypair::new_from_array([1; 32]);
    local.node().airdrop_and_wait(&from.pubkey(), 10_000_000_000).unwrap();
    let server = local.addresses().quic.unwrap();
    (local, server, from)
}

#[tokio::test]
async fn transactions_on_streams_of_their_own_land() {
    let (local, server, from) = start();
    let to = Pubkey::new_from_array([7; 32]);
    let connection = connect(server, "solana-tpu").await.unwrap();
    for lamports in 1_000_000..1_000_100 {
        let bytes = transfer(local.node(), &from, &to, lamports);
        send(&connection, &bytes).await.unwrap();
    }
    await_balance(local.node(), &to, (1_000_000..1_000_100).sum()).await;
}

#[tokio::test]
async fn bad_streams_do_not_stop_good_ones() {
    let (local, server, from) = start();
    let to = Pubkey::new_from_array([7; 32]);
    let connection = connect(server, "solana-tpu").await.unwrap();
    let good = transfer(local.node(), &from, &to, 1_000_000);
    send(&connection, b"").await.unwrap();
    send(&connection, b"\x01not a transaction").await.unwrap();
    // The server stops the stream, so the client may see an error.
    let _ = send(&connection, &[0; 100_000]).await;
    send(&connection, &good[..good.len() / 2]).await.unwrap();
    let mut wrong = good.clone();
    *wrong.last_mut().unwrap() ^= 1;
    send(&connection, &wrong).await.unwrap();
    let mut unfinished = connection.open_uni().await.unwrap();
    unfinished.write_all(&good[..10]).await.unwrap();
    send(&connection, &good).await.unwrap();
    await_balance(local.node(), &to, 1_000_000).await;
}

#[tokio::test]
async fn only_streams_from_the_client_are_accepted_and_no_datagrams() {
    let (_local, server, _) = start();
    let connection = connect(server, "solana-tpu").await.unwrap();
    assert_eq!(connection.max_datagram_size(), None);
    let opened = tokio::time::timeout(Duration::from_millis(100), connection.open_bi()).await;
    assert!(opened.is_err(), "a stream in both directions");
    assert!(connect(server, "h3").await.is_err(), "another protocol");
}

#[tokio::test]
async fn of_more_connections_than_the_limit_the_one_that_is_silent_the_longest_is_closed() {
    let node = Node::start(Options::default()).unwrap();
    let limits = Limits { quic_connections_max: 2, ..Limits::default() };
    let options = selkie_rpc::Options { rpc_port: 0, limits, ..selkie_rpc::Options::default() };
    let local = LocalNode::start_with(node, options).unwrap();
    let server = local.addresses().quic.unwrap();
    let first = connect(server, "solana-tpu").await.unwrap();
    let second = connect(server, "solana-tpu").await.unwrap();
    let third = connect(server, "solana-tpu").await.unwrap();
    first.closed().await;
    assert!(second.close_reason().is_none() && third.close_reason().is_none());
}

#[tokio::test]
async fn get_cluster_nodes_tells_the_port() {
    let (local, server, _) = start();
    let service =
        selkie_rpc::Service::start(local.node().clone(), Default::default(), local.addresses());
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"getClusterNodes"}"#;
    let answer = service.answer(body).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.contains(&format!(r#""tpuQuic":"{server}""#)), "{answer}");
}
