//! The instruction of a fixture, processed as the only one of its transaction.

use selkie_fixture::{Instruction as Given, InstructionEffects};
use selkie_svm::{
    Account, AccountMeta, ComputeBudget, Environment, FeatureSet, Instruction, InstructionError,
    InstructionResult, Options, Pubkey, error, process_instruction,
};
use serde::Deserialize;

use crate::{
    BadVector, Check, Context, Verdict, message, runtime,
    vector::{Hex, Hex64, Key, hex, xxh64},
};

/// The default heap size in bytes.
const HEAP_BYTES: u32 = 32 * 1024;

/// An instruction with the state before it.
pub(crate) struct Case {
    pub(crate) instruction: Instruction,
    /// The accounts of the transaction.
    pub(crate) accounts: Vec<(Pubkey, Account)>,
    pub(crate) environment: Environment,
    pub(crate) compute_unit_limit: u64,
    /// Whether the program is not the build that the fixture was recorded with. Compute units are not
    /// compared then.
    pub(crate) is_another_build: bool,
}

/// The expected result of an instruction.
#[derive(Clone, Deserialize, Debug)]
pub(crate) struct Expected {
    /// 0 for success; otherwise 1 plus the index of the `InstructionError` variant.
    pub(crate) result: u64,
    #[serde(default)]
    pub(crate) custom: u32,
    pub(crate) cu_left: u64,
    pub(crate) accounts: Vec<State>,
    pub(crate) ret: Hex,
}

/// An expected account: address, lamports, owner, executable flag, length and hash of its data.
#[derive(Clone, PartialEq, Eq, Deserialize, Debug)]
pub(crate) struct State(Key, u64, Key, bool, usize, Hex64);

impl State {
    pub(crate) fn new(address: Pubkey, account: &Account) -> Self {
        let data = &account.data;
        let hash = if data.is_empty() { 0 } else { xxh64(data) };
        let (key, owner) = (Key(address), Key(account.owner));
        Self(key, account.lamports, owner, account.executable, data.len(), Hex64(hash))
    }
}

impl Expected {
    /// Returns the recorded result of a fixture.
    pub(crate) fn recorded(effects: &InstructionEffects) -> Self {
        let state = |it: &selkie_fixture::Account| State::new(it.address, &runtime::account(it).1);
        Self {
            result: effects.result,
            custom: effects.custom_error,
            cu_left: effects.compute_units_left.unwrap_or_default(),
            accounts: effects.accounts.iter().map(state).collect(),
            ret: Hex(effects.return_data.clone()),
        }
    }
}

impl Case {
    /// Prepares the instruction of a fixture.
    pub(crate) fn new(given: &Given, features: FeatureSet) -> Self {
        let all: Vec<_> = given.accounts.iter().map(runtime::account).collect();
        let mut instruction = instruction(given);
        let keys = message::compile(&mut instruction);
        let account = |key: Pubkey| {
            let account = all.iter().find(|(known, _)| *known == key);
            (key, account.map(|(_, account)| account.clone()).unwrap_or_default())
        };
        let mut environment = selkie_case::firedancer::environment(features, &all);
        runtime::load_programs(&mut environment, &all);
        Self {
            instruction,
            accounts: keys.into_iter().map(account).collect(),
            environment,
            compute_unit_limit: given.compute_unit_limit,
            is_another_build: false,
        }
    }

    /// Returns the owner of an account.
    pub(crate) fn owner(&self, key: &Pubkey) -> Option<Pubkey> {
        self.accounts.iter().find(|(known, _)| known == key).map(|(_, account)| account.owner)
    }

    /// Processes the instruction with each requested engine.
    pub(crate) fn check(
        &self,
        check: &mut Check,
        context: &Context,
        compare: impl Fn(&mut Check, &InstructionResult),
    ) -> Result<(), BadVector> {
        for (single, engine) in context.engine().each_of_runtime() {
            check.set_prefix(single.prefix());
            let compute_unit_limit = self.compute_unit_limit;
            let budget = ComputeBudget { compute_unit_limit, heap_bytes: HEAP_BYTES };
            let options = Options { budget, engine };
            let (instruction, accounts) = (&self.instruction, &self.accounts);
            let receipt =
                process_instruction(instruction, accounts, &self.environment, &options, None);
            compare(check, &receipt.map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    /// Processes the instruction and compares its result, the compute units left, the return data
    /// and, if it is to succeed, the accounts.
    pub(crate) fn judge(
        &self,
        expected: &Expected,
        context: &Context,
    ) -> Result<Verdict, BadVector> {
        let mut check = Check::default();
        let is_precompile = {
            let precompiles = &self.environment.precompiles;
            precompiles.get(&self.instruction.program_id, self.environment.features).is_some()
        };
        self.check(&mut check, context, |check, receipt| {
            let (result, custom) = match &receipt.result {
                Ok(()) => (0, 0),
                // Firedancer does not record the custom error of a precompile.
                Err(InstructionError::Custom(_)) if is_precompile => (26, 0),
                Err(error) => (error::discriminant(error) + 1, custom(error)),
            };
            check.same("result", expected.result, result);
            check.same("custom", expected.custom, custom);
            if !self.is_another_build {
                check.same(
                    "cu_left",
                    expected.cu_left,
                    self.compute_unit_limit.saturating_sub(receipt.compute_units),
                );
            }
            let returned = receipt.return_data.as_ref().map_or(&[][..], |it| &it.data);
            check.same("ret", hex(&expected.ret.0), hex(returned));
            // Changes of a failed instruction are rolled back, and differ between implementations.
            if expected.result == 0 {
                for state in &expected.accounts {
                    let got = receipt.accounts.iter().find(|(key, _)| *key == state.0.0);
                    let got = got.map(|(key, account)| State::new(*key, account));
                    check.same(&format!("account {}", state.0.0), Some(state), got.as_ref());
                }
            }
        })?;
        check.finish()
    }
}

fn custom(error: &InstructionError) -> u32 {
    match error {
        InstructionError::Custom(number) => *number,
        _ => 0,
    }
}

/// Returns the instruction of a fixture, with addresses instead of account indices.
pub(crate) fn instruction(given: &Given) -> Instruction {
    let meta = |it: &selkie_fixture::InstructionAccount| AccountMeta {
        pubkey: given.accounts.get(it.index).map(|account| account.address).unwrap_or_default(),
        is_signer: it.is_signer,
        is_writable: it.is_writable,
    };
    Instruction {
        program_id: given.program_id,
        accounts: given.instruction_accounts.iter().map(meta).collect(),
        data: given.data.clone(),
    }
}
