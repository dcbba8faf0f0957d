//! Any bytes as the content of a QUIC stream: only a transaction is taken.

#![no_main]

mod node;

use libfuzzer_sys::fuzz_target;
use solana_transaction::versioned::VersionedTransaction;

fuzz_target!(|bytes: &[u8]| {
    let taken = node::block_on(async |service| service.receive(bytes));
    if let Some(signature) = taken {
        let read: VersionedTransaction = wincode::deserialize(bytes).expect("it was read");
        assert_eq!(read.signatures.first(), Some(&signature));
    }
});
