//! The instruction of a fixture, processed as the only one of its transaction.

use selkie_case::{Case, Input, RunMemory, firedancer::instruction_case};
use selkie_fixture::{Instruction as Given, InstructionEffects, Recorded};
use selkie_svm::{
    Account, FeatureSet, Instruction, InstructionError, Processed, ProgramCache, Pubkey,
};
use serde::{Deserialize, Deserializer};
use solana_transaction_error::TransactionError;

use crate::{
    BadVector, Check, Context, Verdict, message,
    vector::{Hex, Hex64, Key},
};

/// The expected result of an instruction.
#[derive(Clone, Deserialize, Debug)]
pub(crate) struct Expected {
    /// 0 for success; otherwise 1 plus the index of the `InstructionError` variant.
    pub(crate) result: u64,
    #[serde(default)]
    pub(crate) custom: u32,
    pub(crate) cu_left: u64,
    pub(crate) accounts: Vec<State>,
    #[serde(deserialize_with = "recorded")]
    pub(crate) ret: Recorded,
}

fn recorded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Recorded, D::Error> {
    Hex::deserialize(deserializer).map(|bytes| bytes.0.into())
}

/// An expected account: address, lamports, owner, executable flag, length and hash of its data. The length is
/// not known if a fixture has the hash only.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
pub(crate) struct State(Key, u64, Key, bool, Option<usize>, Hex64);

impl State {
    pub(crate) fn new(address: Pubkey, account: &Account) -> Self {
        Self::recorded(&selkie_fixture::Account {
            address,
            lamports: account.lamports,
            data: account.data.clone().into(),
            owner: account.owner,
            executable: account.executable,
            rent_epoch: account.rent_epoch,
        })
    }

    /// Returns the state that a fixture records.
    pub(crate) fn recorded(account: &selkie_fixture::Account<Recorded>) -> Self {
        let (key, owner) = (Key(account.address), Key(account.owner));
        let (len, hash) = (account.data.bytes().map(<[u8]>::len), account.data.hash());
        Self(key, account.lamports, owner, account.executable, len, Hex64(hash))
    }

    /// Returns the state without the length of the data, if that is unknown here.
    fn like(mut self, other: &Self) -> Self {
        self.4 = self.4.filter(|_| other.4.is_some());
        self
    }
}

impl Expected {
    /// Returns the recorded result of a fixture.
    pub(crate) fn recorded(effects: &InstructionEffects) -> Self {
        Self {
            result: effects.result,
            custom: effects.custom_error,
            cu_left: effects.compute_units_left.unwrap_or_default(),
            accounts: effects.accounts.iter().map(State::recorded).collect(),
            ret: effects.return_data.clone(),
        }
    }
}

/// Returns the instruction of a fixture with the state before it. Each account has the privileges that it
/// has in a transaction of this one instruction.
pub(crate) fn case(given: &Given, features: FeatureSet, context: &Context) -> Case {
    let mut case = context.ruled(instruction_case(given, features));
    if let Input::Instructions { instructions, .. } = &mut case.input {
        instructions.iter_mut().for_each(message::compile);
    }
    case
}

/// Returns the one instruction of a case.
pub(crate) fn instruction(case: &Case) -> Result<&Instruction, BadVector> {
    let Input::Instructions { instructions, .. } = &case.input else {
        return Err(BadVector("it is no instruction".to_owned()));
    };
    instructions.first().ok_or_else(|| BadVector("it has no instruction".to_owned()))
}

/// Runs an instruction with each requested engine.
pub(crate) fn run_each(
    case: &Case,
    check: &mut Check,
    context: &Context,
    compare: impl Fn(&mut Check, &Processed),
) -> Result<(), BadVector> {
    for (single, engine) in context.engine().each_of_runtime() {
        check.set_prefix(single.prefix());
        engine.resolve().map_err(BadVector::of)?;
        let ended = case.run(&ProgramCache::new(), engine, None, &mut RunMemory::default());
        compare(check, &*ended.map_err(BadVector::of)?);
    }
    Ok(())
}

/// Returns the error of the instruction.
pub(crate) fn error(processed: &Processed) -> Option<&InstructionError> {
    match &processed.result {
        Err(TransactionError::InstructionError(_, error)) => Some(error),
        _ => None,
    }
}

/// Returns the state of an account after the instruction; `None` for one that it does not name.
pub(crate) fn after(processed: &Processed, key: &Pubkey) -> Option<State> {
    let change = processed.accounts.iter().find(|it| it.key == *key)?;
    let account = change.write.as_ref().or(change.before.as_ref()).cloned();
    Some(State::new(*key, &account.unwrap_or_default().into()))
}

/// Returns what the instruction returned.
pub(crate) fn returned(processed: &Processed) -> Recorded {
    processed.return_data.as_ref().map(|it| it.data.clone()).unwrap_or_default().into()
}

/// Processes the instruction and compares its result, the compute units left, the return data
/// and, if it is to succeed, the accounts. Compute units are not compared with those of another build of
/// its program.
pub(crate) fn judge(
    case: &Case,
    expected: &Expected,
    is_another_build: bool,
    context: &Context,
) -> Result<Verdict, BadVector> {
    let mut check = Check::default();
    let environment = &case.environment;
    let precompile =
        environment.precompiles.get(&instruction(case)?.program_id, environment.features);
    run_each(case, &mut check, context, |check, processed| {
        let (result, custom) = match error(processed) {
            None => (0, 0),
            // Firedancer does not record the custom error of a precompile.
            Some(InstructionError::Custom(_)) if precompile.is_some() => (26, 0),
            Some(error) => (selkie_svm::error::discriminant(error) + 1, custom(error)),
        };
        check.same("result", expected.result, result);
        check.same("custom", expected.custom, custom);
        if !is_another_build {
            let left = processed.compute_unit_limit.saturating_sub(processed.compute_units);
            check.same("cu_left", expected.cu_left, left);
        }
        check.same("ret", &expected.ret, &returned(processed).like(&expected.ret));
        // Changes of a failed instruction are rolled back, and differ between implementations.
        if expected.result == 0 {
            for state in &expected.accounts {
                let got = after(processed, &state.0.0).map(|it| it.like(state));
                check.same(&format!("account {}", state.0.0), Some(state), got.as_ref());
            }
        }
    })?;
    check.finish()
}

fn custom(error: &InstructionError) -> u32 {
    match error {
        InstructionError::Custom(number) => *number,
        _ => 0,
    }
}
