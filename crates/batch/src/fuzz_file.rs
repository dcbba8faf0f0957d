//! The form of a search in an item of kind `fuzz`.

use core::ops::Range;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie::Svm;
use selkie_explore::{CallSequence, Example, FailsOn, Idl, Target};
use selkie_svm::{Instruction, Pubkey, Transaction};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{environment::pubkey, error::Malformed};

/// The version of the file.
const VERSION: u32 = 1;
/// The most seeds of an item, and the most calls of all its searches together.
const SEEDS_MAX: u64 = 256;
const CALLS_MAX: u64 = 1 << 20;
/// The most instructions that become actions, and cases to begin with.
const INSTRUCTIONS_MAX: usize = 64;
const CASES_MAX: usize = 1024;

/// A search: the `message` of an item of kind `fuzz`, in JSON. Actions are made of `transactions` or
/// of `idl`; the accounts are those of the item.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FuzzFile {
    /// The version of this form: 1.
    pub version: u32,
    /// The first seed.
    pub first_seed: u64,
    /// How many seeds there are, up to 256. Each is a search of its own.
    pub seed_count: u64,
    /// How many calls a search runs, roughly. All searches of an item run up to 1,048,576.
    pub calls: u64,
    /// What counts as a finding: `trap`, `error:N` or `log:TEXT`.
    #[serde(default = "fails_on", skip_serializing_if = "is_default")]
    pub fails_on: Vec<String>,
    /// The address of the program. Of `transactions`, only its instructions are changed; without it
    /// those of all programs that are not builtin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Transactions whose instructions are called, in base64 as they are sent. Signatures are not
    /// verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<String>,
    /// A description of the program's interface, as Anchor writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idl: Option<Value>,
    /// Cases to begin with, as `selkie fuzz --corpus` writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<Value>,
}

fn fails_on() -> Vec<String> {
    vec!["trap".to_owned()]
}

fn is_default(all: &Vec<String>) -> bool {
    *all == fails_on()
}

impl Default for FuzzFile {
    /// Returns a search for traps without actions: 10,000 calls with the seed 0.
    fn default() -> Self {
        Self {
            version: VERSION,
            first_seed: 0,
            seed_count: 1,
            calls: 10_000,
            fails_on: fails_on(),
            program: None,
            transactions: Vec::new(),
            idl: None,
            cases: Vec::new(),
        }
    }
}

impl FuzzFile {
    /// Returns the file's bytes, for the column `message`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("strings and numbers are JSON")
    }

    /// Reads a file.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let file: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("`message` is not a search: {error}"))?;
        match file.version {
            VERSION => Ok(file),
            other => Err(Malformed::from(format!(
                "the search has version {other}, and only {VERSION} is known"
            ))),
        }
    }

    /// Returns the seeds, if they and the calls are within the limits.
    pub(crate) fn seeds(&self) -> Result<Range<u64>, Malformed> {
        let (count, calls) = (self.seed_count, self.calls);
        if !(1..=SEEDS_MAX).contains(&count) {
            return Err(Malformed::from(format!(
                "`seedCount` is {count}, but has to be from 1 to {SEEDS_MAX}"
            )));
        }
        if calls == 0 || count.saturating_mul(calls) > CALLS_MAX {
            return Err(Malformed::from(format!(
                "{count} searches of {calls} calls are not from 1 to {CALLS_MAX} calls: make several \
                 items of them"
            )));
        }
        let end =
            self.first_seed.checked_add(count).ok_or("the last seed has more than 64 bits")?;
        Ok(self.first_seed..end)
    }

    /// Returns the actions, and cases to begin with.
    pub(crate) fn target(&self, svm: &Svm) -> Result<(Target, Vec<CallSequence>), Malformed> {
        let program = self.program.as_deref().map(pubkey).transpose()?;
        let (mut target, mut cases) = match (&self.idl, self.transactions.is_empty()) {
            (Some(idl), true) => (described(idl, program, svm)?, Vec::new()),
            (None, false) => Target::of_examples(svm, &self.examples(program, svm)?),
            _ => return Err(Malformed::from("a search has either `transactions` or an `idl`")),
        };
        for what in &self.fails_on {
            let what = what.parse::<FailsOn>();
            target = target.fails_on(what.map_err(|error| format!("`failsOn`: {error}"))?);
        }
        if self.cases.len() > CASES_MAX {
            return Err(Malformed::from(format!("there are more than {CASES_MAX} `cases`")));
        }
        let names = target.action_names();
        for (index, case) in self.cases.iter().enumerate() {
            let case = CallSequence::parse(&case.to_string(), &names);
            cases.push(case.map_err(|error| format!("cases[{index}]: {error}"))?);
        }
        Ok((target, cases))
    }

    fn examples(&self, program: Option<Pubkey>, svm: &Svm) -> Result<Vec<Example>, Malformed> {
        let mut all: Vec<Instruction> = Vec::new();
        for (index, text) in self.transactions.iter().enumerate() {
            let read = || {
                let wire = BASE64_STANDARD.decode(text).map_err(|error| error.to_string())?;
                let transaction = Transaction::from_wire(&wire, svm.rules());
                let transaction = transaction.map_err(|it| it.to_string())?;
                let case = svm.case(&transaction.into_inner());
                case.instructions().map_err(|error| error.to_string())
            };
            let found = read().map_err(|why| format!("transactions[{index}]: {why}"))?;
            let is_called = |it: &Instruction| match program {
                Some(program) => it.program_id == program,
                None => svm.program(&it.program_id).is_some(),
            };
            for instruction in found.into_iter().filter(is_called) {
                if !all.contains(&instruction) {
                    all.push(instruction);
                }
            }
            if all.len() > INSTRUCTIONS_MAX {
                return Err(Malformed::from(format!(
                    "there are more than {INSTRUCTIONS_MAX} instructions to call"
                )));
            }
        }
        match all.is_empty() {
            true => Err(Malformed::from("`transactions` call no program that can be searched")),
            false => Ok(Example::numbered(all)),
        }
    }
}

fn described(idl: &Value, program: Option<Pubkey>, svm: &Svm) -> Result<Target, Malformed> {
    let idl = Idl::parse(&idl.to_string()).map_err(|error| format!("`idl`: {error}"))?;
    let program = program.or(idl.address);
    let program = program.ok_or("`idl` has no address, so `program` has to name the program")?;
    Ok(idl.target(svm, program))
}
