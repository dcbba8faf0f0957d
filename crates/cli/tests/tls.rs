//! Clusters behind HTTPS whose certificate is signed by an authority of one's own.

#![cfg(feature = "node")]

mod common;

use std::{
    fs,
    io::{self, BufRead as _, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use common::folder;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{ServerConfig, ServerConnection, StreamOwned, pki_types::PrivatePkcs8KeyDer};

/// A node on free ports, which ends with the test.
struct Node {
    process: Child,
    address: String,
}

impl Node {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
        command.args(["node", "--json", "--quiet", "--rpc-port", "0"]).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: serde_json::Value = serde_json::from_str(&line).expect("the node is ready");
        let address = ready["rpcUrl"].as_str().unwrap().strip_prefix("http://").unwrap();
        Self { process, address: address.to_owned() }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes an authority and a certificate of it for `localhost`. Returns the authority's certificate
/// in PEM, and the server's configuration.
fn certified() -> (String, ServerConfig) {
    let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let (authority_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let root = authority.self_signed(&authority_key).unwrap();
    let issuer = Issuer::new(authority, authority_key);
    let own = CertificateParams::new(["localhost".to_owned()]).unwrap();
    let own = own.signed_by(&key, &issuer).unwrap();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.der().clone()], key.into())
        .unwrap();
    let pem = BASE64_STANDARD.encode(root.der());
    (format!("-----BEGIN CERTIFICATE-----\n{pem}\n-----END CERTIFICATE-----\n"), config)
}

/// Serves HTTPS in front of a server that speaks HTTP, until the test ends. Returns the port.
fn put_https_before(address: &str, config: ServerConfig) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (address, config) = (address.to_owned(), Arc::new(config));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let client = StreamOwned::new(connection, stream.unwrap());
            let server = TcpStream::connect(&address).unwrap();
            thread::spawn(move || relay(client, server));
        }
    });
    port
}

/// Passes bytes in both directions until one side closes.
fn relay(mut client: StreamOwned<ServerConnection, TcpStream>, mut server: TcpStream) {
    let patience = Some(Duration::from_millis(2));
    client.sock.set_read_timeout(patience).unwrap();
    server.set_read_timeout(patience).unwrap();
    while pass(&mut client, &mut server) && pass(&mut server, &mut client) {}
}

/// Passes what is there. Returns whether there may be more.
fn pass(from: &mut impl Read, to: &mut impl Write) -> bool {
    let mut bytes = [0; 1 << 14];
    match from.read(&mut bytes) {
        Ok(0) => false,
        Ok(count) => to.write_all(&bytes[..count]).and_then(|()| to.flush()).is_ok(),
        Err(error) => matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
    }
}

/// Runs a command with `SSL_CERT_FILE`. Returns whether it succeeds, and what it prints.
fn run(folder: &Path, certificates: &str, line: &str) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selkie"));
    command.current_dir(folder).args(line.split_whitespace()).env("SSL_CERT_FILE", certificates);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn a_cluster_behind_https_is_trusted_by_its_own_authority() {
    let folder = folder("tls");
    let node = Node::start();
    let (authority, config) = certified();
    fs::write(folder.join("authority.pem"), authority).unwrap();
    fs::write(folder.join("empty.pem"), "").unwrap();
    let port = put_https_before(&node.address, config);
    let line = format!("airdrop 3 --payer test:payer --url https://localhost:{port}");
    let (is_success, text) = run(&folder, "authority.pem", &line);
    assert!(is_success && text.contains("balance 3 SOL"), "{text}");
    let (is_success, text) = run(&folder, "", &line);
    assert!(!is_success && text.contains("certificate"), "{text}");
    for name in ["empty.pem", "missing.pem"] {
        let (is_success, text) = run(&folder, name, &line);
        assert!(!is_success && text.contains("unset SSL_CERT_FILE"), "{text}");
    }
}
