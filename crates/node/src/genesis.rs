//! The state of a new cluster, and that of a ledger.

use std::collections::BTreeMap;

use selkie_bank::{Bank, Genesis, LatticeHash, MAINNET_STAKE, Stakes, State, slot_time_gates};
use selkie_ledger::{Block, Header, Stake};
use selkie_programs::{Deployed, accounts::WellKnownAccountSet, program_accounts};
use selkie_svm::{
    EpochStake, FeatureSet, Rules, Transaction,
    cost::BLOCKHASHES_VALID,
    sysvars::{EpochSchedule, MAINNET_LAMPORTS_PER_BYTE, Rent, minimum_balance},
};
use sha2::{Digest, Sha256};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_sdk_ids::{feature, system_program};
use solana_signer::Signer;

use crate::{options::Options, source::reset_future_slot, validator};

/// The balance of the identity, in lamports.
const IDENTITY_LAMPORTS: u64 = 500_000_000_000;

/// Returns the rent of a new cluster: mainnet's.
pub(crate) fn rent() -> Rent {
    Rent { lamports_per_byte: MAINNET_LAMPORTS_PER_BYTE, ..Rent::default() }
}

/// Returns the epoch schedule of a new cluster.
pub(crate) fn epoch_schedule(options: &Options) -> EpochSchedule {
    let slots = options.slots_per_epoch.max(solana_epoch_schedule::MINIMUM_SLOTS_PER_EPOCH);
    EpochSchedule::custom(slots, slots, false)
}

/// Creates the state of a new cluster whose clock shows `timestamp`.
pub(crate) fn state(options: &Options, timestamp: i64) -> State {
    let vote_accounts = [(options.vote_account, MAINNET_STAKE)].into();
    let mut state = State::genesis(&Genesis {
        features: options.features,
        schedule: epoch_schedule(options),
        unix_timestamp: timestamp,
        stake: EpochStake { total: MAINNET_STAKE, vote_accounts },
        is_alpenglow: options.is_alpenglow,
    });
    let given = options.accounts.iter().cloned().map(|(key, mut account)| {
        reset_future_slot(&mut account, options.first_slot.saturating_sub(1));
        (key, account)
    });
    let accounts = own_accounts(options).into_iter().chain(given);
    let mut all: std::collections::BTreeMap<_, _> = state.accounts.into_iter().collect();
    all.extend(accounts);
    state.accounts = all.into_iter().collect();
    state
}

/// Returns the accounts of programs, the native mint, features and keys.
fn own_accounts(options: &Options) -> Vec<(Pubkey, AccountSharedData)> {
    let rent = rent();
    let known = WellKnownAccountSet::all();
    let mut accounts: Vec<_> = known.iter().map(|it| (it.key(), it.account().clone())).collect();
    accounts.extend(features(options, &rent));
    let identity = options.identity.pubkey();
    accounts.push((identity, wallet(IDENTITY_LAMPORTS)));
    let vote_account = validator::vote_account(&options.vote_account, &identity, &rent);
    accounts.push((options.vote_account, vote_account));
    if options.faucet_lamports > 0 {
        accounts.push((options.faucet.pubkey(), wallet(options.faucet_lamports)));
        accounts.extend(options.mint.map(|mint| (mint, wallet(options.faucet_lamports))));
    }
    for program in &options.programs {
        let authority = program.authority.as_ref();
        let deployed = Deployed { loader: program.loader, slot: 0, authority };
        accounts.extend(program_accounts(&program.id, &program.elf, &deployed, &rent));
    }
    accounts
}

/// Returns the accounts of features that are active since slot 0. Clients read them to learn, for
/// example, which versions of sBPF may be deployed.
///
/// Of the gates of shorter slots, those have an account whose duration is not below the node's own.
fn features(options: &Options, rent: &Rent) -> impl Iterator<Item = (Pubkey, AccountSharedData)> {
    let settled = include_str!("settled_features.txt").lines();
    let settled = settled.filter_map(|line| line.parse().ok());
    let shorter = slot_time_gates().filter(|(_, time)| *time < options.slot_milliseconds);
    let shorter: Vec<Pubkey> = shorter.map(|(gate, _)| gate).collect();
    let settled = settled.filter(move |address| !shorter.contains(address));
    let active = options.features.iter().map(|feature| feature.address());
    settled.chain(active).map(|address| (address, feature_account(0, rent)))
}

/// Creates the account of a feature that is active since a slot.
pub(crate) fn feature_account(slot: u64, rent: &Rent) -> AccountSharedData {
    let data = [&[1][..], &slot.to_le_bytes()].concat();
    let lamports = minimum_balance(rent, data.len());
    let owner = feature::ID;
    Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX }.into()
}

/// Returns the slots after `slot` in which features become active according to their accounts.
pub(crate) fn feature_slots(accounts: &[(Pubkey, AccountSharedData)], slot: u64) -> Vec<u64> {
    let features = accounts.iter().filter(|(_, account)| *account.owner() == feature::ID);
    let since = |data: &[u8]| match data {
        [1, since @ ..] => since.first_chunk().map(|since| u64::from_le_bytes(*since)),
        _ => None,
    };
    let slots = features.filter_map(|(_, account)| since(account.data()));
    slots.filter(|since| *since > slot).collect()
}

/// Creates an account that only holds lamports.
fn wallet(lamports: u64) -> AccountSharedData {
    let owner = system_program::ID;
    Account { lamports, owner, rent_epoch: u64::MAX, ..Account::default() }.into()
}

/// Returns the block of the genesis.
pub(crate) fn block(bank: &Bank) -> Block {
    let clock = bank.clock();
    Block {
        slot: bank.slot(),
        parent_slot: bank.slot(),
        blockhash: bank.latest_blockhash(),
        previous_blockhash: Hash::default(),
        block_time: clock.unix_timestamp,
        block_height: bank.block_height(),
        transaction_count: 0,
        transactions: Vec::new(),
        rewards: Vec::new(),
        reward_partitions: None,
        accounts: Vec::new(),
    }
}

/// Returns the hash of a genesis: it depends on the accounts and on the time of creation.
pub(crate) fn hash(state: &State, created: i64) -> Hash {
    let mut hasher = Sha256::new();
    hasher.update("selkie node genesis");
    hasher.update(created.to_le_bytes());
    for (key, account) in &state.accounts {
        hasher.update(key.as_ref());
        hasher.update(account.lamports().to_le_bytes());
        hasher.update((account.data().len() as u64).to_le_bytes());
    }
    Hash::new_from_array(hasher.finalize().into())
}

/// Returns a bank's state, without its accounts, in the form of a ledger's header.
pub(crate) fn to_header(bank: &Bank, header: Header) -> Header {
    let environment = bank.environment();
    let stakes = bank.stakes();
    Header {
        slot: bank.slot(),
        block_height: bank.block_height(),
        hash: bank.hash().unwrap_or_default(),
        lattice: bank.lattice_hash().map(LatticeHash::to_bytes).unwrap_or_default(),
        features: environment.features.iter().map(|feature| feature.address()).collect(),
        blockhashes: bank.newest_blockhashes(BLOCKHASHES_VALID),
        lamports_per_signature: environment.lamports_per_signature,
        additional_stake: Stake::new(&stakes.additional),
        stakes: stakes.epochs.iter().map(|(epoch, it)| (*epoch, Stake::new(it))).collect(),
        ..header
    }
}

/// Returns the state of a ledger: its header, accounts and blocks.
pub(crate) fn from_ledger<'b>(
    header: &Header,
    mut accounts: Vec<(Pubkey, AccountSharedData)>,
    blocks: impl DoubleEndedIterator<Item = &'b Block> + Clone,
) -> State {
    accounts.sort_unstable_by_key(|(key, _)| *key);
    let features = FeatureSet::from_addresses(&header.features);
    let rules = Rules { features, ..Rules::mainnet() };
    let kept: u64 = blocks.clone().map(|block| block.transactions.len() as u64).sum();
    // Transactions of blocks that were dropped are not known any more, so the blockhashes that they
    // may have used have to expire.
    let first = blocks.clone().next().filter(|_| kept < header.transaction_count);
    let first = first.map(|block| block.previous_blockhash);
    let dropped = first.and_then(|first| header.blockhashes.iter().position(|it| *it == first));
    let blockhashes = header.blockhashes.iter().skip(dropped.unwrap_or(0)).copied().collect();
    // Transactions of older blocks are too old to be processed again.
    let newest = blocks.rev().take(BLOCKHASHES_VALID);
    let transactions = newest.flat_map(|block| &block.transactions);
    let processed = transactions.filter_map(|landed| {
        let transaction = Transaction::new(landed.transaction.clone(), rules).ok()?;
        Some((*transaction.blockhash(), transaction.message_hash()))
    });
    let epochs = header.stakes.iter().map(|(epoch, it)| (*epoch, it.clone().into_stake()));
    State {
        slot: header.slot,
        block_height: header.block_height,
        hash: Some(header.hash),
        features,
        blockhashes,
        lamports_per_signature: header.lamports_per_signature,
        stakes: Stakes {
            additional: header.additional_stake.clone().into_stake(),
            epochs: epochs.collect(),
            // Those of the vote accounts then hold.
            terms: BTreeMap::new(),
        },
        processed: processed.collect(),
        lattice: LatticeHash::from_bytes(&header.lattice),
        accounts,
    }
}
