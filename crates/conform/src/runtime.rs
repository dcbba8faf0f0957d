//! The runtime as vectors find it: programs that are part of it, and programs in accounts.

use selkie_builtins::{builtins, precompiles};
use selkie_svm::{
    Account, AccountSharedData, Environment, FeatureSet, NATIVE_LOADER, ProgramEntry, Pubkey,
    Sysvars, account::AccountStore, program_cache::ProgramCache,
};

/// The owner of sysvars.
pub(crate) const SYSVAR_OWNER: Pubkey =
    Pubkey::from_str_const("Sysvar1111111111111111111111111111111111111");

/// The environment with these features and sysvars.
pub(crate) fn environment(features: FeatureSet, sysvars: Sysvars) -> Environment {
    Environment {
        features,
        sysvars,
        builtins: builtins(features),
        precompiles: precompiles(),
        ..Environment::default()
    }
}

/// Accounts as a harness has them, which is what they are, with lamports or without.
struct Given<'a>(&'a [(Pubkey, Account)]);

impl AccountStore for Given<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        let found = self.0.iter().find(|(known, _)| known == key);
        found.filter(|(_, account)| account.lamports > 0).map(|(_, account)| account.clone().into())
    }
}

/// Makes the programs of these accounts ready to be called.
pub(crate) fn load_programs(environment: &mut Environment, accounts: &[(Pubkey, Account)]) {
    let (slot, features) = (environment.slot(), environment.features);
    let (cache, store) = (ProgramCache::new(), Given(accounts));
    for (key, account) in accounts {
        let entry = cache.get(key, &account.clone().into(), &store, slot, features);
        if let Some(ProgramEntry::Loaded(program)) = entry {
            environment.programs.insert(*key, program);
        }
    }
}

/// The account of a builtin program.
pub(crate) fn builtin_account() -> AccountSharedData {
    let account =
        Account { lamports: 1, owner: NATIVE_LOADER, executable: true, ..Account::default() };
    account.into()
}

/// The account of a sysvar.
pub(crate) fn sysvar_account(data: &[u8]) -> AccountSharedData {
    let (owner, data) = (SYSVAR_OWNER, data.to_vec());
    Account { lamports: 1, data, owner, ..Account::default() }.into()
}

/// An account of a fixture, as the runtime has it. Rent epochs are all the same today.
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
