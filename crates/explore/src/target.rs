//! Targets: the chain that a search starts from, the actions on it, and what must hold.

use core::{fmt, str::FromStr};

use selkie::{Crash, Inspector, Instruction, InstructionError, Receipt, Replay, Svm};

use crate::{args::Args, call_error::CallError, compared::Compared, place::Places};

type Setup = Box<dyn Fn() -> Svm + Send + Sync>;
type Run = Box<dyn Fn(&mut ActionContext<'_>) + Send + Sync>;
type Check = Box<dyn Fn(&Svm) -> Result<(), String> + Send + Sync>;

/// The chain that a search starts from, the actions that it tries, and what must hold after each.
///
/// ```
/// use selkie::{Svm, address, system};
/// use selkie_explore::{Target, Options, explore};
///
/// let (alice, bob) = (address("alice"), address("bob"));
/// let setup = move || {
///     let mut svm = Svm::new();
///     svm.airdrop(&alice, 1_000_000_000).expect("it is little");
///     svm
/// };
/// let target = Target::new(setup)
///     .action("transfer", move |session| {
///         let lamports = session.args.range(0, 2_000_000_000);
///         session.send(&[system::transfer(&alice, &bob, lamports)]);
///     })
///     .invariant("bob stays poor", move |svm| match svm.balance(&bob) {
///         ..900_000_000 => Ok(()),
///         balance => Err(format!("bob has {balance} lamports")),
///     });
/// let report = explore(&target, &Options { runs: Some(20_000), ..Options::default() })?;
/// assert_eq!(report.findings[0].what, "invariant `bob stays poor`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Target {
    pub(crate) setup: Setup,
    pub(crate) actions: Vec<Action>,
    pub(crate) invariants: Vec<(String, Check)>,
    pub(crate) fails_on: Vec<FailsOn>,
}

/// An action of a target.
pub(crate) struct Action {
    pub(crate) name: String,
    pub(crate) run: Run,
}

/// A result of a transaction that is a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailsOn {
    /// A program crashed: it panicked, accessed memory that it must not, divided by zero, or used all
    /// compute units ([`Receipt::crash`]). Errors that programs return are none, nor are those of CPIs.
    Trap,
    /// An instruction failed with this custom error.
    Custom(u32),
    /// A line of the log contains this text.
    Log(String),
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("actions", &self.action_names()).finish_non_exhaustive()
    }
}

impl Target {
    /// Creates a target without actions. `setup` makes the chain, once for each thread; it must make
    /// the same one each time.
    pub fn new(setup: impl Fn() -> Svm + Send + Sync + 'static) -> Self {
        let setup = Box::new(setup);
        Self { setup, actions: Vec::new(), invariants: Vec::new(), fails_on: Vec::new() }
    }

    /// Adds an action. It reads its arguments from [`ActionContext::args`] and sends instructions by
    /// [`ActionContext::send`]. It must depend on nothing but those and the chain.
    #[must_use]
    pub fn action(
        mut self,
        name: &str,
        run: impl Fn(&mut ActionContext<'_>) + Send + Sync + 'static,
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
pub struct Defect {
    /// The kind of failure.
    pub kind: DefectKind,
    /// What failed: the same text for the same bug, whatever the input. A crash is told by its line in
    /// the user's own code, without debug information by its slot.
    pub what: String,
    /// That line with its column and function, if it is known.
    pub place: Option<String>,
    /// The details of this case.
    pub detail: String,
}

/// The kind of a failure. The worst comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DefectKind {
    /// A program crashed; a panic comes before other crashes.
    Crash(Crash),
    /// An invariant does not hold.
    Invariant,
    /// An instruction failed with an error that was asked for.
    Error,
    /// The log has a text that was asked for.
    Log,
}

impl DefectKind {
    /// Returns its name: `panic`, `trap`, `invariant`, `error` or `log`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Crash(Crash::Panic) => "panic",
            Self::Crash(_) => "trap",
            Self::Invariant => "invariant",
            Self::Error => "error",
            Self::Log => "log",
        }
    }
}

/// What one call of an action may use.
#[derive(Debug)]
pub struct ActionContext<'a> {
    /// The arguments of the call.
    pub args: Args<'a>,
    svm: &'a mut Svm,
    fails_on: &'a [FailsOn],
    places: &'a mut Places,
    explains: bool,
    compared: Option<&'a mut Compared>,
    recorded: Option<&'a mut Vec<Replay>>,
    failed: Option<&'a mut Option<Receipt>>,
    pub(crate) result: CallResult,
}

/// The result of a call.
#[derive(Default, Debug)]
pub(crate) struct CallResult {
    /// Whether the last transaction succeeded; `None` if none was sent.
    pub(crate) succeeded: Option<bool>,
    pub(crate) failure: Option<Defect>,
    /// Why the first transaction failed that did.
    pub(crate) error: Option<CallError>,
    /// The compute units of all transactions.
    pub(crate) compute_units: u64,
}

impl<'a> ActionContext<'a> {
    /// Failures have details if `explains`.
    pub(crate) fn new(
        args: Args<'a>,
        svm: &'a mut Svm,
        fails_on: &'a [FailsOn],
        places: &'a mut Places,
        explains: bool,
    ) -> Self {
        let result = CallResult::default();
        let (compared, recorded, failed) = (None, None, None);
        Self { args, svm, fails_on, places, explains, compared, recorded, failed, result }
    }

    pub(crate) fn watched(
        self,
        compared: Option<&'a mut Compared>,
        recorded: Option<&'a mut Vec<Replay>>,
        failed: Option<&'a mut Option<Receipt>>,
    ) -> Self {
        Self { compared, recorded, failed, ..self }
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
            recorded.push(self.svm.record_instructions(&id, instructions, &[]));
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
            Err(_) if self.result.error.is_none() => {
                self.result.error = CallError::of(&receipt);
                if let Some(failed) = &mut self.failed {
                    **failed = Some(receipt.clone());
                }
            }
            Err(_) => {}
        }
        if self.result.failure.is_none() {
            self.result.failure = self
                .fails_on
                .iter()
                .find_map(|what| what.failure_on(self.svm, &receipt, self.places, self.explains));
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
    /// Returns why a transaction is a finding, if it is one, with details if `explains`.
    fn failure_on(
        &self,
        svm: &Svm,
        receipt: &Receipt,
        places: &mut Places,
        explains: bool,
    ) -> Option<Defect> {
        match self {
            Self::Trap => {
                let crash = receipt.crash()?;
                let place = places.of(svm, receipt, crash)?;
                let explain = || places.explain(svm, receipt);
                let detail = explains.then(explain).unwrap_or_default();
                let kind = DefectKind::Crash(crash);
                Some(Defect { kind, what: place.group, place: place.own, detail })
            }
            Self::Custom(code) => {
                let error = receipt.failed_instruction.as_ref()?;
                let is_it = error.error == InstructionError::Custom(*code);
                let what = format!("custom error {code}");
                let detail = || format!("of {}", svm.show(&error.program_id));
                let kind = DefectKind::Error;
                is_it.then(|| Defect { kind, what, place: None, detail: detail() })
            }
            Self::Log(text) => {
                let line = receipt.logs.iter().find(|line| line.contains(text.as_str()))?;
                let what = format!("log with `{text}`");
                Some(Defect { kind: DefectKind::Log, what, place: None, detail: line.to_owned() })
            }
        }
    }
}
