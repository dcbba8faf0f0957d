//! The options of a node.

use std::{path::PathBuf, sync::Arc};

pub use selkie_bank::{alpenglow::GATE as ALPENGLOW_GATE, time::SLOT_MILLISECONDS};
use selkie_ledger::HistoryLimit;
use selkie_svm::{FeatureSet, Loader, Release};
use sha2::{Digest, Sha256};
use solana_account::AccountSharedData;
use solana_keypair::Keypair;
use solana_pubkey::Pubkey;
use solana_signer::Signer as _;

use crate::{
    clock::{Clock, SystemClock},
    source::Fetch,
};

const LAMPORTS_PER_SOL: u64 = 1_000_000_000;

/// The options of a node.
#[derive(Debug)]
pub struct Options {
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// The folder of the ledger; `None` keeps everything in memory.
    pub ledger: Option<PathBuf>,
    /// Whether an existing ledger is removed first.
    pub reset: bool,
    /// The features that are active at genesis.
    pub features: FeatureSet,
    /// Whether the cluster has migrated to Alpenglow at genesis; one that has not follows TowerBFT.
    pub is_alpenglow: bool,
    /// The release of agave whose behaviour holds where no feature switches it.
    pub release: Release,
    /// Accounts at genesis, which replace the node's own.
    pub accounts: Vec<(Pubkey, AccountSharedData)>,
    /// Programs at genesis, in addition to the well-known ones.
    pub programs: Vec<GenesisProgram>,
    /// The duration of a slot, in milliseconds, at least 1.
    pub slot_milliseconds: u64,
    /// The length of an epoch, in slots, at least 32.
    pub slots_per_epoch: u64,
    /// The slot of the first block, at least 1; of the next one on a ledger that is before it.
    pub first_slot: u64,
    /// When blocks are produced.
    pub blocks: BlockMode,
    /// When blocks become confirmed and finalized.
    pub finality: Finality,
    /// How many transactions are kept.
    pub history: HistoryLimit,
    /// The balance of the faucet at genesis, in lamports; 0 disables airdrops.
    pub faucet_lamports: u64,
    /// An address that gets `faucet_lamports` at genesis, too.
    pub mint: Option<Pubkey>,
    /// The node's identity, which collects fees.
    pub identity: Keypair,
    /// The vote account of the node's own validator.
    pub vote_account: Pubkey,
    /// The key of the faucet.
    pub faucet: Keypair,
    /// The number of threads that execute the transactions of a block. Signatures are verified before,
    /// by those who send; more than one thread pays off for transactions that compute much.
    pub threads: usize,
    /// How many events are kept for a slow subscriber before it misses some.
    pub events_max: usize,
    /// The size of a transaction's log in bytes after which lines are dropped; `None` for mainnet's.
    pub log_bytes_max: Option<usize>,
    /// The compute unit limit of every transaction, whatever it asks for; `None` for what it asks for.
    pub compute_unit_limit: Option<u64>,
    /// Where accounts that the cluster does not have come from.
    pub fetch: Option<Arc<dyn Fetch>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            ledger: None,
            reset: false,
            features: FeatureSet::mainnet(),
            is_alpenglow: true,
            release: Release::MAINNET,
            accounts: Vec::new(),
            programs: Vec::new(),
            slot_milliseconds: SLOT_MILLISECONDS,
            slots_per_epoch: 432_000,
            first_slot: 1,
            blocks: BlockMode::default(),
            finality: Finality::default(),
            history: HistoryLimit::default(),
            faucet_lamports: 500_000_000_u64.saturating_mul(LAMPORTS_PER_SOL),
            mint: None,
            identity: well_known_keypair("identity"),
            vote_account: well_known_keypair("vote account").pubkey(),
            faucet: well_known_keypair("faucet"),
            threads: 1,
            events_max: 8192,
            log_bytes_max: None,
            compute_unit_limit: None,
            fetch: None,
        }
    }
}

/// A program at genesis.
#[derive(Clone, Debug)]
pub struct GenesisProgram {
    /// Its address.
    pub id: Pubkey,
    /// Its ELF file.
    pub elf: Vec<u8>,
    /// The loader that owns it.
    pub loader: Loader,
    /// Its upgrade authority; `None` makes it immutable.
    pub authority: Option<Pubkey>,
}

/// When blocks are produced.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BlockMode {
    /// When transactions arrive. Slots follow the clock when they are looked at.
    #[default]
    OnDemand,
    /// Once per slot time.
    Interval,
    /// When [`Node::mine`](crate::Node::mine) is called.
    Manual,
}

/// When blocks become confirmed and finalized.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Finality {
    /// At once; with a ledger, as soon as they are on disk.
    #[default]
    Immediate,
    /// As on a real cluster: both after 1 slot, as Alpenglow finalizes what it confirms.
    Realistic,
}

/// Returns a keypair that is the same for every node, hence not secret.
fn well_known_keypair(name: &str) -> Keypair {
    let hasher = Sha256::new().chain_update("selkie node ").chain_update(name);
    Keypair::new_from_array(hasher.finalize().into())
}
