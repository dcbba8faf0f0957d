//! Any bytes as the dump of a node's state; what can be read is written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use selkie_ledger::dump;

fuzz_target!(|input: (bool, &[u8])| {
    let (has_preamble, rest) = input;
    // Random bytes hardly ever begin as a dump does.
    let preamble: &[u8] = br#"{"format":"selkie node","version":1}"#;
    let bytes = match has_preamble {
        true => [preamble, b"\n", rest].concat(),
        false => rest.to_vec(),
    };
    let Ok(read) = dump::read(&mut bytes.as_slice()) else { return };
    let mut written = Vec::new();
    dump::write(&read, &mut written).expect("memory can be written to");
    let again = dump::read(&mut written.as_slice()).expect("what is written can be read");
    assert_eq!(read.header, again.header);
    assert_eq!(read.accounts, again.accounts);
    assert_eq!(read.blocks.len(), again.blocks.len());
});
