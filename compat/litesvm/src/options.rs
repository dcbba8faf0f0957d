//! Options, as functions that take and return the chain.

use selkie::token::NATIVE_MINT;
use selkie_convert::{Address, to_account, to_address};
use solana_account::Account;
use solana_sdk_ids::{feature, system_program};

use crate::{LiteSVM, features::FeatureSet, types::ComputeBudget};

impl LiteSVM {
    /// Sets the limits of every transaction, in the place of those that it requests.
    #[must_use]
    pub fn with_compute_budget(mut self, compute_budget: impl Into<ComputeBudget>) -> Self {
        let budget = compute_budget.into();
        self.compute_budget = Some(budget);
        let ComputeBudget { compute_unit_limit, heap_size: heap_bytes } = budget;
        let budget = selkie::ComputeBudget { compute_unit_limit, heap_bytes };
        self.map_svm(|svm| svm.with_transaction_budget(Some(budget)))
    }

    /// Returns the limits that [`LiteSVM::with_compute_budget`] set.
    #[must_use]
    pub fn get_compute_budget(&self) -> Option<ComputeBudget> {
        self.compute_budget
    }

    /// Sets whether signatures are verified. Without, a transaction may be processed repeatedly.
    #[must_use]
    pub fn with_sigverify(mut self, sigverify: bool) -> Self {
        self.sigverify = sigverify;
        self.map_svm(|svm| svm.with_signature_checks(sigverify)).with_duplicate_checks()
    }

    /// Returns whether signatures are verified.
    #[must_use]
    pub fn get_sigverify(&self) -> bool {
        self.sigverify
    }

    /// Sets whether a transaction's blockhash must be recent.
    #[must_use]
    pub fn with_blockhash_check(self, check: bool) -> Self {
        self.map_svm(|svm| svm.with_blockhash_checks(check))
    }

    /// Sets how many results are kept. With 0, a transaction may be processed repeatedly.
    #[must_use]
    pub fn with_transaction_history(mut self, capacity: usize) -> Self {
        self.history.set_capacity(capacity);
        self.with_duplicate_checks()
    }

    /// Drops transactions that were processed before, unless an option says otherwise.
    fn with_duplicate_checks(self) -> Self {
        let checks = self.sigverify && self.history.is_enabled();
        self.map_svm(|svm| svm.with_duplicate_checks(checks))
    }

    /// Sets after how many bytes a transaction's log is truncated; `None` never truncates.
    #[must_use]
    pub fn with_log_bytes_limit(self, limit: Option<usize>) -> Self {
        self.map_svm(|svm| svm.with_log_bytes_limit(limit))
    }

    /// Sets which features are active.
    #[must_use]
    pub fn with_feature_set(mut self, feature_set: impl Into<FeatureSet>) -> Self {
        self.features = feature_set.into();
        let features = self.features.runtime();
        self.map_svm(|svm| svm.with_features(features))
    }

    /// Returns mainnet's features: agave's type with the feature `agave-types`.
    #[cfg(not(any(feature = "agave-types", feature = "agave-4-types")))]
    #[must_use]
    pub fn mainnet_feature_set() -> FeatureSet {
        FeatureSet::mainnet()
    }

    /// Activates mainnet's features.
    #[must_use]
    pub fn with_mainnet_features(self) -> Self {
        self.with_feature_set(FeatureSet::mainnet())
    }

    /// Adds an account for each active feature.
    #[must_use]
    pub fn with_feature_accounts(mut self) -> Self {
        let lamports = self.minimum_balance_for_rent_exemption(9);
        for (address, slot) in self.features.active().clone() {
            // `Some(slot)`, encoded by bincode.
            let data = [&[1][..], &slot.to_le_bytes()].concat();
            let owner = feature::ID;
            self.put(address, Account { lamports, data, owner, ..Account::default() });
        }
        self
    }

    /// Keeps the builtin programs of the active features, which are present already.
    #[must_use]
    pub fn with_builtins(self) -> Self {
        self
    }

    /// Keeps the precompiles, which are present already.
    #[must_use]
    pub fn with_precompiles(self) -> Self {
        self
    }

    /// Sets the lamports of the account that pays for airdrops.
    #[must_use]
    pub fn with_lamports(mut self, lamports: u64) -> Self {
        let owner = system_program::ID;
        self.put(self.airdrop_pubkey(), Account { lamports, owner, ..Account::default() });
        self
    }

    /// Adds mainnet's programs: SPL Token, Token-2022, Associated Token Account, Memo, the address
    /// lookup table program and the stake program. The native mint is missing, as in LiteSVM, whose
    /// users create it.
    #[must_use]
    pub fn with_default_programs(self) -> Self {
        let has_p_token = self.features.is_active(&P_TOKEN);
        let native_mint = self.svm().shared_account(&NATIVE_MINT).unwrap_or_default();
        let mut chain = self.map_svm(|svm| svm.with_well_known_programs(true));
        let set = chain.svm_mut().set_account(NATIVE_MINT, native_mint);
        set.expect("it is no sysvar");
        if !has_p_token {
            let added = chain.svm_mut().add_well_known_program(&selkie::programs::SPL_TOKEN);
            added.expect("it loads under all features");
        }
        chain
    }

    /// Adds a syscall that no cluster has. It is a Rust closure, which consumes compute units itself;
    /// LiteSVM takes a function of agave's virtual machine.
    #[must_use]
    pub fn with_custom_syscall(
        self,
        name: &str,
        syscall: impl Fn(
            &mut selkie::SyscallContext<'_, '_, '_>,
            [u64; 5],
        ) -> Result<u64, selkie::SyscallFailure>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.map_svm(|svm| svm.with_syscall(name, syscall))
    }

    /// Sets an account that is no sysvar and no program.
    fn put(&mut self, address: Address, account: Account) {
        let (address, account) = (to_address(&address), to_account(account));
        self.svm_mut().set_account(address, account).expect("it is no sysvar");
    }
}

/// The feature that replaces SPL Token by p-token.
const P_TOKEN: Address = Address::from_str_const("ptokFjwyJtrwCa9Kgo9xoDS59V4QccBGEaRFnRPnSdP");
