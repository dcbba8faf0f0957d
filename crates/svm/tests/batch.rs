//! Transactions on many threads come to what they come to one after the other.

mod common;

use std::collections::BTreeMap;

use common::key;
use proptest::prelude::*;
use selkie_svm::{
    Account, AccountSharedData, Bank, Builtin, Environment, FeatureSet, InstructionError,
    ProcessOptions, Processed, ProgramCache, Pubkey, Recent, Transaction, process, process_batch,
};
use solana_hash::Hash;
use solana_message::{
    Message, MessageHeader, VersionedMessage, compiled_instruction::CompiledInstruction,
};
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

const SYSTEM: Pubkey = Pubkey::new_from_array([0; 32]);
const MIXER: Pubkey = key(200);
const BLOCKHASH: Hash = Hash::new_from_array([9; 32]);

type Store = BTreeMap<Pubkey, AccountSharedData>;
type Outcome = Result<Processed, TransactionError>;

/// Moves lamports from the first account to the second, as many as depend on what a third has, and
/// fails if they are not there: so the order of everything can be told from the result.
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
    environment.blockhash = BLOCKHASH;
    environment
}

/// Accounts that belong to the mixer, and payers.
fn store(accounts: u8) -> Store {
    let native = solana_sdk_ids::native_loader::ID;
    let account = |lamports, owner| Account { lamports, owner, ..Account::default() }.into();
    let mut store = Store::new();
    store.insert(MIXER, account(1, native));
    for byte in 1..=accounts {
        store.insert(key(byte), account(10_000_000 + u64::from(byte) * 777, MIXER));
        store.insert(key(100 + byte), account(1_000_000 + u64::from(byte) * 30_000, SYSTEM));
    }
    store
}

fn transaction(payer: u8, from: u8, to: u8, seen: u8, salt: u8) -> Transaction {
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
    // What is only looked at comes behind what is written to.
    let seen = place(key(seen));
    let program = place(MIXER);
    let readonly = u8::from(usize::from(seen) == keys.len() - 2 && seen != to && seen != 1) + 1;
    let message = Message {
        header: MessageHeader {
            num_required_signatures: 1,
            num_readonly_signed_accounts: 0,
            num_readonly_unsigned_accounts: readonly,
        },
        account_keys: keys,
        recent_blockhash: BLOCKHASH,
        instructions: vec![CompiledInstruction {
            program_id_index: program,
            accounts: vec![1, to, seen],
            data: vec![salt],
        }],
    };
    let transaction = VersionedTransaction::new_unsigned(VersionedMessage::Legacy(message));
    Transaction::new(transaction, FeatureSet::mainnet()).unwrap()
}

const OPTIONS: ProcessOptions =
    ProcessOptions { verify_signatures: false, engine: selkie_svm::Engine::Interpreter };

fn commit(store: &mut Store, outcome: &Outcome) {
    for (key, account) in outcome.iter().flat_map(Processed::writes) {
        store.insert(*key, account.clone());
    }
}

fn one_by_one(transactions: &[Transaction], mut store: Store) -> (Vec<Outcome>, Store) {
    let (environment, programs) = (environment(), ProgramCache::new());
    let mut recent = Recent::new([BLOCKHASH]);
    let mut outcomes = Vec::new();
    for transaction in transactions {
        let bank = Bank {
            accounts: &store,
            environment: &environment,
            recent: &recent,
            programs: &programs,
        };
        let outcome = process(transaction, &bank, &OPTIONS, None);
        commit(&mut store, &outcome);
        if outcome.is_ok() {
            recent.add_processed(*transaction.blockhash(), transaction.message_id());
        }
        outcomes.push(outcome);
    }
    (outcomes, store)
}

fn at_once(
    transactions: &[Transaction],
    mut store: Store,
    threads: usize,
) -> (Vec<Outcome>, Store) {
    let (environment, programs) = (environment(), ProgramCache::new());
    let recent = Recent::new([BLOCKHASH]);
    let bank =
        Bank { accounts: &store, environment: &environment, recent: &recent, programs: &programs };
    let outcomes = process_batch(transactions, &bank, &OPTIONS, threads);
    for outcome in &outcomes {
        commit(&mut store, outcome);
    }
    (outcomes, store)
}

proptest! {
    #[test]
    fn the_order_of_threads_does_not_show(
        given in proptest::collection::vec((1_u8..9, 1_u8..9, 1_u8..9, 1_u8..9, 0_u8..3), 0..60),
        threads in 1_usize..9,
    ) {
        let transactions: Vec<Transaction> = given
            .into_iter()
            .map(|(payer, from, to, seen, salt)| transaction(payer, from, to, seen, salt))
            .collect();
        let (expected, store_expected) = one_by_one(&transactions, store(8));
        let (outcomes, store) = at_once(&transactions, store(8), threads);
        prop_assert_eq!(outcomes, expected);
        prop_assert_eq!(store, store_expected);
    }
}

#[test]
fn the_same_message_is_processed_once() {
    let transactions = [transaction(1, 1, 2, 3, 0), transaction(1, 1, 2, 3, 0)];
    let (outcomes, _) = at_once(&transactions, store(3), 2);
    assert!(outcomes[0].as_ref().is_ok_and(|processed| processed.result.is_ok()));
    assert_eq!(outcomes[1], Err(TransactionError::AlreadyProcessed));
}

#[test]
#[should_panic(expected = "a builtin fails")]
fn a_panic_is_not_waited_for() {
    let mut environment = environment();
    environment.builtins.insert(MIXER, Builtin::new("mixer", |_| panic!("a builtin fails")));
    let (store, programs, recent) = (store(3), ProgramCache::new(), Recent::new([BLOCKHASH]));
    let bank =
        Bank { accounts: &store, environment: &environment, recent: &recent, programs: &programs };
    let transactions: Vec<_> = (0..8).map(|salt| transaction(1, 1, 2, 3, salt)).collect();
    process_batch(&transactions, &bank, &OPTIONS, 3);
}
