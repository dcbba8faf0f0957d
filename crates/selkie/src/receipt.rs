//! What became of a transaction.

use core::{fmt, ops::Deref};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie_inspect::SourceMap;
use selkie_svm::{
    AccountChange, Inspector, InvokeContext, Processed, program_cache::ProgramFile, stop::Trap,
};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_instruction_error::InstructionError;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_signature::Signature;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    origin::{Origins, staleness},
    report,
    trap::{TrapReport, debug_file},
};

/// How far a transaction came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// It was dropped: it paid nothing and left no trace.
    Dropped,
    /// It paid its fee, and its accounts or programs could not be loaded.
    FeesOnly,
    /// Its instructions were executed, at least in part.
    Executed,
}

/// What became of a transaction. What the runtime tells of it is asked of it directly:
/// `receipt.logs`, `receipt.compute_units`, and all else that [`Processed`] has.
///
/// ```
/// # use selkie::{keypair, system, Signer, Svm};
/// # let (alice, bob) = (keypair("alice"), keypair("bob").pubkey());
/// # let mut svm = Svm::new();
/// # svm.airdrop(&alice.pubkey(), 10_000_000)?;
/// let receipt = svm.send_instructions(&[system::transfer(&alice.pubkey(), &bob, 1_000_000)], &[&alice])?;
/// assert_eq!((receipt.slot, receipt.compute_units), (1, 150));
/// assert_eq!(receipt.logs[1], "Program 11111111111111111111111111111111 success");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Receipt {
    /// How far it came.
    pub stage: Stage,
    /// The transaction.
    pub transaction: VersionedTransaction,
    /// The slot it was processed in.
    pub slot: u64,
    /// The rent of that slot.
    pub rent: Rent,
    /// The program that failed first, if one did: the innermost.
    pub culprit: Option<Culprit>,
    /// What the runtime tells of it. Its accounts are in the order of its addresses.
    pub processed: Processed,
    /// What explains it later on.
    pub(crate) evidence: Option<Box<Evidence>>,
}

/// What explains a transaction when that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    /// The file of the program that was stopped.
    pub(crate) file: Option<ProgramFile>,
    /// Where programs were added from.
    pub(crate) origins: Option<Arc<Origins>>,
}

/// What a receipt is made of is mostly this, and is written where the receipt is.
impl Deref for Receipt {
    type Target = Processed;

    fn deref(&self) -> &Processed {
        &self.processed
    }
}

/// The program that made a transaction fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Culprit {
    /// The transaction's own instruction that it ran in, from 0.
    pub instruction: usize,
    /// How deep it was nested: 1 for the transaction's own instructions.
    pub depth: usize,
    /// Its address.
    pub program_id: Pubkey,
    /// How it failed. Its callers may have failed otherwise.
    pub error: InstructionError,
}

/// An instruction that was executed: the transaction's own, or one that was called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    /// The transaction's own instruction that it belongs to, from 0.
    pub instruction: usize,
    /// How deep it was nested: 1 for the transaction's own.
    pub depth: usize,
    /// Its program.
    pub program_id: Pubkey,
    /// Its accounts.
    pub accounts: Vec<Pubkey>,
    /// Its data.
    pub data: &'a [u8],
    /// Compute units that it used, those that it called included.
    pub compute_units: u64,
}

impl Receipt {
    /// That of no transaction.
    pub(crate) fn empty() -> Self {
        Self {
            stage: Stage::Dropped,
            transaction: VersionedTransaction::default(),
            slot: 0,
            rent: Rent::default(),
            culprit: None,
            processed: Processed::default(),
            evidence: None,
        }
    }

    /// That of a transaction which was dropped.
    pub(crate) fn dropped(
        transaction: VersionedTransaction,
        slot: u64,
        rent: Rent,
        why: TransactionError,
    ) -> Self {
        let processed = Processed { result: Err(why), ..Processed::default() };
        Self { transaction, slot, rent, processed, ..Self::empty() }
    }

    /// Why a program was stopped, and where, if one was: function, file and line as far as the
    /// program tells, or the `.so.debug` beside the file that it was added from. They are looked
    /// for now.
    #[must_use]
    pub fn trap(&self) -> Option<TrapReport> {
        let stopped = self.stopped.as_ref()?;
        let file = self.evidence.as_ref().and_then(|it| it.file.as_ref());
        let elf = file.map_or(&[][..], ProgramFile::bytes);
        let debug = self.origin(&stopped.program_id).and_then(|path| debug_file(path, elf));
        let map = SourceMap::load(debug.as_deref().unwrap_or(elf));
        let mut report = TrapReport::new(&stopped.stop(), elf, &map, &self.logs);
        if matches!(stopped.stop().trap, Trap::ExceededMaxInstructions) {
            report.notes.push(format!(
                "it had {} compute units: an instruction of the compute budget program asks for more",
                self.compute_unit_limit
            ));
        }
        Some(report)
    }

    /// The file that a program was added from.
    fn origin(&self, program: &Pubkey) -> Option<&Path> {
        let origins = self.evidence.as_ref()?.origins.as_ref()?;
        origins.get(program).map(PathBuf::as_path)
    }

    /// Says of programs that were called if they are older than their sources.
    pub(crate) fn stale_programs(&self) -> Vec<String> {
        let mut called: Vec<Pubkey> = self.frames().iter().map(|frame| frame.program_id).collect();
        called.sort_unstable();
        called.dedup();
        called.iter().filter_map(|id| staleness(self.origin(id)?)).collect()
    }

    /// What the transaction is known by.
    #[must_use]
    pub fn signature(&self) -> Signature {
        self.transaction.signatures.first().copied().unwrap_or_default()
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &VersionedMessage {
        &self.transaction.message
    }

    /// The blockhash or durable nonce that it had.
    #[must_use]
    pub fn blockhash(&self) -> &Hash {
        self.transaction.message.recent_blockhash()
    }

    /// Whether it succeeded.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// The bytes that a program returned last; none if no program did.
    #[must_use]
    pub fn returned(&self) -> &[u8] {
        self.return_data.as_ref().map_or(&[], |it| &it.data)
    }

    /// What happened to an account of the transaction.
    #[must_use]
    pub fn account(&self, key: &Pubkey) -> Option<&AccountChange> {
        self.accounts.iter().find(|change| change.key == *key)
    }

    /// The error of the instruction that failed, if one did.
    #[must_use]
    pub fn instruction_error(&self) -> Option<&InstructionError> {
        match &self.result {
            Err(TransactionError::InstructionError(_, error)) => Some(error),
            _ => None,
        }
    }

    /// An account afterwards, if it is one of the transaction's and there.
    #[must_use]
    pub fn resulting_account(&self, key: &Pubkey) -> Option<Account> {
        self.account(key)?.after().cloned().map(Account::from)
    }

    /// The balances before, in the order of the addresses.
    #[must_use]
    pub fn pre_balances(&self) -> Vec<u64> {
        self.accounts.iter().map(|change| lamports(change.before.as_ref())).collect()
    }

    /// The balances after, in the order of the addresses.
    #[must_use]
    pub fn post_balances(&self) -> Vec<u64> {
        self.accounts.iter().map(|change| lamports(change.after())).collect()
    }

    /// The accounts that are not as they were.
    pub fn changes(&self) -> impl Iterator<Item = &AccountChange> {
        self.accounts.iter().filter(|change| change.before.as_ref() != change.after())
    }

    /// The accounts that are not as they were, in words.
    #[must_use]
    pub fn diff(&self) -> String {
        report::diff(self)
    }

    /// Every instruction that was started, in order: those that one called behind it.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame<'_>> {
        let key = |place: &u8| {
            self.accounts.get(usize::from(*place)).map(|change| change.key).unwrap_or_default()
        };
        let mut frames = Vec::new();
        let own = self.transaction.message.instructions().iter();
        for (place, (own, units)) in own.zip(&self.instruction_compute_units).enumerate() {
            frames.push(Frame {
                instruction: place,
                depth: 1,
                program_id: key(&own.program_id_index),
                accounts: own.accounts.iter().map(key).collect(),
                data: &own.data,
                compute_units: *units,
            });
            let called = self.inner_instructions.get(place).map(Vec::as_slice).unwrap_or_default();
            frames.extend(called.iter().map(|called| Frame {
                instruction: place,
                depth: called.stack_height.into(),
                program_id: key(&called.program_index),
                accounts: called.accounts.iter().map(key).collect(),
                data: &called.data,
                compute_units: called.compute_units,
            }));
        }
        frames
    }

    /// The instructions that were started, one a line, with what each used.
    #[must_use]
    pub fn call_tree(&self) -> String {
        report::call_tree(self)
    }
}

fn lamports(account: Option<&AccountSharedData>) -> u64 {
    account.map_or(0, ReadableAccount::lamports)
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        report::receipt(self, f)
    }
}

/// A transaction that did not succeed, with all that is known about why.
///
/// It shows itself with program, instruction, depth and the end of the log.
#[derive(Clone)]
pub struct FailedTransaction {
    /// Why.
    pub error: TransactionError,
    /// What became of it.
    pub receipt: Arc<Receipt>,
}

impl FailedTransaction {
    /// The error of the instruction that failed, if one did.
    #[must_use]
    pub fn instruction_error(&self) -> Option<&InstructionError> {
        self.receipt.instruction_error()
    }

    /// The number that a program failed with, if it had one of its own.
    #[must_use]
    pub fn custom(&self) -> Option<u32> {
        match self.instruction_error()? {
            InstructionError::Custom(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for FailedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        report::receipt(&self.receipt, f)
    }
}

impl core::error::Error for FailedTransaction {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Sees which program failed first, on behalf of receipts, and passes on what it sees.
pub(crate) struct Witness<'a> {
    culprit: Option<Culprit>,
    next: Option<&'a mut dyn Inspector>,
    /// How many of the transaction's own instructions were started.
    started: usize,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(next: Option<&'a mut dyn Inspector>) -> Self {
        Self { culprit: None, next, started: 0 }
    }

    /// The program that made a transaction fail. Some program may fail, and its caller, which is a
    /// builtin one, go on.
    pub(crate) fn culprit_of(self, processed: &Processed) -> Option<Culprit> {
        self.culprit.filter(|_| processed.result.is_err())
    }
}

impl Inspector for Witness<'_> {
    fn before(&mut self, context: &InvokeContext<'_>) {
        if context.stack_height() == 1 {
            self.started = self.started.saturating_add(1);
        }
        if let Some(next) = &mut self.next {
            next.before(context);
        }
    }

    fn after(&mut self, context: &InvokeContext<'_>, result: &Result<(), InstructionError>) {
        if let (Err(error), None) = (result, &self.culprit) {
            self.culprit = Some(Culprit {
                instruction: self.started.saturating_sub(1),
                depth: context.stack_height(),
                program_id: context.instruction().program_id,
                error: error.clone(),
            });
        }
        if let Some(next) = &mut self.next {
            next.after(context, result);
        }
    }
}
