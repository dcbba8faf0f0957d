//! Expectations on receipts.

use core::fmt;
use selkie_svm::sysvars::minimum_balance;

use solana_account::{AccountSharedData, ReadableAccount};
use solana_instruction_error::InstructionError;
use solana_pubkey::Pubkey;
use solana_transaction_error::TransactionError;

use crate::{receipt::Receipt, report};

/// Expectations on a receipt, of a transaction or of directly processed instructions.
///
/// ```
/// use selkie::{address, system, Check, InstructionError, Svm};
///
/// let (alice, bob) = (address("alice"), address("bob"));
/// let mut svm = Svm::new();
/// svm.airdrop(&alice, 1_000_000_000)?;
///
/// let paid = svm.process_instruction(&system::transfer(&alice, &bob, 5), &[]);
/// paid.assert(Check::success().compute_units(150).account(&bob).lamports(5).space(0));
/// let refused = svm.process_instruction(&system::transfer(&bob, &alice, 6), &[]);
/// refused.assert(Check::err(InstructionError::Custom(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
#[must_use = "a check does nothing until it is passed to `Receipt::assert` or `check`"]
pub struct Check(Vec<Expectation>);

/// Expectations on one account, which a [`Check`] continues with.
#[derive(Clone, Debug)]
#[must_use = "a check does nothing until it is passed to `Receipt::assert` or `check`"]
pub struct AccountCheck {
    check: Check,
    key: Pubkey,
}

#[derive(Clone, Debug)]
enum Expectation {
    Result(Result<(), Error>),
    ComputeUnits(u64),
    ComputeUnitsMax(u64),
    Returned(Vec<u8>),
    LogContains(String),
    InnerInstructions(Vec<(usize, Pubkey)>),
    AllRentExempt,
    Account(Pubkey, AccountExpectation),
}

#[derive(Clone, Debug)]
enum Error {
    Instruction(InstructionError),
    Transaction(TransactionError),
}

#[derive(Clone, Debug)]
enum AccountExpectation {
    Lamports(u64),
    Data(Vec<u8>),
    DataSlice(usize, Vec<u8>),
    Space(usize),
    Owner(Pubkey),
    Executable(bool),
    Closed,
    RentExempt,
    Unchanged,
}

impl Check {
    /// Creates a check without expectations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects success.
    pub fn success() -> Self {
        Self::new().with(Expectation::Result(Ok(())))
    }

    /// Expects that an instruction failed with this error, at any index.
    pub fn err(error: InstructionError) -> Self {
        Self::new().with(Expectation::Result(Err(Error::Instruction(error))))
    }

    /// Expects that a program failed with this custom error code.
    pub fn custom(number: u32) -> Self {
        Self::err(InstructionError::Custom(number))
    }

    /// Expects that the transaction failed or was dropped with this error.
    pub fn transaction_err(error: TransactionError) -> Self {
        Self::new().with(Expectation::Result(Err(Error::Transaction(error))))
    }

    fn with(mut self, expectation: Expectation) -> Self {
        self.0.push(expectation);
        self
    }

    /// Expects exactly this many compute units.
    pub fn compute_units(self, compute_units: u64) -> Self {
        self.with(Expectation::ComputeUnits(compute_units))
    }

    /// Expects at most this many compute units.
    pub fn compute_units_at_most(self, max: u64) -> Self {
        self.with(Expectation::ComputeUnitsMax(max))
    }

    /// Expects this return data; an empty slice expects none.
    pub fn return_data(self, data: &[u8]) -> Self {
        self.with(Expectation::Returned(data.to_vec()))
    }

    /// Expects a log line that contains `text`.
    pub fn log_contains(self, text: &str) -> Self {
        self.with(Expectation::LogContains(text.to_owned()))
    }

    /// Expects exactly these inner instructions, in order of invocation, as (stack height, program)
    /// pairs; a CPI by a top-level instruction has stack height 2.
    pub fn inner_instructions(self, calls: &[(usize, Pubkey)]) -> Self {
        self.with(Expectation::InnerInstructions(calls.to_vec()))
    }

    /// Expects that every changed account is rent-exempt or closed.
    pub fn all_rent_exempt(self) -> Self {
        self.with(Expectation::AllRentExempt)
    }

    /// Starts the expectations on an account as it is after the transaction.
    pub fn account(self, key: &Pubkey) -> AccountCheck {
        AccountCheck { check: self, key: *key }
    }
}

impl AccountCheck {
    fn with(mut self, expectation: AccountExpectation) -> Self {
        self.check.0.push(Expectation::Account(self.key, expectation));
        self
    }

    /// Expects this balance.
    pub fn lamports(self, lamports: u64) -> Self {
        self.with(AccountExpectation::Lamports(lamports))
    }

    /// Expects exactly these data.
    pub fn data(self, data: &[u8]) -> Self {
        self.with(AccountExpectation::Data(data.to_vec()))
    }

    /// Expects these bytes at this offset of the data.
    pub fn data_slice(self, offset: usize, data: &[u8]) -> Self {
        self.with(AccountExpectation::DataSlice(offset, data.to_vec()))
    }

    /// Expects this length of the data, in bytes.
    pub fn space(self, space: usize) -> Self {
        self.with(AccountExpectation::Space(space))
    }

    /// Expects this owner.
    pub fn owner(self, owner: &Pubkey) -> Self {
        self.with(AccountExpectation::Owner(*owner))
    }

    /// Expects this executable flag.
    pub fn executable(self, executable: bool) -> Self {
        self.with(AccountExpectation::Executable(executable))
    }

    /// Expects that the account does not exist any more.
    pub fn closed(self) -> Self {
        self.with(AccountExpectation::Closed)
    }

    /// Expects that the account is rent-exempt.
    pub fn rent_exempt(self) -> Self {
        self.with(AccountExpectation::RentExempt)
    }

    /// Expects that the account did not change.
    pub fn unchanged(self) -> Self {
        self.with(AccountExpectation::Unchanged)
    }

    /// Continues with the expectations on another account.
    pub fn account(self, key: &Pubkey) -> Self {
        self.check.account(key)
    }
}

impl From<AccountCheck> for Check {
    fn from(check: AccountCheck) -> Self {
        check.check
    }
}

/// The expectations that do not hold, with the receipt.
#[derive(Clone)]
pub struct CheckFailures {
    /// One sentence per expectation.
    pub failures: Vec<String>,
    receipt: Box<Receipt>,
}

impl PartialEq for CheckFailures {
    fn eq(&self, other: &Self) -> bool {
        self.failures == other.failures && self.to_string() == other.to_string()
    }
}

impl Eq for CheckFailures {}

impl fmt::Display for CheckFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.failures.len() {
            1 => f.write_str("1 expectation does not hold")?,
            count => write!(f, "{count} expectations do not hold")?,
        }
        self.failures.iter().try_for_each(|failure| write!(f, "\n  {failure}"))?;
        write!(f, "\n{}", self.receipt)?;
        if self.receipt.is_ok() {
            // The receipt of a failed transaction already has these notes.
            let notes = self.receipt.stale_programs();
            notes.iter().try_for_each(|note| write!(f, "\n  note: {note}"))?;
        }
        Ok(())
    }
}

/// Prints the same as `Display`, and the command that debugs the transaction.
impl fmt::Debug for CheckFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        self.receipt.debug_command().map_or(Ok(()), |it| write!(f, "\n  debug: {it}"))
    }
}

impl core::error::Error for CheckFailures {}

impl Receipt {
    /// Checks all expectations.
    ///
    /// # Errors
    /// If some do not hold; the error lists all of these.
    pub fn check(&self, check: impl Into<Check>) -> Result<(), CheckFailures> {
        let check = check.into();
        let failures: Vec<String> = check.0.iter().filter_map(|it| it.failure(self)).collect();
        match failures.is_empty() {
            true => Ok(()),
            false => Err(CheckFailures { failures, receipt: Box::new(self.clone()) }),
        }
    }

    /// Asserts all expectations; returns the receipt.
    ///
    /// # Panics
    /// If some expectations do not hold. The message ends with the command that debugs the transaction.
    #[track_caller]
    pub fn assert(&self, check: impl Into<Check>) -> &Self {
        // No closure: the place of the panic is that of the caller.
        match self.check(check) {
            Ok(()) => self,
            Err(failures) => panic!("{failures:?}"),
        }
    }
}

/// Describes the difference of two values; `None` if they are equal.
fn differ<T: PartialEq>(
    what: &str,
    expected: &T,
    found: &T,
    show: impl Fn(&T) -> String,
) -> Option<String> {
    (expected != found)
        .then(|| format!("{what}: expected {}, found {}", show(expected), show(found)))
}

/// Describes the ranges in which two byte strings differ; `None` if they are equal. Both begin at
/// `offset`.
fn bytes_differ(what: &str, offset: usize, expected: &[u8], found: &[u8]) -> Option<String> {
    (expected != found).then(|| report::bytes_differ(what, offset, expected, found))
}

/// Renders calls with their stack heights, as in `2 system (11111111111111111111111111111111)`.
fn calls_shown(receipt: &Receipt, calls: &[(usize, Pubkey)]) -> String {
    let shown: Vec<String> = calls
        .iter()
        .map(|(height, program)| format!("{height} {}", receipt.show(program)))
        .collect();
    format!("[{}]", shown.join(", "))
}

impl Expectation {
    fn failure(&self, receipt: &Receipt) -> Option<String> {
        match self {
            Self::Result(expected) => result(expected, receipt),
            Self::ComputeUnits(units) => {
                differ("compute units", units, &receipt.compute_units, ToString::to_string)
            }
            Self::ComputeUnitsMax(max) => {
                let units = receipt.compute_units;
                (units > *max)
                    .then(|| format!("compute units: expected at most {max}, found {units}"))
            }
            Self::Returned(data) => bytes_differ("return data", 0, data, receipt.returned()),
            Self::LogContains(text) => {
                let found = receipt.logs.iter().any(|line| line.contains(text));
                (!found).then(|| format!("log: no line contains `{text}`"))
            }
            Self::InnerInstructions(calls) => {
                let invocations = receipt.invocations();
                let called = invocations.iter().filter(|invocation| invocation.stack_height > 1);
                let found: Vec<_> = called.map(|it| (it.stack_height, it.program_id)).collect();
                differ("inner instructions", calls, &found, |it| calls_shown(receipt, it))
            }
            Self::AllRentExempt => {
                let is_underfunded = |account: &AccountSharedData| !is_exempt(receipt, account);
                let underfunded: Vec<String> = receipt
                    .changes()
                    .filter(|change| change.after().is_some_and(is_underfunded))
                    .map(|change| receipt.show(&change.key))
                    .collect();
                (!underfunded.is_empty())
                    .then(|| format!("not rent exempt: {}", underfunded.join(", ")))
            }
            Self::Account(key, expected) => {
                let Some(change) = receipt.account(key) else {
                    let key = receipt.show(key);
                    return Some(format!("account {key}: the instructions do not refer to it"));
                };
                if matches!(expected, AccountExpectation::Unchanged) {
                    let is_same = change.before.as_ref() == change.after();
                    return (!is_same).then(|| {
                        let how = report::account(receipt, change.before.as_ref(), change.after());
                        let how = how.replace('\n', "\n  ");
                        format!("account {}: changed:{how}", receipt.show(key))
                    });
                }
                let failure = expected.failure(receipt, change.after())?;
                Some(format!("account {}: {failure}", receipt.show(key)))
            }
        }
    }
}

fn result(expected: &Result<(), Error>, receipt: &Receipt) -> Option<String> {
    let found = &receipt.result;
    let holds = match (expected, found) {
        (Ok(()), Ok(())) => true,
        (Err(Error::Transaction(expected)), Err(found)) => expected == found,
        (Err(Error::Instruction(expected)), Err(TransactionError::InstructionError(_, found))) => {
            expected == found
        }
        _ => false,
    };
    let expected = match expected {
        Ok(()) => "success".to_owned(),
        Err(Error::Instruction(error)) => format!("{error:?}"),
        Err(Error::Transaction(error)) => format!("{error:?}"),
    };
    let found = || match found {
        Ok(()) => "success".to_owned(),
        Err(error) => match receipt.error_name() {
            Some(name) => format!("{error:?}: {name}"),
            None => format!("{error:?}"),
        },
    };
    (!holds).then(|| format!("result: expected {expected}, found {}", found()))
}

impl AccountExpectation {
    fn failure(&self, receipt: &Receipt, account: Option<&AccountSharedData>) -> Option<String> {
        if matches!(self, Self::Closed) {
            return account.map(|it| format!("expected none, found {} lamports", it.lamports()));
        }
        let none = AccountSharedData::default();
        let account = account.unwrap_or(&none);
        let (data, len) = (account.data(), account.data().len());
        match self {
            Self::Lamports(lamports) => {
                differ("lamports", lamports, &account.lamports(), ToString::to_string)
            }
            Self::Data(expected) => bytes_differ("data", 0, expected, data),
            Self::DataSlice(offset, expected) => {
                let end = offset.saturating_add(expected.len());
                let what = format!("data {offset}..{end}");
                match data.get(*offset..end) {
                    Some(found) => bytes_differ("data", *offset, expected, found),
                    None => Some(format!("{what}: the data have only {len} bytes")),
                }
            }
            Self::Space(space) => differ("space", space, &len, ToString::to_string),
            Self::Owner(owner) => differ("owner", owner, account.owner(), |it| receipt.show(it)),
            Self::Executable(executable) => {
                differ("executable", executable, &account.executable(), ToString::to_string)
            }
            Self::RentExempt => {
                let (has, needs) = (account.lamports(), minimum_balance(&receipt.rent, len));
                (has < needs).then(|| format!("rent: needs {needs} lamports, has {has}"))
            }
            Self::Closed | Self::Unchanged => None,
        }
    }
}

fn is_exempt(receipt: &Receipt, account: &AccountSharedData) -> bool {
    receipt.rent.is_exempt(account.lamports(), account.data().len())
}
