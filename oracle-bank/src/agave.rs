//! Agave's side: a genesis with vote and stake accounts, and the steps of its banks.

use std::{
    collections::HashSet,
    sync::{Arc, RwLock},
    time::Duration,
};

use agave_feature_set::FeatureSet;
use agave_votor_messages::{
    certificate::{CertSignature, GenesisCert},
    consensus_message::Block,
    reward_certificate::{NUM_SLOTS_FOR_REWARD, SkipRewardCertificate},
};
use selkie_bank::{Certified, Footer};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_epoch_schedule::EpochSchedule;
use solana_fee_calculator::FeeRateGovernor;
use solana_genesis_config::GenesisConfig;
use solana_hash::Hash;
use solana_inflation::Inflation;
use solana_keypair::Keypair;
use solana_leader_schedule::SlotLeader;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_runtime::{
    bank::Bank,
    bank_forks::BankForks,
    block_component_processor::BlockComponentProcessor,
    genesis_utils::{ValidatorVoteKeypairs, activate_alpenglow_at_genesis},
    validated_reward_certificate::ValidatedRewardCert,
};
use solana_sdk_ids::stake;
use solana_signer::Signer;

use crate::{release, rng::Rng};

/// The number of slots of an epoch.
pub(crate) const SLOTS_PER_EPOCH: u64 = 64;

/// How many accounts can pay for transactions.
const WALLETS: usize = 8;

/// Features that mainnet has, besides those of Selkie and those since 2025: of stakes and of inflation.
const BESIDES: [Pubkey; 2] = [
    agave_feature_set::reduce_stake_warmup_cooldown::ID,
    agave_feature_set::full_inflation::devnet_and_testnet::ID,
];

/// The table of gates since 2025.
const GATES: &str = include_str!("../../xtask/upstream/gates.tsv");

/// A cluster of agave's banks.
pub(crate) struct Agave {
    pub(crate) genesis: Arc<Bank>,
    pub(crate) validators: Vec<ValidatorVoteKeypairs>,
    pub(crate) voters: Vec<Pubkey>,
    pub(crate) stakes: Vec<Pubkey>,
    pub(crate) wallets: Vec<Keypair>,
    forks: Arc<RwLock<BankForks>>,
}

pub(crate) fn keypair(rng: &mut Rng) -> Keypair {
    Keypair::new_from_array(bytes(rng))
}

pub(crate) fn bytes(rng: &mut Rng) -> [u8; 32] {
    core::array::from_fn(|_| rng.below(256) as u8)
}

/// Returns the features of mainnet, without those that a run activates on the way.
fn features() -> FeatureSet {
    let mut features = FeatureSet::default();
    let selkie = selkie_svm::FeatureSet::mainnet();
    selkie.iter().for_each(|feature| features.activate(&feature.address(), 0));
    BESIDES.iter().for_each(|feature| features.activate(feature, 0));
    for row in GATES.lines().filter(|row| row.contains("\tactive since")) {
        let mut fields = row.split('\t');
        let (name, address) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        if name != "alpenglow" && !name.starts_with("reduce_slot_time") {
            features.activate(&Pubkey::from_str_const(address), 0);
        }
    }
    features
}

/// A delegation of everything but the rent, effective since ever.
fn delegated(voter: &Pubkey, lamports: u64, rent: &Rent) -> Account {
    let mut data = vec![0; 200];
    data[0] = 2;
    data[124..156].copy_from_slice(voter.as_ref());
    let free = lamports - rent.minimum_balance(data.len());
    for (offset, number) in [(156, free), (164, u64::MAX), (172, u64::MAX)] {
        data[offset..offset + 8].copy_from_slice(&u64::to_le_bytes(number));
    }
    Account { lamports, data, owner: stake::ID, executable: false, rent_epoch: u64::MAX }
}

impl Agave {
    /// Creates a cluster; `stakes` says how many small stakes it has besides those of its validators.
    pub(crate) fn new(rng: &mut Rng, is_alpenglow: bool, stakes: usize) -> Self {
        let count = 2 + rng.below(5);
        let validators: Vec<ValidatorVoteKeypairs> = (0..count)
            .map(|_| ValidatorVoteKeypairs::new(keypair(rng), keypair(rng), keypair(rng)))
            .collect();
        let amounts =
            (0..count).map(|_| 10_000_000_000 + rng.below(1_000_000_000_000) as u64).collect();
        let mut info = release::genesis(5_000_000_000_000_000, &validators, amounts, features());
        let genesis = &mut info.genesis_config;
        configure(genesis);
        if is_alpenglow {
            activate_alpenglow_at_genesis(genesis);
        }
        let wallets: Vec<Keypair> = (0..WALLETS).map(|_| keypair(rng)).collect();
        for wallet in &wallets {
            let lamports = 1_000_000 + rng.below(100_000_000_000_000) as u64;
            let account = Account { lamports, ..Account::default() };
            genesis.accounts.insert(wallet.pubkey(), account);
        }
        let voters: Vec<Pubkey> = validators.iter().map(|it| it.vote_keypair.pubkey()).collect();
        for _ in 0..stakes {
            let lamports = 5_000_000 + rng.below(10_usize.pow(9)) as u64;
            let account = delegated(&rng.pick(&voters), lamports, &genesis.rent);
            genesis.accounts.insert(Pubkey::new_from_array(bytes(rng)), account);
        }
        let bank = Bank::new_for_tests(genesis);
        let (bank, forks) = bank.wrap_with_bank_forks_for_tests();
        bank.freeze();
        let stakes = validators.iter().map(|it| it.stake_keypair.pubkey()).collect();
        Self { genesis: bank, validators, voters, stakes, wallets, forks }
    }

    /// Opens the bank of a later slot. Its leader is one of the validators with stake.
    pub(crate) fn open(&self, rng: &mut Rng, parent: &Arc<Bank>, slot: u64) -> Arc<Bank> {
        let leaders: Vec<_> =
            self.validators.iter().filter(|it| is_leader(parent, slot, it)).collect();
        let leader = if leaders.is_empty() { &self.validators[0] } else { rng.pick(&leaders) };
        let leader = SlotLeader {
            id: leader.node_keypair.pubkey(),
            vote_address: leader.vote_keypair.pubkey(),
        };
        let bank = Bank::new_from_parent(Arc::clone(parent), leader, slot);
        let mut forks = self.forks.write().expect("no thread panicked");
        forks.insert(bank).clone_without_scheduler()
    }

    /// Returns whether a bank's leader has stake. Agave cannot pay fees to another.
    pub(crate) fn has_leader(&self, bank: &Bank) -> bool {
        self.validators.iter().any(|it| is_leader(bank, bank.slot(), it))
    }

    /// Drops the banks of other forks.
    pub(crate) fn set_root(&self, slot: u64) {
        self.forks.write().expect("no thread panicked").set_root(slot, None, None);
    }
}

/// Returns whether a validator has stake among those that lead in a slot.
fn is_leader(bank: &Bank, slot: u64, validator: &ValidatorVoteKeypairs) -> bool {
    let stakes = bank.epoch_stakes_from_slot(slot);
    let key = validator.vote_keypair.pubkey();
    stakes.is_some_and(|it| it.stakes().vote_accounts().get(&key).is_some())
}

fn configure(genesis: &mut GenesisConfig) {
    genesis.poh_config.target_tick_duration = Duration::from_micros(6250);
    genesis.creation_time = 1_767_225_600;
    genesis.rent = Rent { lamports_per_byte: 5080, ..Rent::default() };
    genesis.epoch_schedule = EpochSchedule::custom(SLOTS_PER_EPOCH, SLOTS_PER_EPOCH, false);
    genesis.inflation = Inflation::full();
    genesis.fee_rate_governor =
        FeeRateGovernor { lamports_per_signature: 5000, ..FeeRateGovernor::new(10_000, 20_000) };
}

/// Returns a footer with random certificates: of who voted for the slot that is rewarded in the bank,
/// and for the parent.
pub(crate) fn footer(rng: &mut Rng, bank: &Bank) -> Footer {
    let mut certified = |slot: u64| {
        // Agave fails if the stakes of a certificate's slot are empty.
        let stakes = bank.epoch_stakes_from_slot(slot).filter(|it| it.total_stake() > 0)?;
        let mut all: Vec<Pubkey> =
            stakes.stakes().vote_accounts().delegated_stakes().map(|(key, _)| *key).collect();
        all.sort_unstable();
        all.retain(|_| rng.chance(70));
        (!all.is_empty()).then(|| Certified { slot, voters: all.into_iter().collect() })
    };
    let leader = bank.leader().vote_address;
    let Some(migration) = bank.get_alpenglow_genesis_certificate().map(|it| it.block.slot) else {
        return Footer { leader, ..Footer::default() };
    };
    let rewarded = bank.slot().checked_sub(NUM_SLOTS_FOR_REWARD).filter(|slot| *slot > migration);
    Footer {
        nanoseconds: None,
        leader,
        rewarded: rewarded.and_then(&mut certified),
        finalized: certified(bank.parent_slot()),
    }
}

/// Ends a block: with this footer, if it has a time.
pub(crate) fn close(bank: &Bank, footer: &Footer, blockhash: Hash) {
    if let Some(time) = footer.nanoseconds {
        end(bank, footer, time);
    }
    bank.set_tick_height(bank.max_tick_height() - 1);
    bank.register_tick_for_test(&blockhash);
    bank.freeze();
}

/// Lets the clock and vote accounts change as a footer says.
fn end(bank: &Bank, footer: &Footer, time: i64) {
    let rewarded = footer.rewarded.as_ref().and_then(|it| {
        let signature = solana_bls_signatures::SignatureCompressed([0; 96]);
        let certificate = SkipRewardCertificate::try_new(it.slot, signature, vec![0, 0, 0]);
        let certificate = certificate.expect("the bitmap is short");
        let voters = it.voters.iter().copied();
        ValidatedRewardCert::try_new_for_leader(bank, &Some(certificate), &None, voters)
            .expect("the slot is rewarded in this bank")
    });
    let finalized = footer.finalized.as_ref();
    let finalized: Option<(HashSet<Pubkey>, u64)> =
        finalized.map(|it| (it.voters.iter().copied().collect(), it.slot));
    let finalized = finalized.as_ref().map(|(voters, slot)| (voters, *slot));
    BlockComponentProcessor::update_bank_with_footer_fields(bank, time, None, rewarded, finalized)
        .expect("the footer is valid");
}

/// Writes the genesis certificate of the parent, as the first block of Alpenglow begins with it.
pub(crate) fn migrate(bank: &Bank) {
    bank.set_alpenglow_genesis_certificate(&GenesisCert {
        block: Block { slot: bank.parent_slot(), block_id: release::block_id(bank.parent_hash()) },
        signature: CertSignature {
            signature: solana_bls_signatures::Signature([0; 192]),
            bitmap: vec![0, 0, 0],
        },
    });
}

/// Sets an account outside of transactions, with the capitalization.
pub(crate) fn put(bank: &Bank, key: &Pubkey, account: &AccountSharedData) {
    let before = bank.get_account(key).map_or(0, |it| it.lamports());
    bank.store_account(key, account);
    let capitalization = bank.capitalization() - before + account.lamports();
    bank.set_capitalization_for_tests(capitalization);
}
