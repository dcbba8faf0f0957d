//! Instructions processed outside of a transaction: without signatures, fees and blockhashes, on
//! the accounts of the chain.

use std::collections::BTreeMap;

use selkie_svm::{
    AccountChange, AccountStore, Inspector, Loader, Options, ProgramEntry, TransactionPrograms,
    execute::execute_instructions, transaction_accounts::TransactionAccount,
};
use solana_account::{Account, AccountSharedData, ReadableAccount};
use solana_instruction::Instruction;
use solana_message::{
    Message, MessageHeader, VersionedMessage, compiled_instruction::CompiledInstruction,
};
use solana_pubkey::Pubkey;
use solana_sdk_ids::sysvar;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    receipt::{FailureRecorder, Receipt, Stage},
    recorded::Direct,
    store::Accounts,
    svm::Svm,
};

/// The chain's accounts, overlaid with given ones.
struct Overlay<'a> {
    given: BTreeMap<Pubkey, AccountSharedData>,
    base: &'a Accounts,
}

impl AccountStore for Overlay<'_> {
    fn account(&self, key: &Pubkey) -> Option<AccountSharedData> {
        self.given.get(key).cloned().or_else(|| self.base.account(key))
    }
}

impl Svm {
    /// Processes one instruction on the given accounts, and on those of the chain where none is
    /// given. Changes no state; [`Svm::commit`] applies the result.
    ///
    /// The receipt is that of a transaction without fee. The compute unit limit is the maximum of a
    /// transaction, unless [`Svm::with_instruction_budget`] sets another one.
    ///
    /// ```
    /// use selkie::{address, system, Account, Check, Svm};
    ///
    /// let (alice, bob) = (address("alice"), address("bob"));
    /// let svm = Svm::new();
    /// let rich = Account { lamports: 10, ..Account::default() };
    /// let receipt =
    ///     svm.process_instruction(&system::transfer(&alice, &bob, 4), &[(alice, rich)]);
    /// receipt.assert(Check::success().compute_units(150).account(&bob).lamports(4));
    /// ```
    #[must_use]
    pub fn process_instruction(
        &self,
        instruction: &Instruction,
        accounts: &[(Pubkey, Account)],
    ) -> Receipt {
        self.process_instructions(core::slice::from_ref(instruction), accounts)
    }

    /// Processes several instructions that share compute units, logs and the instructions sysvar,
    /// like those of one transaction. If one fails, no account changes.
    #[must_use]
    pub fn process_instructions(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
    ) -> Receipt {
        let given = accounts.iter().map(|(key, account)| (*key, account.clone().into()));
        self.process_directly(instructions, given.collect(), None)
    }

    /// Processes instructions like [`Svm::process_instructions`], and calls `inspector` before and
    /// after each.
    #[must_use]
    pub fn process_instructions_inspected(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
        inspector: &mut dyn Inspector,
    ) -> Receipt {
        let given = accounts.iter().map(|(key, account)| (*key, account.clone().into()));
        self.process_directly(instructions, given.collect(), Some(inspector))
    }

    /// Processes instructions separately, each on the accounts that the ones before left, until one
    /// fails. Returns a receipt for each that was started.
    #[must_use]
    pub fn process_instruction_chain(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
    ) -> Vec<Receipt> {
        let given = accounts.iter().map(|(key, account)| (*key, account.clone().into()));
        let mut given: BTreeMap<Pubkey, AccountSharedData> = given.collect();
        let mut receipts = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            let one = core::slice::from_ref(instruction);
            let receipt = self.process_directly(one, given.clone(), None);
            let is_ok = receipt.is_ok();
            for change in &receipt.accounts {
                given.extend(change.write.clone().map(|account| (change.key, account)));
            }
            receipts.push(receipt);
            if !is_ok {
                break;
            }
        }
        receipts
    }

    /// Applies the account changes of directly processed instructions to the chain.
    pub fn commit(&mut self, receipt: &Receipt) {
        for change in &receipt.accounts {
            if let Some(account) = &change.write {
                self.journal.write_account(&change.key, account);
            }
        }
    }

    fn process_directly(
        &self,
        instructions: &[Instruction],
        given: BTreeMap<Pubkey, AccountSharedData>,
        inspector: Option<&mut dyn Inspector>,
    ) -> Receipt {
        let overlay = Overlay { given, base: &self.journal.state().accounts };
        let (message, keys) = compile(instructions, &overlay.given);
        let named = keys.iter().filter(|key| **key != sysvar::instructions::ID);
        let accounts: Vec<(Pubkey, AccountSharedData)> =
            named.map(|key| (*key, overlay.account(key).unwrap_or_default())).collect();
        let found: BTreeMap<Pubkey, AccountSharedData> =
            keys.iter().filter_map(|key| Some((*key, overlay.account(key)?))).collect();
        let programs = self.find_programs(&accounts, &overlay);
        let options = Options { budget: self.instruction_budget, engine: self.engine };
        let mut recorder = FailureRecorder::new(inspector);
        let (mut processed, after) = self.workspaces.with(|workspace| {
            execute_instructions(
                instructions,
                accounts.into_iter().map(TransactionAccount::from).collect(),
                &programs,
                self.environment(),
                &options,
                Some(&mut recorder),
                workspace,
            )
        });
        processed.accounts = changes(instructions, after, found, processed.result.is_ok());
        let failed_instruction = recorder.failed_instruction(&processed);
        let message = VersionedMessage::Legacy(message);
        let transaction = VersionedTransaction { signatures: Vec::new(), message }.into();
        let (slot, rent) = (self.slot(), self.rent());
        let evidence = self.evidence(&processed, &overlay);
        let mut receipt = Receipt {
            stage: Stage::Executed,
            transaction,
            slot,
            rent,
            failed_instruction,
            processed,
            evidence,
        };
        let given = overlay.given.keys().copied().collect();
        let (instructions, budget) = (instructions.to_vec(), self.instruction_budget);
        self.keep_replay(&mut receipt, Some(Direct { instructions, given, budget }));
        receipt
    }

    /// Looks up the programs among `accounts`. A program whose programdata account is not given is
    /// taken from the chain.
    fn find_programs(
        &self,
        accounts: &[(Pubkey, AccountSharedData)],
        overlay: &Overlay<'_>,
    ) -> TransactionPrograms {
        let mut programs = TransactionPrograms::default();
        let (slot, features) = (self.slot(), self.features());
        for (key, account) in accounts.iter().filter(|(_, it)| Loader::of(it.owner()).is_some()) {
            let given = self.programs.get(key, account, overlay, slot, features);
            let entry = match given {
                Some(ProgramEntry::Loaded(_)) => given,
                _ => overlay
                    .base
                    .get(key)
                    .and_then(|it| self.programs.get(key, it, overlay.base, slot, features))
                    .or(given),
            };
            if let Some(entry) = entry {
                programs.insert(*key, entry);
            }
        }
        programs
    }
}

/// Lists the account changes.
fn changes(
    instructions: &[Instruction],
    after: Vec<TransactionAccount>,
    mut found: BTreeMap<Pubkey, AccountSharedData>,
    is_ok: bool,
) -> Vec<AccountChange> {
    let is_writable = |key: &Pubkey| {
        let mut metas = instructions.iter().flat_map(|instruction| &instruction.accounts);
        metas.any(|meta| meta.pubkey == *key && meta.is_writable)
    };
    let changes = after.into_iter().map(|after| AccountChange {
        before: found.remove(&after.key),
        is_writable: is_writable(&after.key),
        key: after.key,
        write: (is_ok && after.is_touched).then_some(after.account),
    });
    changes.collect()
}

/// Compiles instructions to an unsigned message, and lists its account keys: given accounts first,
/// then those the instructions name, then programs.
fn compile(
    instructions: &[Instruction],
    given: &BTreeMap<Pubkey, AccountSharedData>,
) -> (Message, Vec<Pubkey>) {
    let mut keys: Vec<Pubkey> = Vec::new();
    let mut places: BTreeMap<Pubkey, usize> = BTreeMap::new();
    let named = instructions.iter().flat_map(|it| it.accounts.iter().map(|meta| meta.pubkey));
    let programs = instructions.iter().map(|it| it.program_id);
    // The instructions sysvar comes last, where the runtime adds it.
    let is_added = |key: &Pubkey| *key == sysvar::instructions::ID && !given.contains_key(key);
    let (added, others): (Vec<_>, Vec<_>) =
        given.keys().copied().chain(named).chain(programs).partition(is_added);
    for key in others.into_iter().chain(added) {
        places.entry(key).or_insert_with(|| {
            keys.push(key);
            keys.len().saturating_sub(1)
        });
    }
    // An index is a byte: accounts beyond 256 all get the last one, which is wrong but harmless.
    let byte = |key: &Pubkey| {
        places.get(key).and_then(|place| u8::try_from(*place).ok()).unwrap_or(u8::MAX)
    };
    let compiled = instructions.iter().map(|instruction| CompiledInstruction {
        program_id_index: byte(&instruction.program_id),
        accounts: instruction.accounts.iter().map(|meta| byte(&meta.pubkey)).collect(),
        data: instruction.data.clone(),
    });
    let message = Message {
        header: MessageHeader::default(),
        account_keys: keys.clone(),
        instructions: compiled.collect(),
        ..Message::default()
    };
    (message, keys)
}
