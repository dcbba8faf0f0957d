//! Comparison of two results.

use solana_account::Account;
use solana_pubkey::Pubkey;

use crate::result::{Config, InstructionResult, config::equal};

/// What of two results must be the same.
#[derive(Clone, Debug)]
pub enum Compare {
    /// The compute units.
    ComputeUnits,
    /// The time.
    ExecutionTime,
    /// The result.
    ProgramResult,
    /// The return data.
    ReturnData,
    /// These fields of all accounts.
    AllResultingAccounts {
        /// The data.
        data: bool,
        /// The executable flag.
        executable: bool,
        /// The balance.
        lamports: bool,
        /// The owner.
        owner: bool,
        /// The length of the data.
        space: bool,
    },
    /// These fields of some accounts.
    OnlyResultingAccounts {
        /// The accounts.
        addresses: Vec<Pubkey>,
        /// The data.
        data: bool,
        /// The executable flag.
        executable: bool,
        /// The balance.
        lamports: bool,
        /// The owner.
        owner: bool,
        /// The length of the data.
        space: bool,
    },
    /// These fields of all accounts but some.
    AllResultingAccountsExcept {
        /// The other accounts.
        ignore_addresses: Vec<Pubkey>,
        /// The data.
        data: bool,
        /// The executable flag.
        executable: bool,
        /// The balance.
        lamports: bool,
        /// The owner.
        owner: bool,
        /// The length of the data.
        space: bool,
    },
}

impl Compare {
    /// Compares all fields of all accounts.
    #[must_use]
    pub const fn all_resulting_accounts() -> Self {
        let all = true;
        Self::AllResultingAccounts {
            data: all,
            executable: all,
            lamports: all,
            owner: all,
            space: all,
        }
    }

    /// Compares all fields of these accounts.
    #[must_use]
    pub fn only_resulting_accounts(addresses: &[Pubkey]) -> Self {
        let (addresses, all) = (addresses.to_vec(), true);
        Self::OnlyResultingAccounts {
            addresses,
            data: all,
            executable: all,
            lamports: all,
            owner: all,
            space: all,
        }
    }

    /// Compares all fields of all accounts but these.
    #[must_use]
    pub fn all_resulting_accounts_except(ignore_addresses: &[Pubkey]) -> Self {
        let (ignore_addresses, all) = (ignore_addresses.to_vec(), true);
        Self::AllResultingAccountsExcept {
            ignore_addresses,
            data: all,
            executable: all,
            lamports: all,
            owner: all,
            space: all,
        }
    }

    /// Compares everything except compute units and time.
    #[must_use]
    pub fn everything_but_cus() -> Vec<Self> {
        vec![Self::ProgramResult, Self::ReturnData, Self::all_resulting_accounts()]
    }

    /// Compares everything except the time.
    #[must_use]
    pub fn everything() -> Vec<Self> {
        core::iter::once(Self::ComputeUnits).chain(Self::everything_but_cus()).collect()
    }
}

/// The fields of accounts that are compared.
struct Fields {
    data: bool,
    executable: bool,
    lamports: bool,
    owner: bool,
    space: bool,
}

impl Fields {
    #[track_caller]
    fn are_same(&self, config: &Config, a: &Account, b: &Account) -> bool {
        let data = !self.data || equal(config, "resulting_account_data", &a.data, &b.data);
        let flag = !self.executable
            || equal(config, "resulting_account_executable", a.executable, b.executable);
        let lamports =
            !self.lamports || equal(config, "resulting_account_lamports", a.lamports, b.lamports);
        let owner = !self.owner || equal(config, "resulting_account_owner", a.owner, b.owner);
        let (len, other) = (a.data.len(), b.data.len());
        let space = !self.space || equal(config, "resulting_account_space", len, other);
        data && flag && lamports && owner && space
    }
}

impl InstructionResult {
    /// Compares with another result. Returns whether the chosen parts are the same.
    ///
    /// # Panics
    /// If they are not and the configuration says so.
    #[track_caller]
    pub fn compare_with_config(&self, b: &Self, checks: &[Compare], config: &Config) -> bool {
        // A closure would hide the place of the test.
        let mut are_same = true;
        for check in checks {
            are_same &= self.is_same(b, check, config);
        }
        are_same
    }

    /// Compares everything except the time.
    ///
    /// # Panics
    /// If something differs.
    #[track_caller]
    pub fn compare(&self, b: &Self) {
        self.compare_with_config(b, &Compare::everything(), &Config::default());
    }

    #[track_caller]
    fn is_same(&self, b: &Self, check: &Compare, config: &Config) -> bool {
        match check {
            Compare::ComputeUnits => {
                let (units, other) = (self.compute_units_consumed, b.compute_units_consumed);
                equal(config, "compute_units_consumed", units, other)
            }
            Compare::ExecutionTime => {
                equal(config, "execution_time", self.execution_time, b.execution_time)
            }
            Compare::ProgramResult => {
                equal(config, "program_result", &self.program_result, &b.program_result)
            }
            Compare::ReturnData => equal(config, "return_data", &self.return_data, &b.return_data),
            Compare::AllResultingAccounts { data, executable, lamports, owner, space } => {
                let fields = fields(*data, *executable, *lamports, *owner, *space);
                let (len, other) = (self.resulting_accounts.len(), b.resulting_accounts.len());
                let same_len = equal(config, "resulting_accounts_length", len, other);
                self.has_same_accounts(b, &fields, config, |_| true) && same_len
            }
            Compare::OnlyResultingAccounts {
                addresses,
                data,
                executable,
                lamports,
                owner,
                space,
            } => {
                let fields = fields(*data, *executable, *lamports, *owner, *space);
                self.has_same_accounts(b, &fields, config, |key| addresses.contains(key))
            }
            Compare::AllResultingAccountsExcept {
                ignore_addresses,
                data,
                executable,
                lamports,
                owner,
                space,
            } => {
                let fields = fields(*data, *executable, *lamports, *owner, *space);
                self.has_same_accounts(b, &fields, config, |key| !ignore_addresses.contains(key))
            }
        }
    }

    #[track_caller]
    fn has_same_accounts(
        &self,
        b: &Self,
        fields: &Fields,
        config: &Config,
        is_compared: impl Fn(&Pubkey) -> bool,
    ) -> bool {
        let mut are_same = true;
        for ((key, a), (_, b)) in self.resulting_accounts.iter().zip(&b.resulting_accounts) {
            are_same &= !is_compared(key) || fields.are_same(config, a, b);
        }
        are_same
    }
}

fn fields(data: bool, executable: bool, lamports: bool, owner: bool, space: bool) -> Fields {
    Fields { data, executable, lamports, owner, space }
}
