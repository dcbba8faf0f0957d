//! Agave's side: a genesis with vote and stake accounts, and the steps of its bank.

use std::{
    sync::{Arc, RwLock},
    time::Duration,
};

use agave_feature_set::FeatureSet;
use agave_votor_messages::{
    certificate::{CertSignature, GenesisCert},
    consensus_message::Block,
};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_cluster_type::ClusterType;
use solana_epoch_schedule::EpochSchedule;
use solana_hash::Hash;
use solana_inflation::Inflation;
use solana_keypair::Keypair;
use solana_leader_schedule::SlotLeader;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_runtime::{
    bank::Bank,
    bank_forks::BankForks,
    genesis_utils::{
        ValidatorVoteKeypairs, activate_alpenglow_at_genesis,
        create_genesis_config_with_vote_accounts_and_cluster_type,
    },
};

use crate::rng::Rng;

/// The number of slots of an epoch.
pub(crate) const SLOTS_PER_EPOCH: u64 = 64;

/// Features besides Selkie's own that mainnet has: of stakes and of inflation.
const BESIDES: [Pubkey; 3] = [
    agave_feature_set::reduce_stake_warmup_cooldown::ID,
    agave_feature_set::full_inflation::devnet_and_testnet::ID,
    agave_feature_set::validator_admission_ticket::ID,
];

/// A chain of agave's banks.
pub(crate) struct Agave {
    pub(crate) bank: Arc<Bank>,
    pub(crate) voters: Vec<Pubkey>,
    pub(crate) stakes: Vec<Pubkey>,
    _forks: Arc<RwLock<BankForks>>,
}

fn keypair(rng: &mut Rng) -> Keypair {
    let mut seed = [0; 32];
    seed.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
    Keypair::new_from_array(seed)
}

impl Agave {
    pub(crate) fn new(rng: &mut Rng, is_alpenglow: bool) -> Self {
        let count = 2 + rng.below(5);
        let validators: Vec<ValidatorVoteKeypairs> = (0..count)
            .map(|_| ValidatorVoteKeypairs::new(keypair(rng), keypair(rng), keypair(rng)))
            .collect();
        let stakes =
            (0..count).map(|_| 10_000_000_000 + rng.below(1_000_000_000_000) as u64).collect();
        let mut features = FeatureSet::default();
        for feature in selkie_svm::FeatureSet::mainnet().iter() {
            features.activate(&feature.address(), 0);
        }
        BESIDES.iter().for_each(|feature| features.activate(feature, 0));
        let mut info = create_genesis_config_with_vote_accounts_and_cluster_type(
            5_000_000_000_000_000,
            &validators,
            stakes,
            ClusterType::Development,
            &features,
            false,
        );
        let genesis = &mut info.genesis_config;
        genesis.poh_config.target_tick_duration = Duration::from_micros(6250);
        genesis.creation_time = 1_767_225_600;
        genesis.rent = Rent { lamports_per_byte: 5080, ..Rent::default() };
        genesis.epoch_schedule = EpochSchedule::custom(SLOTS_PER_EPOCH, SLOTS_PER_EPOCH, false);
        genesis.inflation = Inflation::full();
        if is_alpenglow {
            activate_alpenglow_at_genesis(genesis);
        }
        let bank = Bank::new_for_tests(genesis);
        let (bank, forks) = bank.wrap_with_bank_forks_for_tests();
        bank.freeze();
        Self {
            bank,
            voters: validators.iter().map(|it| it.vote_keypair_pubkey()).collect(),
            stakes: validators.iter().map(|it| it.stake_keypair_pubkey()).collect(),
            _forks: forks,
        }
    }

    /// Opens the bank of a later slot.
    pub(crate) fn open(&self, slot: u64) -> Bank {
        let leader = SlotLeader { id: self.voters[0], vote_address: self.voters[0] };
        Bank::new_from_parent(Arc::clone(&self.bank), leader, slot)
    }

    /// Ends the block: with this time in its footer, if there is one.
    pub(crate) fn close(&mut self, bank: Bank, footer: Option<i64>, blockhash: Hash) {
        if let Some(time) = footer {
            bank.update_clock_from_footer(time);
        }
        bank.set_tick_height(bank.max_tick_height() - 1);
        bank.register_tick_for_test(&blockhash);
        bank.freeze();
        self.bank = Arc::new(bank);
    }
}

trait Keys {
    fn vote_keypair_pubkey(&self) -> Pubkey;
    fn stake_keypair_pubkey(&self) -> Pubkey;
}

impl Keys for ValidatorVoteKeypairs {
    fn vote_keypair_pubkey(&self) -> Pubkey {
        use solana_signer::Signer;
        self.vote_keypair.pubkey()
    }
    fn stake_keypair_pubkey(&self) -> Pubkey {
        use solana_signer::Signer;
        self.stake_keypair.pubkey()
    }
}

/// Writes the genesis certificate of the parent, as the first block of Alpenglow begins with it.
pub(crate) fn migrate(bank: &Bank) {
    bank.set_alpenglow_genesis_certificate(&GenesisCert {
        block: Block { slot: bank.parent_slot(), block_id: bank.parent_hash() },
        signature: CertSignature { signature: zero_signature(), bitmap: vec![0, 0, 0] },
    });
}

fn zero_signature() -> solana_bls_signatures::Signature {
    solana_bls_signatures::Signature([0; 192])
}

/// Sets an account outside of transactions, with the capitalization.
pub(crate) fn put(bank: &Bank, key: &Pubkey, account: &AccountSharedData) {
    let before = bank.get_account(key).map_or(0, |it| it.lamports());
    bank.store_account(key, account);
    let capitalization = bank.capitalization() - before + account.lamports();
    bank.set_capitalization_for_tests(capitalization);
}
