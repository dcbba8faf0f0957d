//! The cluster in a test.

use core::fmt;
use std::sync::Arc;

use selkie_bank::time::SLOT_MILLISECONDS;
use selkie_svm::{
    AccountStore, ChainState, ComputeBudget, Engine, Environment, Inspector, MessageId,
    ProcessOptions, Processed, WorkspacePool,
    blockhash_queue::BlockhashQueue,
    process,
    program_cache::{ProgramCache, ProgramFile},
    sysvars::minimum_balance,
    transaction::Transaction as Sanitized,
};
use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    check::Check,
    direct, genesis,
    journal::{Journal, Snapshot, SnapshotError},
    origin::Origins,
    receipt::{Evidence, FailedTransaction, Receipt, Stage, Witness},
    send::{IntoTransaction, Malformed},
};

/// A Solana cluster of one process: accounts, programs and time, and transactions that change
/// them as they would on mainnet.
///
/// ```
/// use selkie::{keypair, system, Signer, Svm};
///
/// let (alice, bob) = (keypair("alice"), keypair("bob"));
/// let mut svm = Svm::new();
/// svm.airdrop(&alice.pubkey(), 10_000_000_000)?;
///
/// let transfer = system::transfer(&alice.pubkey(), &bob.pubkey(), 1_000_000_000);
/// let receipt = svm.send_instructions(&[transfer], &[&alice])?;
/// assert_eq!(svm.balance(&bob.pubkey()), 1_000_000_000);
/// assert_eq!((receipt.compute_units, receipt.fee.total()), (150, 5000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Nothing in it depends on the time of day, on chance or on the machine: the same calls give the
/// same bytes. It begins in slot 1, in the first second of 2026, with mainnet's features, rent and
/// fees, its builtin programs and its sysvars; and with the token, stake and other programs that
/// [`programs::MAINNET`](crate::programs::MAINNET) lists.
///
/// Clones have the same accounts and go their own ways; programs that one has compiled the other
/// need not compile again. To go back to a state, [`Svm::snapshot`] is cheaper.
#[derive(Clone, Debug)]
pub struct Svm {
    pub(crate) journal: Journal,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) workspaces: WorkspacePool,
    pub(crate) engine: Engine,
    pub(crate) verifies_signatures: bool,
    pub(crate) checks_blockhashes: bool,
    pub(crate) slot_milliseconds: u64,
    pub(crate) instruction_budget: ComputeBudget,
    /// Where programs were added from, if any was added from a file.
    pub(crate) origins: Option<Arc<Origins>>,
}

impl Default for Svm {
    fn default() -> Self {
        Self::new()
    }
}

/// An account would have more lamports than there can be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AirdropError {
    /// What it has.
    pub balance: u64,
    /// What was to be added.
    pub lamports: u64,
}

impl fmt::Display for AirdropError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { balance, lamports } = self;
        write!(f, "cannot add {lamports} lamports to a balance of {balance}")
    }
}

impl core::error::Error for AirdropError {}

/// What a transaction is known by, if it came far enough to be known.
type KnownBy = Option<(Hash, MessageId)>;

impl Svm {
    /// A new cluster.
    #[must_use]
    pub fn new() -> Self {
        Self {
            journal: Journal::new(genesis::state()),
            programs: Arc::new(ProgramCache::new()),
            workspaces: WorkspacePool::default(),
            engine: Engine::default(),
            verifies_signatures: true,
            checks_blockhashes: true,
            slot_milliseconds: SLOT_MILLISECONDS,
            instruction_budget: direct::BUDGET,
            origins: None,
        }
    }

    /// What the cluster gives to every instruction.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.journal.state().environment
    }

    /// Sends a transaction: a signed one of any version, or its bytes.
    ///
    /// # Errors
    /// If it was dropped or failed. The error has the receipt, and shows what happened.
    pub fn send(
        &mut self,
        transaction: impl IntoTransaction,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        self.send_with(transaction, None)
    }

    /// Sends a transaction, and shows somebody each instruction as it begins and ends.
    ///
    /// # Errors
    /// As [`Svm::send`].
    pub fn send_inspected(
        &mut self,
        transaction: impl IntoTransaction,
        inspector: &mut dyn Inspector,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        self.send_with(transaction, Some(inspector))
    }

    /// Sends transactions one after the other, whatever becomes of those before.
    pub fn send_many<T: IntoTransaction>(
        &mut self,
        transactions: impl IntoIterator<Item = T>,
    ) -> Vec<Result<Arc<Receipt>, FailedTransaction>> {
        transactions.into_iter().map(|transaction| self.send(transaction)).collect()
    }

    /// Tells what would become of a transaction, and changes nothing.
    ///
    /// # Errors
    /// As [`Svm::send`].
    pub fn simulate(
        &self,
        transaction: impl IntoTransaction,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let mut entry = Arc::new(Receipt::empty());
        self.process(transaction, None, Arc::make_mut(&mut entry));
        finish(entry)
    }

    /// Sends a transaction, and insists on what is expected of it, be that success or failure.
    ///
    /// # Panics
    /// If it does not hold.
    #[track_caller]
    pub fn send_and_assert(
        &mut self,
        transaction: impl IntoTransaction,
        check: impl Into<Check>,
    ) -> Arc<Receipt> {
        let receipt = self.send(transaction).unwrap_or_else(|failed| failed.receipt);
        receipt.assert(check);
        receipt
    }

    fn send_with(
        &mut self,
        transaction: impl IntoTransaction,
        inspector: Option<&mut dyn Inspector>,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        let mut entry = self.journal.blank_receipt();
        let receipt = Arc::make_mut(&mut entry);
        if let Some((blockhash, message)) = self.process(transaction, inspector, receipt) {
            self.commit(&entry);
            self.journal.add_processed(blockhash, message);
            self.journal.add_sent(Arc::clone(&entry));
        }
        finish(entry)
    }

    /// Processes a transaction, and writes what becomes of it in a receipt.
    #[inline(always)]
    fn process(
        &self,
        transaction: impl IntoTransaction,
        inspector: Option<&mut dyn Inspector>,
        receipt: &mut Receipt,
    ) -> KnownBy {
        let transaction = match transaction.into_transaction(self.environment().features) {
            Ok(transaction) => transaction,
            Err(malformed) => {
                *receipt = self.malformed(malformed);
                return None;
            }
        };
        let mut witness = Witness::new(inspector);
        let outcome = self.process_sanitized(&transaction, &mut witness, &mut receipt.processed);
        let known_by = (*transaction.blockhash(), transaction.message_id());
        let (transaction, slot, rent) = (transaction.into_inner(), self.slot(), self.rent());
        if let Err(error) = outcome {
            *receipt = Receipt::dropped(transaction, slot, rent, error);
            return None;
        }
        receipt.transaction = transaction;
        (receipt.slot, receipt.rent) = (slot, rent);
        receipt.stage =
            if receipt.processed.is_executed { Stage::Executed } else { Stage::FeesOnly };
        receipt.culprit = witness.culprit_of(&receipt.processed);
        receipt.evidence = self.evidence(&receipt.processed, &self.journal.state().accounts);
        Some(known_by)
    }

    /// What explains a transaction later on.
    pub(crate) fn evidence(
        &self,
        processed: &Processed,
        accounts: &impl AccountStore,
    ) -> Option<Box<Evidence>> {
        let origins = self.origins.clone();
        let file = processed.stopped.as_ref().and_then(|stopped| {
            let account = accounts.account(&stopped.program_id)?;
            ProgramFile::find(&account, accounts)
        });
        (file.is_some() || origins.is_some()).then(|| Box::new(Evidence { file, origins }))
    }

    fn malformed(&self, malformed: Malformed) -> Receipt {
        let signatures = malformed.signature.into_iter().collect();
        let transaction = VersionedTransaction { signatures, ..Default::default() };
        Receipt::dropped(transaction, self.slot(), self.rent(), malformed.error)
    }

    /// What became of a transaction that could not be sent at all.
    pub(crate) fn dropped(&self, malformed: Malformed, notes: Vec<String>) -> FailedTransaction {
        let error = malformed.error.clone();
        let mut receipt = self.malformed(malformed);
        receipt.processed.notes = notes;
        FailedTransaction { error, receipt: Arc::new(receipt) }
    }

    fn process_sanitized(
        &self,
        transaction: &Sanitized,
        witness: &mut Witness<'_>,
        processed: &mut Processed,
    ) -> Result<(), TransactionError> {
        let state = self.journal.state();
        let any_blockhash;
        let blockhash_queue = if self.checks_blockhashes {
            &state.blockhash_queue
        } else {
            any_blockhash = BlockhashQueue::new([*transaction.blockhash()]);
            &any_blockhash
        };
        let chain = ChainState {
            accounts: &state.accounts,
            environment: &state.environment,
            blockhash_queue,
            programs: &self.programs,
        };
        let options =
            ProcessOptions { verify_signatures: self.verifies_signatures, engine: self.engine };
        self.workspaces.with(|workspace| {
            workspace.recycle(core::mem::take(processed));
            *processed = process(transaction, &chain, &options, Some(witness), workspace)?;
            Ok(())
        })
    }

    /// Gives lamports to an account, which is made if it is not there.
    ///
    /// # Errors
    /// If it would have more than there can be.
    pub fn airdrop(&mut self, key: &Pubkey, lamports: u64) -> Result<(), AirdropError> {
        let account = self.journal.state().accounts.get(key).cloned();
        let mut account = account
            .unwrap_or_else(|| Account { rent_epoch: u64::MAX, ..Account::default() }.into());
        let balance = account.lamports();
        let sum = balance.checked_add(lamports).ok_or(AirdropError { balance, lamports })?;
        account.set_lamports(sum);
        self.journal.set_account(*key, Some(account));
        Ok(())
    }

    /// The account at an address.
    #[must_use]
    pub fn account(&self, key: &Pubkey) -> Option<Account> {
        self.shared_account(key).map(Account::from)
    }

    /// The account at an address, without a copy of its data.
    #[must_use]
    pub fn shared_account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.journal.state().accounts.get(key).cloned()
    }

    /// The balance of an account: 0 if there is none.
    #[must_use]
    pub fn balance(&self, key: &Pubkey) -> u64 {
        self.journal.state().accounts.get(key).map_or(0, ReadableAccount::lamports)
    }

    /// Puts an account at an address, whatever was there. One without lamports is none. An account
    /// of a sysvar that the runtime knows sets what it knows.
    ///
    /// # Errors
    /// If it is the account of a sysvar and has no data of it.
    pub fn set_account(
        &mut self,
        key: Pubkey,
        account: impl Into<AccountSharedData>,
    ) -> Result<(), selkie_svm::sysvars::SysvarError> {
        let account = account.into();
        if self.sysvar(&key).is_some() && account.lamports() > 0 {
            self.set_sysvar(key, account.data())?;
        }
        self.journal.set_account(key, Some(account));
        Ok(())
    }

    /// How many accounts there are, those of programs and sysvars included.
    #[must_use]
    pub fn accounts_len(&self) -> usize {
        self.journal.state().accounts.len()
    }

    /// Every account, by address.
    pub fn accounts(&self) -> impl Iterator<Item = (Pubkey, &AccountSharedData)> {
        self.journal.state().accounts.all().into_iter()
    }

    /// Every account but those of [`programs::MAINNET`](crate::programs::MAINNET) that are as they
    /// were from the start, by address.
    pub fn written_accounts(&self) -> impl Iterator<Item = (Pubkey, &AccountSharedData)> {
        self.journal.state().accounts.written().into_iter()
    }

    /// The accounts that a program owns and that pass all filters, by address.
    #[must_use]
    pub fn program_accounts(
        &self,
        owner: &Pubkey,
        filters: &[Filter<'_>],
    ) -> Vec<(Pubkey, Account)> {
        let passes = |account: &AccountSharedData| {
            filters.iter().all(|filter| filter.passes(account.data()))
        };
        let found = self.journal.state().accounts.owned_by(owner, passes);
        found.into_iter().map(|(key, account)| (key, account.clone().into())).collect()
    }

    /// The lamports that an account with so many bytes of data must have.
    #[must_use]
    pub fn minimum_balance_for_rent_exemption(&self, data_len: usize) -> u64 {
        minimum_balance(&self.rent(), data_len).max(1)
    }

    /// What became of a transaction that was sent: one of the last, and one that paid.
    #[must_use]
    pub fn transaction(&self, signature: &Signature) -> Option<&Arc<Receipt>> {
        self.journal.state().history.get(signature)
    }

    /// The last transactions that paid, oldest first.
    pub fn transactions(&self) -> impl DoubleEndedIterator<Item = &Arc<Receipt>> {
        self.journal.state().history.iter()
    }

    /// Notes the state, to come back to it. What that costs is what changes until then, and does
    /// not depend on how many accounts there are. Snapshots nest; one that is dropped costs
    /// nothing any more.
    ///
    /// ```
    /// # use selkie::{keypair, Signer, Svm};
    /// let alice = keypair("alice").pubkey();
    /// let mut svm = Svm::new();
    /// let start = svm.snapshot();
    /// svm.airdrop(&alice, 5)?;
    /// svm.restore(&start)?;
    /// assert_eq!(svm.balance(&alice), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&mut self) -> Snapshot {
        self.journal.snapshot()
    }

    /// Goes back to a state: accounts, sysvars, time, features, history. It can be restored again;
    /// snapshots that were taken after it cannot.
    ///
    /// # Errors
    /// If the snapshot was taken after one that was restored since, or of another `Svm`.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.journal.restore(snapshot)
    }
}

fn finish(receipt: Arc<Receipt>) -> Result<Arc<Receipt>, FailedTransaction> {
    match receipt.result.clone() {
        Ok(()) => Ok(receipt),
        Err(error) => Err(FailedTransaction { error, receipt }),
    }
}

/// What accounts of a program are wanted, as RPC's `getProgramAccounts` has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Filter<'a> {
    /// Those with so many bytes of data.
    DataSize(usize),
    /// Those with these bytes at an offset.
    Memcmp(usize, &'a [u8]),
}

impl Filter<'_> {
    fn passes(&self, data: &[u8]) -> bool {
        match self {
            Self::DataSize(len) => data.len() == *len,
            Self::Memcmp(offset, bytes) => {
                data.get(*offset..).is_some_and(|rest| rest.starts_with(bytes))
            }
        }
    }
}
