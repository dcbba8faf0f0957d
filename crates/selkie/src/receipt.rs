//! Receipts: the results of transactions.

use core::ops::Deref;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use selkie_case::Case;
use selkie_inspect::{SourceMap, debug_file};
use selkie_svm::{
    AccountChange, InvokeContext, Processed, SignedTransaction, program_cache::ProgramFile,
    stop::Trap,
};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_hash::Hash;
use solana_instruction_error::InstructionError;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_signature::Signature;
use solana_transaction_error::TransactionError;

use crate::{
    names::Given,
    origin::{Origins, staleness},
    trap::TrapReport,
};

/// The stage at which processing of a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// Dropped before processing: it paid no fee and changed nothing.
    Dropped,
    /// Paid its fee, but its accounts or programs could not be loaded.
    FeesOnly,
    /// Executed, successfully or not.
    Executed,
}

/// The result of a transaction or of directly processed instructions. It dereferences to
/// [`Processed`], the runtime's part of the result: `receipt.logs`, `receipt.compute_units` and so
/// on.
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
    /// The stage at which processing ended.
    pub stage: Stage,
    /// The transaction. Its signatures are made when they are read, if it was signed here.
    pub transaction: SignedTransaction,
    /// The slot in which it was processed.
    pub slot: u64,
    /// The rent parameters of that slot.
    pub rent: Rent,
    /// The instruction that failed first, i.e. the innermost one.
    pub failed_instruction: Option<FailedInstruction>,
    /// The runtime's part of the result. `processed.accounts` are in the order of the message's
    /// account keys.
    pub processed: Box<Processed>,
    /// What [`Receipt::trap`] needs besides `processed`.
    pub(crate) evidence: Option<Box<Evidence>>,
}

/// Inputs of explanations that are computed on demand.
#[derive(Clone, Default, Debug)]
pub(crate) struct Evidence {
    /// The ELF file of the program that trapped.
    pub(crate) file: Option<ProgramFile>,
    /// The files that programs were added from.
    pub(crate) origins: Option<Arc<Origins>>,
    /// The names that were given to accounts.
    pub(crate) names: Option<Arc<Given>>,
    /// The transaction with the state before it, as far as the receipt does not have it.
    pub(crate) case: Option<Case>,
    /// The file to which it was recorded.
    pub(crate) recording: Option<PathBuf>,
}

/// A receipt is mostly the runtime's result.
impl Deref for Receipt {
    type Target = Processed;

    fn deref(&self) -> &Processed {
        &self.processed
    }
}

/// The instruction that made a transaction fail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedInstruction {
    /// Index of the top-level instruction in which it ran, from 0.
    pub instruction_index: usize,
    /// Its stack height: 1 for a top-level instruction.
    pub stack_height: usize,
    /// The program that failed.
    pub program_id: Pubkey,
    /// The error it failed with; its callers may have returned another one.
    pub error: InstructionError,
    /// Its accounts, in the order that the program saw.
    pub accounts: Vec<FailedAccount>,
}

/// An account of an instruction that failed, as it was then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FailedAccount {
    /// The address.
    pub key: Pubkey,
    /// Whether it signed the instruction.
    pub is_signer: bool,
    /// Whether the instruction could write to it.
    pub is_writable: bool,
    /// Its owner.
    pub owner: Pubkey,
    /// Its balance. An account without lamports and data does not exist.
    pub lamports: u64,
    /// The length of its data, in bytes.
    pub data_len: usize,
    /// Whether it is a program.
    pub is_executable: bool,
}

/// An instruction that was invoked: a top-level instruction, or an inner instruction (CPI).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation<'a> {
    /// Index of the top-level instruction that it belongs to, from 0.
    pub instruction_index: usize,
    /// Its stack height: 1 for a top-level instruction.
    pub stack_height: usize,
    /// The program that it invokes.
    pub program_id: Pubkey,
    /// The accounts that are passed to it.
    pub accounts: Vec<Pubkey>,
    /// Its instruction data.
    pub data: &'a [u8],
    /// The compute units that it consumed, including those of its own CPIs.
    pub compute_units: u64,
}

impl Receipt {
    /// Returns a receipt of no transaction, to be overwritten.
    pub(crate) fn empty() -> Self {
        Self {
            stage: Stage::Dropped,
            transaction: SignedTransaction::default(),
            slot: 0,
            rent: Rent::default(),
            failed_instruction: None,
            processed: Box::default(),
            evidence: None,
        }
    }

    /// Returns the receipt of a dropped transaction.
    pub(crate) fn dropped(
        transaction: SignedTransaction,
        slot: u64,
        rent: Rent,
        why: TransactionError,
    ) -> Self {
        let processed = Box::new(Processed { result: Err(why), ..Processed::default() });
        Self { transaction, slot, rent, processed, ..Self::empty() }
    }

    /// Explains the trap that stopped a program, if one did: the instruction, and function, file
    /// and line as far as debug information is found: in the program, in the `.so.debug` file next
    /// to it, or [where programs are built](selkie_inspect::debug_folders). Reads files and symbols
    /// when called.
    #[must_use]
    pub fn trap(&self) -> Option<TrapReport> {
        let stopped = self.stopped.as_ref()?;
        let file = self.evidence.as_ref().and_then(|it| it.file.as_ref());
        let elf = file.map_or(&[][..], ProgramFile::bytes);
        let debug = self.origin(&stopped.program_id).and_then(|path| debug_file(path, elf));
        let map = SourceMap::load(debug.as_ref().map_or(elf, |it| &it.bytes));
        let mut report = TrapReport::new(&stopped.stop(), elf, &map, &self.logs);
        if matches!(stopped.stop().trap, Trap::ExceededMaxInstructions) {
            report.notes.push(format!(
                "it had {} compute units: the compute budget program sets a higher limit",
                self.compute_unit_limit
            ));
        }
        Some(report)
    }

    /// Returns the path that a program was added from.
    pub(crate) fn origin(&self, program: &Pubkey) -> Option<&Path> {
        let origins = self.evidence.as_ref()?.origins.as_ref()?;
        origins.get(program).map(PathBuf::as_path)
    }

    /// Returns the ELF file of a program of the transaction, if the receipt keeps the state before it.
    pub(crate) fn program_elf(&self, program: &Pubkey) -> Option<Vec<u8>> {
        let case = self.case()?;
        let file = ProgramFile::find(case.accounts.get(program)?, &case)?;
        Some(file.bytes().to_vec())
    }

    /// Returns a note for each invoked program that is older than its sources.
    pub(crate) fn stale_programs(&self) -> Vec<String> {
        let mut called: Vec<Pubkey> =
            self.invocations().iter().map(|invocation| invocation.program_id).collect();
        called.sort_unstable();
        called.dedup();
        called.iter().filter_map(|id| staleness(self.origin(id)?)).collect()
    }

    /// Returns the transaction's first signature, by which it is known; the default one if it has
    /// none. It is made on the first call, if the transaction was signed here.
    #[must_use]
    pub fn signature(&self) -> Signature {
        self.transaction.signature().unwrap_or_default()
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &VersionedMessage {
        self.transaction.message()
    }

    /// Returns the message's recent blockhash or durable nonce.
    #[must_use]
    pub fn blockhash(&self) -> &Hash {
        self.message().recent_blockhash()
    }

    /// Returns whether the transaction succeeded.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// Returns the return data, empty if no program set any.
    #[must_use]
    pub fn returned(&self) -> &[u8] {
        self.return_data.as_ref().map_or(&[], |it| &it.data)
    }

    /// Returns the change of an account of the transaction; `None` if the transaction does not
    /// refer to it.
    #[must_use]
    pub fn account(&self, key: &Pubkey) -> Option<&AccountChange> {
        self.accounts.iter().find(|change| change.key == *key)
    }

    /// Returns the error of the failed instruction; `None` if the transaction succeeded or failed
    /// outside of an instruction.
    #[must_use]
    pub fn instruction_error(&self) -> Option<&InstructionError> {
        match &self.result {
            Err(TransactionError::InstructionError(_, error)) => Some(error),
            _ => None,
        }
    }

    /// Returns an account as it is after the transaction; `None` if it does not exist or the
    /// transaction does not refer to it.
    #[must_use]
    pub fn resulting_account(&self, key: &Pubkey) -> Option<Account> {
        self.account(key)?.after().cloned().map(Account::from)
    }

    /// Returns the balances before the transaction, in the order of the account keys.
    #[must_use]
    pub fn pre_balances(&self) -> Vec<u64> {
        self.accounts.iter().map(|change| lamports(change.before.as_ref())).collect()
    }

    /// Returns the balances after the transaction, in the order of the account keys.
    #[must_use]
    pub fn post_balances(&self) -> Vec<u64> {
        self.accounts.iter().map(|change| lamports(change.after())).collect()
    }

    /// Returns the accounts that differ from before.
    pub fn changes(&self) -> impl Iterator<Item = &AccountChange> {
        self.accounts.iter().filter(|change| change.before.as_ref() != change.after())
    }

    /// Returns every instruction that was invoked, in order of invocation: inner instructions
    /// follow their caller.
    #[must_use]
    pub fn invocations(&self) -> Vec<Invocation<'_>> {
        let key = |index: &u8| {
            self.accounts.get(usize::from(*index)).map(|change| change.key).unwrap_or_default()
        };
        let mut invocations = Vec::new();
        let top_level = self.message().instructions().iter();
        for (index, (it, units)) in top_level.zip(&self.instruction_compute_units).enumerate() {
            invocations.push(Invocation {
                instruction_index: index,
                stack_height: 1,
                program_id: key(&it.program_id_index),
                accounts: it.accounts.iter().map(key).collect(),
                data: &it.data,
                compute_units: *units,
            });
            let inner = self.inner_instructions.get(index).map(Vec::as_slice).unwrap_or_default();
            invocations.extend(inner.iter().map(|it| Invocation {
                instruction_index: index,
                stack_height: it.stack_height.into(),
                program_id: key(&it.program_index),
                accounts: it.accounts.iter().map(key).collect(),
                data: &it.data,
                compute_units: it.compute_units,
            }));
        }
        invocations
    }
}

/// Returns the accounts of the current instruction.
pub(crate) fn accounts(context: &InvokeContext<'_>) -> Vec<FailedAccount> {
    let all = context.instruction().accounts.iter().filter_map(|it| {
        let found = context.accounts().get(usize::from(it.index)).ok()?;
        Some(FailedAccount {
            key: found.key,
            is_signer: it.is_signer,
            is_writable: it.is_writable,
            owner: *found.account.owner(),
            lamports: found.account.lamports(),
            data_len: found.account.data().len(),
            is_executable: found.account.executable(),
        })
    });
    all.collect()
}

fn lamports(account: Option<&AccountSharedData>) -> u64 {
    account.map_or(0, ReadableAccount::lamports)
}

/// A transaction that failed or was dropped. `Display` shows the error, the program, the
/// instruction, its stack height and the end of the log.
///
/// `Debug`, which tests print that unwrap it or return it, ends with the command that opens the debugger
/// where the transaction failed. It writes the transaction to `target/selkie-replays`, which keeps the
/// newest 64, unless `SELKIE_RECORD` has recorded it already.
#[derive(Clone)]
pub struct FailedTransaction {
    /// The transaction error.
    pub error: TransactionError,
    /// The receipt.
    pub receipt: Arc<Receipt>,
}

impl FailedTransaction {
    /// Returns the error of the failed instruction; `None` if the transaction failed outside of an
    /// instruction.
    #[must_use]
    pub fn instruction_error(&self) -> Option<&InstructionError> {
        self.receipt.instruction_error()
    }

    /// Returns the code of a custom program error.
    #[must_use]
    pub fn custom(&self) -> Option<u32> {
        match self.instruction_error()? {
            InstructionError::Custom(number) => Some(*number),
            _ => None,
        }
    }
}

impl core::error::Error for FailedTransaction {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}
