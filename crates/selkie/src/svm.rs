//! [`Svm`]: the in-process chain that tests send transactions to.

use core::fmt;
use std::sync::Arc;

use selkie_bank::{Genesis, time::SLOT_MILLISECONDS};
use selkie_case::{INSTRUCTION_BUDGET, Input};
use selkie_svm::{
    AccountStore, ComputeBudget, Engine, Environment, Inspector, MessageId, Processed,
    WorkspacePool,
    cost::ACCOUNT_BYTES_MAX,
    program_cache::{ProgramCache, ProgramFile},
    sysvars::minimum_balance,
};
use solana_account::{Account, AccountSharedData, ReadableAccount, WritableAccount};
use solana_hash::Hash;
use solana_pubkey::Pubkey;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    account_error::AccountError,
    check::Check,
    genesis,
    journal::{Journal, Snapshot, SnapshotError, State},
    names::Given,
    origin::Origins,
    receipt::{Evidence, FailedTransaction, Receipt, Stage},
    recorder::FailureRecorder,
    recording,
    registers::RegisterFiles,
    send::{IntoTransaction, MalformedTransaction},
    signer::Keyring,
};

/// A Solana chain inside the test process: accounts, programs and a clock, changed by transactions
/// exactly as on mainnet.
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
/// An `Svm` is deterministic: it reads no clock and uses no randomness, so the same calls produce
/// the same bytes on every machine. A new one is in slot 1, in the first second of 2026, with
/// mainnet's features, rent, fees, builtin programs and sysvars, with the token, stake and other
/// programs that [`programs::MAINNET`](crate::programs::MAINNET) lists, and with the native mint.
///
/// A clone starts with the same accounts and then changes independently; clones share compiled
/// programs. To return to an earlier state, [`Svm::snapshot`] is cheaper than a clone.
#[derive(Clone, Debug)]
pub struct Svm {
    pub(crate) journal: Journal,
    pub(crate) programs: Arc<ProgramCache>,
    pub(crate) workspaces: WorkspacePool,
    pub(crate) engine: Engine,
    pub(crate) verifies_signatures: bool,
    pub(crate) checks_blockhashes: bool,
    pub(crate) checks_duplicates: bool,
    pub(crate) slot_milliseconds: u64,
    pub(crate) instruction_budget: ComputeBudget,
    /// The compute budget of every transaction, whatever it requests.
    pub(crate) transaction_budget: Option<ComputeBudget>,
    /// The files that programs were added from; `None` if no program was added by path.
    pub(crate) origins: Option<Arc<Origins>>,
    /// The names that were given to accounts; `None` if none was.
    pub(crate) names: Option<Arc<Given>>,
    /// The keypairs that have signed.
    pub(crate) keyring: Keyring,
    /// Whether every receipt keeps what [`Receipt::replay`] needs.
    pub(crate) keeps_replays: bool,
    /// Whether transactions are written to the folder of recordings.
    pub(crate) is_recorded: bool,
    /// Where registers are written, and which; `None` if they are not.
    pub(crate) register_files: Option<Arc<RegisterFiles>>,
}

/// Shows how to debug the last transaction of a test that panics, if it failed.
impl Drop for Svm {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        if let Some(last) = self.journal.state().history.iter().next_back()
            && last.result.is_err()
        {
            last.show_debug_command();
        }
        if self.is_recorded {
            recording::test_failed();
        }
    }
}

impl Default for Svm {
    fn default() -> Self {
        Self::new()
    }
}

/// Error of [`Svm::airdrop`]: the balance would exceed `u64::MAX` lamports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AirdropError {
    /// The account's balance, in lamports.
    pub balance: u64,
    /// The lamports to be added.
    pub lamports: u64,
}

impl fmt::Display for AirdropError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { balance, lamports } = self;
        write!(f, "cannot add {lamports} lamports to a balance of {balance}")
    }
}

impl core::error::Error for AirdropError {}

/// The blockhash and message id under which a processed transaction is recorded; `None` if the
/// transaction was dropped.
pub(crate) type KnownBy = Option<(Hash, MessageId)>;

impl Svm {
    /// Creates a chain with mainnet's settings.
    #[must_use]
    pub fn new() -> Self {
        Self::of(genesis::state())
    }

    /// Creates a chain that begins with these features, this epoch schedule and these accounts, those of
    /// mainnet's programs besides. What a genesis does not say is as in [`Svm::new`]; stakes and vote
    /// accounts among the accounts count from epoch 0 on.
    ///
    /// ```
    /// use selkie::{EpochSchedule, Genesis, Svm};
    ///
    /// let schedule = EpochSchedule::custom(64, 64, false);
    /// let mut svm = Svm::from_genesis(&Genesis { schedule, ..Genesis::default() }, []);
    /// svm.warp_to_slot(64)?;
    /// assert_eq!((svm.epoch(), svm.stake_history().get(0).unwrap().effective), (1, 0));
    /// # Ok::<(), selkie::WarpError>(())
    /// ```
    #[must_use]
    pub fn from_genesis(
        genesis: &Genesis,
        accounts: impl IntoIterator<Item = (Pubkey, AccountSharedData)>,
    ) -> Self {
        Self::of(genesis::state_of(genesis, accounts))
    }

    /// Creates a chain in this state.
    pub(crate) fn of(state: State) -> Self {
        Self {
            journal: Journal::new(state),
            programs: Arc::new(ProgramCache::new()),
            workspaces: WorkspacePool::default(),
            engine: Engine::default(),
            verifies_signatures: true,
            checks_blockhashes: true,
            checks_duplicates: true,
            slot_milliseconds: SLOT_MILLISECONDS,
            instruction_budget: INSTRUCTION_BUDGET,
            transaction_budget: None,
            origins: None,
            names: None,
            keyring: Keyring::default(),
            keeps_replays: recording::is_on(),
            is_recorded: recording::is_on(),
            register_files: RegisterFiles::of_environment(),
        }
    }

    /// Returns the environment of every instruction: features, builtin programs, sysvars, fees.
    #[must_use]
    pub fn environment(&self) -> &Environment {
        &self.journal.state().environment
    }

    /// Sends a transaction: a signed one of any version, or its wire bytes.
    ///
    /// # Errors
    /// If the transaction was dropped or failed. The error holds the receipt, and its `Display`
    /// explains the failure.
    pub fn send(
        &mut self,
        transaction: impl IntoTransaction,
    ) -> Result<Arc<Receipt>, FailedTransaction> {
        self.send_with(transaction, None)
    }

    /// Sends a transaction and calls `inspector` before and after each instruction.
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

    /// Sends transactions one after the other, continuing after failures.
    pub fn send_many<T: IntoTransaction>(
        &mut self,
        transactions: impl IntoIterator<Item = T>,
    ) -> Vec<Result<Arc<Receipt>, FailedTransaction>> {
        transactions.into_iter().map(|transaction| self.send(transaction)).collect()
    }

    /// Simulates a transaction: returns what [`Svm::send`] would return, without changing any
    /// state.
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

    /// Sends a transaction and asserts that its receipt passes `check`. The transaction may fail if
    /// `check` expects that.
    ///
    /// # Panics
    /// If an expectation of `check` does not hold.
    #[track_caller]
    pub fn send_and_assert(
        &mut self,
        transaction: impl IntoTransaction,
        check: impl Into<Check>,
    ) -> Arc<Receipt> {
        // An assertion that fails names the transaction's replay, also if the transaction succeeded.
        let keeps_replays = core::mem::replace(&mut self.keeps_replays, true);
        let receipt = self.send(transaction).unwrap_or_else(|failed| failed.receipt);
        self.keeps_replays = keeps_replays;
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
            if self.checks_duplicates {
                self.journal.add_processed(blockhash, message);
            }
            self.journal.add_sent(Arc::clone(&entry));
        }
        finish(entry)
    }

    /// Processes a transaction and writes the result into `receipt`, reusing its allocations.
    #[inline(always)]
    pub(crate) fn process(
        &self,
        transaction: impl IntoTransaction,
        inspector: Option<&mut dyn Inspector>,
        receipt: &mut Receipt,
    ) -> KnownBy {
        let transaction = match transaction.into_transaction(self.environment().rules()) {
            Ok(transaction) => transaction,
            Err(malformed) => {
                *receipt = self.malformed(malformed);
                return None;
            }
        };
        let mut recorder = FailureRecorder::new(inspector);
        if let Some(files) = &self.register_files {
            let accounts = &self.journal.state().accounts;
            let signatures = || transaction.signatures().to_vec();
            let keys = self.named_keys(&transaction).into_iter();
            recorder.trace(files, files.debugger(signatures, keys, accounts));
        }
        let outcome = self.process_sanitized(&transaction, &mut recorder, &mut receipt.processed);
        if let (Some(files), Some(traces)) = (&self.register_files, recorder.traces()) {
            files.write(traces, transaction.signatures(), &self.journal.state().accounts);
        }
        let known_by = (*transaction.blockhash(), transaction.message_id());
        let notes = match &outcome {
            Ok(()) => Vec::new(),
            Err(error) => self.explain_drop(&transaction, error),
        };
        let (slot, rent) = (self.slot(), self.rent());
        if let Err(error) = outcome {
            *receipt = Receipt::dropped(transaction.into_signed(), slot, rent, error);
            receipt.processed.notes = notes;
            receipt.evidence = self.evidence(&receipt.processed, &self.journal.state().accounts);
            return None;
        }
        receipt.transaction = transaction.into_signed();
        (receipt.slot, receipt.rent) = (slot, rent);
        receipt.stage =
            if receipt.processed.is_executed { Stage::Executed } else { Stage::FeesOnly };
        receipt.failed_instruction = recorder.failed_instruction(&receipt.processed);
        receipt.evidence = self.evidence(&receipt.processed, &self.journal.state().accounts);
        if self.keeps_replays || receipt.result.is_err() {
            let input = Input::Transaction(receipt.transaction.clone());
            self.keep_case(receipt, input);
        }
        Some(known_by)
    }

    /// Returns the ELF file of a program; `None` if it is builtin or does not exist.
    #[must_use]
    pub fn program_elf(&self, program: &Pubkey) -> Option<Vec<u8>> {
        let accounts = &self.journal.state().accounts;
        let file = ProgramFile::find(&accounts.account(program)?, accounts)?;
        Some(file.bytes().to_vec())
    }

    /// Returns what [`Receipt::trap`] and the notes on stale programs need later.
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
        let names = self.names.clone();
        (file.is_some() || origins.is_some() || names.is_some())
            .then(|| Box::new(Evidence { file, origins, names, ..Evidence::default() }))
    }

    fn malformed(&self, malformed: MalformedTransaction) -> Receipt {
        let signatures = malformed.signature.into_iter().collect();
        let transaction = VersionedTransaction { signatures, ..Default::default() };
        Receipt::dropped(transaction.into(), self.slot(), self.rent(), malformed.error)
    }

    /// Returns the failure of a transaction that could not be decoded, sanitized or signed.
    pub(crate) fn dropped(
        &self,
        malformed: MalformedTransaction,
        notes: Vec<String>,
    ) -> FailedTransaction {
        let error = malformed.error.clone();
        let mut receipt = self.malformed(malformed);
        receipt.processed.notes = notes;
        FailedTransaction { error, receipt: Arc::new(receipt) }
    }

    /// Adds lamports to an account, creating it if it does not exist.
    ///
    /// # Errors
    /// If the balance would exceed `u64::MAX`.
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

    /// Returns a copy of the account at `key`.
    #[must_use]
    pub fn account(&self, key: &Pubkey) -> Option<Account> {
        self.shared_account(key).map(Account::from)
    }

    /// Returns the account at `key` without copying its data.
    #[must_use]
    pub fn shared_account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.journal.state().accounts.get(key).cloned()
    }

    /// Returns the balance of the account at `key` in lamports, 0 if it does not exist.
    #[must_use]
    pub fn balance(&self, key: &Pubkey) -> u64 {
        self.journal.state().accounts.get(key).map_or(0, ReadableAccount::lamports)
    }

    /// Sets the account at `key`, replacing any that is there. An account with 0 lamports is
    /// deleted. Setting the account of a sysvar also sets the sysvar that programs read by syscall.
    ///
    /// # Errors
    /// If the data are longer than any account's, or `key` is a sysvar and they are not valid for it.
    pub fn set_account(
        &mut self,
        key: Pubkey,
        account: impl Into<AccountSharedData>,
    ) -> Result<(), AccountError> {
        let account = account.into();
        let bytes = account.data().len();
        if bytes > ACCOUNT_BYTES_MAX {
            return Err(AccountError::TooLong { key, bytes });
        }
        if self.sysvar(&key).is_some() && account.lamports() > 0 {
            self.set_sysvar(key, account.data())?;
        }
        self.journal.set_account(key, Some(account));
        Ok(())
    }

    /// Returns the number of accounts, including those of programs and sysvars.
    #[must_use]
    pub fn accounts_len(&self) -> usize {
        self.journal.state().accounts.len()
    }

    /// Returns every account, sorted by address.
    pub fn accounts(&self) -> impl Iterator<Item = (Pubkey, &AccountSharedData)> {
        self.journal.state().accounts.all().into_iter()
    }

    /// Returns every account, sorted by address, except unchanged accounts of
    /// [`programs::MAINNET`](crate::programs::MAINNET).
    pub fn written_accounts(&self) -> impl Iterator<Item = (Pubkey, &AccountSharedData)> {
        self.journal.state().accounts.written().into_iter()
    }

    /// Returns the accounts that `owner` owns and that pass all `filters`, sorted by address.
    #[must_use]
    pub fn program_accounts(
        &self,
        owner: &Pubkey,
        filters: &[AccountFilter<'_>],
    ) -> Vec<(Pubkey, Account)> {
        let passes = |account: &AccountSharedData| {
            filters.iter().all(|filter| filter.passes(account.data()))
        };
        let found = self.journal.state().accounts.owned_by(owner, passes);
        found.into_iter().map(|(key, account)| (key, account.clone().into())).collect()
    }

    /// Returns the minimum balance, in lamports, of a rent-exempt account with `data_len` bytes of
    /// data.
    #[must_use]
    pub fn minimum_balance_for_rent_exemption(&self, data_len: usize) -> u64 {
        minimum_balance(&self.rent(), data_len).max(1)
    }

    /// Returns the receipt of a processed transaction (one that paid its fee), if it is still in
    /// the history ([`Svm::with_history`]).
    #[must_use]
    pub fn transaction(&self, signature: &Signature) -> Option<&Arc<Receipt>> {
        self.journal.state().history.get(signature)
    }

    /// Returns the receipts in the history, oldest first.
    pub fn transactions(&self) -> impl DoubleEndedIterator<Item = &Arc<Receipt>> {
        self.journal.state().history.iter()
    }

    /// Takes a snapshot, to which [`Svm::restore`] returns. Its cost is proportional to what
    /// changes afterwards, not to the number of accounts. Snapshots nest; a dropped snapshot costs
    /// nothing.
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

    /// Restores accounts, sysvars, time, features and history to what they were when `snapshot` was
    /// taken. A snapshot can be restored repeatedly; restoring it invalidates those taken after it.
    ///
    /// # Errors
    /// If the snapshot is stale (an older one was restored after it was taken) or belongs to
    /// another `Svm`.
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

/// A filter on the accounts of a program, as in RPC's `getProgramAccounts`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountFilter<'a> {
    /// Accounts with exactly this many bytes of data.
    DataSize(usize),
    /// Accounts whose data contain these bytes at this offset.
    Memcmp(usize, &'a [u8]),
}

impl AccountFilter<'_> {
    fn passes(&self, data: &[u8]) -> bool {
        match self {
            Self::DataSize(len) => data.len() == *len,
            Self::Memcmp(offset, bytes) => {
                data.get(*offset..).is_some_and(|rest| rest.starts_with(bytes))
            }
        }
    }
}
