//! [`View`]: the state of a cluster at a commitment.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError},
};

use selkie_bank::{
    Bank, BankError, Outcome,
    alpenglow::{self, CERTIFICATE, GenesisCertificate},
    rewards::InflationSchedule,
};
use selkie_ledger::{LoadedAddresses, Meta};
use selkie_svm::{
    Engine, FeatureSet, ProcessOptions, Rules, Transaction, TransactionBudget,
    budget::Requests,
    cost::BLOCKHASHES_VALID,
    program_cache::ProgramFile,
    sysvars::{EpochSchedule, Rent, minimum_balance},
};
use solana_account::{AccountSharedData, ReadableAccount};
use solana_clock::Clock;
use solana_commitment_config::CommitmentLevel;
use solana_hash::Hash;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{index::TokenIndex, landed, options::Finality, shared::Shared};

/// For how many block heights a blockhash is valid.
const BLOCKHASH_HEIGHTS: u64 = BLOCKHASHES_VALID as u64 - 1;
/// How often a simulation is repeated because a block was made meanwhile.
const SIMULATION_ATTEMPTS: usize = 4;
/// How simulations run: signatures are verified before.
const OPTIONS: ProcessOptions =
    ProcessOptions { verify_signatures: false, engine: Engine::Auto, budget: None };

/// The state of a cluster after a block.
#[derive(Clone, Debug)]
pub struct View {
    shared: Arc<Shared>,
    commitment: CommitmentLevel,
    bank: Arc<Bank>,
    transaction_count: u64,
}

/// Where a cluster is in its epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EpochInfo {
    /// The epoch.
    pub epoch: u64,
    /// The slot, counted from the first one of the epoch.
    pub slot_index: u64,
    /// The number of slots of the epoch.
    pub slots_in_epoch: u64,
    /// The slot.
    pub absolute_slot: u64,
    /// The block height.
    pub block_height: u64,
    /// The number of transactions since genesis.
    pub transaction_count: u64,
}

/// How a transaction is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SimulateOptions {
    /// Whether signatures are verified.
    pub verify_signatures: bool,
    /// Whether the transaction gets the newest blockhash.
    pub replace_blockhash: bool,
}

/// The result of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The slot of the state in which it ran.
    pub slot: u64,
    /// The result of the transaction.
    pub result: Result<(), TransactionError>,
    /// Whether it was processed. If not, it was dropped, and `meta` is empty.
    pub is_processed: bool,
    /// What would be recorded of it.
    pub meta: Meta,
    /// The transaction's accounts afterwards; `None` for those that do not exist.
    pub accounts: Vec<(Pubkey, Option<AccountSharedData>)>,
    /// The blockhash that it was given, and the last block height at which that is valid.
    pub replacement_blockhash: Option<(Hash, u64)>,
}

impl View {
    pub(crate) fn new(
        shared: Arc<Shared>,
        commitment: CommitmentLevel,
        bank: Arc<Bank>,
        transaction_count: u64,
    ) -> Self {
        Self { shared, commitment, bank, transaction_count }
    }

    /// Returns the slot.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.bank.slot()
    }

    /// Returns the slot of the block before.
    #[must_use]
    pub fn parent_slot(&self) -> u64 {
        self.bank.parent_slot().unwrap_or(0)
    }

    /// Returns the block height.
    #[must_use]
    pub fn block_height(&self) -> u64 {
        self.bank.block_height()
    }

    /// Returns the newest blockhash.
    #[must_use]
    pub fn blockhash(&self) -> Hash {
        self.bank.latest_blockhash()
    }

    /// Returns the last block height at which the newest blockhash is valid.
    #[must_use]
    pub fn last_valid_block_height(&self) -> u64 {
        self.block_height().saturating_add(BLOCKHASH_HEIGHTS)
    }

    /// Returns whether transactions with this blockhash are accepted.
    #[must_use]
    pub fn is_blockhash_valid(&self, blockhash: &Hash) -> bool {
        self.bank.is_blockhash_valid(blockhash)
    }

    /// Returns the number of transactions since genesis.
    #[must_use]
    pub fn transaction_count(&self) -> u64 {
        self.transaction_count
    }

    /// Returns an account.
    #[must_use]
    pub fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.read(|bank| bank.get_account(key)).flatten()
    }

    /// Returns the ELF file of a program; `None` if it is builtin or does not exist.
    #[must_use]
    pub fn program_elf(&self, program: &Pubkey) -> Option<Vec<u8>> {
        let file = self.read(|bank| {
            let account = bank.get_account(program)?;
            Ok(account.and_then(|account| ProgramFile::find(&account, bank)))
        });
        Some(file??.bytes().to_vec())
    }

    /// Returns the lamports of an account.
    #[must_use]
    pub fn balance(&self, key: &Pubkey) -> u64 {
        self.account(key).map_or(0, |account| account.lamports())
    }

    /// Returns the accounts of a program, by address.
    #[must_use]
    pub fn program_accounts(&self, program: &Pubkey) -> Vec<(Pubkey, AccountSharedData)> {
        let keys = self.shared.index().of_owner(program);
        let accounts = keys.into_iter().filter_map(|key| Some((key, self.account(&key)?)));
        accounts.filter(|(_, account)| account.owner() == program).collect()
    }

    /// Returns the token accounts with this owner, mint or delegate, of all token programs, by address.
    #[must_use]
    pub fn token_accounts(&self, by: TokenIndex, key: &Pubkey) -> Vec<(Pubkey, AccountSharedData)> {
        use crate::token::TokenAccount;
        let has_it = |account: &AccountSharedData| {
            TokenAccount::read(account).is_some_and(|token| match by {
                TokenIndex::Owner => token.owner == *key,
                TokenIndex::Mint => token.mint == *key,
                TokenIndex::Delegate => token.delegate == Some(*key),
            })
        };
        let keys = self.shared.index().token_accounts(by, key);
        let accounts = keys.into_iter().filter_map(|key| Some((key, self.account(&key)?)));
        accounts.filter(|(_, account)| has_it(account)).collect()
    }

    /// Returns every account, by address.
    #[must_use]
    pub fn accounts(&self) -> Vec<(Pubkey, AccountSharedData)> {
        self.read(Bank::accounts).unwrap_or_default()
    }

    /// Returns the fee of a message, in lamports; `None` if its blockhash is not valid, or the message
    /// is malformed.
    #[must_use]
    pub fn fee_for_message(&self, message: &VersionedMessage) -> Option<u64> {
        if !self.is_blockhash_valid(message.recent_blockhash()) {
            return None;
        }
        let signers = usize::from(message.header().num_required_signatures);
        let signatures = vec![Signature::default(); signers];
        let transaction = VersionedTransaction { signatures, message: message.clone() };
        let transaction = Transaction::new(transaction, self.rules()).ok()?;
        let mut requests = Requests::default();
        requests.read(&transaction).ok()?;
        let price = self.bank.environment().lamports_per_signature;
        let budget = TransactionBudget::of(&transaction, &requests, self.features(), price).ok()?;
        Some(budget.fee.total())
    }

    /// Returns the clock sysvar.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.bank.clock()
    }

    /// Returns the rent sysvar.
    #[must_use]
    pub fn rent(&self) -> Rent {
        self.bank.environment().rent()
    }

    /// Returns the minimum balance of an account with `len` bytes of data, in lamports.
    #[must_use]
    pub fn minimum_balance(&self, len: usize) -> u64 {
        minimum_balance(&self.rent(), len)
    }

    /// Returns the epoch schedule.
    #[must_use]
    pub fn epoch_schedule(&self) -> EpochSchedule {
        self.bank.environment().sysvars.epoch_schedule().unwrap_or_default()
    }

    /// Returns where the cluster is in its epoch.
    #[must_use]
    pub fn epoch_info(&self) -> EpochInfo {
        let schedule = self.epoch_schedule();
        let (epoch, slot_index) = schedule.get_epoch_and_slot_index(self.slot());
        EpochInfo {
            epoch,
            slot_index,
            slots_in_epoch: schedule.get_slots_in_epoch(epoch),
            absolute_slot: self.slot(),
            block_height: self.block_height(),
            transaction_count: self.transaction_count,
        }
    }

    /// Returns the stake of a vote account in the epoch, in lamports; `None` if it has none.
    #[must_use]
    pub fn stake(&self, vote_account: &Pubkey) -> Option<u64> {
        let epoch = self.epoch_info().epoch;
        self.bank.stakes().of(epoch).vote_accounts.get(vote_account).copied()
    }

    /// Returns how the supply grows, and the years since it began to at the start of the epoch.
    #[must_use]
    pub fn inflation(&self) -> (InflationSchedule, f64) {
        self.bank.inflation()
    }

    /// Returns the stake of each vote account in an epoch, in lamports; `None` if it is not known.
    #[must_use]
    pub fn epoch_stakes(&self, epoch: u64) -> Option<&BTreeMap<Pubkey, u64>> {
        self.bank.stakes().epochs.get(&epoch).map(|stake| &stake.vote_accounts)
    }

    /// Returns the certificate with which Alpenglow began; `None` before the migration.
    #[must_use]
    pub fn genesis_certificate(&self) -> Option<GenesisCertificate> {
        let read = |bank: &Bank| {
            bank.get_account(&CERTIFICATE)?;
            Ok(alpenglow::genesis_certificate(bank))
        };
        self.read(read).flatten()
    }

    /// Returns the active features.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        self.bank.features()
    }

    /// Returns the rules of transactions: the active features, and the release.
    #[must_use]
    pub fn rules(&self) -> Rules {
        self.bank.environment().rules()
    }

    /// Simulates a transaction, in the next slot if blocks become final at once.
    #[must_use]
    pub fn simulate(
        &self,
        transaction: &VersionedTransaction,
        options: &SimulateOptions,
    ) -> Simulation {
        let mut transaction = transaction.clone();
        let mut replacement = None;
        if options.replace_blockhash {
            transaction.message.set_recent_blockhash(self.blockhash());
            replacement = Some((self.blockhash(), self.last_valid_block_height()));
        }
        let simulation = match Transaction::new(transaction, self.rules()) {
            Ok(transaction) if options.verify_signatures => match self.verify(&transaction) {
                Ok(()) => self.simulate_sanitized(&transaction),
                Err(error) => self.dropped(error),
            },
            Ok(transaction) => self.simulate_sanitized(&transaction),
            Err(error) => self.dropped(error),
        };
        Simulation { replacement_blockhash: replacement, ..simulation }
    }

    /// Simulates a transaction before it is sent; `None` if it succeeds.
    ///
    /// The newest frozen bank is asked first, since the open one is busy while a block is made. What
    /// fails there may succeed in the next slot.
    pub(crate) fn preflight(&self, transaction: &Transaction) -> Option<Simulation> {
        if let Err(error) = self.verify(transaction) {
            return Some(self.dropped(error));
        }
        let frozen = self.is_newest().then(|| Arc::clone(&self.shared.chain().tip().bank));
        let outcome = frozen.and_then(|bank| bank.simulate(transaction, &OPTIONS).ok());
        if outcome.is_some_and(|outcome| outcome.is_ok_and(|processed| processed.result.is_ok())) {
            return None;
        }
        Some(self.simulate_sanitized(transaction)).filter(|it| it.result.is_err())
    }

    pub(crate) fn verify(&self, transaction: &Transaction) -> Result<(), TransactionError> {
        let impersonated = self.shared.impersonated.read();
        impersonated.unwrap_or_else(PoisonError::into_inner).verify(transaction)
    }

    /// Returns whether simulations run in the newest state.
    fn is_newest(&self) -> bool {
        self.commitment == CommitmentLevel::Processed
            || self.shared.options.finality == Finality::Immediate
    }

    /// Simulates a sanitized transaction, whose signatures are not verified.
    fn simulate_sanitized(&self, transaction: &Transaction) -> Simulation {
        match self.process(transaction).1 {
            Ok(processed) => {
                let accounts = processed.accounts.iter();
                let accounts = accounts.map(|it| (it.key, it.after().cloned())).collect();
                let result = processed.result.clone();
                let find = |key: &Pubkey| self.account(key);
                let meta = landed::meta(transaction.message(), *processed, &find);
                Simulation { result, is_processed: true, meta, accounts, ..self.dropped_ok() }
            }
            Err(error) => self.dropped(error),
        }
    }

    /// Processes a transaction without a commit: in the open bank after the newest block, or in the
    /// bank of this view if that is older on purpose. Returns that bank too.
    pub(crate) fn process(&self, transaction: &Transaction) -> (Arc<Bank>, Outcome) {
        for _ in 0..SIMULATION_ATTEMPTS {
            let bank = match self.is_newest() {
                true => Arc::clone(&self.shared.chain().working),
                false => Arc::clone(&self.bank),
            };
            // A bank without state was replaced meanwhile.
            if let Ok(outcome) = bank.simulate(transaction, &OPTIONS) {
                return (bank, outcome);
            }
        }
        let tip = Arc::clone(&self.shared.chain().tip().bank);
        let outcome = tip.simulate(transaction, &OPTIONS);
        (tip, outcome.unwrap_or(Err(TransactionError::ClusterMaintenance)))
    }

    fn dropped(&self, error: TransactionError) -> Simulation {
        Simulation { result: Err(error), ..self.dropped_ok() }
    }

    fn dropped_ok(&self) -> Simulation {
        Simulation {
            slot: self.slot(),
            result: Ok(()),
            is_processed: false,
            meta: Meta::default(),
            accounts: Vec::new(),
            replacement_blockhash: None,
        }
    }

    /// Returns the addresses that the lookup tables of a message resolve to.
    ///
    /// # Errors
    /// If a table does not exist, is malformed or too short.
    pub fn loaded_addresses(
        &self,
        message: &VersionedMessage,
    ) -> Result<LoadedAddresses, TransactionError> {
        let lookups = message.address_table_lookups().unwrap_or_default();
        let (writable, readonly) =
            selkie_svm::check::resolve_lookups(lookups, &*self.bank, self.bank.environment())?;
        Ok(LoadedAddresses { writable, readonly })
    }

    /// Reads from the bank, or from the current one at the same commitment if this one's state was
    /// merged into a newer root meanwhile.
    fn read<T>(&self, read: impl Fn(&Bank) -> Result<T, BankError>) -> Option<T> {
        read(&self.bank).ok().or_else(|| {
            let newer = Arc::clone(&self.shared.chain().at(self.commitment).bank);
            read(&newer).ok()
        })
    }
}
