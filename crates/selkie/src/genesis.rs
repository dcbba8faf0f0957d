//! The initial state of a chain: mainnet's programs, sysvars, the first blockhash.
//!
//! It is created once per process and then cloned.

use std::sync::{Arc, OnceLock};

use selkie_bank::{BlockEnd, Genesis, Head, MAINNET_STAKE, Options, Step};
use selkie_builtins::environment;
use selkie_programs::accounts::WellKnownAccountSet;
use selkie_svm::{BlockhashQueue, Environment, EpochStake, Rules, Sysvars};
use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

use crate::{
    history::{CAPACITY_DEFAULT, History},
    journal::{Journal, State},
    store::Accounts,
};

/// The first slot, whose parent is the genesis block in slot 0.
pub(crate) const SLOT: u64 = 1;

/// Returns the initial state with mainnet's features.
pub(crate) fn state() -> State {
    static STATE: OnceLock<State> = OnceLock::new();
    STATE.get_or_init(make).clone()
}

fn make() -> State {
    let stake = EpochStake { total: MAINNET_STAKE, ..EpochStake::default() };
    state_of(&Genesis { stake, ..Genesis::default() }, [])
}

/// Returns the state in slot 1, after the block of the genesis.
pub(crate) fn state_of(
    genesis: &Genesis,
    more: impl IntoIterator<Item = (Pubkey, AccountSharedData)>,
) -> State {
    let mut genesis = selkie_bank::State::genesis(genesis);
    more.into_iter().for_each(|(key, account)| genesis.set_account(key, account));
    let head = Head::of(&genesis, &Options::default());
    let mut accounts = Accounts::default();
    accounts.set_programs(WellKnownAccountSet::all());
    for (key, account) in genesis.accounts {
        accounts.set(key, Some(account));
    }
    let mut journal = Journal::new(State {
        accounts,
        blockhash_queue: BlockhashQueue::new(genesis.blockhashes),
        environment: Arc::clone(&head.environment),
        stakes: Arc::clone(&head.stakes),
        history: History::new(CAPACITY_DEFAULT),
    });
    // The block of the genesis has the first blockhash, and has ended.
    let end = BlockEnd { blockhash: head.environment.blockhash, ..head.derived_end() };
    journal.advance(&head, end, SLOT, &Step::default());
    journal.state().clone()
}

/// Returns a state with the builtin programs and precompiles, but no accounts and no sysvars.
pub(crate) fn empty_state(rules: Rules) -> State {
    let Rules { features, release } = rules;
    let environment = Environment { release, sysvars: Sysvars::empty(), ..environment(features) };
    State {
        accounts: Accounts::default(),
        blockhash_queue: BlockhashQueue::default(),
        environment: Arc::new(environment),
        stakes: Arc::default(),
        history: History::new(CAPACITY_DEFAULT),
    }
}
