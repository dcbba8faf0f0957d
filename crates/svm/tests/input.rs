//! The serialized input, byte by byte, and its explanation.

mod common;

use common::{INPUT, PROGRAM, Setup, exit, key, poke, word};
use proptest::prelude::*;
use selkie_svm::{
    Abi, Account, AccountMeta, Engine, Environment, Input, Instruction, InstructionError, Options,
    Pubkey,
    input::explain::{ExplainError, Explanation, Value, explain},
    instruction_input,
};

const ONE: Pubkey = key(1);
const TWO: Pubkey = key(2);

fn account(data: &[u8]) -> Account {
    Account {
        lamports: 0x0102_0304,
        data: data.to_vec(),
        owner: key(5),
        executable: true,
        ..Account::default()
    }
}

/// An account of an instruction: its address, its state, whether it is a signer and whether it is
/// writable; or the index of its first occurrence.
#[derive(Clone)]
enum Named<'a> {
    Account(&'a Pubkey, &'a Account, bool, bool),
    Again(usize),
}

fn named<'a>(key: &'a Pubkey, account: &'a Account) -> Named<'a> {
    Named::Account(key, account, true, false)
}

/// The input of an instruction of program 7.
fn serialize(abi: Abi, named: &[Named<'_>], data: &[u8]) -> Result<Input, InstructionError> {
    let (mut metas, mut accounts): (Vec<AccountMeta>, Vec<_>) = (vec![], vec![]);
    for named in named {
        metas.push(match named {
            Named::Account(key, account, is_signer, is_writable) => {
                accounts.push((**key, (*account).clone()));
                let (is_signer, is_writable) = (*is_signer, *is_writable);
                AccountMeta { pubkey: **key, is_signer, is_writable }
            }
            Named::Again(index) => metas[*index].clone(),
        });
    }
    let instruction = Instruction { program_id: key(7), accounts: metas, data: data.to_vec() };
    instruction_input(&instruction, &accounts, &Environment::default(), abi)
}

/// A piece of an expected buffer.
fn bytes(byte: u8, count: usize) -> Vec<u8> {
    vec![byte; count]
}

fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn check(abi: Abi, accounts: &[Named<'_>], data: &[u8], expected: &[Vec<u8>]) -> Input {
    let input = serialize(abi, accounts, data).unwrap();
    assert!(input.bytes == expected.concat(), "{:?}", explain(&input.bytes, Some(abi)));
    assert_eq!(input.bytes.len(), input.layout.len);
    let explained = explain(&input.bytes, Some(abi));
    assert_eq!(explained.error, None);
    assert_eq!(explained.fields.iter().map(|field| field.len).sum::<usize>(), input.bytes.len());
    input
}

#[test]
fn input_without_accounts_has_data_and_program_id() {
    for abi in [Abi::Aligned, Abi::Unaligned] {
        let input =
            check(abi, &[], &[1, 2, 3], &[number(0), number(3), vec![1, 2, 3], bytes(7, 32)]);
        assert_eq!(input.layout.instruction_data, 16);
    }
}

#[test]
fn aligned_input_of_accounts_byte_by_byte() {
    let (first, second) = (account(&[9; 5]), account(&[]));
    let accounts =
        [named(&ONE, &first), Named::Again(0), Named::Account(&TWO, &second, false, true)];
    let input = check(
        Abi::Aligned,
        &accounts,
        &[],
        &[
            number(3),
            vec![0xff, 1, 0, 1, 0, 0, 0, 0],
            bytes(1, 32),
            bytes(5, 32),
            number(0x0102_0304),
            number(5),
            bytes(9, 5),
            bytes(0, 10_240 + 3),
            number(u64::MAX),
            vec![0, 0, 0, 0, 0, 0, 0, 0],
            vec![0xff, 0, 1, 1, 0, 0, 0, 0],
            bytes(2, 32),
            bytes(5, 32),
            number(0x0102_0304),
            number(0),
            bytes(0, 10_240),
            number(u64::MAX),
            number(0),
            bytes(7, 32),
        ],
    );
    // One account without data takes 10,336 bytes.
    assert_eq!(input.layout.instruction_data_len, 8 + 10_344 + 8 + 10_336);
}

#[test]
fn unaligned_input_of_accounts_byte_by_byte() {
    let first = account(&[9; 5]);
    let accounts = [named(&ONE, &first), Named::Again(0)];
    check(
        Abi::Unaligned,
        &accounts,
        &[4, 4],
        &[
            number(2),
            vec![0xff, 1, 0],
            bytes(1, 32),
            number(0x0102_0304),
            number(5),
            bytes(9, 5),
            bytes(5, 32),
            vec![1],
            number(u64::MAX),
            vec![0],
            number(2),
            vec![4, 4],
            bytes(7, 32),
        ],
    );
}

#[test]
fn more_than_255_accounts_fail() {
    let state = account(&[]);
    let mut accounts = vec![named(&ONE, &state)];
    accounts.resize(256, Named::Again(0));
    let result = serialize(Abi::Aligned, &accounts, &[]);
    assert_eq!(result, Err(InstructionError::MaxAccountsExceeded));
}

fn two_accounts(abi: Abi) -> Input {
    let state = account(&[9; 5]);
    let accounts = [named(&ONE, &state), Named::Again(0)];
    serialize(abi, &accounts, &[4, 4]).unwrap()
}

#[test]
fn explanation_names_every_field() {
    let explained = explain(&two_accounts(Abi::Aligned).bytes, None);
    assert_eq!((explained.abi, &explained.error), (Abi::Aligned, &None));
    let text: Vec<_> = explained
        .fields
        .iter()
        .map(|field| {
            let (offset, path, value) = (field.offset, &field.path, field.value);
            format!("{offset:#x} {path} {value} {}", field.note).trim_end().to_owned()
        })
        .collect();
    let [first, second, owner, id] = [key(1), key(5), key(5), key(7)].map(|it| it.to_string());
    assert_eq!(owner, second);
    assert_eq!(
        text,
        [
            "0x0 accounts.len 2".to_owned(),
            "0x8 accounts[0].marker 0xff".to_owned(),
            "0x9 accounts[0].is_signer true".to_owned(),
            "0xa accounts[0].is_writable false".to_owned(),
            "0xb accounts[0].executable true".to_owned(),
            "0xc accounts[0].padding zeros".to_owned(),
            format!("0x10 accounts[0].key {first}"),
            format!("0x30 accounts[0].owner {owner}"),
            "0x50 accounts[0].lamports 16909060".to_owned(),
            "0x58 accounts[0].data.len 5".to_owned(),
            "0x60 accounts[0].data data".to_owned(),
            "0x65 accounts[0].growth_space zeros".to_owned(),
            "0x2865 accounts[0].alignment zeros".to_owned(),
            "0x2868 accounts[0].rent_epoch 18446744073709551615".to_owned(),
            "0x2870 accounts[1].marker 0x00 the same account as accounts[0]".to_owned(),
            "0x2871 accounts[1].padding zeros".to_owned(),
            "0x2878 instruction_data.len 2".to_owned(),
            "0x2880 instruction_data data".to_owned(),
            format!("0x2882 program_id {id}"),
        ]
    );
    assert_eq!(explained.find(0x4_0000_0062).unwrap().path, "accounts[0].data");
    assert_eq!(explained.find(0x4_0000_28a2), None);
    assert_eq!(explained.find(0x3_0000_0000), None);
}

#[test]
fn explain_detects_the_abi() {
    assert_eq!(explain(&two_accounts(Abi::Unaligned).bytes, None).abi, Abi::Unaligned);
    let forced = explain(&two_accounts(Abi::Unaligned).bytes, Some(Abi::Aligned));
    assert!(forced.error.is_some() && !forced.fields.is_empty());
}

#[test]
fn explain_follows_a_length_that_the_program_changed() {
    let mut bytes = two_accounts(Abi::Aligned).bytes;
    bytes[12] = 5;
    bytes[0x58..0x60].copy_from_slice(&20_u64.to_le_bytes());
    let explained = explain(&bytes, None);
    assert_eq!(explained.error, None);
    let len = explained.fields.iter().find(|field| field.path == "accounts[0].data.len").unwrap();
    assert_eq!((len.value, &*len.note), (Value::Number(20), "5 before the program changed it"));
}

#[test]
fn explain_returns_the_first_error_of_a_malformed_input() {
    let error = |bytes: &[u8]| explain(bytes, Some(Abi::Aligned)).error;
    let truncated = |path: &str, offset, needed, available| {
        Some(ExplainError::Truncated { path: path.to_owned(), offset, needed, available })
    };
    assert_eq!(error(&[1, 0]), truncated("accounts.len", 0, 8, 2));
    assert_eq!(error(&number(1)), truncated("accounts[0].marker", 8, 1, 0));
    assert_eq!(error(&number(257)), Some(ExplainError::TooManyAccounts(257)));
    let later = [number(1), vec![0; 8]].concat();
    assert_eq!(error(&later), Some(ExplainError::InvalidDuplicate { account: 0, of: 0 }));
    let huge = [number(0), number(u64::MAX), vec![0; 8]].concat();
    assert_eq!(error(&huge), truncated("instruction_data", 16, u64::MAX, 8));
    let trailing = [number(0), number(0), vec![0; 33]].concat();
    assert_eq!(error(&trailing), Some(ExplainError::TrailingBytes { offset: 48, len: 1 }));
    let text = error(&[1, 0]).unwrap().to_string();
    assert_eq!(text, "input ends within accounts.len at offset 0x0: 8 bytes needed, 2 left");
}

fn is_gapless(explained: &Explanation, len: usize) -> bool {
    let mut end = 0;
    let follows = explained.fields.iter().all(|field| {
        let follows = field.offset == end;
        end += field.len;
        follows
    });
    follows && end <= len && (explained.error.is_some() || end == len)
}

proptest! {
    #[test]
    fn explain_covers_arbitrary_bytes_without_gaps(
        head in 0_u64..4,
        tail in proptest::collection::vec(any::<u8>(), 0..200),
        abi in prop_oneof![Just(None), Just(Some(Abi::Aligned)), Just(Some(Abi::Unaligned))],
    ) {
        let bytes = [number(head), tail].concat();
        prop_assert!(is_gapless(&explain(&bytes, abi), bytes.len()));
    }

    #[test]
    fn explain_covers_damaged_inputs_without_gaps(
        at in 0_usize..0x28a2,
        byte in any::<u8>(),
        cut in 0_usize..0x28a2,
        aligned in any::<bool>(),
    ) {
        let abi = if aligned { Abi::Aligned } else { Abi::Unaligned };
        let mut bytes = two_accounts(abi).bytes;
        let len = bytes.len();
        bytes[at % len] = byte;
        bytes.truncate(len - cut % len);
        prop_assert!(is_gapless(&explain(&bytes, Some(abi)), bytes.len()));
    }

    #[test]
    fn explain_accepts_every_serialized_input(
        lens in proptest::collection::vec(0_usize..40, 0..6),
        data in proptest::collection::vec(any::<u8>(), 0..20),
        aligned in any::<bool>(),
    ) {
        let abi = if aligned { Abi::Aligned } else { Abi::Unaligned };
        let states: Vec<_> = lens.iter().map(|len| account(&vec![1; *len])).collect();
        let keys: Vec<_> = (10..).map(key).take(states.len()).collect();
        let accounts: Vec<_> =
            keys.iter().zip(&states).map(|(key, state)| named(key, state)).collect();
        let input = serialize(abi, &accounts, &data).unwrap();
        let explained = explain(&input.bytes, Some(abi));
        prop_assert_eq!(&explained.error, &None);
        prop_assert!(is_gapless(&explained, input.bytes.len()));
        let program = explained.fields.last().unwrap();
        prop_assert_eq!((program.offset, program.value), (input.layout.program_id, Value::Pubkey(key(7))));
    }
}

#[test]
fn inputs_contain_nothing_of_earlier_runs() {
    let setup = |data: &[usize], engine| {
        let keys = (1..).map(key);
        let accounts: Vec<_> =
            keys.zip(data).map(|(it, len)| (it, account(&bytes(3, *len)))).collect();
        let metas = accounts.iter().map(|(key, _)| AccountMeta::new(*key, false)).collect();
        let options = Options { engine, ..Options::default() };
        Setup { metas, accounts, options, ..Setup::default() }
    };
    let layouts: [&[usize]; 5] = [&[165, 165, 0], &[0], &[165, 165, 0], &[3000, 9], &[165, 165, 0]];
    for engine in [Engine::Interpreter, Engine::Jit] {
        for at in [0, 8, 100, 300, 4000, 10_000, 10_700, 20_000, 21_100, 31_000] {
            for data in layouts {
                // The store fails after the end of a short input, which does not matter here.
                setup(data, engine).run(&[poke(INPUT + at, u64::MAX), exit()]);
            }
            for data in layouts {
                let setup = setup(data, engine);
                let ran = setup.run(&[word(0xb7, 0, 0, 0, 0), exit()]);
                let instruction = Instruction {
                    program_id: PROGRAM,
                    accounts: setup.metas.clone(),
                    data: Vec::new(),
                };
                let (accounts, environment) = (&setup.accounts, &setup.environment);
                let input = instruction_input(&instruction, accounts, environment, Abi::Aligned);
                assert!(ran.input == input.unwrap().bytes, "{engine:?} {at} {data:?}");
            }
        }
    }
}
