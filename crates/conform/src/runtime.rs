//! The runtime environment of vectors: builtin programs, and programs in accounts.

use selkie_svm::{
    Account, AccountSharedData, Environment, FeatureSet, ProgramEntry, Pubkey, Release, Sysvars,
    account::AccountStore, program_cache::ProgramCache,
};

/// Returns an environment with these features and sysvars, of the release that made the vectors.
pub(crate) fn environment(features: FeatureSet, sysvars: Sysvars) -> Environment {
    Environment { release: Release::V4_2, sysvars, ..selkie_builtins::environment(features) }
}

/// The accounts of a fixture as a store; those without lamports do not exist.
struct FixtureAccounts<'a>(&'a [(Pubkey, Account)]);

impl AccountStore for FixtureAccounts<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        let account = self.0.iter().find(|(known, _)| known == key);
        account
            .filter(|(_, account)| account.lamports > 0)
            .map(|(_, account)| account.clone().into())
    }
}

/// Loads the programs among these accounts into the environment.
pub(crate) fn load_programs(environment: &mut Environment, accounts: &[(Pubkey, Account)]) {
    let (slot, features) = (environment.slot(), environment.features);
    let (cache, store) = (ProgramCache::new(), FixtureAccounts(accounts));
    for (key, account) in accounts {
        let entry = cache.get(key, &account.clone().into(), &store, slot, features);
        if let Some(ProgramEntry::Loaded(program)) = entry {
            environment.programs.insert(*key, program);
        }
    }
}

/// Converts an account of a fixture. Its rent epoch is ignored: all accounts have the same today.
pub(crate) fn account(given: &selkie_fixture::Account) -> (Pubkey, Account) {
    let account = Account {
        lamports: given.lamports,
        data: given.data.clone(),
        owner: given.owner,
        executable: given.executable,
        rent_epoch: u64::MAX,
    };
    (given.address, account)
}
