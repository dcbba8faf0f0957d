//! Selkie's side of the comparison.

use std::collections::{BTreeMap, BTreeSet};

use selkie_svm::{
    BlockhashQueue, ChainState, Engine, Environment, EpochStake, Feature, FeatureSet,
    InnerInstruction, ProcessOptions, Processed, ProgramCache, Pubkey, Release, Sysvars,
    Transaction, Workspace,
    check::{check, verify_signatures},
    process,
};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_transaction_error::TransactionError;

use crate::{
    agave::{MAINNET, RELEASE},
    case::{Account, Accounts, Case, Features, Key},
    generate::ids::SYSVAR,
    observed::{Inner, Observed, Stage},
    run::Peer,
};

type Store = BTreeMap<Pubkey, AccountSharedData>;

/// Selkie, with a program cache that all cases share.
pub(crate) struct Selkie {
    engine: Engine,
    release: Release,
    programs: ProgramCache,
    workspace: Workspace,
}

impl Selkie {
    /// Returns Selkie with the rules of a release.
    pub(crate) fn new(engine: Engine, release: Release) -> Self {
        Self { engine, release, programs: ProgramCache::new(), workspace: Workspace::default() }
    }
}

impl Peer for Selkie {
    fn run(&mut self, case: &Case) -> Vec<Observed> {
        let Self { engine, release, programs, workspace } = self;
        let environment = environment(case, *release);
        let hashes = case.blockhashes.iter().map(|it| Hash::new_from_array(*it));
        let mut blockhash_queue = BlockhashQueue::new(hashes);
        let mut store: Store =
            case.accounts.iter().map(|(key, it)| (Pubkey::from(*key), shared_of(it))).collect();
        let mut observed = Vec::new();
        for (index, bytes) in case.transactions.iter().enumerate() {
            let transaction = read(bytes, &environment);
            if let (Ok(transaction), true) = (&transaction, index == 0 && case.already_processed) {
                blockhash_queue.add_processed(*transaction.blockhash(), transaction.message_id());
            }
            let chain = ChainState {
                accounts: &store,
                environment: &environment,
                blockhash_queue: &blockhash_queue,
                programs,
            };
            let outcome = transaction.map_err(|error| (Stage::Sanitize, error));
            let outcome = outcome.and_then(|transaction| {
                let processed = process_in_stages(case, &transaction, &chain, *engine, workspace);
                processed.map(|it| (transaction, it))
            });
            match outcome {
                Err((stage, error)) => observed.push(dropped(stage, &error)),
                Ok((transaction, processed)) => {
                    let blockhash = *transaction.blockhash();
                    blockhash_queue.add_processed(blockhash, transaction.message_id());
                    observed.push(observe(&processed));
                    commit(&processed, &mut store);
                }
            }
        }
        observed
    }
}

/// Writes the accounts that a transaction changed to the store.
fn commit(processed: &Processed, store: &mut Store) {
    for (key, account) in processed.writes() {
        if account.lamports() == 0 {
            store.remove(key);
        } else {
            store.insert(*key, account.clone());
        }
    }
}

/// Deserializes a transaction. The crates of 4.4 leave the limit of its length to the network.
fn read(bytes: &[u8], environment: &Environment) -> Result<Transaction, TransactionError> {
    if RELEASE >= Release::V4_5 {
        return Transaction::from_wire(bytes, environment.rules());
    }
    // The type is that of Selkie's interface, whichever version agave's crates have.
    let transaction =
        wincode::deserialize_exact(bytes).map_err(|_| TransactionError::SanitizeFailure)?;
    Transaction::new(transaction, environment.rules())
}

/// Processes a transaction. The checks that can drop it are made one by one first, since two of them
/// may fail with the same error.
fn process_in_stages(
    case: &Case,
    transaction: &Transaction,
    chain: &ChainState<'_, Store>,
    engine: Engine,
    workspace: &mut Workspace,
) -> Result<Box<Processed>, (Stage, TransactionError)> {
    if case.sigverify {
        verify_signatures(transaction).map_err(|error| (Stage::Sigverify, error))?;
    }
    check(transaction, chain.accounts, chain.environment, chain.blockhash_queue)
        .map_err(|error| (stage_of(&error), error))?;
    let options = ProcessOptions { verify_signatures: false, engine, budget: None };
    let processed = process(transaction, chain, &options, None, workspace);
    processed.map_err(|error| (Stage::SvmRejected, error))
}

fn environment(case: &Case, release: Release) -> Environment {
    let features = features(&case.features);
    let mut sysvars = Sysvars::empty();
    for (key, account) in case.accounts.iter().filter(|it| it.1.owner == SYSVAR) {
        // Fails only for sysvars that the runtime does not read.
        let _ = sysvars.set(Pubkey::from(*key), &account.data);
    }
    let stakes = case.vote_stakes.iter().map(|(vote, stake)| (Pubkey::from(*vote), *stake));
    Environment {
        release,
        features,
        sysvars,
        builtins: selkie_builtins::builtins(features),
        precompiles: selkie_builtins::precompiles(),
        blockhash: Hash::new_from_array(case.blockhashes.last().copied().unwrap_or_default()),
        lamports_per_signature: case.lamports_per_signature,
        epoch_stake: EpochStake { total: case.epoch_total_stake, vote_accounts: stakes.collect() },
        ..Environment::default()
    }
}

fn features(changes: &Features) -> FeatureSet {
    let ids = MAINNET.lines().filter_map(|line| line.split_once('\t'));
    let ids = ids.map(|(id, _)| id.parse::<Pubkey>().expect("the list has addresses").to_bytes());
    let mut ids: BTreeSet<Key> = ids.chain(changes.on.iter().copied()).collect();
    ids.retain(|id| !changes.off.contains(id));
    ids.iter().filter_map(|id| Feature::from_address(&Pubkey::from(*id))).collect()
}

fn stage_of(error: &TransactionError) -> Stage {
    match error {
        TransactionError::TooManyAccountLocks | TransactionError::AccountLoadedTwice => {
            Stage::Locks
        }
        TransactionError::DuplicateInstruction(_)
        | TransactionError::InstructionError(..)
        | TransactionError::InvalidLoadedAccountsDataSizeLimit => Stage::Budget,
        TransactionError::BlockhashNotFound => Stage::Age,
        TransactionError::AlreadyProcessed => Stage::StatusCache,
        _ => Stage::Sanitize,
    }
}

fn dropped(stage: Stage, error: &TransactionError) -> Observed {
    Observed::dropped(stage, format!("{error:?}"), serde_json::Value::Null)
}

fn observe(processed: &Processed) -> Observed {
    let stage = if processed.is_executed { Stage::Executed } else { Stage::FeesOnly };
    let result = match &processed.result {
        Ok(()) => "Ok".to_owned(),
        Err(error) => format!("{error:?}"),
    };
    let inner = |it: &InnerInstruction| Inner {
        program_index: it.program_index,
        accounts: it.accounts.clone(),
        data: it.data.clone(),
        stack_height: it.stack_height,
    };
    let mut post = Accounts::new();
    for change in &processed.accounts {
        if let Some(write) = change.write.as_ref().filter(|it| change.before.as_ref() != Some(it)) {
            post.insert(change.key.to_bytes(), account_of(write));
        }
    }
    let return_data = processed.return_data.as_ref();
    Observed {
        fee: processed.fee.total(),
        compute_units: processed.compute_units,
        loaded_accounts_data_size: u64::from(processed.loaded_bytes),
        logs: processed.logs.clone(),
        inner: processed
            .inner_instructions
            .iter()
            .map(|list| list.iter().map(inner).collect())
            .collect(),
        return_data: return_data.map(|it| (it.program_id.to_bytes(), it.data.clone())),
        post,
        ..Observed::dropped(stage, result, serde_json::Value::Null)
    }
}

#[expect(deprecated, reason = "cases may have any rent epoch")]
fn shared_of(account: &Account) -> AccountSharedData {
    AccountSharedData::create_from_existing_shared_data(
        account.lamports,
        account.data.clone(),
        Pubkey::from(account.owner),
        account.executable,
        account.rent_epoch,
    )
}

fn account_of(account: &AccountSharedData) -> Account {
    Account {
        lamports: account.lamports(),
        owner: account.owner().to_bytes(),
        executable: account.executable(),
        rent_epoch: account.rent_epoch(),
        data: account.data_clone(),
    }
}
