//! A chain that is given as a whole, by tools that keep the state of chains in a form of their own.

use std::sync::Arc;

use selkie_bank::Stakes;
use selkie_svm::{Environment, ReadableAccount as _};
use solana_account::AccountSharedData;
use solana_pubkey::Pubkey;

use crate::{genesis, svm::Svm};

impl Svm {
    /// Creates a chain with this environment and these accounts, and no others: those of builtin
    /// programs and sysvars have to be among them. Of several accounts at an address the last one
    /// counts; one without lamports does not exist.
    #[must_use]
    pub fn of_environment(
        environment: Environment,
        accounts: impl IntoIterator<Item = (Pubkey, AccountSharedData)>,
    ) -> Self {
        let mut svm = Self::new();
        let mut state = genesis::empty_state(environment.features);
        state.blockhash_queue.register(environment.blockhash);
        let clock = environment.sysvars.clock().unwrap_or_default();
        let epochs = clock.epoch..=clock.leader_schedule_epoch;
        state.stakes = Arc::new(Stakes::constant(environment.epoch_stake.clone(), epochs));
        state.environment = Arc::new(environment);
        *svm.journal.state_mut() = state;
        for (key, account) in accounts {
            svm.journal.set_account(key, Some(account).filter(|it| it.lamports() > 0));
        }
        svm
    }
}
