use serde_json::json;

use super::*;
use selkie_layout::kind::Entry;

fn shown(entries: &[Entry<'_>]) -> String {
    let shown = entries.iter().map(|it| format!("{}={}", it.field.name, it.value));
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn descriptions_of_anchor_name_errors_instructions_and_accounts() {
    let idl = json!({
        "address": "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS",
        "instructions": [{
            "name": "open",
            "discriminator": [1, 2],
            "accounts": [
                { "name": "vault", "writable": true },
                { "name": "people", "accounts": [{ "name": "owner", "signer": true }] },
                { "name": "systemProgram", "optional": true },
            ],
            "args": [
                { "name": "amount", "type": "u64" },
                { "name": "label", "type": { "option": "string" } },
                { "name": "mode", "type": { "defined": { "name": "Mode" } } },
            ],
        }],
        "accounts": [{ "name": "Vault", "discriminator": [9] }],
        "types": [
            { "name": "Mode", "type": { "kind": "enum", "variants": [
                { "name": "Off" }, { "name": "Level", "fields": ["u8"] },
            ] } },
            { "name": "Vault", "type": { "kind": "struct", "fields": [
                { "name": "slots", "type": { "vec": "u16" } },
                { "name": "next", "type": { "option": { "defined": { "name": "Vault" } } } },
            ] } },
        ],
        "errors": [{ "code": 6000, "name": "Full", "msg": "the vault is full" }, { "code": 6001 }],
    });
    let idl = Idl::parse(&idl.to_string()).unwrap();
    assert!(idl.address.is_some());
    assert_eq!(idl.error(6000).unwrap().message.as_deref(), Some("the vault is full"));
    assert_eq!((idl.error(6001), idl.errors.len()), (None, 1));
    let data = [1, 2, 7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, b'h', b'i', 1, 5];
    let row = idl.instruction(&data).expect("the data are of `open`");
    let roles: Vec<_> = row.roles.iter().map(|it| (&*it.name, it.is_signer)).collect();
    assert_eq!(roles, [("vault", false), ("owner", true), ("systemProgram", false)]);
    assert_eq!(row.roles[2].address, Some(selkie_layout::system::ID));
    assert!(idl.instructions[0].1[2].is_optional);
    let expected = "amount=7 label=\"hi\" mode=Level { 0: 5 }";
    assert_eq!(shown(&row.read(&data).unwrap()), expected);
    assert!(row.read(&data[..9]).is_err());
    assert!(idl.instruction(&[1]).is_none());
    // A type that contains itself is read as far as its values do not.
    let account = idl.account(&[9, 1, 0, 0, 0, 3, 0, 0]).expect("it is a vault");
    assert_eq!(shown(&account.read(&[9, 1, 0, 0, 0, 3, 0, 0]).unwrap()), "slots=[3] next=none");
    assert!(account.read(&[9, 0, 0, 0, 0, 1]).is_err());
}

#[test]
fn older_descriptions_of_anchor_have_hashes_of_names() {
    let idl = json!({
        "instructions": [{
            "name": "initialize", "accounts": [{ "name": "vault", "isMut": true, "isSigner": true }],
            "args": [{ "name": "key", "type": "publicKey" }],
        }],
        "accounts": [{ "name": "Vault", "type": { "kind": "struct", "fields": [
            { "name": "owner", "type": "publicKey" },
        ] } }],
    });
    let idl = Idl::parse(&idl.to_string()).unwrap();
    let (row, _) = &idl.instructions[0];
    assert_eq!(*row.tag, [175, 175, 109, 31, 13, 152, 155, 237]);
    assert!(row.roles[0].is_signer && row.roles[0].is_writable);
    assert_eq!(idl.accounts[0].fields[0].name, "owner");
}

#[test]
fn descriptions_of_codama_are_read_into_the_same_rows() {
    let number =
        |format: &str| json!({ "kind": "numberTypeNode", "format": format, "endian": "le" });
    let idl = json!({ "kind": "rootNode", "standard": "codama", "program": {
        "kind": "programNode", "name": "vault",
        "publicKey": "Fg6PaFpoGXkYsidMpWTK6W2BeZ7FEfcYkg476zPFsLnS",
        "instructions": [{
            "kind": "instructionNode", "name": "deposit",
            "accounts": [
                { "name": "vault", "isWritable": true, "isSigner": false },
                { "name": "owner", "isWritable": false, "isSigner": true },
                { "name": "system", "isWritable": false, "isSigner": false, "defaultValue": {
                    "kind": "publicKeyValueNode", "publicKey": "11111111111111111111111111111111",
                } },
            ],
            "arguments": [
                { "name": "discriminator", "type": number("u8"),
                  "defaultValue": { "kind": "numberValueNode", "number": 4 } },
                { "name": "amount", "type": number("u64") },
                { "name": "memo", "type": { "kind": "sizePrefixTypeNode", "prefix": number("u32"),
                  "type": { "kind": "stringTypeNode", "encoding": "utf8" } } },
                { "name": "mode", "type": { "kind": "definedTypeLinkNode", "name": "mode" } },
            ],
            "discriminators": [{ "kind": "fieldDiscriminatorNode", "name": "discriminator", "offset": 0 }],
        }],
        "accounts": [{
            "kind": "accountNode", "name": "vault",
            "data": { "kind": "structTypeNode", "fields": [
                { "name": "tag", "type": { "kind": "fixedSizeTypeNode", "size": 2,
                  "type": { "kind": "bytesTypeNode" } },
                  "defaultValue": { "kind": "bytesValueNode", "data": "0a0b", "encoding": "base16" } },
                { "name": "owners", "type": { "kind": "arrayTypeNode", "item": number("u16"),
                  "count": { "kind": "prefixedCountNode", "prefix": number("u8") } } },
            ] },
            "discriminators": [{ "kind": "fieldDiscriminatorNode", "name": "tag", "offset": 0 }],
        }],
        "definedTypes": [{ "name": "mode", "type": { "kind": "enumTypeNode", "variants": [
            { "kind": "enumEmptyVariantTypeNode", "name": "slow" },
            { "kind": "enumEmptyVariantTypeNode", "name": "fast" },
        ], "size": number("u8") } }],
        "errors": [{ "name": "full", "code": 6000, "message": "it is full" }],
    } });
    let idl = Idl::parse(&idl.to_string()).unwrap();
    let data = [4, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'h', b'i', 1];
    let row = idl.instruction(&data).expect("the data are of `deposit`");
    assert_eq!((&*row.name, row.roles[2].address), ("deposit", Some(selkie_layout::system::ID)));
    assert_eq!(shown(&row.read(&data).unwrap()), "amount=7 memo=\"hi\" mode=fast");
    let account = idl.account(&[10, 11, 1, 3, 0]).expect("it is a vault");
    assert_eq!(shown(&account.read(&[10, 11, 1, 3, 0]).unwrap()), "owners=[3]");
    assert_eq!(idl.error(6000).unwrap().name, "full");
}

#[test]
fn other_texts_are_no_descriptions() {
    for text in ["", "{}", "[]", "{\"instructions\": []}", "{\"instructions\": [{}]}"] {
        assert!(Idl::parse(text).is_err(), "{text}");
    }
}
