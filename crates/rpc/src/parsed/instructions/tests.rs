use solana_pubkey::Pubkey;
use solana_sdk_ids::{system_program, vote};

use super::*;

/// Keys 1, 2, 3, …, by which tests tell accounts apart.
fn keys(count: u8) -> Vec<Pubkey> {
    (1..=count).map(|byte| Pubkey::new_from_array([byte; 32])).collect()
}

fn names(count: u8) -> Vec<String> {
    keys(count).iter().map(Pubkey::to_string).collect()
}

#[track_caller]
fn check(id: Pubkey, data: &[u8], accounts: u8, expected: &Value) {
    let parsed = parse_as(&id, data, &names(accounts)).map(|(_, parsed)| parsed);
    assert_eq!(parsed.as_ref(), Some(expected));
}

#[test]
fn every_row_can_be_shown() {
    let all = program::PROGRAMS.iter().filter(|it| it.parsed_name.is_some());
    for row in all.flat_map(|program| program.instructions).flat_map(|table| table.iter()) {
        // Zeros are a value of every kind; there is room for any of them.
        let data: Vec<u8> = row.tag.iter().copied().chain([0; 400]).collect();
        assert!(fields(row, &data, &names(12)).is_some(), "{}", row.name);
    }
}

#[test]
fn a_transfer_has_its_names() {
    let [one, two] = [&names(2)[0], &names(2)[1]];
    check(
        system_program::ID,
        &[2, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0],
        2,
        &json!({
            "info": { "destination": two, "lamports": 5, "source": one },
            "type": "transfer",
        }),
    );
}

#[test]
fn a_multisignature_account_is_told_from_an_authority() {
    let keys = names(5);
    let data = [3, 1, 0, 0, 0, 0, 0, 0, 0];
    check(
        ids::TOKEN,
        &data,
        3,
        &json!({
            "info": { "amount": "1", "authority": keys[2], "destination": keys[1], "source": keys[0] },
            "type": "transfer",
        }),
    );
    check(
        ids::TOKEN_2022,
        &data,
        5,
        &json!({
            "info": {
                "amount": "1", "destination": keys[1], "multisigAuthority": keys[2],
                "signers": [keys[3], keys[4]], "source": keys[0],
            },
            "type": "transfer",
        }),
    );
}

#[test]
fn an_authority_over_an_account_is_named_so() {
    let keys = names(2);
    check(
        ids::TOKEN,
        &[6, 2, 0],
        2,
        &json!({
            "info": {
                "account": keys[0], "authority": keys[1], "authorityType": "accountOwner",
                "newAuthority": null,
            },
            "type": "setAuthority",
        }),
    );
}

#[test]
fn a_batch_lists_its_instructions() {
    let batch = [255, 1, 1, 17, 2, 3, 6, 2, 0];
    let parsed = parse_as(&ids::TOKEN, &batch, &names(3)).unwrap().1;
    assert_eq!(parsed["info"]["instructions"][0]["type"], "syncNative");
    assert_eq!(parsed["info"]["instructions"][1]["type"], "setAuthority");
}

#[test]
fn checked_amounts_have_decimals() {
    let data = [12, 0xe8, 3, 0, 0, 0, 0, 0, 0, 2];
    let parsed = parse_as(&ids::TOKEN, &data, &names(4)).unwrap().1;
    assert_eq!(parsed["info"]["tokenAmount"]["uiAmountString"], "10");
}

#[test]
fn damaged_instructions_are_partially_decoded() {
    let instruction =
        CompiledInstruction { program_id_index: 1, accounts: vec![0], data: vec![2, 0, 0] };
    let keys = [keys(1)[0], system_program::ID];
    let parsed = parse(&instruction, &keys, Some(1));
    assert_eq!(
        parsed,
        json!({
            "accounts": [keys[0].to_string()],
            "data": "fxs",
            "programId": system_program::ID.to_string(),
            "stackHeight": 1,
        })
    );
}

#[test]
fn a_compact_vote_has_its_slots() {
    let keys = names(8);
    let (hash, block) = ([7; 32], [8; 32]);
    let lockouts = [&[2, 1, 31][..], &[0xac, 2, 1]].concat();
    let tail = [&hash[..], &[1, 5, 0, 0, 0, 0, 0, 0, 0], &block].concat();
    let data = |root: u64| [&[14, 0, 0, 0][..], &root.to_le_bytes(), &lockouts, &tail].concat();
    let expected = |root: Option<u64>, slots: [u64; 2]| {
        json!({
            "info": {
                "towerSync": {
                    "blockId": keys[7], "hash": keys[6], "root": root, "timestamp": 5,
                    "lockouts": [
                        { "confirmation_count": 31, "slot": slots[0] },
                        { "confirmation_count": 1, "slot": slots[1] },
                    ],
                },
                "voteAccount": keys[0], "voteAuthority": keys[1],
            },
            "type": "towersync",
        })
    };
    check(vote::ID, &data(100), 2, &expected(Some(100), [101, 401]));
    check(vote::ID, &data(u64::MAX), 2, &expected(None, [1, 301]));
    // An offset that is longer than it needs to be, and a slot beyond the largest.
    let mut long = data(100);
    long.splice(13..14, [0x81, 0]);
    assert_eq!(parse_as(&vote::ID, &long, &names(2)), None);
    assert_eq!(parse_as(&vote::ID, &data(u64::MAX - 1), &names(2)), None);
}

#[test]
fn a_memo_is_text() {
    let parsed = parse_as(&memo::V1, b"hello", &[]);
    assert_eq!(parsed, Some(("spl-memo", json!("hello"))));
}
