//! Checks of results.

use solana_account::Account;
use solana_instruction_error::InstructionError;
use solana_program_error::ProgramError;
use solana_pubkey::Pubkey;

#[cfg(feature = "until-0-15")]
use crate::result::CheckContext;
pub use crate::result::account_check::AccountCheckBuilder;
use crate::result::{
    Config, InstructionResult, ProgramResult, TransactionProgramResult, TransactionResult,
    account_check::AccountExpected,
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

impl<'a> AccountCheckBuilder<'a> {
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
        // A closure would hide the place of the test.
        let mut are_met = true;
        for check in checks {
            are_met &= self.holds(&check.0, config);
        }
        are_met
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
            Expected::AllRentExempt => {
                match self.accounts.iter().find(|(_, account)| !(self.is_rent_exempt)(account)) {
                    Some((key, account)) => {
                        let (lamports, len) = (account.lamports, account.data.len());
                        fail(
                            config,
                            &format!(
                                "Account {key} is not rent exempt after execution (lamports: {lamports}, data_len: {len})"
                            ),
                        )
                    }
                    None => true,
                }
            }
            #[cfg(feature = "inner-instructions")]
            Expected::InnerInstructions(count) => {
                equal(config, "inner_instruction_count", *count, self.inner_instructions)
            }
        }
    }
}

#[cfg(feature = "until-0-15")]
fn is_rent_exempt<C: CheckContext>(context: &C, account: &Account) -> bool {
    context.is_rent_exempt(account.lamports, account.data.len(), account.owner)
}

#[cfg(all(test, feature = "until-0-15"))]
mod tests {
    use super::*;
    use crate::Mollusk;

    /// Tests expect the panic by the text of the peer.
    #[test]
    #[should_panic(expected = "is not rent exempt after execution (lamports: 1, data_len: 0)")]
    fn accounts_below_their_rent_are_named_as_by_the_peer() {
        let poor = (Pubkey::new_from_array([1; 32]), Account { lamports: 1, ..Account::default() });
        let result =
            InstructionResult { resulting_accounts: vec![poor], ..InstructionResult::default() };
        let checks = [Check::all_rent_exempt()];
        result.run_checks(&checks, &Config::default(), &Mollusk::default());
    }
}
