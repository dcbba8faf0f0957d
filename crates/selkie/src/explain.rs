//! Why a transaction failed, in sentences with the names of its accounts: which of them did not sign,
//! who owns them, what is missing.
//!
//! Errors of the runtime name no account, since they are what every client sees. What is said here comes
//! from the receipt and, of transactions that were dropped, from the chain.

use selkie_isa::plain;
use selkie_layout::{instruction::Instruction as Row, role::Role};
use selkie_svm::{
    TransactionBudget, budget::Requests, check::account_locks_max, sysvars::minimum_balance,
};
use solana_account::ReadableAccount as _;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_message::{Message, VersionedMessage};
use solana_pubkey::Pubkey;
use solana_sdk_ids::{native_loader, system_program, sysvar};
use solana_signature::Signature;
use solana_signer::Signer;
use solana_transaction_error::TransactionError;

use crate::{
    custom_error::ErrorSources,
    interface::Interface,
    names,
    receipt::{FailedAccount, FailedInstruction, Receipt},
    signer::AnySigner,
    svm::Svm,
};

/// The accounts or programs that a sentence lists.
const LISTED_MAX: usize = 4;

/// Errors of Anchor's framework about the accounts of an instruction.
mod anchor {
    pub(super) const CONSTRAINT_SIGNER: u32 = 2002;
    pub(super) const CONSTRAINT_OWNER: u32 = 2004;
    pub(super) const NOT_ENOUGH_KEYS: u32 = 3005;
    pub(super) const OWNED_BY_WRONG_PROGRAM: u32 = 3007;
    pub(super) const NOT_SIGNER: u32 = 3010;
    pub(super) const NOT_SYSTEM_OWNED: u32 = 3011;
    pub(super) const NOT_INITIALIZED: u32 = 3012;
}

/// What an error says of an instruction's accounts.
enum Fault {
    Signature,
    Owner,
    Missing,
    ReadOnly,
    TooFew,
    /// The first account has fewer lamports than are to leave it.
    Lamports,
}

/// The system program's error of an account without enough lamports.
const RESULT_WITH_NEGATIVE_LAMPORTS: u32 = 1;

impl Fault {
    /// Returns what an error is about. Numbers of Anchor's errors count if `is_anchor`.
    #[allow(deprecated, reason = "programs still return `NotEnoughAccountKeys`")]
    fn of(failed: &FailedInstruction, is_anchor: bool) -> Option<Self> {
        let is_system = failed.program_id == system_program::ID;
        Some(match &failed.error {
            InstructionError::Custom(RESULT_WITH_NEGATIVE_LAMPORTS) if is_system => Self::Lamports,
            InstructionError::MissingRequiredSignature => Self::Signature,
            InstructionError::IncorrectProgramId
            | InstructionError::InvalidAccountOwner
            | InstructionError::IllegalOwner
            | InstructionError::ExternalAccountDataModified
            | InstructionError::ExternalAccountLamportSpend => Self::Owner,
            InstructionError::UninitializedAccount | InstructionError::InvalidAccountData => {
                Self::Missing
            }
            InstructionError::ReadonlyDataModified | InstructionError::ReadonlyLamportChange => {
                Self::ReadOnly
            }
            InstructionError::NotEnoughAccountKeys | InstructionError::MissingAccount => {
                Self::TooFew
            }
            InstructionError::Custom(code) if is_anchor => match *code {
                anchor::CONSTRAINT_SIGNER | anchor::NOT_SIGNER => Self::Signature,
                anchor::CONSTRAINT_OWNER
                | anchor::OWNED_BY_WRONG_PROGRAM
                | anchor::NOT_SYSTEM_OWNED => Self::Owner,
                anchor::NOT_INITIALIZED => Self::Missing,
                anchor::NOT_ENOUGH_KEYS => Self::TooFew,
                _ => return None,
            },
            _ => return None,
        })
    }
}

impl Receipt {
    /// Returns what is known of the cause of a failure, one sentence each: which account did not sign,
    /// whose owner is another one than the program, which program does not exist. Reads files when
    /// called.
    #[must_use]
    pub fn explanations(&self) -> Vec<String> {
        match (&self.result, &self.failed_instruction) {
            (Ok(()), _) => Vec::new(),
            (Err(_), Some(failed)) => self.explain_instruction(failed),
            (Err(error), None) => self.explain_programs(error),
        }
    }

    /// Names the programs that do not exist, or are none.
    fn explain_programs(&self, error: &TransactionError) -> Vec<String> {
        let is_missing = match error {
            TransactionError::ProgramAccountNotFound => true,
            TransactionError::InvalidProgramForExecution => false,
            _ => return Vec::new(),
        };
        let mut sentences = Vec::new();
        for (number, instruction) in self.message().instructions().iter().enumerate() {
            let index = usize::from(instruction.program_id_index);
            let Some(change) = self.accounts.get(index) else { continue };
            let program = self.show(&change.key);
            match &change.before {
                None if is_missing => {
                    sentences.push(format!(
                        "instruction #{number} calls {program}: no account is there"
                    ));
                }
                Some(account) if !is_missing && !is_loader(account.owner()) => {
                    let owner = self.show(account.owner());
                    sentences.push(format!(
                        "instruction #{number} calls {program}, which is no program: its owner is \
                         {owner}, not a loader"
                    ));
                }
                _ => {}
            }
        }
        if is_missing && !sentences.is_empty() {
            let added = self.programs_from_files();
            let added: Vec<String> = added.iter().map(|it| self.show(it)).collect();
            if !added.is_empty() {
                sentences.push(format!("programs from files are {}", list(&added)));
            }
        }
        sentences
    }

    /// Says of the accounts of a failed instruction what its error is about.
    fn explain_instruction(&self, failed: &FailedInstruction) -> Vec<String> {
        let path = self.origin(&failed.program_id);
        let sources = ErrorSources { logs: &self.logs, path, elf: None };
        let data = self.failed_data(failed).unwrap_or_default();
        failed.explain(data, &sources, &|key| self.name_of(key))
    }

    /// Returns the data of the failed instruction.
    fn failed_data(&self, failed: &FailedInstruction) -> Option<&[u8]> {
        let is_it = |it: &crate::receipt::Invocation<'_>| {
            it.instruction_index == failed.instruction_index
                && it.stack_height == failed.stack_height
                && it.program_id == failed.program_id
        };
        self.invocations().into_iter().rev().find(is_it).map(|it| it.data)
    }
}

impl FailedInstruction {
    /// Returns what is known of the cause of the failure, as [`Receipt::explanations`]. `data` are those
    /// of the instruction, and `name_of` returns the names of accounts. Reads files when called.
    #[must_use]
    pub fn explain(
        &self,
        data: &[u8],
        sources: &ErrorSources<'_>,
        name_of: &dyn Fn(&Pubkey) -> Option<String>,
    ) -> Vec<String> {
        let interface = Interface::find(&self.program_id, sources.path);
        let said = sources.logs.iter().any(|line| line.contains("AnchorError"));
        let Some(fault) = Fault::of(self, said || interface.is_some()) else {
            return Vec::new();
        };
        let row = interface.as_ref().and_then(|it| it.instruction(data));
        let named: &[Role] = row.map(|it| &*it.roles).unwrap_or_default();
        let sentence = match fault {
            Fault::TooFew => Some(self.too_few(row, named)),
            Fault::Lamports => self.accounts.first().map(|it| {
                let shown = names::show(&it.key, name_of(&it.key).as_deref());
                format!("account #0 {shown} has {} lamports", it.lamports)
            }),
            _ => self.explain_accounts(&fault, named, name_of),
        };
        sentence.into_iter().collect()
    }

    fn explain_accounts(
        &self,
        fault: &Fault,
        named: &[Role],
        name_of: &dyn Fn(&Pubkey) -> Option<String>,
    ) -> Option<String> {
        let show = |key: &Pubkey| names::show(key, name_of(key).as_deref());
        let is_data = |it: &FailedAccount| !it.is_executable && it.owner != sysvar::ID;
        let is_absent = |it: &FailedAccount| it.lamports == 0 && it.data_len == 0;
        let signs = |index: usize| named.get(index).is_none_or(|it| it.is_signer);
        let is_it = |index: usize, it: &FailedAccount| match fault {
            Fault::Signature => !it.is_signer && is_data(it) && signs(index),
            Fault::Owner => it.owner != self.program_id && is_data(it) && !it.is_signer,
            Fault::Missing => is_absent(it),
            Fault::ReadOnly => !it.is_writable && is_data(it),
            Fault::TooFew | Fault::Lamports => false,
        };
        let found = self.accounts.iter().enumerate().filter(|(index, it)| is_it(*index, it));
        let shown: Vec<String> = found
            .map(|(index, it)| {
                // The name that the program's interface gives it comes first.
                let own = name_of(&it.key);
                let given = named.get(index).map(|it| plain::line(&it.name));
                let given = given.filter(|given| Some(&**given) != own.as_deref());
                let given = given.map_or_else(String::new, |it| format!("`{it}` "));
                let shown = format!("#{index} {given}{}", names::show(&it.key, own.as_deref()));
                match fault {
                    Fault::Owner => format!("{shown} of {}", show(&it.owner)),
                    _ => shown,
                }
            })
            .collect();
        let (is_one, list) = (shown.len() == 1, list(&shown));
        if shown.is_empty() {
            return None;
        }
        Some(match fault {
            Fault::Signature if is_one => format!("account {list} did not sign"),
            Fault::Signature => format!("these accounts did not sign: {list}"),
            Fault::Owner => {
                let program = show(&self.program_id);
                let noun = if is_one { "account" } else { "accounts" };
                format!("the program {program} does not own {noun} {list}")
            }
            Fault::Missing if is_one => format!("account {list} does not exist"),
            Fault::Missing => format!("these accounts do not exist: {list}"),
            Fault::ReadOnly if is_one => format!("account {list} is read-only here"),
            Fault::ReadOnly | Fault::TooFew | Fault::Lamports => {
                format!("read-only accounts: {list}")
            }
        })
    }

    fn too_few(&self, row: Option<&Row>, named: &[Role]) -> String {
        let count = self.accounts.len();
        match named.get(count..).filter(|it| !it.is_empty()) {
            Some(missing) => {
                let name = row.map(|it| plain::line(&it.name)).unwrap_or_default();
                let missing: Vec<String> =
                    missing.iter().map(|it| format!("`{}`", plain::line(&it.name))).collect();
                format!("`{name}` was given {count} accounts, without {}", list(&missing))
            }
            None => format!("the instruction was given {count} accounts"),
        }
    }
}

/// Renders a list; of a long one the first items, and how many there are besides.
fn list(items: &[String]) -> String {
    let shown = items.get(..LISTED_MAX).unwrap_or(items).join(", ");
    match items.len().saturating_sub(LISTED_MAX) {
        0 => shown,
        more => format!("{shown}, and {more} more"),
    }
}

fn is_loader(owner: &Pubkey) -> bool {
    *owner == native_loader::ID || selkie_svm::Loader::of(owner).is_some()
}

impl Svm {
    /// Explains why a transaction was dropped before it paid a fee.
    #[cold]
    pub(crate) fn explain_drop(
        &self,
        transaction: &selkie_svm::Transaction,
        error: &TransactionError,
    ) -> Vec<String> {
        let Some(payer) = transaction.static_keys().first() else { return Vec::new() };
        match error {
            TransactionError::AccountNotFound => self.explain_absence(payer),
            TransactionError::InsufficientFundsForFee => {
                let (has, fee) = (self.balance(payer), self.fee(transaction));
                let fee = fee.map_or_else(String::new, |fee| format!(", and the fee is {fee}"));
                vec![format!("the fee payer {} has {has} lamports{fee}", self.show(payer))]
            }
            TransactionError::InsufficientFundsForRent { account_index: 0 } => {
                let len = self.shared_account(payer).map_or(0, |it| it.data().len());
                let left = self.balance(payer).saturating_sub(self.fee(transaction).unwrap_or(0));
                let least = minimum_balance(&self.rent(), len);
                vec![format!(
                    "the fee would leave the payer {} {left} lamports, and it needs {least} or none",
                    self.show(payer)
                )]
            }
            TransactionError::InvalidAccountForFee => {
                let owner = self.shared_account(payer).map(|it| *it.owner()).unwrap_or_default();
                vec![format!(
                    "the fee payer {} is owned by {}; accounts of the system program without data pay \
                     fees",
                    self.show(payer),
                    self.show(&owner)
                )]
            }
            TransactionError::TooManyAccountLocks => {
                let message = transaction.message();
                let tables = message.address_table_lookups().into_iter().flatten();
                let loaded = tables
                    .map(|it| it.writable_indexes.len().saturating_add(it.readonly_indexes.len()));
                let count = transaction.static_keys().len().saturating_add(loaded.sum());
                let limit = account_locks_max(self.features());
                vec![format!("the transaction has {count} accounts, and the limit is {limit}")]
            }
            TransactionError::AccountLoadedTwice => {
                let keys = transaction.static_keys();
                let twice = keys
                    .iter()
                    .enumerate()
                    .find(|(index, key)| keys.iter().take(*index).any(|before| before == *key));
                let shown = twice.map(|(_, key)| format!("{} is listed twice", self.show(key)));
                shown.into_iter().collect()
            }
            TransactionError::SignatureFailure => {
                let signatures = transaction.signatures().iter().zip(transaction.static_keys());
                let missing = signatures.filter(|(it, _)| **it == Signature::default());
                let missing: Vec<String> = missing.map(|(_, key)| self.show(key)).collect();
                let is_one = missing.len() == 1;
                let (noun, verb) = if is_one { ("signature", "is") } else { ("signatures", "are") };
                match missing.is_empty() {
                    true => vec!["a signature is of another message or key".to_owned()],
                    false => vec![format!("the {noun} of {} {verb} missing", list(&missing))],
                }
            }
            TransactionError::AddressLookupTableNotFound
            | TransactionError::InvalidAddressLookupTableOwner
            | TransactionError::InvalidAddressLookupTableData
            | TransactionError::InvalidAddressLookupTableIndex => self.explain_tables(transaction),
            _ => Vec::new(),
        }
    }

    /// Says that an account does not exist, and which account of the same name does.
    fn explain_absence(&self, key: &Pubkey) -> Vec<String> {
        let name = self.name_of(key);
        let same = name.iter().flat_map(|name| names::of_name(name));
        let same = same.filter(|it| it != key && self.balance(it) > 0);
        let absent = format!("there is no account at {}", self.show(key));
        let same = same.map(|it| {
            let name = name.clone().unwrap_or_default();
            format!(
                "another address of the name {name}, {it}, has {} lamports: `keypair` and `address` make \
                 different addresses of a name",
                self.balance(&it)
            )
        });
        core::iter::once(absent).chain(same).collect()
    }

    /// Says what is at the addresses of a transaction's lookup tables.
    fn explain_tables(&self, transaction: &selkie_svm::Transaction) -> Vec<String> {
        let tables = transaction.message().address_table_lookups().into_iter().flatten();
        let found = tables.map(|table| {
            let shown = self.show(&table.account_key);
            match self.shared_account(&table.account_key) {
                None => format!("there is no account at {shown}"),
                Some(account) => {
                    let (owner, len) = (self.show(account.owner()), account.data().len());
                    format!("account {shown} is owned by {owner} and has {len} bytes of data")
                }
            }
        });
        found.collect()
    }

    /// Returns the fee of a transaction, in lamports.
    fn fee(&self, transaction: &selkie_svm::Transaction) -> Option<u64> {
        let mut requests = Requests::default();
        requests.read(transaction).ok()?;
        let price = self.environment().lamports_per_signature;
        let budget = TransactionBudget::of(transaction, &requests, self.features(), price);
        Some(budget.ok()?.fee.total())
    }

    /// Says which signers of instructions are missing, and which are given but not required.
    pub(crate) fn explain_signers(
        &self,
        instructions: &[Instruction],
        signers: &[AnySigner<'_>],
    ) -> Vec<String> {
        let given: Vec<Pubkey> = signers.iter().filter_map(|it| it.try_pubkey().ok()).collect();
        let message = VersionedMessage::Legacy(Message::new(instructions, given.first()));
        let count = usize::from(message.header().num_required_signatures);
        let required = message.static_account_keys().get(..count).unwrap_or_default();
        let missing = required.iter().filter(|key| !given.contains(key)).map(|key| {
            format!("{} did not sign{}", self.show(key), self.use_of(key, instructions))
        });
        let others = given.iter().filter(|key| !required.contains(key));
        let others = others.map(|key| format!("{} signs no instruction", self.show(key)));
        missing.chain(others).take(LISTED_MAX).collect()
    }

    /// Says which instruction takes an account as a signer.
    fn use_of(&self, key: &Pubkey, instructions: &[Instruction]) -> String {
        let uses = instructions.iter().enumerate().find_map(|(number, it)| {
            let index = it.accounts.iter().position(|it| it.pubkey == *key && it.is_signer)?;
            Some((number, index, it.program_id))
        });
        uses.map_or_else(String::new, |(number, index, program)| {
            let program = self.show(&program);
            format!(": it is account #{index} of instruction #{number}, of program {program}")
        })
    }
}

impl Receipt {
    /// Returns the programs that were added from files.
    fn programs_from_files(&self) -> Vec<Pubkey> {
        let origins = self.evidence.as_ref().and_then(|it| it.origins.as_ref());
        origins.map(|it| it.keys().copied().collect()).unwrap_or_default()
    }
}
