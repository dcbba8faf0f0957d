//! Cases: what a chain gives to be run elsewhere, and what runs on one.

use std::sync::Arc;

use selkie_bank::Stakes;
use selkie_case::{
    Case, CaseOptions, Expected, Input, Overlay, Replay, ReplayError, blockhashes, unnamed_accounts,
};
use selkie_inspect::{SourceMap, debug_file};
use selkie_svm::{Inspector, Processed};
use solana_account::Account;
use solana_instruction::Instruction;
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_transaction::versioned::VersionedTransaction;
use solana_transaction_error::TransactionError;

use crate::{
    genesis,
    receipt::{Receipt, Stage},
    recording,
    returned::{ErrorPlace, ErrorTracer},
    svm::Svm,
};

impl Svm {
    /// Returns a transaction with the state that it needs, to be run elsewhere.
    ///
    /// ```
    /// use selkie::{keypair, system, Signer, Svm};
    ///
    /// let alice = keypair("alice");
    /// let mut svm = Svm::new();
    /// svm.airdrop(&alice.pubkey(), 1_000_000_000)?;
    /// let transfer = system::transfer(&alice.pubkey(), &alice.pubkey(), 7);
    /// let case = svm.case(&svm.sign(&[transfer], &[&alice])?);
    /// assert_eq!(case.run_once()?.compute_units, 150);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn case(&self, transaction: &VersionedTransaction) -> Case {
        let state = self.journal.state();
        let environment = Arc::clone(&state.environment);
        let case = Case::of(transaction.clone().into(), &state.accounts, environment, true);
        let mut queue = state.blockhash_queue.without_processed();
        if let Some(it) = case.sanitized_transaction()
            && state.blockhash_queue.has_processed(it.blockhash(), it.message_id())
        {
            queue.add_processed(*it.blockhash(), it.message_id());
        }
        Case { blockhashes: Arc::new(queue), options: self.case_options(), ..case }
    }

    /// Returns instructions that are processed outside of a transaction
    /// ([`Svm::process_instructions`]), with the state that they need.
    #[must_use]
    pub fn instructions_case(
        &self,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
    ) -> Case {
        let given = accounts.iter().map(|(key, account)| (*key, account.clone().into())).collect();
        let state = self.journal.state();
        let overlay = Overlay { given, base: &state.accounts };
        let environment = Arc::clone(&state.environment);
        Case::of_instructions(instructions, &overlay, environment, self.instruction_budget)
    }

    /// Writes a transaction with the state that it needs and its simulated result, to be replayed
    /// anywhere: `selkie trace`, `selkie debug` and others read the line.
    ///
    /// ```
    /// use selkie::{keypair, system, Replay, Signer, Svm};
    ///
    /// let alice = keypair("alice");
    /// let mut svm = Svm::new();
    /// svm.airdrop(&alice.pubkey(), 1_000_000_000)?;
    /// let transfer = system::transfer(&alice.pubkey(), &alice.pubkey(), 7);
    /// let transaction = svm.sign(&[transfer], &[&alice])?;
    ///
    /// let line = svm.record("mine/transfer", &transaction).to_string();
    /// let receipt = Svm::replay(&Replay::parse(&line)?)?;
    /// assert_eq!(receipt.compute_units, 150);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn record(&self, id: &str, transaction: &VersionedTransaction) -> Replay {
        let receipt = self.simulate(transaction).unwrap_or_else(|failed| failed.receipt);
        let input = Input::Transaction(transaction.clone().into());
        receipt.replay_of(id, &receipt.complete(self.rest_of_case(&receipt, input)))
    }

    /// Writes instructions that are processed outside of a transaction
    /// ([`Svm::process_instructions`]), with the state that they need and their result.
    #[must_use]
    pub fn record_instructions(
        &self,
        id: &str,
        instructions: &[Instruction],
        accounts: &[(Pubkey, Account)],
    ) -> Replay {
        let receipt = self.process_instructions(instructions, accounts);
        receipt.replay_of(id, &receipt.case().unwrap_or_default())
    }

    /// Creates the chain before a case, with the state that the case has and no other. It records nothing:
    /// what is repeated was recorded before.
    #[must_use]
    pub fn of_case(case: &Case) -> Self {
        let mut svm = Self::new();
        let mut state = genesis::empty_state(case.environment.rules());
        let clock = case.environment.sysvars.clock().unwrap_or_default();
        let epochs = clock.epoch..=clock.leader_schedule_epoch;
        let stake = case.environment.epoch_stake.clone();
        state.stakes = Arc::new(Stakes::constant(stake, epochs));
        state.environment = Arc::clone(&case.environment);
        state.blockhash_queue = (*case.blockhashes).clone();
        *svm.journal.state_mut() = state;
        for (key, account) in case.all_accounts().iter() {
            svm.journal.set_account(*key, Some(account.clone()));
        }
        let CaseOptions { verifies_signatures, checks_blockhash, budget } = case.options;
        (svm.verifies_signatures, svm.checks_blockhashes) = (verifies_signatures, checks_blockhash);
        match case.input {
            Input::Instructions { .. } => {
                svm.instruction_budget = budget.unwrap_or(svm.instruction_budget)
            }
            Input::Transaction(_) | Input::Wire(_) => svm.transaction_budget = budget,
        }
        svm.is_recorded = false;
        svm.register_files = None;
        svm
    }

    /// Creates the chain before a replay, with the names that it gives to accounts, and the case. `blob`
    /// returns account data that the replay refers to by name.
    ///
    /// Signatures are verified once, since that takes longer than most transactions.
    ///
    /// # Errors
    /// If the replay is malformed.
    pub fn of_replay(
        replay: &Replay,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<(Self, Case), ReplayError> {
        let case = replay.case(blob)?.verified();
        let mut svm = Self::of_case(&case);
        replay.names().iter().for_each(|(key, name)| svm.set_name(*key, name));
        Ok((svm, case))
    }

    /// Processes what a case runs on this chain, under observation. Nothing changes, so all runs are equal.
    pub fn run(&self, case: &Case, inspector: &mut dyn Inspector) -> Receipt {
        let mut receipt = Receipt::empty();
        match &case.input {
            Input::Transaction(it) => {
                self.process(it, Some(inspector), &mut receipt);
            }
            Input::Wire(wire) => {
                self.process(wire.as_slice(), Some(inspector), &mut receipt);
            }
            Input::Instructions { instructions, given } => {
                let account = |key: &_| case.accounts.get(key).cloned().unwrap_or_default();
                let given = given.iter().map(|key| (*key, account(key)));
                receipt = self.process_directly(instructions, given.collect(), Some(inspector));
            }
        }
        receipt
    }

    /// Runs a replay once, and compares the result with the recorded one.
    ///
    /// # Errors
    /// If the replay is malformed, refers to account data by name, or ends otherwise.
    pub fn replay(replay: &Replay) -> Result<Receipt, ReplayError> {
        Self::replay_with(replay, &|_| None)
    }

    /// Runs a replay like [`Svm::replay`]; `blob` returns account data that it refers to by name.
    ///
    /// # Errors
    /// As [`Svm::replay`].
    pub fn replay_with(
        replay: &Replay,
        blob: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Receipt, ReplayError> {
        let (svm, case) = Self::of_replay(replay, blob)?;
        let receipt = svm.run(&case, &mut Unobserved);
        let differences = replay.differences(receipt.ended(), blob)?;
        if differences.is_empty() { Ok(receipt) } else { Err(ReplayError::Differs(differences)) }
    }

    fn case_options(&self) -> CaseOptions {
        CaseOptions {
            verifies_signatures: self.verifies_signatures,
            checks_blockhash: self.checks_blockhashes,
            budget: self.transaction_budget,
        }
    }

    /// Keeps the case of a transaction in its receipt, and writes it to the folder of recordings. The
    /// transaction must not be committed yet.
    #[cold]
    pub(crate) fn keep_case(&self, receipt: &mut Receipt, input: Input) {
        let case = self.rest_of_case(receipt, input);
        let mut file = None;
        if self.is_recorded {
            let origins = self.origins.as_deref();
            file = recording::write(origins, |id| {
                receipt.replay_of(id, &receipt.complete(case.clone()))
            });
        }
        let evidence = receipt.evidence.get_or_insert_default();
        (evidence.case, evidence.recording) = (Some(case), file);
    }

    /// Returns the case of a transaction that is not committed yet, without the accounts that its receipt
    /// has.
    fn rest_of_case(&self, receipt: &Receipt, input: Input) -> Case {
        let state = self.journal.state();
        let found = |key: &Pubkey| self.shared_account(key);
        let message = receipt.message();
        let mut options = self.case_options();
        let blockhashes = match &input {
            Input::Instructions { .. } => {
                options.budget = Some(self.instruction_budget);
                Arc::default()
            }
            Input::Transaction(_) | Input::Wire(_) => {
                let own = *message.recent_blockhash();
                let is_known = !self.checks_blockhashes || state.blockhash_queue.is_recent(&own);
                Arc::new(blockhashes(own, is_known, &state.environment))
            }
        };
        // Receipts of dropped transactions have no accounts.
        let named = match receipt.stage {
            Stage::Dropped => message.static_account_keys(),
            Stage::FeesOnly | Stage::Executed => &[],
        };
        let named: Vec<_> = named.iter().filter_map(|key| Some((*key, found(key)?))).collect();
        let before = receipt.accounts.iter().filter_map(|it| it.before.as_ref());
        let known = named.iter().map(|(_, account)| account).chain(before);
        let others = unnamed_accounts(message, known, &found);
        Case {
            environment: Arc::clone(&state.environment),
            blockhashes,
            accounts: named.into_iter().chain(others).collect(),
            input,
            options,
        }
    }
}

impl Receipt {
    /// Returns the transaction with the state before it.
    ///
    /// `None` of a transaction that was dropped, and of one that succeeded unless
    /// [`Svm::with_replays`](crate::Svm::with_replays) has asked for the replays of all. Instructions that
    /// were processed directly always have one.
    #[must_use]
    pub fn case(&self) -> Option<Case> {
        Some(self.complete(self.evidence.as_ref()?.case.clone()?))
    }

    /// Returns the transaction with the state before it and its result, to be replayed, traced and
    /// debugged: `selkie trace`, `selkie profile` and `selkie coverage` read the file that it prints.
    ///
    /// `None` as of [`Receipt::case`].
    #[must_use]
    pub fn replay(&self) -> Option<Replay> {
        Some(self.replay_of(&self.signature().to_string(), &self.case()?))
    }

    /// Returns the line at which the first error was decided that a program of the transaction
    /// returned. `None` if no program returned an error, and unless the program was added from a file
    /// and debug information is found as for [`Receipt::trap`]. Runs the transaction once more.
    #[must_use]
    pub fn error_place(&self) -> Option<ErrorPlace> {
        let failed = self.failed_instruction.as_ref()?;
        let is_trap = matches!(
            failed.error,
            InstructionError::ProgramFailedToComplete
                | InstructionError::ComputationalBudgetExceeded
        );
        let path = self.origin(&failed.program_id).filter(|_| !is_trap)?;
        let case = self.case()?;
        let svm = Svm::of_case(&case);
        let elf = svm.program_elf(&failed.program_id)?;
        let map = SourceMap::load(debug_file(path, &elf).map_or(elf, |it| it.bytes));
        if !map.has_lines() {
            return None;
        }
        let mut tracer = ErrorTracer::default();
        svm.run(&case, &mut tracer);
        let error = tracer.finish().filter(|it| it.program_id == failed.program_id)?;
        error.locate(&map)
    }

    /// Returns the runtime's result; `Err` of a transaction that was dropped.
    ///
    /// # Errors
    /// Why it was dropped.
    pub fn ended(&self) -> Result<&Processed, &TransactionError> {
        match (self.stage, &self.result) {
            (Stage::Dropped, Err(error)) => Err(error),
            _ => Ok(&self.processed),
        }
    }

    /// Adds the accounts before the transaction to its case.
    pub(crate) fn complete(&self, mut case: Case) -> Case {
        let before = self.accounts.iter();
        case.accounts.extend(before.filter_map(|it| Some((it.key, it.before.clone()?))));
        case
    }

    /// Writes the case of this receipt with its result.
    pub(crate) fn replay_of(&self, id: &str, case: &Case) -> Replay {
        Replay::new(id, case, &Expected::of(self.ended())).with_names(&self.own_names())
    }
}

/// Observes nothing.
pub(crate) struct Unobserved;

impl Inspector for Unobserved {}
