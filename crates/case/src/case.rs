//! [`Case`]: a transaction with the state that it needs.

use std::{collections::BTreeSet, sync::Arc};

use selkie_builtins::sysvar_account;
use selkie_svm::{
    AccountStore, BlockhashQueue, ComputeBudget, Environment, Release, SignedTransaction,
    Transaction,
    check::{resolve_lookups, verify_signatures},
    cost::{HEAP_BYTES_MIN, TRANSACTION_COMPUTE_UNITS_MAX},
    program_cache::program_data_address,
};
use solana_account::{AccountSharedData, ReadableAccount as _};
use solana_instruction::{AccountMeta, Instruction};
use solana_message::{VersionedMessage, compiled_instruction::CompiledInstruction};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    accounts::{Accounts, KeyedAccount},
    environment::sysvar_accounts,
    instructions::{Overlay, compile},
};

/// The compute budget of instructions outside of a transaction, unless a case has another one.
pub const INSTRUCTION_BUDGET: ComputeBudget =
    ComputeBudget { compute_unit_limit: TRANSACTION_COMPUTE_UNITS_MAX, heap_bytes: HEAP_BYTES_MIN };

/// A transaction, or instructions outside of one, with the state before it. What is large is shared, so
/// a clone is cheap.
#[derive(Clone, Default, Debug)]
pub struct Case {
    /// Features, sysvars, builtin programs, fees, stakes and limits of its slot.
    pub environment: Arc<Environment>,
    /// The recent blockhashes, and the transactions that were processed under each: as far as the
    /// transaction needs them.
    pub blockhashes: Arc<BlockhashQueue>,
    /// The accounts before it. Sysvars need not be among them: their accounts follow from the
    /// environment.
    pub accounts: Accounts,
    /// What is run.
    pub input: Input,
    /// How it is run.
    pub options: CaseOptions,
}

/// What a case runs.
#[derive(Clone, Debug)]
pub enum Input {
    /// A transaction, however long it is on the wire.
    Transaction(SignedTransaction),
    /// A transaction as it is sent, or bytes that are none.
    Wire(Vec<u8>),
    /// Instructions outside of a transaction, without fees and signatures.
    Instructions {
        /// The instructions.
        instructions: Vec<Instruction>,
        /// The addresses of the accounts that were given with them, which come first in the order of
        /// accounts.
        given: Vec<Pubkey>,
    },
}

/// No instructions.
impl Default for Input {
    fn default() -> Self {
        Self::Instructions { instructions: Vec::new(), given: Vec::new() }
    }
}

impl Input {
    /// Decodes a transaction; bytes that are none stay as they are.
    #[must_use]
    pub fn decode(wire: Vec<u8>) -> Self {
        match wincode::deserialize_exact::<VersionedTransaction>(&wire) {
            Ok(transaction) => Self::Transaction(transaction.into()),
            Err(_) => Self::Wire(wire),
        }
    }

    /// Returns the transaction, if there is one that was decoded.
    #[must_use]
    pub fn transaction(&self) -> Option<&SignedTransaction> {
        match self {
            Self::Transaction(it) => Some(it),
            Self::Wire(_) | Self::Instructions { .. } => None,
        }
    }
}

/// How a case is run, where clusters leave no choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CaseOptions {
    /// Whether signatures are verified.
    pub verifies_signatures: bool,
    /// Whether the blockhash has to be recent, or a durable nonce. Otherwise every blockhash is recent, and
    /// no transaction was processed before.
    pub checks_blockhash: bool,
    /// The compute budget in place of the one that the transaction requests; of instructions in place of
    /// [`INSTRUCTION_BUDGET`].
    pub budget: Option<ComputeBudget>,
}

/// What clusters do.
impl Default for CaseOptions {
    fn default() -> Self {
        Self { verifies_signatures: true, checks_blockhash: true, budget: None }
    }
}

impl Case {
    /// Returns the case under the rules of a release of agave, with the features that it has.
    #[must_use]
    pub fn with_release(mut self, release: Release) -> Self {
        Arc::make_mut(&mut self.environment).release = release;
        self
    }

    /// Collects a transaction with the accounts that it needs of a store: its own, its lookup tables, and
    /// the programdata accounts of its programs.
    ///
    /// Its blockhash counts as recent if `is_blockhash_recent`; else it may still be a durable nonce.
    #[must_use]
    pub fn of(
        transaction: SignedTransaction,
        store: &impl AccountStore,
        environment: Arc<Environment>,
        is_blockhash_recent: bool,
    ) -> Self {
        let message = transaction.message();
        let accounts = named_accounts(message, store, &environment);
        let known = accounts.iter().map(|(_, account)| account);
        let others = unnamed_accounts(message, known, &|key| store.account(key));
        let own = *message.recent_blockhash();
        Self {
            blockhashes: Arc::new(blockhashes(own, is_blockhash_recent, &environment)),
            accounts: accounts.into_iter().chain(others).collect(),
            input: Input::Transaction(transaction),
            environment,
            options: CaseOptions::default(),
        }
    }

    /// Collects instructions outside of a transaction with the accounts that they need: the given ones, and
    /// of a store those that they name, and the programdata accounts of their programs.
    #[must_use]
    pub fn of_instructions<S: AccountStore>(
        instructions: &[Instruction],
        overlay: &Overlay<'_, S>,
        environment: Arc<Environment>,
        budget: ComputeBudget,
    ) -> Self {
        let (message, keys) = compile(instructions, &overlay.given);
        // The runtime makes the instructions sysvar.
        let named = keys.iter().filter(|key| **key != sysvar::instructions::ID);
        let named: Vec<KeyedAccount> =
            named.filter_map(|key| Some((*key, overlay.account(key)?))).collect();
        let known = named.iter().map(|(_, account)| account);
        let find = |key: &Pubkey| overlay.account(key);
        let others = unnamed_accounts(&VersionedMessage::Legacy(message), known, &find);
        let given = overlay.given.keys().copied().collect();
        Self {
            environment,
            accounts: named.into_iter().chain(others).collect(),
            input: Input::Instructions { instructions: instructions.to_vec(), given },
            options: CaseOptions { budget: Some(budget), ..CaseOptions::default() },
            ..Self::default()
        }
    }

    /// Verifies signatures that are to be verified, so that runs need not verify them if they are valid.
    #[must_use]
    pub fn verified(mut self) -> Self {
        if self.options.verifies_signatures
            && let Some(transaction) = self.sanitized_transaction()
        {
            self.options.verifies_signatures = verify_signatures(&transaction).is_err();
        }
        self
    }

    /// Returns the transaction as the runtime takes it; `None` for what it does not take, and for
    /// instructions outside of one.
    #[must_use]
    pub fn sanitized_transaction(&self) -> Option<Transaction> {
        self.sanitized()?.ok()
    }

    /// Returns the transaction as the runtime takes it, or why it does not; `None` for instructions outside
    /// of one.
    pub(crate) fn sanitized(&self) -> Option<Result<Transaction, TransactionError>> {
        let rules = self.environment.rules();
        match &self.input {
            Input::Transaction(it) => {
                Some(Transaction::of(it.clone(), rules).map_err(|rejected| rejected.error))
            }
            Input::Wire(wire) => Some(Transaction::from_wire(wire, rules)),
            Input::Instructions { .. } => None,
        }
    }

    /// Returns the epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.environment.sysvars.clock().map_or(0, |clock| clock.epoch)
    }

    /// Returns all accounts before the transaction, by address, with those of sysvars.
    #[must_use]
    pub fn all_accounts(&self) -> Accounts {
        let own = self.accounts.iter().map(|(key, account)| (*key, account.clone()));
        sysvar_accounts(&self.environment).chain(own).collect()
    }

    /// Returns the instructions, with the addresses that they take from lookup tables.
    ///
    /// # Errors
    /// If the transaction is malformed, or a lookup table is missing or too short.
    pub fn instructions(&self) -> Result<Vec<Instruction>, TransactionError> {
        let transaction = match (&self.input, self.sanitized()) {
            (Input::Instructions { instructions, .. }, _) => return Ok(instructions.clone()),
            (_, transaction) => transaction.unwrap_or(Err(TransactionError::SanitizeFailure))?,
        };
        let metas = self.metas(transaction.message())?;
        let instruction = |it: &CompiledInstruction| {
            let meta = |index: &u8| metas.get(usize::from(*index)).cloned();
            Some(Instruction {
                program_id: transaction.program(it),
                accounts: it.accounts.iter().map(meta).collect::<Option<_>>()?,
                data: it.data.clone(),
            })
        };
        let all: Option<Vec<_>> = transaction.instructions().iter().map(instruction).collect();
        all.ok_or(TransactionError::SanitizeFailure)
    }

    /// Returns the accounts of a message in its order.
    fn metas(&self, message: &VersionedMessage) -> Result<Vec<AccountMeta>, TransactionError> {
        let own = message.static_account_keys().iter().enumerate().map(|(index, key)| {
            let reserved: Option<&BTreeSet<Pubkey>> = None;
            AccountMeta {
                pubkey: *key,
                is_signer: message.is_signer(index),
                is_writable: message.is_maybe_writable_with_reserved_addresses(index, reserved),
            }
        });
        let lookups = message.address_table_lookups().unwrap_or_default();
        let (writable, readonly) = resolve_lookups(lookups, self, &self.environment)?;
        let writable = writable.into_iter().map(|key| AccountMeta::new(key, false));
        let readonly = readonly.into_iter().map(|key| AccountMeta::new_readonly(key, false));
        Ok(own.chain(writable).chain(readonly).collect())
    }
}

/// The accounts before the transaction.
impl AccountStore for Case {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.with_account(key, |account| account.cloned())
    }

    #[inline]
    fn with_account<R>(
        &self,
        key: &Pubkey,
        then: impl FnOnce(Option<&AccountSharedData>) -> R,
    ) -> R {
        if let Some(account) = self.accounts.get(key) {
            return then(Some(account).filter(|account| account.lamports() > 0));
        }
        let data = self.environment.sysvars.get(key);
        then(
            data.map(|data| sysvar_account(None, data.to_vec(), &self.environment.rent())).as_ref(),
        )
    }
}

/// Returns as much of the blockhash queue as a transaction needs: its own blockhash if it is recent, and
/// the last one, from which durable nonces follow.
#[must_use]
pub fn blockhashes(
    own: solana_hash::Hash,
    is_recent: bool,
    environment: &Environment,
) -> BlockhashQueue {
    let last = environment.blockhash;
    let own = Some(own).filter(|own| is_recent && *own != last);
    BlockhashQueue::new(own.into_iter().chain([last]))
}

/// Returns the accounts that a transaction names, as far as they exist.
fn named_accounts(
    message: &VersionedMessage,
    store: &impl AccountStore,
    environment: &Environment,
) -> Vec<KeyedAccount> {
    let mut keys: BTreeSet<Pubkey> = message.static_account_keys().iter().copied().collect();
    let lookups = message.address_table_lookups().unwrap_or_default();
    // If a table is missing or too short, the transaction is dropped for that.
    if let Ok((writable, readonly)) = resolve_lookups(lookups, store, environment) {
        keys.extend(writable.into_iter().chain(readonly));
    }
    keys.into_iter().filter_map(|key| Some((key, store.account(&key)?))).collect()
}

/// Returns the accounts that a transaction needs besides those that it names: lookup tables, and the
/// programdata accounts of the programs among the `known` accounts and those.
pub fn unnamed_accounts<'a>(
    message: &VersionedMessage,
    known: impl Iterator<Item = &'a AccountSharedData>,
    find: &dyn Fn(&Pubkey) -> Option<AccountSharedData>,
) -> Vec<KeyedAccount> {
    let found = |key: Pubkey| Some((key, find(&key)?));
    let tables = message.address_table_lookups().into_iter().flatten();
    let mut accounts: Vec<KeyedAccount> = tables.filter_map(|it| found(it.account_key)).collect();
    let files = known.filter_map(|it| program_data_address(it.data()));
    let files: Vec<KeyedAccount> = files.filter_map(found).collect();
    accounts.extend(files);
    accounts
}
