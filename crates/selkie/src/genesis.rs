//! The initial state of a chain: programs, sysvars, the first blockhash.
//!
//! It is created once per process and then cloned.

use std::sync::{Arc, OnceLock};

use selkie_bank::{Stakes, time::TIMESTAMP};
use selkie_builtins::{builtins, precompiles, program_account};
use selkie_programs::accounts::WellKnownAccountSet;
use selkie_svm::{
    BlockhashQueue, ComputeBudget, Environment, EpochStake, FeatureSet, Sysvars,
    cost::{HEAP_BYTES_MIN, TRANSACTION_COMPUTE_UNITS_MAX},
    sysvars::minimum_balance,
};
use sha2::{Digest, Sha256};
use solana_account::AccountSharedData;
use solana_clock::Clock;
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_sdk_ids as ids;

use crate::{
    hash_lists::{blockhash_list, slot_hash_list},
    history::{CAPACITY_DEFAULT, History},
    journal::State,
    store::Accounts,
};

/// The first slot, whose parent is slot 0.
pub(crate) const SLOT: u64 = 1;

/// The default stake in lamports that no account shows: 400 million SOL, about mainnet's. Without
/// it no delegation would warm up, since only 9 % of the effective stake may per epoch.
pub(crate) const STAKE: u64 = 400_000_000_000_000_000;

/// The default compute budget of directly processed instructions.
pub(crate) const INSTRUCTION_BUDGET: ComputeBudget =
    ComputeBudget { compute_unit_limit: TRANSACTION_COMPUTE_UNITS_MAX, heap_bytes: HEAP_BYTES_MIN };

/// Returns the initial state with mainnet's features.
pub(crate) fn state() -> State {
    static STATE: OnceLock<State> = OnceLock::new();
    STATE.get_or_init(|| make(FeatureSet::mainnet())).clone()
}

fn make(features: FeatureSet) -> State {
    let stake = EpochStake { total: STAKE, ..EpochStake::default() };
    let sysvars = sysvars();
    let clock = sysvars.clock().unwrap_or_default();
    let stakes = Stakes::constant(stake.clone(), clock.epoch..=clock.leader_schedule_epoch);
    let environment = Environment {
        features,
        builtins: builtins(features),
        precompiles: precompiles(),
        sysvars,
        epoch_stake: stake,
        ..Environment::default()
    };
    let mut accounts = Accounts::default();
    accounts.set_programs(WellKnownAccountSet::all());
    for (id, account) in native_accounts(&environment) {
        accounts.set(id, Some(account));
    }
    for (id, data) in environment.sysvars.iter() {
        accounts.set(*id, Some(sysvar_account(data, &environment)));
    }
    let mut state = State {
        accounts,
        blockhash_queue: BlockhashQueue::default(),
        environment: Arc::new(environment),
        stakes: Arc::new(stakes),
        history: History::new(CAPACITY_DEFAULT),
    };
    register_first(&mut state);
    state
}

/// Returns the accounts of builtin programs and precompiles.
pub(crate) fn native_accounts(environment: &Environment) -> Vec<(Pubkey, AccountSharedData)> {
    let builtins = environment.builtins.iter().map(|(id, _)| id);
    let precompiles = environment.precompiles.iter().map(|(id, _)| id);
    builtins.chain(precompiles).map(|id| (*id, program_account(id))).collect()
}

/// Returns a state with the builtin programs and precompiles, but no accounts and no sysvars.
pub(crate) fn empty_state(features: FeatureSet) -> State {
    let environment = Environment {
        features,
        builtins: builtins(features),
        precompiles: precompiles(),
        sysvars: Sysvars::empty(),
        ..Environment::default()
    };
    State {
        accounts: Accounts::default(),
        blockhash_queue: BlockhashQueue::default(),
        environment: Arc::new(environment),
        stakes: Arc::default(),
        history: History::new(CAPACITY_DEFAULT),
    }
}

/// Registers the first blockhash, and sets the sysvars that depend on it.
fn register_first(state: &mut State) {
    let hash = Hash::new_from_array(Sha256::digest("selkie genesis").into());
    state.blockhash_queue.register(hash);
    let environment = Arc::make_mut(&mut state.environment);
    environment.blockhash = hash;
    let price = environment.lamports_per_signature;
    let lists = [
        (ids::sysvar::recent_blockhashes::ID, blockhash_list(&state.blockhash_queue, price)),
        (ids::sysvar::slot_hashes::ID, slot_hash_list(&[], 0, SLOT)),
        (ids::sysvar::stake_history::ID, vec![0; 8]),
    ];
    for (id, data) in lists {
        environment.sysvars.set(id, &data).expect("the data are valid");
        state.accounts.set(id, Some(sysvar_account(&data, environment)));
    }
}

fn sysvars() -> Sysvars {
    let mut sysvars = Sysvars::default();
    sysvars.set_clock(&Clock {
        slot: SLOT,
        epoch_start_timestamp: TIMESTAMP,
        epoch: 0,
        leader_schedule_epoch: 1,
        unix_timestamp: TIMESTAMP,
    });
    sysvars
}

/// Creates the account of a sysvar.
pub(crate) fn sysvar_account(data: &[u8], environment: &Environment) -> AccountSharedData {
    let lamports = minimum_balance(&environment.rent(), data.len()).max(1);
    selkie_builtins::sysvar_account(data.to_vec(), lamports, u64::MAX)
}
