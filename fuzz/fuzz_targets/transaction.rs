//! Processes any bytes as a transaction, twice, with the same result.

#![no_main]

mod runtime;

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use selkie_svm::{
    AccountSharedData, BlockhashQueue, ChainState, Engine, ProcessOptions, ProgramCache, Pubkey,
    Transaction, Workspace, process,
};

use crate::runtime::{account, environment, features, key};

const OPTIONS: ProcessOptions =
    ProcessOptions { verify_signatures: false, engine: Engine::Interpreter, budget: None };

fuzz_target!(|input: (u8, &[u8])| {
    let (number, wire) = input;
    let features = features(number);
    let environment = environment(features);
    let Ok(transaction) = Transaction::from_wire(wire, environment.rules()) else { return };
    let mut accounts: BTreeMap<Pubkey, AccountSharedData> = BTreeMap::new();
    // The payer has lamports, and every second account exists.
    for (place, address) in transaction.static_keys().iter().enumerate() {
        if place == 0 || address.as_ref()[31] & 1 == 0 {
            accounts.insert(*address, account(key(0), 0).into());
        }
    }
    let native = account(selkie_svm::Loader::V3.address(), 0);
    for (address, _) in environment.builtins.iter() {
        let mut native = native.clone();
        native.owner = selkie_svm::NATIVE_LOADER;
        accounts.insert(*address, native.into());
    }
    let blockhash_queue = BlockhashQueue::new([*transaction.blockhash()]);
    let run = || {
        let programs = ProgramCache::new();
        let chain = ChainState {
            accounts: &accounts,
            environment: &environment,
            blockhash_queue: &blockhash_queue,
            programs: &programs,
        };
        process(&transaction, &chain, &OPTIONS, None, &mut Workspace::default())
    };
    let processed = run();
    assert_eq!(processed, run());
    // Except for the fee, the sum of lamports stays the same.
    if let Ok(processed) = processed {
        use selkie_svm::ReadableAccount;
        let sum = |of: fn(&selkie_svm::AccountChange) -> Option<&AccountSharedData>| -> u128 {
            let lamports = processed.accounts.iter().filter_map(of).map(|it| it.lamports());
            lamports.map(u128::from).sum()
        };
        let before = sum(|change| change.before.as_ref());
        let after = sum(|change| change.after());
        assert_eq!(before, after + u128::from(processed.fee.total()));
    }
});
