//! How a cluster differs from mainnet.

use std::sync::Arc;

use selkie_bank::{Stakes, builtin_name, native_account};
use selkie_builtins::builtins;
use selkie_programs::accounts::Places;
use selkie_svm::{
    Builtin, ComputeBudget, Engine, EpochStake, Feature, FeatureSet, InstructionError,
    InvokeContext,
    program_cache::ProgramCache,
    syscalls::custom::{SyscallContext, SyscallFailure},
};
use solana_account::Account;
use solana_pubkey::Pubkey;
use solana_rent::Rent;
use solana_sdk_ids::feature;

use crate::{history::History, svm::Svm};

impl Svm {
    /// The same with these features instead of mainnet's, as if they always had been.
    #[must_use]
    pub fn with_features(mut self, features: FeatureSet) -> Self {
        self.switch_features(features);
        self
    }

    /// The same with or without the programs of [`programs::MAINNET`](crate::programs::MAINNET),
    /// which are there unless this says `false`. What was put at their addresses stays.
    #[must_use]
    pub fn with_well_known_programs(mut self, has_them: bool) -> Self {
        let places = if has_them { Places::all() } else { Places::default() };
        self.journal.state_mut().accounts.set_programs(places);
        self
    }

    /// The same where signatures are checked, as they are unless this says `false`.
    #[must_use]
    pub fn with_signature_checks(mut self, checks: bool) -> Self {
        self.verifies_signatures = checks;
        self
    }

    /// The same where blockhashes must be recent, and transactions new, as they must unless this
    /// says `false`.
    #[must_use]
    pub fn with_blockhash_checks(mut self, checks: bool) -> Self {
        self.checks_blockhashes = checks;
        self
    }

    /// The same where programs are run by this engine. What becomes of them does not depend on it.
    #[must_use]
    pub fn with_engine(mut self, engine: Engine) -> Self {
        self.engine = engine;
        self
    }

    /// The same that remembers so many transactions, 32 unless this says otherwise.
    #[must_use]
    pub fn with_history(mut self, capacity: usize) -> Self {
        self.journal.state_mut().history = History::new(capacity);
        self
    }

    /// The same with another price of a signature.
    #[must_use]
    pub fn with_lamports_per_signature(mut self, lamports: u64) -> Self {
        self.journal.environment_mut().lamports_per_signature = lamports;
        self
    }

    /// The same with another rent.
    #[must_use]
    pub fn with_rent(mut self, rent: &Rent) -> Self {
        self.set_rent(rent);
        self
    }

    /// The same whose slots take so long: mainnet's 200 unless this says otherwise.
    #[must_use]
    pub fn with_slot_milliseconds(mut self, milliseconds: u64) -> Self {
        self.slot_milliseconds = milliseconds;
        self
    }

    /// The same where instructions outside of transactions get this budget.
    #[must_use]
    pub fn with_instruction_budget(mut self, budget: ComputeBudget) -> Self {
        self.instruction_budget = budget;
        self
    }

    /// The same whose logs are cut after so many bytes, or never; mainnet's 10,000 unless this
    /// says otherwise.
    #[must_use]
    pub fn with_log_bytes_limit(mut self, limit: Option<usize>) -> Self {
        self.journal.environment_mut().log_bytes_max = limit.unwrap_or(usize::MAX);
        self
    }

    /// The same with this stake besides that of stake accounts, instead of 400 million SOL: it is
    /// effective in every epoch, though no account shows it. `sol_get_epoch_stake` and the stake
    /// history count it, and 9 % of it may warm up or cool down in an epoch. Without any, a
    /// delegation would warm up by one lamport an epoch.
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

    /// The features that are switched on.
    #[must_use]
    pub fn features(&self) -> FeatureSet {
        self.environment().features
    }

    /// Switches a feature on, as happens at the first slot of an epoch: programs are loaded anew
    /// against what there is now, and an account shows that it was.
    pub fn activate_feature(&mut self, which: Feature) {
        self.switch_features(self.features().with(which));
        // Some(slot), as bincode has it.
        let data = [&[1][..], &self.slot().to_le_bytes()].concat();
        let lamports = self.minimum_balance_for_rent_exemption(data.len());
        let owner = feature::ID;
        let account = Account { lamports, data, owner, executable: false, rent_epoch: u64::MAX };
        self.journal.set_account(which.address(), Some(account.into()));
    }

    /// Switches a feature off again, which no cluster does.
    pub fn deactivate_feature(&mut self, which: Feature) {
        self.switch_features(self.features().without(which));
        self.journal.set_account(which.address(), None);
    }

    fn switch_features(&mut self, features: FeatureSet) {
        let before = self.features();
        let (old, new) = (builtins(before), builtins(features));
        let environment = self.journal.environment_mut();
        environment.features = features;
        // Only those of the runtime itself come and go; who put another one there keeps it.
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
            let account = native_account(builtin_name(id));
            self.journal.set_account(*id, Some(account));
        }
    }

    /// Puts a program of the host at an address, in place of what was there: a mock, or a program
    /// that is easier to debug this way. It has to charge for itself with
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

    /// The same where programs can call a syscall that no cluster has; or where one that all have
    /// does something else. It has to charge for itself. Programs that use it are added by
    /// [`Svm::add_program`]: no loader's instructions deploy them.
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
        self.programs = Arc::new(ProgramCache::with_syscalls(syscalls));
        self
    }

    /// The same with another cache of programs: one that holds more or less, that others share, or
    /// that outlives the process (`selkie-store`).
    #[must_use]
    pub fn with_program_cache(mut self, programs: impl Into<Arc<ProgramCache>>) -> Self {
        self.programs = programs.into();
        self
    }

    /// The programs that were made ready to run, which clones share.
    #[must_use]
    pub fn program_cache(&self) -> &Arc<ProgramCache> {
        &self.programs
    }
}
