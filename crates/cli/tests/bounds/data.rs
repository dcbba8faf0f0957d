//! JSON, saved states, vectors and fixtures.

use std::{fs, path::Path};

use sha2::{Digest as _, Sha256};

use crate::{
    bound::{assert_short_lines, run},
    common::{folder, repository},
};

/// JSON values, between `open` and `close`, that a tree of values would need far more memory for
/// than their text.
fn hostile(open: &str, close: &str) -> Vec<String> {
    const COUNT: usize = 150_000;
    let lists = ["0,", "[],", "{\"\":0},", "\"\",", "[[[[[[]]]]]],", "1e5,"];
    let mut texts: Vec<String> =
        lists.iter().map(|item| format!("{open}[{}0]{close}", item.repeat(COUNT))).collect();
    texts.push(format!("{open}{{{}\"\":0}}{close}", "\"a\":{\"b\":{}},".repeat(COUNT / 2)));
    texts.push(format!("{open}{}", "[".repeat(1_000_000)));
    texts.push(format!("{open}{}", "{\"\":".repeat(200_000)));
    texts.push(format!("{open}\"{}\"{close}", "a".repeat(1_000_000)));
    texts.push(format!("{open}\"base58:{}\"{close}", "z".repeat(1_000_000)));
    texts.push(format!("{open}[\"{}\", \"base58\"]{close}", "z".repeat(1_000_000)));
    texts
}

#[test]
fn hostile_json_of_instructions_and_accounts() {
    let folder = folder("bounds-json");
    let hello = repository().join("examples/hello.s");
    let hello = hello.to_str().expect("the path is text");
    let key = "11111111111111111111111111111111";
    let account = format!(
        "{{\"pubkey\":\"{key}\",\"account\":{{\"lamports\":1,\"owner\":\"{key}\",\"data\":"
    );
    let entry = format!("{{\"accounts\":[{{\"key\":\"{key}\",\"data\":");
    let texts = hostile("", "").into_iter().chain(hostile("{\"instruction_data\":", "}"));
    let texts = texts.chain(hostile("{\"accounts\":", "}")).chain(hostile("{\"x\":", "}"));
    let texts = texts.chain(hostile(&account, "}}")).chain(hostile(&entry, "}]}"));
    for text in texts {
        fs::write(folder.join("input.json"), &text).expect("the folder is writable");
        let output = run(&folder, text.len(), &["run", hello, "--input", "input.json"]);
        assert_short_lines(&output);
    }
    for text in hostile(&account, "}}") {
        fs::write(folder.join("input.json"), &text).expect("the folder is writable");
        assert_short_lines(&run(&folder, text.len(), &["run", hello, "--accounts", "input.json"]));
        assert_short_lines(&run(&folder, text.len(), &["input", "input.json"]));
    }
}

#[test]
fn hostile_json_of_keys() {
    let folder = folder("bounds-keys");
    let hello = repository().join("examples/hello.s");
    let hello = hello.to_str().expect("the path is text");
    for text in hostile("", "") {
        fs::write(folder.join("key.json"), &text).expect("the folder is writable");
        let arguments = ["deploy", hello, "--state", "new.state", "--payer", "key.json"];
        assert_short_lines(&run(&folder, text.len(), &arguments));
    }
}

/// A saved state with this header and these bytes of accounts, and the hash that it needs.
fn state(header: &str, accounts: &[u8]) -> Vec<u8> {
    let mut bytes = b"selkie state 1\n".to_vec();
    bytes.extend(header.as_bytes());
    bytes.push(b'\n');
    bytes.extend(accounts);
    let hash = Sha256::digest(&bytes);
    bytes.extend(hash);
    bytes
}

#[test]
fn hostile_saved_states() {
    let folder = folder("bounds-states");
    let mut states: Vec<Vec<u8>> = hostile("", "")
        .iter()
        .chain(&hostile("{\"features\":", "}"))
        .map(|it| state(it, &[]))
        .collect();
    let header = "{\"slot\":1,\"features\":[],\"blockhash\":\"11111111111111111111111111111111\",\
                  \"lamportsPerSignature\":0,\"slotMilliseconds\":400,\"accounts\":18446744073709551615}";
    states.push(state(header, &[]));
    states.push(state(header, &[0xff; 100_000]));
    states.push(state(header, &[0; 1_000_000]));
    for bytes in states {
        fs::write(folder.join("a.state"), &bytes).expect("the folder is writable");
        let arguments = ["program", "show", "--state", "a.state"];
        assert_short_lines(&run(&folder, bytes.len(), &arguments));
    }
}

fn conform(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).expect("the folder is writable");
    assert_short_lines(&run(folder, bytes.len(), &["conform", name]));
    fs::remove_file(folder.join(name)).expect("it was written");
}

#[test]
fn hostile_vectors() {
    let folder = folder("bounds-vectors");
    for text in hostile("", "").iter().chain(&hostile("{\"kind\":\"exec\",\"x\":", "}")) {
        conform(&folder, "vectors.jsonl", text.as_bytes());
    }
    conform(&folder, "vectors.jsonl", &b"{}\n".repeat(100_000));
}

#[test]
fn hostile_fixtures() {
    let folder = folder("bounds-fixtures");
    // Length-delimited fields inside each other, lengths that lie, and numbers without an end.
    let nested = (0..100_000).flat_map(|_| [0x0a, 0x7f]).collect::<Vec<u8>>();
    let lying = [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f].repeat(100_000);
    let empty = [0x12, 0x00].repeat(500_000);
    for bytes in [nested, lying, vec![0xff; 1_000_000], vec![0; 1_000_000], empty] {
        conform(&folder, "instr.fix", &bytes);
    }
}
