//! Instructions processed outside of a transaction: without signatures, fees and blockhashes, on
//! the accounts of the chain.

use std::collections::BTreeMap;

use selkie_case::{Input, Overlay, process_instructions};
use selkie_svm::{Inspector, Options};
use solana_account::{Account, AccountSharedData};
use solana_instruction::Instruction;
use solana_message::VersionedMessage;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;

use crate::{
    receipt::{Receipt, Stage},
    recorder::FailureRecorder,
    svm::Svm,
};

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

    pub(crate) fn process_directly(
        &self,
        instructions: &[Instruction],
        given: BTreeMap<Pubkey, AccountSharedData>,
        inspector: Option<&mut dyn Inspector>,
    ) -> Receipt {
        let overlay = Overlay { given, base: &self.journal.state().accounts };
        let options = Options { budget: self.instruction_budget, engine: self.engine };
        let mut recorder = FailureRecorder::new(inspector);
        if let Some(files) = &self.register_files {
            let named = |it: &Instruction| it.accounts.iter().map(|meta| meta.pubkey).collect();
            let named = instructions.iter().flat_map(|it| -> Vec<Pubkey> { named(it) });
            let programs = instructions.iter().map(|it| it.program_id);
            recorder.trace(files, files.debugger(Vec::new, programs.chain(named), &overlay));
        }
        let (processed, message) = self.workspaces.with(|workspace| {
            process_instructions(
                instructions,
                &overlay,
                self.environment(),
                &self.programs,
                &options,
                Some(&mut recorder),
                workspace,
            )
        });
        if let (Some(files), Some(traces)) = (&self.register_files, recorder.traces()) {
            files.write(traces, &[], &overlay);
        }
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
        self.keep_case(
            &mut receipt,
            Input::Instructions { instructions: instructions.to_vec(), given },
        );
        receipt
    }
}
