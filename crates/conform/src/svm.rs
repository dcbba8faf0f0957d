//! Kind `svm`: a transaction and all the state that it needs; made by agave's batch processor.
//!
//! The runtime has neither transactions nor builtin programs nor calls between programs yet, so a
//! vector is run if its transaction comes down to one instruction of an sBPF program. Whether it
//! does, `Case::new` tells before anything is run. What it cannot tell is whether the program
//! will call a syscall that is not there; a run that was stopped at such a call is not judged.

use std::{collections::BTreeMap, str::FromStr};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use selkie_elf::Executable;
use selkie_isa::{Insn, Kind, symbol::murmur3};
use selkie_svm::{
    Account, Engine, Environment, EpochStake, FeatureSet, Instruction, Loader, Options, Program,
    Pubkey, Purpose, Receipt, Run, elf_environment, process_instruction, syscalls::UNSUPPORTED,
    sysvars::Sysvars,
};
use selkie_vm::Trap;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use crate::{BadVector, Check, Context, Verdict, engine::Way, kinds::is, svm_transaction};

/// The features that vectors call by this name are the runtime's own of mainnet.
const MAINNET: &str = "mainnet-2026-09-27";
/// Where the program file starts in the program data account of loader v3.
const PROGRAM_DATA_HEADER_BYTES: usize = 45;
const INSTRUCTIONS_SYSVAR: Pubkey =
    Pubkey::from_str_const("Sysvar1nstructions1111111111111111111111111");
const SYSVAR_OWNER: Pubkey = Pubkey::from_str_const("Sysvar1111111111111111111111111111111111111");
const NATIVE_LOADER: Pubkey = Pubkey::from_str_const("NativeLoader1111111111111111111111111111111");

#[derive(Deserialize)]
struct Vector {
    slot: u64,
    features: Value,
    #[serde(default)]
    epoch_total_stake: u64,
    #[serde(default)]
    vote_stakes: BTreeMap<String, u64>,
    accounts: Vec<State>,
    tx: String,
    expect: Expected,
}

/// An account as vectors write it.
#[derive(Deserialize)]
struct State {
    k: Key,
    l: u64,
    o: Key,
    x: bool,
    d: String,
}

/// An address in base 58.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key(Pubkey);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Pubkey::from_str(&text).map(Self).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
struct Expected {
    stage: String,
    result_str: String,
    fee: u64,
    cu: u64,
    return_data: Option<Returned>,
    logs: Vec<String>,
    #[serde(default)]
    inner: Vec<Vec<Value>>,
    post: Vec<State>,
}

#[derive(Deserialize)]
struct Returned {
    program: Key,
    data: String,
}

/// Whether a line is of this kind.
#[must_use]
pub fn matches(line: &Value) -> bool {
    let has = |field| line.get(field).is_some();
    is(line, "svm") || has("tx") && has("expect") && has("accounts")
}

/// Processes the instruction and compares its result, compute units, log, return data, and the
/// transaction's accounts.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let vector = Vector::deserialize(line)?;
    match Case::new(&vector, context) {
        Ok(case) => case.check(&vector.expect, context),
        Err(why) => Ok(Verdict::Skipped(why)),
    }
}

/// What a vector comes down to.
struct Case {
    instruction: Instruction,
    /// The transaction's accounts, the payer first, who has paid the fee.
    accounts: Vec<(Pubkey, Account)>,
    environment: Environment,
}

impl Case {
    /// Makes a case of a vector, or tells why that is not possible.
    fn new(vector: &Vector, context: &Context) -> Result<Self, String> {
        let expect = &vector.expect;
        if expect.stage != "executed" {
            return Err("checks before execution are not supported yet".to_owned());
        }
        if vector.features != MAINNET {
            return Err("features other than mainnet's are not supported yet".to_owned());
        }
        if expect.result_str.starts_with("InsufficientFundsForRent") {
            return Err("the rent check of transactions is not supported yet".to_owned());
        }
        let wire = BASE64_STANDARD.decode(&vector.tx).map_err(|error| error.to_string())?;
        let transaction = svm_transaction::read(&wire)?;
        let [mut instruction] = <[Instruction; 1]>::try_from(transaction.instructions)
            .map_err(|_| "transactions of other than one instruction are not supported yet")?;
        if expect.inner.iter().any(|inner| !inner.is_empty()) {
            return Err("calls between programs are not supported yet".to_owned());
        }
        if transaction.keys.contains(&INSTRUCTIONS_SYSVAR) {
            return Err("the instructions sysvar is not supported yet".to_owned());
        }
        let mut before = BTreeMap::new();
        for state in &vector.accounts {
            before.insert(state.k.0, state);
        }
        let program = load(vector.slot, &instruction.program_id, &before, context)?;
        let mut accounts = Vec::new();
        for key in &transaction.keys {
            let account = before.get(key).map(|state| state.account(context)).transpose()?;
            accounts.push((*key, account.unwrap_or_default()));
        }
        if let Some((_, payer)) = accounts.first_mut() {
            payer.lamports = payer.lamports.saturating_sub(expect.fee);
        }
        for meta in &mut instruction.accounts {
            let owner = before.get(&meta.pubkey).map(|state| state.o.0);
            let is_reserved = owner.is_some_and(|it| [SYSVAR_OWNER, NATIVE_LOADER].contains(&it));
            // A transaction cannot write to what the protocol itself keeps, nor to what it calls.
            meta.is_writable &= !is_reserved && meta.pubkey != instruction.program_id;
        }
        let mut environment = environment(vector, context)?;
        environment.programs.insert(instruction.program_id, program);
        Ok(Self { instruction, accounts, environment })
    }

    fn check(&self, expect: &Expected, context: &Context) -> Result<Verdict, BadVector> {
        let mut check = Check::default();
        let mut first: Option<Receipt> = None;
        for &way in context.engine().ways() {
            let engine = match way {
                Way::Interpreter => Engine::Interpreter,
                Way::Jit => Engine::Jit,
            };
            // What was not asked for by name may be missing.
            if context.engine() == crate::Engine::Both && engine.resolve().is_err() {
                continue;
            }
            check.prefix(way.prefix());
            let options = Options { engine, ..Options::default() };
            let receipt = process_instruction(
                &self.instruction,
                &self.accounts,
                &self.environment,
                &options,
                None,
            );
            let receipt = receipt.map_err(|error| error.to_string())?;
            if let Some(first) = &first {
                compare_receipts(&mut check, first, &receipt);
            }
            let program = self.environment.programs.get(&self.instruction.program_id);
            // A second engine must get as far as the first.
            if first.is_none()
                && let Some((program, run)) = program.zip(receipt.run.as_ref())
                && let Some(name) = unsupported_syscall(program.executable(), run)
            {
                let why = format!("the program called {name}, which is not supported yet");
                return Ok(Verdict::Skipped(why));
            }
            self.compare(&mut check, expect, &receipt, context)?;
            first.get_or_insert(receipt);
        }
        check.finish()
    }

    fn compare(
        &self,
        check: &mut Check,
        expect: &Expected,
        receipt: &Receipt,
        context: &Context,
    ) -> Result<(), BadVector> {
        let result = receipt.result.as_ref();
        let result =
            result.map_or_else(|error| format!("InstructionError(0, {error:?})"), |()| "Ok".into());
        check.same("result", &expect.result_str, &result);
        self.compare_accounts(check, expect, receipt, context)?;
        check.same("cu", expect.cu, receipt.units);
        check.same("logs", &expect.logs, &receipt.logs);
        let expected = expect.return_data.as_ref().map(|it| (it.program.0, it.data.clone()));
        let got = receipt.return_data.as_ref();
        let got = got.map(|it| (it.program_id, BASE64_STANDARD.encode(&it.data)));
        check.same("return_data", expected, got);
        Ok(())
    }

    /// Compares every account of the transaction: with its expected state, or with what it was.
    fn compare_accounts(
        &self,
        check: &mut Check,
        expect: &Expected,
        receipt: &Receipt,
        context: &Context,
    ) -> Result<(), BadVector> {
        for ((key, before), (_, got)) in self.accounts.iter().zip(&receipt.accounts) {
            let state = expect.post.iter().find(|state| state.k.0 == *key);
            let expected = state.map(|state| state.account(context)).transpose()?;
            let expected = expected.as_ref().unwrap_or(before);
            check.same(&format!("{key} lamports"), expected.lamports, got.lamports);
            // Of an account that is deleted, nothing else is left.
            if expected.lamports > 0 {
                check.same(&format!("{key} owner"), expected.owner, got.owner);
                check.same(&format!("{key} executable"), expected.executable, got.executable);
                if expected.data != got.data {
                    let len = |data: &[u8]| format!("{} bytes", data.len());
                    let (expected, got) = (len(&expected.data), len(&got.data) + " with others");
                    check.differ(&format!("{key} data"), expected, got);
                }
            }
        }
        Ok(())
    }
}

/// Notes in what the engines differ that no vector expects: how the program's run ended.
fn compare_receipts(check: &mut Check, interpreter: &Receipt, jit: &Receipt) {
    let end =
        |receipt: &Receipt| receipt.run.as_ref().map(|run| (format!("{:?}", run.result), run.pc));
    check.same("engines differ: run", end(interpreter), end(jit));
    check.same("engines differ: units", interpreter.units, jit.units);
}

/// Loads the program, or tells why it cannot be run.
fn load(
    slot: u64,
    id: &Pubkey,
    accounts: &BTreeMap<Pubkey, &State>,
    context: &Context,
) -> Result<Program, String> {
    let no_program = || "programs that cannot be loaded are not supported yet".to_owned();
    let account = accounts.get(id).ok_or_else(no_program)?;
    let loader = match Loader::of(&account.o.0) {
        Some(loader @ (Loader::V1 | Loader::V2 | Loader::V3)) => loader,
        _ => return Err("builtin programs and loaders are not supported yet".to_owned()),
    };
    let mut file = account.data(context)?;
    if loader == Loader::V3 {
        let address = file.get(4..36).and_then(|address| Pubkey::try_from(address).ok());
        let data = address.and_then(|address| accounts.get(&address)).ok_or_else(no_program)?;
        file = data.data(context)?;
        let deployed = file.get(4..12).and_then(|slot| slot.first_chunk()).copied();
        if deployed.is_none_or(|deployed| u64::from_le_bytes(deployed) >= slot) {
            return Err("programs that are not visible yet are not supported yet".to_owned());
        }
        file = file.split_off(PROGRAM_DATA_HEADER_BYTES.min(file.len()));
    }
    let against = elf_environment(FeatureSet::mainnet(), Purpose::Execution);
    Program::load(&file, loader, &against).map_err(|_| no_program())
}

/// The syscall at which the program was stopped, if mainnet has it and the runtime has not. Nothing that was
/// expected plays a part in it.
fn unsupported_syscall(executable: &Executable, run: &Run) -> Option<&'static str> {
    if !matches!(run.result, Err(Trap::UnsupportedInstruction)) {
        return None;
    }
    let insn = Insn::decode(executable.version(), executable.text(), run.pc)?;
    let is_call = match insn.op.kind() {
        Kind::CallHash => true,
        Kind::CallStatic => insn.src == 0,
        _ => false,
    };
    let key = u32::from_le_bytes(*insn.imm.to_le_bytes().first_chunk()?);
    UNSUPPORTED.iter().find(|name| is_call && key == murmur3(name.as_bytes())).copied()
}

fn environment(vector: &Vector, context: &Context) -> Result<Environment, String> {
    let mut sysvars = Sysvars::empty();
    for state in vector.accounts.iter().filter(|state| state.o.0 == SYSVAR_OWNER) {
        // Programs cannot ask for all that are sysvars, and only of those setting succeeds.
        let _ = sysvars.set(state.k.0, &state.data(context)?);
    }
    let stake = |(key, stake): (&String, &u64)| {
        Pubkey::from_str(key).map(|key| (key, *stake)).map_err(|error| error.to_string())
    };
    let vote_accounts = vector.vote_stakes.iter().map(stake).collect::<Result<_, _>>()?;
    let epoch_stake = EpochStake { total: vector.epoch_total_stake, vote_accounts };
    Ok(Environment { sysvars, epoch_stake, ..Environment::default() })
}

impl State {
    fn data(&self, context: &Context) -> Result<Vec<u8>, String> {
        match self.d.strip_prefix("blob:") {
            Some(sha) => context.blob(sha).map(|bytes| bytes.to_vec()),
            None => BASE64_STANDARD.decode(&self.d).map_err(|error| error.to_string()),
        }
    }

    fn account(&self, context: &Context) -> Result<Account, String> {
        let data = self.data(context)?;
        let (owner, executable) = (self.o.0, self.x);
        Ok(Account { lamports: self.l, data, owner, executable, rent_epoch: u64::MAX })
    }
}
