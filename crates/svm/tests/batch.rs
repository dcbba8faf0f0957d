//! Parallel batches: the results are those of sequential processing.

mod common;

use std::collections::BTreeMap;

use common::key;
use proptest::prelude::*;
use selkie_svm::{
    Account, AccountSharedData, BatchWorkspace, BlockhashQueue, Builtin, ChainState, Environment,
    InstructionError, Loader, ProcessOptions, Processed, ProgramCache, Pubkey, Rules, Transaction,
    Workspace, process, process_batch, process_batch_into, sysvars::Clock,
};
use solana_hash::Hash;
use solana_keypair::{Keypair, Signer};
use solana_message::{
    Message, MessageHeader, VersionedMessage, compiled_instruction::CompiledInstruction, v0,
};
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

const SYSTEM: Pubkey = Pubkey::new_from_array([0; 32]);
const MIXER: Pubkey = key(200);
const NOWHERE: Pubkey = key(201);
const TABLES: Pubkey = solana_sdk_ids::address_lookup_table::ID;
const BLOCKHASH: Hash = Hash::new_from_array([9; 32]);

type Store = BTreeMap<Pubkey, AccountSharedData>;
type Outcome = Result<Box<Processed>, TransactionError>;

/// Transfers lamports from the first account to the second. The amount depends on the balance of a
/// third, and too small a balance is an error, so the results depend on the order of all transactions.
fn mixer() -> Builtin {
    Builtin::new("mixer", |context| {
        context.consume(150)?;
        let seen = context.borrow(2)?.lamports();
        let mut from = context.borrow(0)?;
        from.sub_lamports(seen % 1_000).map_err(|_| InstructionError::InsufficientFunds)?;
        context.borrow(1)?.add_lamports(seen % 1_000)
    })
}

fn environment() -> Environment {
    let mut environment = Environment::default();
    environment.builtins.insert(MIXER, mixer());
    environment.builtins.insert(Loader::V3.address(), replacer());
    environment.builtins.insert(TABLES, table_writer());
    environment.blockhash = BLOCKHASH;
    // Programs deployed in slot 0 can be called.
    environment.sysvars.set_clock(&Clock { slot: 1, ..Clock::default() });
    environment
}

/// Replaces the loader: writes a file whose program returns the given number, or an invalid file.
fn replacer() -> Builtin {
    Builtin::new("replacer", |context| {
        context.consume(100)?;
        let number = context.instruction().data[0];
        context.borrow(0)?.set_data(&program_data(number))
    })
}

fn program_data(number: u8) -> Vec<u8> {
    let mov = common::word(0xb7, 0, 0, 0, number.into());
    let file = common::elf(&[mov, common::exit()]);
    let file = if number == 0 { b"no file".to_vec() } else { file };
    [&3_u32.to_le_bytes()[..], &[0; 8 + 33], &file].concat()
}

/// Replaces the address lookup table program: writes the given addresses to a table.
fn table_writer() -> Builtin {
    Builtin::new("table writer", |context| {
        context.consume(100)?;
        let given = table(&context.instruction().data);
        context.borrow(0)?.set_data(&given)
    })
}

/// A lookup table with the addresses of these accounts, which can be used at once.
fn table(given: &[u8]) -> Vec<u8> {
    let mut data = [&1_u32.to_le_bytes()[..], &u64::MAX.to_le_bytes()].concat();
    data.resize(56, 0);
    given.iter().for_each(|byte| data.extend(key(*byte).as_ref()));
    data
}

const TABLE: u8 = 230;

fn store_of_tables() -> Store {
    let mut store = store(8);
    let account = |owner, data| Account { lamports: 1_000_000_000, owner, data, ..<_>::default() };
    store.insert(TABLES, account(solana_sdk_ids::native_loader::ID, Vec::new()).into());
    store.insert(key(TABLE), account(TABLES, table(&[1, 2, 3, 4])).into());
    store.insert(key(TABLE + 1), account(TABLES, table(&[5, 6, 7])).into());
    store
}

/// A transaction that uses or changes a lookup table.
#[derive(Clone, Debug)]
enum TableUse {
    /// Runs the mixer on accounts of a table, by their indexes there.
    Mix { table: u8, indexes: [u8; 3] },
    /// Overwrites a table.
    Write { table: u8, given: Vec<u8> },
    /// Runs the mixer on accounts of the message.
    Name([u8; 3]),
}

fn table_use() -> impl Strategy<Value = TableUse> {
    // Most indexes exist, and no address is twice in a table.
    let indexes = Just([0, 1, 2, 3, 4]).prop_shuffle();
    let mix = (0..2_u8, indexes.prop_map(|[from, to, seen, ..]| [from, to, seen]));
    let given = Just((1..9).collect::<Vec<u8>>()).prop_shuffle();
    let given = (given, 3..7_usize).prop_map(|(given, count)| given[..count].to_vec());
    let write = (0..2_u8, given);
    prop_oneof![
        3 => mix.prop_map(|(table, indexes)| TableUse::Mix { table, indexes }),
        1 => write.prop_map(|(table, given)| TableUse::Write { table, given }),
        2 => prop::array::uniform3(1_u8..9).prop_map(TableUse::Name),
    ]
}

fn use_table(payer: u8, what: TableUse, salt: u8) -> Transaction {
    let header = MessageHeader {
        num_required_signatures: 1,
        num_readonly_signed_accounts: 0,
        num_readonly_unsigned_accounts: 1,
    };
    let (recent_blockhash, payer_key) = (BLOCKHASH, key(100 + payer));
    let instruction = |program_id_index, accounts, data| {
        vec![CompiledInstruction { program_id_index, accounts, data }]
    };
    let message = match what {
        TableUse::Name([from, to, seen]) => return transaction(payer, from, to, seen, salt),
        TableUse::Mix { table, indexes: [from, to, seen] } => VersionedMessage::V0(v0::Message {
            header,
            account_keys: vec![payer_key, MIXER],
            recent_blockhash,
            instructions: instruction(1, vec![2, 3, 4], vec![salt]),
            address_table_lookups: vec![v0::MessageAddressTableLookup {
                account_key: key(TABLE + table),
                writable_indexes: vec![from, to],
                readonly_indexes: vec![seen],
            }],
        }),
        TableUse::Write { table, given } => VersionedMessage::Legacy(Message {
            header,
            account_keys: vec![payer_key, key(TABLE + table), TABLES],
            recent_blockhash,
            instructions: instruction(2, vec![1], given),
        }),
    };
    let transaction = VersionedTransaction::new_unsigned(message);
    Transaction::new(transaction, Rules::mainnet()).unwrap()
}

/// Programs, each with its data, and payers.
fn store_of_programs() -> Store {
    let account = |lamports, owner, data| {
        AccountSharedData::from(Account { lamports, owner, data, ..Account::default() })
    };
    let mut store = store(8);
    let native = solana_sdk_ids::native_loader::ID;
    store.insert(Loader::V3.address(), account(1, native, Vec::new()));
    for place in 0..PROGRAMS {
        let (program, data) = (program(place), key(DATA + place));
        let pointer = [&2_u32.to_le_bytes()[..], data.as_ref()].concat();
        store.insert(program, account(1_000_000_000, Loader::V3.address(), pointer));
        let file = program_data(10 + place);
        store.insert(data, account(1_000_000_000, Loader::V3.address(), file));
    }
    store
}

const PROGRAMS: u8 = 4;
const PROGRAM: u8 = 210;
const DATA: u8 = 220;

/// Returns the address of a program. That of the last one is an address of the protocol.
fn program(place: u8) -> Pubkey {
    if place == PROGRAMS - 1 { solana_sdk_ids::config::ID } else { key(PROGRAM + place) }
}

/// Calls a program, or replaces its file.
fn use_program(payer: u8, place: u8, replace_by: Option<u8>, salt: u8) -> Transaction {
    let payer = key(100 + payer);
    let (keys, readonly, accounts, data) = match replace_by {
        None => (vec![payer, program(place)], 1, vec![], vec![salt]),
        Some(number) => {
            (vec![payer, key(DATA + place), Loader::V3.address()], 1, vec![1], vec![number, salt])
        }
    };
    let message = Message {
        header: MessageHeader {
            num_required_signatures: 1,
            num_readonly_signed_accounts: 0,
            num_readonly_unsigned_accounts: readonly,
        },
        recent_blockhash: BLOCKHASH,
        instructions: vec![CompiledInstruction {
            program_id_index: u8::try_from(keys.len() - 1).unwrap(),
            accounts,
            data,
        }],
        account_keys: keys,
    };
    let transaction = VersionedTransaction::new_unsigned(VersionedMessage::Legacy(message));
    Transaction::new(transaction, Rules::mainnet()).unwrap()
}

/// Accounts that belong to the mixer, and payers.
fn store(accounts: u8) -> Store {
    let native = solana_sdk_ids::native_loader::ID;
    let account = |lamports, owner| Account { lamports, owner, ..Account::default() }.into();
    let mut store = Store::new();
    store.insert(MIXER, account(1, native));
    for byte in 1..=accounts {
        store.insert(key(byte), account(10_000_000 + u64::from(byte) * 777, MIXER));
        // Enough for a few fees.
        store.insert(key(100 + byte), account(890_880 + u64::from(byte) * 15_000, SYSTEM));
    }
    store
}

/// The intended result of a transaction whose payer can pay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Executed,
    /// It calls a missing program.
    FeesOnly,
    /// Its limit on loaded account data allows the payer only.
    CutShort,
    /// Its blockhash is unknown.
    Dropped,
}

fn transaction(payer: u8, from: u8, to: u8, seen: u8, salt: u8) -> Transaction {
    transaction_of(Kind::Executed, payer, from, to, seen, salt)
}

fn transaction_of(kind: Kind, payer: u8, from: u8, to: u8, seen: u8, salt: u8) -> Transaction {
    let mut keys = vec![key(100 + payer), key(from)];
    let mut place = |wanted: Pubkey| {
        let found = keys.iter().position(|known| *known == wanted);
        let place = found.unwrap_or_else(|| {
            keys.push(wanted);
            keys.len() - 1
        });
        u8::try_from(place).unwrap()
    };
    let to = place(key(to));
    // Read-only accounts follow the writable ones.
    let seen = place(key(seen));
    let program = place(if kind == Kind::FeesOnly { NOWHERE } else { MIXER });
    let readonly = u8::from(usize::from(seen) == keys.len() - 2 && seen != to && seen != 1) + 1;
    let instruction = CompiledInstruction {
        program_id_index: program,
        accounts: vec![1, to, seen],
        data: vec![salt],
    };
    let mut instructions = vec![instruction];
    if kind == Kind::CutShort {
        let budget = u8::try_from(keys.len()).unwrap();
        keys.push(solana_sdk_ids::compute_budget::ID);
        // `SetLoadedAccountsDataSizeLimit`: each account counts for 64 bytes at least.
        let data = [&[4][..], &100_u32.to_le_bytes()].concat();
        let limit = CompiledInstruction { program_id_index: budget, accounts: Vec::new(), data };
        instructions.push(limit);
    }
    let readonly = readonly + u8::from(kind == Kind::CutShort);
    let message = Message {
        header: MessageHeader {
            num_required_signatures: 1,
            num_readonly_signed_accounts: 0,
            num_readonly_unsigned_accounts: readonly,
        },
        account_keys: keys,
        recent_blockhash: if kind == Kind::Dropped { Hash::default() } else { BLOCKHASH },
        instructions,
    };
    let transaction = VersionedTransaction::new_unsigned(VersionedMessage::Legacy(message));
    Transaction::new(transaction, Rules::mainnet()).unwrap()
}

/// Returns options that verify signatures if the transactions are signed.
fn options(transactions: &[Transaction]) -> ProcessOptions {
    let verify_signatures =
        transactions.iter().any(|it| it.signatures()[0] != Signature::default());
    ProcessOptions { verify_signatures, engine: selkie_svm::Engine::Interpreter, budget: None }
}

fn commit(store: &mut Store, outcome: &Outcome) {
    for (key, account) in outcome.iter().flat_map(|it| it.writes()) {
        store.insert(*key, account.clone());
    }
}

fn one_by_one(transactions: &[Transaction], store: Store) -> (Vec<Outcome>, Store) {
    one_by_one_with(transactions, store, &ProgramCache::new())
}

fn one_by_one_with(
    transactions: &[Transaction],
    mut store: Store,
    programs: &ProgramCache,
) -> (Vec<Outcome>, Store) {
    let environment = environment();
    let mut blockhash_queue = BlockhashQueue::new([BLOCKHASH]);
    let (mut outcomes, mut workspace) = (Vec::new(), Workspace::default());
    for transaction in transactions {
        let chain = ChainState {
            accounts: &store,
            environment: &environment,
            blockhash_queue: &blockhash_queue,
            programs,
        };
        let outcome = process(transaction, &chain, &options(transactions), None, &mut workspace);
        commit(&mut store, &outcome);
        if outcome.is_ok() {
            blockhash_queue.add_processed(*transaction.blockhash(), transaction.message_id());
        }
        outcomes.push(outcome);
    }
    (outcomes, store)
}

fn at_once(transactions: &[Transaction], store: Store, threads: usize) -> (Vec<Outcome>, Store) {
    at_once_with(transactions, store, threads, &ProgramCache::new())
}

fn process_all_into(
    outcomes: &mut Vec<Outcome>,
    transactions: &[Transaction],
    store: &Store,
    threads: usize,
) {
    let (environment, blockhash_queue) = (environment(), BlockhashQueue::new([BLOCKHASH]));
    let chain = ChainState {
        accounts: store,
        environment: &environment,
        blockhash_queue: &blockhash_queue,
        programs: &ProgramCache::new(),
    };
    let mut workspace = BatchWorkspace::default();
    process_batch_into(
        outcomes,
        transactions,
        &chain,
        &options(transactions),
        threads,
        &mut workspace,
    );
}

fn at_once_with(
    transactions: &[Transaction],
    mut store: Store,
    threads: usize,
    programs: &ProgramCache,
) -> (Vec<Outcome>, Store) {
    let environment = environment();
    let blockhash_queue = BlockhashQueue::new([BLOCKHASH]);
    let chain = ChainState {
        accounts: &store,
        environment: &environment,
        blockhash_queue: &blockhash_queue,
        programs,
    };
    let mut workspace = BatchWorkspace::default();
    let outcomes =
        process_batch(transactions, &chain, &options(transactions), threads, &mut workspace);
    for outcome in &outcomes {
        commit(&mut store, outcome);
    }
    (outcomes, store)
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        6 => Just(Kind::Executed),
        1 => Just(Kind::FeesOnly),
        1 => Just(Kind::CutShort),
        1 => Just(Kind::Dropped),
    ]
}

proptest! {
    #[test]
    fn outcomes_equal_those_of_sequential_processing(
        given in proptest::collection::vec(
            (kind(), 1_u8..9, 1_u8..9, 1_u8..9, 1_u8..9, 0_u8..3),
            0..60,
        ),
        threads in 1_usize..9,
    ) {
        let transactions: Vec<Transaction> = given
            .into_iter()
            .map(|(kind, payer, from, to, seen, salt)| {
                transaction_of(kind, payer, from, to, seen, salt)
            })
            .collect();
        let (expected, store_expected) = one_by_one(&transactions, store(8));
        let (outcomes, store) = at_once(&transactions, store(8), threads);
        prop_assert_eq!(&outcomes, &expected);
        prop_assert_eq!(store, store_expected);
        // Overwritten outcomes leave nothing behind.
        let mut again: Vec<Outcome> = outcomes.into_iter().rev().skip(3).collect();
        process_all_into(&mut again, &transactions, &self::store(8), threads);
        prop_assert_eq!(again, expected);
    }

    #[test]
    fn lookups_see_tables_as_earlier_transactions_wrote_them(
        given in proptest::collection::vec((1_u8..9, table_use()), 0..60),
        threads in 1_usize..5,
    ) {
        let used = given.into_iter().zip(0..);
        let transactions: Vec<Transaction> =
            used.map(|((payer, what), salt)| use_table(payer, what, salt)).collect();
        let (expected, store_expected) = one_by_one(&transactions, store_of_tables());
        let (outcomes, store) = at_once(&transactions, store_of_tables(), threads);
        prop_assert_eq!(outcomes, expected);
        prop_assert_eq!(store, store_expected);
    }

    #[test]
    fn programs_are_those_that_earlier_transactions_deployed(
        given in proptest::collection::vec(
            (1_u8..9, 0..PROGRAMS, prop::option::weighted(0.2, 0_u8..9)),
            0..60,
        ),
        threads in 1_usize..5,
    ) {
        let replaces = given.iter().any(|(_, _, number)| number.is_some());
        let transactions: Vec<Transaction> = given
            .into_iter()
            .zip(0..)
            .map(|((payer, place, number), salt)| use_program(payer, place, number, salt))
            .collect();
        let caches = [ProgramCache::new(), ProgramCache::new()];
        let (expected, store_expected) =
            one_by_one_with(&transactions, store_of_programs(), &caches[0]);
        let (outcomes, store) =
            at_once_with(&transactions, store_of_programs(), threads, &caches[1]);
        prop_assert_eq!(outcomes, expected);
        prop_assert_eq!(store, store_expected);
        // Threads count look-ups at the end, which misses versions that were removed by then.
        let lookups = |cache: &ProgramCache| {
            let statistics = cache.statistics();
            statistics.hits + statistics.misses + statistics.waits
        };
        let counts = [lookups(&caches[1]), lookups(&caches[0])];
        prop_assert!(counts[0] == counts[1] || replaces && counts[0] < counts[1], "{counts:?}");
    }
}

#[test]
fn equal_messages_are_processed_once() {
    // The table has no sixth address at first.
    let same = || use_table(1, TableUse::Mix { table: 0, indexes: [0, 1, 5] }, 0);
    let write = TableUse::Write { table: 0, given: (1..9).collect() };
    let transactions: Vec<_> = [same(), same(), use_table(2, write, 1)]
        .into_iter()
        .chain(core::iter::repeat_with(same).take(4))
        .collect();
    let (expected, store_expected) = one_by_one(&transactions, store_of_tables());
    assert!(expected[..2].iter().all(|it| it.is_err()) && expected[2].is_ok());
    assert!(expected[3].as_ref().is_ok_and(|processed| processed.result.is_ok()));
    assert!(expected[4..].iter().all(|it| *it == Err(TransactionError::AlreadyProcessed)));
    for threads in 1..4 {
        let (outcomes, store) = at_once(&transactions, store_of_tables(), threads);
        assert_eq!((&outcomes, &store), (&expected, &store_expected), "{threads} threads");
    }
}

/// Signatures are verified ahead, on any thread; every third one here is invalid.
#[test]
fn signatures_are_verified_as_one_by_one() {
    let payers: Vec<_> = (1..=3).map(|byte| Keypair::new_from_array([byte; 32])).collect();
    let mut store = store(8);
    for payer in &payers {
        let lamports = 1_000_000_000;
        store.insert(payer.pubkey(), Account { lamports, ..Account::default() }.into());
    }
    let sign = |salt: u8| {
        let payer = &payers[usize::from(salt) % payers.len()];
        let VersionedMessage::Legacy(mut message) =
            transaction(1, 1, 2, 3 + salt % 5, salt).signed().message().clone()
        else {
            panic!("the message is legacy");
        };
        message.account_keys[0] = payer.pubkey();
        let mut signed =
            VersionedTransaction::try_new(VersionedMessage::Legacy(message), &[payer]).unwrap();
        if salt % 3 == 2 {
            signed.signatures[0] = Signature::from([salt; 64]);
        }
        Transaction::new(signed, Rules::mainnet()).unwrap()
    };
    let transactions: Vec<_> = (0..60).map(sign).collect();
    let (expected, store_expected) = one_by_one(&transactions, store.clone());
    for (index, outcome) in expected.iter().enumerate() {
        let is_refused = *outcome == Err(TransactionError::SignatureFailure);
        assert_eq!(is_refused, index % 3 == 2, "transaction {index}: {outcome:?}");
    }
    for threads in 1..5 {
        let (outcomes, left) = at_once(&transactions, store.clone(), threads);
        assert_eq!((&outcomes, &left), (&expected, &store_expected), "{threads} threads");
    }
}

/// Transactions that write nothing are skipped: later ones see the state of those before them.
#[test]
fn transactions_that_write_nothing_are_skipped_in_writer_chains() {
    for kind in [Kind::FeesOnly, Kind::CutShort, Kind::Dropped] {
        let writes = [transaction(1, 1, 2, 3, 0), transaction(3, 2, 4, 1, 0)];
        let between = (0..9).map(|salt| transaction_of(kind, 2, 1, 2, 5, salt));
        let [first, last] = writes;
        let again = transaction(3, 2, 4, 1, 1);
        let transactions: Vec<_> =
            [first].into_iter().chain(between).chain([last, again]).collect();
        let (expected, store_expected) = one_by_one(&transactions, store(8));
        for threads in 1..4 {
            let (outcomes, left) = at_once(&transactions, store(8), threads);
            assert_eq!((&outcomes, &left), (&expected, &store_expected), "{threads} threads");
        }
        let outcomes = expected;
        let passed = &outcomes[1..10];
        assert!(passed.iter().all(|it| it.as_ref().map_or(true, |it| !it.is_executed)));
        assert_eq!(passed.iter().any(Result::is_ok), kind != Kind::Dropped);
    }
}

#[test]
#[should_panic(expected = "a builtin fails")]
fn a_panic_in_one_thread_ends_the_batch() {
    let mut environment = environment();
    environment.builtins.insert(MIXER, Builtin::new("mixer", |_| panic!("a builtin fails")));
    let (store, programs, blockhash_queue) =
        (store(3), ProgramCache::new(), BlockhashQueue::new([BLOCKHASH]));
    let chain = ChainState {
        accounts: &store,
        environment: &environment,
        blockhash_queue: &blockhash_queue,
        programs: &programs,
    };
    let transactions: Vec<_> = (0..8).map(|salt| transaction(1, 1, 2, 3, salt)).collect();
    process_batch(
        &transactions,
        &chain,
        &options(&transactions),
        3,
        &mut BatchWorkspace::default(),
    );
}
