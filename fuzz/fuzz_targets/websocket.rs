//! Any bytes on a connection after the handshake of WebSocket: the server ends it, and lives.

#![no_main]

mod node;

use libfuzzer_sys::fuzz_target;
use tokio::io::AsyncWriteExt as _;

const HANDSHAKE: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\n\
    upgrade: websocket\r\nsec-websocket-version: 13\r\n\
    sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// Returns a client's frame: masked with zeros, so that the fuzzer sees what it writes.
fn frame(text: &[u8]) -> Vec<u8> {
    let len = text.len().min(65_535);
    let head = [&[0x81, 0x80 | 126][..], &u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes()];
    [&head.concat()[..], &[0; 4], &text[..len]].concat()
}

fuzz_target!(|input: (bool, Vec<&[u8]>)| {
    let (are_frames, parts) = input;
    let sent: Vec<Vec<u8>> = match are_frames {
        true => parts.iter().map(|text| frame(text)).collect(),
        false => parts.iter().map(|bytes| bytes.to_vec()).collect(),
    };
    node::block_on(async |service| {
        let (mut near, far) = tokio::io::duplex(1 << 20);
        let client = async move {
            near.write_all(HANDSHAKE).await?;
            near.write_all(&sent.concat()).await?;
            near.shutdown().await?;
            tokio::io::copy(&mut near, &mut tokio::io::sink()).await
        };
        // The server may close before everything is written.
        let (_, _) = tokio::join!(client, service.serve(far));
    });
});
