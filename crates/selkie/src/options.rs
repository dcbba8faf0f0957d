//! Options in which a chain differs from mainnet.

use std::sync::Arc;

use selkie_bank::Stakes;
use selkie_builtins::{builtins, native_account, program_account};
use selkie_programs::accounts::WellKnownAccountSet;
use selkie_svm::{
    Builtin, ComputeBudget, Engine, EpochStake, Feature, FeatureSet, InstructionError,
    InvokeContext, Rules,
    program_cache::ProgramCache,
    syscalls::custom::{SyscallContext, SyscallFailure},
};
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::feature;

use crate::{history::History, svm::Svm};

impl Svm {
    /// Replaces the rules: the features, and the release of agave whose behaviour holds in what no
    /// feature switches. The default is mainnet's.
    ///
    /// ```
    /// use selkie::{Release, Svm};
    ///
    /// let svm = Svm::new().with_rules("4.5".parse()?);
    /// assert_eq!(svm.rules().release, Release::V4_5);
    /// assert_eq!(svm.features(), Svm::new().features());
    /// # Ok::<(), selkie::UnknownRules>(())
    /// ```
    #[must_use]
    pub fn with_rules(mut self, rules: Rules) -> Self {
        self.journal.environment_mut().release = rules.release;
        self.with_features(rules.features)
    }

    /// Replaces the feature set. The features count as active since genesis.
    #[must_use]
    pub fn with_features(mut self, features: FeatureSet) -> Self {
        self.switch_features(features);
        self
    }

    /// Adds (the default) or removes the programs of
    /// [`programs::MAINNET`](crate::programs::MAINNET), and with them the native mint. Accounts that
    /// were written at their addresses stay.
    #[must_use]
    pub fn with_well_known_programs(mut self, present: bool) -> Self {
        let programs =
            if present { WellKnownAccountSet::all() } else { WellKnownAccountSet::default() };
        self.journal.state_mut().accounts.set_programs(programs);
        self
    }

    /// Sets whether signatures are verified (default: `true`).
    #[must_use]
    pub fn with_signature_checks(mut self, checks: bool) -> Self {
        self.verifies_signatures = checks;
        self
    }

    /// Sets whether a transaction's blockhash must be recent and the transaction must not have been
    /// processed before (default: `true`).
    #[must_use]
    pub fn with_blockhash_checks(mut self, checks: bool) -> Self {
        self.checks_blockhashes = checks;
        self
    }

    /// Sets whether a transaction that was processed before is dropped (default: `true`). Setting
    /// it to `false` also forgets which transactions were processed.
    ///
    /// ```
    /// # use selkie::{keypair, system, Signer, Svm};
    /// # let alice = keypair("alice");
    /// let mut svm = Svm::new().with_duplicate_checks(false);
    /// svm.airdrop(&alice.pubkey(), 10_000_000)?;
    /// let same = svm.sign(&[system::transfer(&alice.pubkey(), &alice.pubkey(), 1)], &[&alice])?;
    /// svm.send(&same)?;
    /// svm.send(&same)?;
    /// assert_eq!(svm.balance(&alice.pubkey()), 10_000_000 - 2 * 5_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_duplicate_checks(mut self, checks: bool) -> Self {
        self.checks_duplicates = checks;
        if !checks {
            let state = self.journal.state_mut();
            state.blockhash_queue = state.blockhash_queue.without_processed();
        }
        self
    }

    /// Selects the engine that runs programs. Results are the same with every engine.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// Counts the branches that programs take, for tools that search for inputs, such as
    /// `selkie-explore`. The chain then has a program cache of its own.
    #[must_use]
    pub fn with_branch_counters(mut self) -> Self {
        let syscalls = self.programs.syscalls().clone();
        self.programs = Arc::new(ProgramCache::with_syscalls(syscalls).with_branch_counters());
        self
    }

    /// Sets how many receipts the history keeps (default: 32).
    #[must_use]
    pub fn with_history(mut self, capacity: usize) -> Self {
        self.journal.state_mut().history = History::new(capacity);
        self
    }

    /// Sets the fee per signature, in lamports.
    #[must_use]
    pub fn with_lamports_per_signature(mut self, lamports: u64) -> Self {
        self.journal.environment_mut().lamports_per_signature = lamports;
        self
    }

    /// Sets the rent parameters.
    #[must_use]
    pub fn with_rent(mut self, rent: &Rent) -> Self {
        self.set_rent(rent);
        self
    }

    /// Sets whether every receipt can be replayed ([`Receipt::replay`](crate::Receipt::replay)), not
    /// only those of failed transactions.
    ///
    /// It is set from the start if the environment variable `SELKIE_RECORD` names a folder: each
    /// transaction, and each call of [`Svm::process_instructions`], is written there besides, for
    /// `selkie profile DIR`, `selkie coverage DIR` and `selkie trace FILE`.
    #[must_use]
    pub fn with_replays(mut self, keeps_replays: bool) -> Self {
        self.keeps_replays = keeps_replays;
        self
    }

    /// Sets the duration of a slot (default: 200 ms, as on mainnet).
    #[must_use]
    pub fn with_slot_milliseconds(mut self, milliseconds: u64) -> Self {
        self.slot_milliseconds = milliseconds;
        self.restart_nanoseconds();
        self
    }

    /// Sets the compute budget of instructions that are processed outside of transactions.
    #[must_use]
    pub fn with_instruction_budget(mut self, budget: ComputeBudget) -> Self {
        self.instruction_budget = budget;
        self
    }

    /// Sets the compute budget of every transaction, whatever its compute budget instructions
    /// request; `None` (the default) lets them request one. Fees stay as requested.
    ///
    /// ```
    /// # use selkie::{keypair, system, ComputeBudget, InstructionError, Signer, Svm};
    /// # let alice = keypair("alice");
    /// let budget = ComputeBudget { compute_unit_limit: 149, heap_bytes: 32 * 1024 };
    /// let mut svm = Svm::new().with_transaction_budget(Some(budget));
    /// svm.airdrop(&alice.pubkey(), 10_000_000)?;
    /// let transfer = system::transfer(&alice.pubkey(), &alice.pubkey(), 1);
    /// let failed = svm.send_instructions(&[transfer], &[&alice]).unwrap_err();
    /// assert_eq!(
    ///     failed.instruction_error(),
    ///     Some(&InstructionError::ComputationalBudgetExceeded)
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_transaction_budget(mut self, budget: Option<ComputeBudget>) -> Self {
        self.transaction_budget = budget;
        self
    }

    /// Sets after how many bytes the log of a transaction is truncated (default: mainnet's 10,000);
    /// `None` never truncates.
    #[must_use]
    pub fn with_log_bytes_limit(mut self, limit: Option<usize>) -> Self {
        self.journal.environment_mut().log_bytes_max = limit.unwrap_or(usize::MAX);
        self
    }

    /// Sets whether accounts without data may keep fewer lamports than rent asks for after a transaction
    /// (default: no, as on all clusters). LiteSVM up to 0.10 lets them.
    ///
    /// ```
    /// # use selkie::{keypair, system, Pubkey, Signer, Svm};
    /// # let alice = keypair("alice");
    /// let transfer = system::transfer(&alice.pubkey(), &Pubkey::new_unique(), 64);
    /// for allowed in [true, false] {
    ///     let mut svm = Svm::new().with_empty_accounts_below_rent(allowed);
    ///     svm.airdrop(&alice.pubkey(), 10_000_000)?;
    ///     let sent = svm.send_instructions(&[transfer.clone()], &[&alice]);
    ///     assert_eq!(sent.is_ok(), allowed);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_empty_accounts_below_rent(mut self, allowed: bool) -> Self {
        self.journal.environment_mut().empty_below_rent = allowed;
        self
    }

    /// Sets stake that exists in addition to that of stake accounts (default: 400 million SOL). It
    /// is effective in every epoch, though no account shows it. `sol_get_epoch_stake` and the stake
    /// history include it, and 9 % of it may warm up or cool down per epoch; without any, a
    /// delegation would warm up by one lamport per epoch.
    ///
    /// ```
    /// use selkie::{EpochStake, Svm};
    ///
    /// let stake = EpochStake { total: 5_000_000_000, ..EpochStake::default() };
    /// let mut svm = Svm::new().with_epoch_stake(stake);
    /// svm.warp_to_epoch(1)?;
    /// assert_eq!(svm.stake_history().get(0).unwrap().effective, 5_000_000_000);
    /// # Ok::<(), selkie::WarpError>(())
    /// ```
    #[must_use]
    pub fn with_epoch_stake(mut self, stake: EpochStake) -> Self {
        let schedule = self.epoch_schedule();
        let last = schedule.get_leader_schedule_epoch(self.slot());
        let first = schedule.get_epoch(self.slot());
        self.journal.set_stakes(Stakes::constant(stake.clone(), first..=last));
        self.journal.environment_mut().epoch_stake = stake;
        self
    }

    /// Returns the rules: the active features, and the release of agave.
    #[must_use]
    pub fn rules(&self) -> Rules {
        self.environment().rules()
    }

    /// Returns the active features.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        self.environment().features
    }

    /// Activates a feature, as happens at the first slot of an epoch: writes its feature account,
    /// and programs are reloaded under the new feature set.
    pub fn activate_feature(&mut self, which: Feature) {
        self.switch_features(self.features().with(which));
        // `Some(slot)`, encoded by bincode.
        let data = [&[1][..], &self.slot().to_le_bytes()].concat();
        let lamports = self.minimum_balance_for_rent_exemption(data.len());
        let owner = feature::ID;
        let account = Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX };
        self.journal.set_account(which.address(), Some(account.into()));
    }

    /// Deactivates a feature, which no cluster can do.
    pub fn deactivate_feature(&mut self, which: Feature) {
        self.switch_features(self.features().without(which));
        self.journal.set_account(which.address(), None);
    }

    fn switch_features(&mut self, features: FeatureSet) {
        let before = self.features();
        let (old, new) = (builtins(before), builtins(features));
        let environment = self.journal.environment_mut();
        environment.features = features;
        // Only builtins of the runtime are added and removed; one that was replaced by
        // `add_builtin` stays.
        for (id, _) in old.iter().filter(|(id, _)| new.get(id).is_none()) {
            environment.builtins.remove(id);
        }
        for (id, builtin) in new.iter().filter(|(id, _)| old.get(id).is_none()) {
            environment.builtins.insert(*id, builtin.clone());
        }
        for (id, _) in old.iter().filter(|(id, _)| new.get(id).is_none()) {
            self.journal.set_account(*id, None);
        }
        for (id, _) in new.iter().filter(|(id, _)| old.get(id).is_none()) {
            let account = program_account(id);
            self.journal.set_account(*id, Some(account));
        }
    }

    /// Adds a builtin program, a Rust function, at `id`, replacing what is there: for a mock, or to
    /// run a program natively in a debugger. It must consume its own compute units with
    /// [`InvokeContext::consume`].
    ///
    /// ```
    /// # use selkie::{keypair, AccountMeta, Instruction, Pubkey, Signer, Svm};
    /// let id = Pubkey::new_from_array([7; 32]);
    /// let payer = keypair("payer");
    /// let mut svm = Svm::new();
    /// svm.airdrop(&payer.pubkey(), 1_000_000_000)?;
    /// svm.add_builtin(id, "greeter", |context| {
    ///     context.consume(10)?;
    ///     context.log("Program log: hello");
    ///     Ok(())
    /// });
    /// let instruction = Instruction { program_id: id, accounts: vec![], data: vec![] };
    /// let receipt = svm.send_instructions(&[instruction], &[&payer])?;
    /// assert_eq!(receipt.logs[1], "Program log: hello");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_builtin(
        &mut self,
        id: Pubkey,
        name: &'static str,
        process: impl Fn(&mut InvokeContext<'_>) -> Result<(), InstructionError> + Send + Sync + 'static,
    ) {
        self.journal.environment_mut().builtins.insert(id, Builtin::new(name, process));
        self.journal.set_account(id, Some(native_account(name)));
    }

    /// Adds a syscall that no cluster has, or replaces one. The handler must consume its own
    /// compute units. Add programs that call it with [`Svm::add_program`]: the loaders'
    /// instructions reject them.
    ///
    /// ```
    /// # use selkie::Svm;
    /// let svm = Svm::new().with_syscall("answer", |context, [out, ..]| {
    ///     context.consume(10)?;
    ///     context.write(out, &42_u64.to_le_bytes())?;
    ///     Ok(0)
    /// });
    /// ```
    #[must_use]
    pub fn with_syscall(
        mut self,
        name: &str,
        handler: impl Fn(&mut SyscallContext<'_, '_, '_>, [u64; 5]) -> Result<u64, SyscallFailure>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let mut syscalls = self.programs.syscalls().clone();
        syscalls.insert(name, handler);
        // Programs are bound to their syscalls when they are loaded.
        let programs = ProgramCache::with_syscalls(syscalls);
        let counts = self.programs.counts_branches();
        self.programs = Arc::new(if counts { programs.with_branch_counters() } else { programs });
        self
    }

    /// Replaces the program cache, e.g. by one with another capacity, by one that several `Svm`s
    /// share, or by one that is backed by the disk (`selkie_client::StoredPrograms`).
    #[must_use]
    pub fn with_program_cache(mut self, programs: impl Into<Arc<ProgramCache>>) -> Self {
        self.programs = programs.into();
        self
    }

    /// Returns the cache of loaded programs, which clones share.
    #[must_use]
    pub fn program_cache(&self) -> &Arc<ProgramCache> {
        &self.programs
    }
}
