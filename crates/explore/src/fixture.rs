//! Fixtures: the chain that a search starts from, the actions on it, and what must hold.

use core::{fmt, str::FromStr};

use selkie::{Inspector, Instruction, InstructionError, Receipt, Svm, fixture};

use crate::{args::Args, compared::Compared};

type Setup = Box<dyn Fn() -> Svm + Send + Sync>;
type Run = Box<dyn Fn(&mut Session<'_>) + Send + Sync>;
type Check = Box<dyn Fn(&Svm) -> Result<(), String> + Send + Sync>;

/// The chain that a search starts from, the actions that it tries, and what must hold after each.
///
/// ```
/// use selkie::{Svm, address, system};
/// use selkie_explore::{Fixture, Options, explore};
///
/// let (alice, bob) = (address("alice"), address("bob"));
/// let setup = move || {
///     let mut svm = Svm::new();
///     svm.airdrop(&alice, 1_000_000_000).expect("it is little");
///     svm
/// };
/// let fixture = Fixture::new(setup)
///     .action("transfer", move |session| {
///         let lamports = session.args.range(0, 2_000_000_000);
///         session.send(&[system::transfer(&alice, &bob, lamports)]);
///     })
///     .invariant("bob stays poor", move |svm| match svm.balance(&bob) {
///         ..900_000_000 => Ok(()),
///         balance => Err(format!("bob has {balance} lamports")),
///     });
/// let report = explore(&fixture, &Options { runs: Some(20_000), ..Options::default() })?;
/// assert_eq!(report.findings[0].what, "invariant `bob stays poor`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Fixture {
    pub(crate) setup: Setup,
    pub(crate) actions: Vec<Action>,
    pub(crate) invariants: Vec<(String, Check)>,
    pub(crate) fails_on: Vec<FailsOn>,
}

/// An action of a fixture.
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) run: Run,
}

/// A result of a transaction that is a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailsOn {
    /// A program trapped: it accessed memory that it must not, panicked, divided by zero, or used all
    /// compute units.
    Trap,
    /// An instruction failed with this custom error.
    Custom(u32),
    /// A line of the log contains this text.
    Log(String),
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("actions", &self.action_names()).finish_non_exhaustive()
    }
}

impl Fixture {
    /// Creates a fixture without actions. `setup` makes the chain, once for each thread; it must make
    /// the same one each time.
    pub fn new(setup: impl Fn() -> Svm + Send + Sync + 'static) -> Self {
        let setup = Box::new(setup);
        Self { setup, actions: Vec::new(), invariants: Vec::new(), fails_on: Vec::new() }
    }

    /// Adds an action. It reads its arguments from [`Session::args`] and sends instructions by
    /// [`Session::send`]. It must depend on nothing but those and the chain.
    #[must_use]
    pub fn action(
        mut self,
        name: &str,
        run: impl Fn(&mut Session<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.actions.push(Action { name: name.to_owned(), run: Box::new(run) });
        self
    }

    /// Adds an invariant: what must hold after each action. An `Err` with the reason is a finding.
    #[must_use]
    pub fn invariant(
        mut self,
        name: &str,
        check: impl Fn(&Svm) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.invariants.push((name.to_owned(), Box::new(check)));
        self
    }

    /// Makes results of transactions findings. Without, only broken invariants are.
    #[must_use]
    pub fn fails_on(mut self, what: FailsOn) -> Self {
        self.fails_on.push(what);
        self
    }

    /// Returns the names of the actions, in their order.
    #[must_use]
    pub fn action_names(&self) -> Vec<&str> {
        self.actions.iter().map(|action| action.name.as_str()).collect()
    }
}

/// Why a case is a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What failed: the same text for the same bug, whatever the input.
    pub what: String,
    /// The details of this case.
    pub detail: String,
}

/// What one call of an action may use.
#[derive(Debug)]
pub struct Session<'a> {
    /// The arguments of the call.
    pub args: Args<'a>,
    svm: &'a mut Svm,
    fails_on: &'a [FailsOn],
    compared: Option<&'a mut Compared>,
    recorded: Option<&'a mut Vec<fixture::Fixture>>,
    pub(crate) result: CallResult,
}

/// The result of a call.
#[derive(Default, Debug)]
pub(crate) struct CallResult {
    /// Whether the last transaction succeeded; `None` if none was sent.
    pub(crate) succeeded: Option<bool>,
    pub(crate) failure: Option<Failure>,
    /// Why the last transaction failed.
    pub(crate) refusal: Option<String>,
    /// The compute units of all transactions.
    pub(crate) compute_units: u64,
}

impl<'a> Session<'a> {
    pub(crate) fn new(args: Args<'a>, svm: &'a mut Svm, fails_on: &'a [FailsOn]) -> Self {
        let result = CallResult::default();
        Self { args, svm, fails_on, compared: None, recorded: None, result }
    }

    pub(crate) fn watched(
        self,
        compared: Option<&'a mut Compared>,
        recorded: Option<&'a mut Vec<fixture::Fixture>>,
    ) -> Self {
        Self { compared, recorded, ..self }
    }

    /// Returns the chain. Changes of it, of time for instance, last until the end of the case.
    pub fn svm(&mut self) -> &mut Svm {
        self.svm
    }

    /// Processes instructions as one transaction without fees, in which all accounts that are named as
    /// signers have signed. Returns the receipt; if they failed, nothing has changed.
    pub fn send(&mut self, instructions: &[Instruction]) -> Receipt {
        if let Some(recorded) = &mut self.recorded {
            let id = format!("call {}", recorded.len());
            recorded.push(fixture::Fixture::record_instructions(self.svm, &id, instructions, &[]));
        }
        let receipt = match &mut self.compared {
            Some(compared) => {
                let inspector: &mut dyn Inspector = *compared;
                self.svm.process_instructions_inspected(instructions, &[], inspector)
            }
            None => self.svm.process_instructions(instructions, &[]),
        };
        self.result.succeeded = Some(receipt.is_ok());
        let units = &mut self.result.compute_units;
        *units = units.saturating_add(receipt.compute_units);
        match &receipt.result {
            Ok(()) => self.svm.commit(&receipt),
            Err(error) if self.result.refusal.is_none() => {
                self.result.refusal = Some(error.to_string());
            }
            Err(_) => {}
        }
        if self.result.failure.is_none() {
            self.result.failure = self.fails_on.iter().find_map(|what| what.failure(&receipt));
        }
        receipt
    }
}

/// A text that is not a [`FailsOn`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailsOnError(&'static str);

impl fmt::Display for FailsOnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl core::error::Error for FailsOnError {}

/// Parses `trap`, `error:N` for a custom error, or `log:TEXT`.
impl FromStr for FailsOn {
    type Err = FailsOnError;

    fn from_str(text: &str) -> Result<Self, FailsOnError> {
        match text.split_once(':') {
            None if text == "trap" => Ok(Self::Trap),
            Some(("error", number)) => {
                let number = match number.strip_prefix("0x") {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => number.parse(),
                };
                let wrong = |_| FailsOnError("the custom error is not a number of 32 bits");
                Ok(Self::Custom(number.map_err(wrong)?))
            }
            Some(("log", text)) if !text.is_empty() => Ok(Self::Log(text.to_owned())),
            _ => Err(FailsOnError("expected `trap`, `error:N` or `log:TEXT`")),
        }
    }
}

impl FailsOn {
    /// Returns why a transaction is a finding, if it is one.
    #[must_use]
    pub fn failure(&self, receipt: &Receipt) -> Option<Failure> {
        match self {
            Self::Trap => {
                let stopped = receipt.stopped.as_ref()?;
                let (program, pc) = (stopped.program_id, stopped.stop().pc);
                let what = format!("trap of {program} at pc {pc}");
                let mut detail = receipt.trap().map(|it| it.to_string()).unwrap_or_default();
                // A panic of Rust says in the log what is wrong.
                if let Some(line) = receipt.logs.iter().rfind(|it| it.contains("panicked at")) {
                    detail = format!("{line}\n{detail}");
                }
                Some(Failure { what, detail })
            }
            Self::Custom(code) => {
                let error = receipt.failed_instruction.as_ref()?;
                let is_it = error.error == InstructionError::Custom(*code);
                let what = format!("custom error {code}");
                is_it.then(|| Failure { what, detail: format!("of {}", error.program_id) })
            }
            Self::Log(text) => {
                let line = receipt.logs.iter().find(|line| line.contains(text.as_str()))?;
                Some(Failure { what: format!("log with `{text}`"), detail: line.to_owned() })
            }
        }
    }
}
