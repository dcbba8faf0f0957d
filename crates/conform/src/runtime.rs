//! The runtime as vectors find it: programs that are part of it, and programs in accounts.

use selkie_builtins::{builtins, precompiles};
use selkie_svm::elf_environment;
use selkie_svm::{Account, Environment, FeatureSet, Loader, Program, Pubkey, Purpose, Sysvars};

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

/// The environment with these features and sysvars, in which the programs of these accounts can be
/// called.
pub(crate) fn environment(
    features: FeatureSet,
    sysvars: Sysvars,
    accounts: &[(Pubkey, Account)],
) -> Environment {
    let mut environment = Environment {
        features,
        sysvars,
        builtins: builtins(features),
        precompiles: precompiles(),
        ..Environment::default()
    };
    let against = elf_environment(features, Purpose::Execution);
    for (key, account) in accounts {
        let Some(loader) = Loader::of(&account.owner) else { continue };
        let find = |key: &Pubkey| accounts.iter().find(|(known, _)| known == key);
        let elf = match loader {
            Loader::V1 | Loader::V2 => Some(&account.data[..]),
            Loader::V3 => {
                let address = account.data.get(4..36).and_then(|it| Pubkey::try_from(it).ok());
                let data = address.and_then(|it| find(&it));
                data.and_then(|(_, data)| data.data.get(45..))
            }
            Loader::V4 => None,
        };
        if let Some(program) = elf.and_then(|elf| Program::load(elf, loader, &against).ok()) {
            environment.programs.insert(*key, program.for_features(features));
        }
    }
    environment
}
