//! Checks of results.

use solana_account::Account;
use solana_instruction_error::InstructionError;
use solana_program_error::ProgramError;
use solana_pubkey::Pubkey;
use solana_sdk_ids::system_program;

#[cfg(feature = "until-0-15")]
use crate::result::CheckContext;
use crate::result::{
    Config, InstructionResult, ProgramResult, TransactionProgramResult, TransactionResult,
    config::{equal, fail},
};

/// What is expected of a result.
#[derive(Clone, Debug)]
pub struct Check<'a>(Expected<'a>);

#[derive(Clone, Debug)]
enum Expected<'a> {
    ComputeUnits(u64),
    Microseconds(u64),
    Result(ProgramResult),
    ReturnData(&'a [u8]),
    Account(Pubkey, AccountExpected<'a>),
    #[cfg(feature = "until-0-15")]
    AllRentExempt,
    #[cfg(feature = "inner-instructions")]
    InnerInstructions(usize),
}

impl<'a> Check<'a> {
    /// Expects this number of compute units.
    #[must_use]
    pub const fn compute_units(units: u64) -> Self {
        Self(Expected::ComputeUnits(units))
    }

    /// Expects this time in microseconds.
    #[must_use]
    pub const fn time(time: u64) -> Self {
        Self(Expected::Microseconds(time))
    }

    /// Expects success.
    #[must_use]
    pub const fn success() -> Self {
        Self(Expected::Result(ProgramResult::Success))
    }

    /// Expects that the program returns this error.
    #[must_use]
    pub const fn err(error: ProgramError) -> Self {
        Self(Expected::Result(ProgramResult::Failure(error)))
    }

    /// Expects an error that programs cannot return.
    #[must_use]
    pub const fn instruction_err(error: InstructionError) -> Self {
        Self(Expected::Result(ProgramResult::UnknownError(error)))
    }

    /// Expects this result.
    #[must_use]
    pub const fn program_result(result: ProgramResult) -> Self {
        Self(Expected::Result(result))
    }

    /// Expects this return data.
    #[must_use]
    pub const fn return_data(return_data: &'a [u8]) -> Self {
        Self(Expected::ReturnData(return_data))
    }

    /// Expects something of an account.
    #[must_use]
    pub const fn account(pubkey: &Pubkey) -> AccountCheckBuilder<'a> {
        AccountCheckBuilder { key: *pubkey, expected: AccountExpected::nothing() }
    }

    /// Expects that no account is below its minimum balance. Up to Mollusk 0.15.
    #[cfg(feature = "until-0-15")]
    #[must_use]
    pub const fn all_rent_exempt() -> Self {
        Self(Expected::AllRentExempt)
    }

    /// Expects this number of inner instructions.
    #[cfg(feature = "inner-instructions")]
    #[must_use]
    pub const fn inner_instruction_count(count: usize) -> Self {
        Self(Expected::InnerInstructions(count))
    }
}

/// Builds the check of an account.
#[derive(Clone, Debug)]
pub struct AccountCheckBuilder<'a> {
    key: Pubkey,
    expected: AccountExpected<'a>,
}

#[derive(Clone, Debug)]
struct AccountExpected<'a> {
    is_closed: bool,
    is_rent_exempt: bool,
    data: Option<&'a [u8]>,
    data_slice: Option<(usize, &'a [u8])>,
    executable: Option<bool>,
    lamports: Option<u64>,
    owner: Option<&'a Pubkey>,
    space: Option<usize>,
}

impl AccountExpected<'_> {
    const fn nothing() -> Self {
        Self {
            is_closed: false,
            is_rent_exempt: false,
            data: None,
            data_slice: None,
            executable: None,
            lamports: None,
            owner: None,
            space: None,
        }
    }
}

impl<'a> AccountCheckBuilder<'a> {
    /// Expects that it is closed: no lamports, no data, owned by the system program.
    #[must_use]
    pub const fn closed(mut self) -> Self {
        self.expected.is_closed = true;
        self.expected.is_rent_exempt = false;
        self
    }

    /// Expects that it is not below its minimum balance. Up to Mollusk 0.15, of this and [`Self::closed`] the
    /// last one counts.
    #[cfg(feature = "until-0-15")]
    #[must_use]
    pub const fn rent_exempt(mut self) -> Self {
        self.expected.is_closed = false;
        self.expected.is_rent_exempt = true;
        self
    }

    /// Expects these data.
    #[must_use]
    pub const fn data(mut self, data: &'a [u8]) -> Self {
        self.expected.data = Some(data);
        self
    }

    /// Expects this executable flag.
    #[must_use]
    pub const fn executable(mut self, executable: bool) -> Self {
        self.expected.executable = Some(executable);
        self
    }

    /// Expects this balance.
    #[must_use]
    pub const fn lamports(mut self, lamports: u64) -> Self {
        self.expected.lamports = Some(lamports);
        self
    }

    /// Expects this owner.
    #[must_use]
    pub const fn owner(mut self, owner: &'a Pubkey) -> Self {
        self.expected.owner = Some(owner);
        self
    }

    /// Expects data of this length.
    #[must_use]
    pub const fn space(mut self, space: usize) -> Self {
        self.expected.space = Some(space);
        self
    }

    /// Expects these bytes at an offset of the data.
    #[must_use]
    pub const fn data_slice(mut self, offset: usize, data: &'a [u8]) -> Self {
        self.expected.data_slice = Some((offset, data));
        self
    }

    /// Returns the check.
    #[must_use]
    pub const fn build(self) -> Check<'a> {
        Check(Expected::Account(self.key, self.expected))
    }
}

/// The parts of a result that checks look at.
struct Checked<'r> {
    compute_units: u64,
    microseconds: u64,
    result: &'r ProgramResult,
    return_data: &'r [u8],
    accounts: &'r [(Pubkey, Account)],
    is_rent_exempt: &'r dyn Fn(&Account) -> bool,
    #[cfg(feature = "inner-instructions")]
    inner_instructions: usize,
}

impl InstructionResult {
    /// Runs checks. Returns whether all hold.
    ///
    /// # Panics
    /// If one does not and the configuration says so.
    #[cfg(not(feature = "until-0-15"))]
    #[track_caller]
    pub fn run_checks(&self, checks: &[Check<'_>], config: &Config) -> bool {
        self.checked(checks, config, &|_| true)
    }

    /// Runs checks. Returns whether all hold.
    ///
    /// # Panics
    /// If one does not and the configuration says so.
    #[cfg(feature = "until-0-15")]
    #[track_caller]
    pub fn run_checks<C: CheckContext>(
        &self,
        checks: &[Check<'_>],
        config: &Config,
        context: &C,
    ) -> bool {
        self.checked(checks, config, &|account| is_rent_exempt(context, account))
    }

    #[track_caller]
    fn checked(
        &self,
        checks: &[Check<'_>],
        config: &Config,
        is_rent_exempt: &dyn Fn(&Account) -> bool,
    ) -> bool {
        let checked = Checked {
            compute_units: self.compute_units_consumed,
            microseconds: self.execution_time,
            result: &self.program_result,
            return_data: &self.return_data,
            accounts: &self.resulting_accounts,
            is_rent_exempt,
            #[cfg(feature = "inner-instructions")]
            inner_instructions: self.inner_instructions.len(),
        };
        checked.run(checks, config)
    }
}

impl TransactionResult {
    /// Runs checks. Returns whether all hold.
    ///
    /// # Panics
    /// If one does not and the configuration says so.
    #[cfg(not(feature = "until-0-15"))]
    #[track_caller]
    pub fn run_checks(&self, checks: &[Check<'_>], config: &Config) -> bool {
        self.checked(checks, config, &|_| true)
    }

    /// Runs checks. Returns whether all hold.
    ///
    /// # Panics
    /// If one does not and the configuration says so.
    #[cfg(feature = "until-0-15")]
    #[track_caller]
    pub fn run_checks<C: CheckContext>(
        &self,
        checks: &[Check<'_>],
        config: &Config,
        context: &C,
    ) -> bool {
        self.checked(checks, config, &|account| is_rent_exempt(context, account))
    }

    #[track_caller]
    fn checked(
        &self,
        checks: &[Check<'_>],
        config: &Config,
        is_rent_exempt: &dyn Fn(&Account) -> bool,
    ) -> bool {
        let result = match &self.program_result {
            TransactionProgramResult::Success => ProgramResult::Success,
            TransactionProgramResult::Failure(_, error) => ProgramResult::Failure(error.clone()),
            TransactionProgramResult::UnknownError(_, error) => {
                ProgramResult::UnknownError(error.clone())
            }
            // The only one is that of an account below its minimum balance.
            #[cfg(not(feature = "until-0-15"))]
            TransactionProgramResult::TransactionError(_) => {
                ProgramResult::Failure(ProgramError::AccountNotRentExempt)
            }
        };
        let checked = Checked {
            compute_units: self.compute_units_consumed,
            microseconds: self.execution_time,
            result: &result,
            return_data: &self.return_data,
            accounts: &self.resulting_accounts,
            is_rent_exempt,
            #[cfg(feature = "inner-instructions")]
            inner_instructions: self.inner_instructions.iter().map(Vec::len).sum(),
        };
        checked.run(checks, config)
    }
}

impl Checked<'_> {
    /// Runs every check, so that all that fail are reported.
    #[track_caller]
    fn run(&self, checks: &[Check<'_>], config: &Config) -> bool {
        checks.iter().filter(|check| !self.holds(&check.0, config)).count() == 0
    }

    #[track_caller]
    fn holds(&self, expected: &Expected<'_>, config: &Config) -> bool {
        match expected {
            Expected::ComputeUnits(units) => {
                equal(config, "compute_units", *units, self.compute_units)
            }
            Expected::Microseconds(time) => {
                equal(config, "execution_time", *time, self.microseconds)
            }
            Expected::Result(result) => equal(config, "program_result", result, self.result),
            Expected::ReturnData(data) => equal(config, "return_data", *data, self.return_data),
            Expected::Account(key, expected) => {
                match self.accounts.iter().find(|(it, _)| it == key) {
                    Some((_, account)) => expected.holds(account, config, self.is_rent_exempt),
                    None => fail(config, &format!("account {key} is not among those given")),
                }
            }
            #[cfg(feature = "until-0-15")]
            Expected::AllRentExempt => self
                .accounts
                .iter()
                .filter(|(_, account)| !(self.is_rent_exempt)(account))
                .all(|(key, account)| {
                    let (lamports, len) = (account.lamports, account.data.len());
                    fail(
                        config,
                        &format!("rent\n  account {key} has {lamports} lamports and {len} bytes of data, and is not rent-exempt"),
                    )
                }),
            #[cfg(feature = "inner-instructions")]
            Expected::InnerInstructions(count) => {
                equal(config, "inner_instruction_count", *count, self.inner_instructions)
            }
        }
    }
}

impl AccountExpected<'_> {
    #[track_caller]
    fn holds(
        &self,
        account: &Account,
        config: &Config,
        is_rent_exempt: &dyn Fn(&Account) -> bool,
    ) -> bool {
        let same_data =
            self.data.is_none_or(|it| equal(config, "account_data", it, &account.data[..]));
        let same_flag = self
            .executable
            .is_none_or(|it| equal(config, "account_executable", it, account.executable));
        let same_lamports =
            self.lamports.is_none_or(|it| equal(config, "account_lamports", it, account.lamports));
        let same_owner =
            self.owner.is_none_or(|it| equal(config, "account_owner", it, &account.owner));
        let same_space =
            self.space.is_none_or(|it| equal(config, "account_space", it, account.data.len()));
        let is_closed =
            !self.is_closed || equal(config, "account_closed", true, is_closed(account));
        let is_exempt = !self.is_rent_exempt
            || equal(config, "account_rent_exempt", true, is_rent_exempt(account));
        let same_slice = self.data_slice.is_none_or(|(offset, it)| {
            let end = offset.saturating_add(it.len());
            match account.data.get(offset..end) {
                Some(slice) => equal(config, "account_data_slice", it, slice),
                None => fail(
                    config,
                    &format!(
                        "data slice {offset}..{end} exceeds the data, of {} bytes",
                        account.data.len()
                    ),
                ),
            }
        });
        same_data
            && same_flag
            && same_lamports
            && same_owner
            && same_space
            && is_closed
            && is_exempt
            && same_slice
    }
}

#[cfg(feature = "until-0-15")]
fn is_rent_exempt<C: CheckContext>(context: &C, account: &Account) -> bool {
    context.is_rent_exempt(account.lamports, account.data.len(), account.owner)
}

fn is_closed(account: &Account) -> bool {
    let Account { lamports, data, owner, executable, .. } = account;
    *lamports == 0 && data.is_empty() && *owner == system_program::ID && !executable
}
