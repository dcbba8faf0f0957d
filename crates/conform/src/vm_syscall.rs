//! Kind `vm_syscall`: one syscall against given memory, in an instruction that was entered; made
//! by agave's own harness.
//!
//! The program that calls is at address 0707..07 and of V0. What is not observed by the vectors
//! (blockhashes, stakes, logs) is not compared.

use selkie_elf::{Executable, Functions};
use selkie_isa::{
    Version,
    layout::{BYTECODE_START, HEAP_START, INPUT_START, STACK_START},
};
use selkie_svm::{
    Account, AccountMeta, ComputeBudget, Environment, Feature, FeatureSet, Instruction,
    InstructionError, Invocation, Loader, Program, Pubkey, ReturnData, Syscall, SyscallError,
    error,
};
use selkie_vm::{Config, MemoryMap, Region, Trap};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Check, Context, Verdict,
    context::Profile,
    kinds::is,
    vector::{Hex, Hex64, xxh64},
    vm_interp::filled,
};

const PROGRAM: Pubkey = Pubkey::new_from_array([7; 32]);

/// `exit`: the program does nothing by itself.
const TEXT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

#[derive(Deserialize)]
struct Vector {
    syscall: String,
    profile: String,
    loader: String,
    #[serde(default)]
    accounts: Vec<GivenAccount>,
    #[serde(default)]
    metas: Vec<(Key, bool, bool)>,
    #[serde(default)]
    data: Hex,
    #[serde(default)]
    cu: u64,
    #[serde(default)]
    heap_max: u32,
    #[serde(default)]
    heap: String,
    #[serde(default)]
    stack: String,
    #[serde(default)]
    rodata: Hex,
    #[serde(default)]
    args: Vec<Hex64>,
    return_data: Option<(Key, Hex)>,
    exp: Expected,
}

/// An account as vectors write it.
#[derive(Clone, Deserialize, Debug)]
pub(crate) struct GivenAccount {
    pub(crate) key: Key,
    #[serde(default)]
    lamports: u64,
    #[serde(default)]
    pub(crate) data: Hex,
    owner: Key,
    #[serde(default)]
    exec: bool,
}

/// An address, written in hex.
#[derive(Clone, Copy, Deserialize, Debug)]
#[serde(try_from = "Hex")]
pub(crate) struct Key(pub(crate) Pubkey);

impl TryFrom<Hex> for Key {
    type Error = &'static str;

    fn try_from(Hex(bytes): Hex) -> Result<Self, Self::Error> {
        let bytes = <[u8; 32]>::try_from(bytes).map_err(|_| "an address has 32 bytes")?;
        Ok(Self(Pubkey::new_from_array(bytes)))
    }
}

#[derive(Deserialize)]
struct Expected {
    #[serde(default)]
    err: i64,
    #[serde(default)]
    kind: i64,
    #[serde(default)]
    r0: Hex64,
    #[serde(default)]
    cu_left: u64,
    heap: Option<Hex64>,
    stack: Option<Hex64>,
    rodata: Option<Hex64>,
    /// Offset, whether it is writable, length, hash.
    #[serde(default)]
    input: Vec<(u64, bool, usize, Hex64)>,
}

impl Expected {
    /// Whether a syscall did nothing, not even charge, but return 1.
    fn is_stub(&self, units: u64) -> bool {
        self.err == 0 && self.r0 == Hex64(1) && self.cu_left == units
    }
}

/// Whether a line is of this kind.
#[must_use]
pub fn matches(line: &Value) -> bool {
    let has = |field| line.get(field).is_some();
    is(line, "vm_syscall") || has("syscall") && has("loader") && has("exp")
}

/// Calls the syscall and compares its result, the compute units that are left, and the memory.
///
/// # Errors
/// If the vector is unreadable.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let vector = Vector::deserialize(line)?;
    let profile = context.profile(&vector.profile, false)?;
    let (Some(syscall), Some(features)) =
        (Syscall::find(&vector.syscall), features(&vector.profile))
    else {
        let why = match features(&vector.profile) {
            None => format!("the features of profile {} are not known", vector.profile),
            Some(_) => format!("syscall {} is not supported yet", vector.syscall),
        };
        return Ok(Verdict::Skipped(why));
    };
    if vector.syscall == "sol_big_mod_exp" && vector.exp.is_stub(vector.cu) {
        let why = "made when sol_big_mod_exp was a stub that returned 1";
        return Ok(Verdict::Skipped(why.to_owned()));
    }
    if adjusts_addresses(profile) && !vector.metas.is_empty() {
        let why = "accounts under virtual_address_space_adjustments are not supported yet";
        return Ok(Verdict::Skipped(why.to_owned()));
    }
    let mut environment =
        Environment { features, sysvars: context.sysvars().clone(), ..Environment::default() };
    environment.programs.insert(PROGRAM, vector.program()?);
    for account in &vector.accounts {
        // Most accounts are no sysvar, which is all that setting them can fail for.
        let _ = environment.sysvars.set(account.key.0, &account.data.0);
    }
    vector.check(syscall, &environment, profile)
}

/// Whether the profile has `virtual_address_space_adjustments` (SIMD-0460), which ends the window
/// of 4 GiB for each region.
fn adjusts_addresses(profile: &Profile) -> bool {
    !profile.aligned_memory_mapping
}

/// The features of a profile, as far as syscalls ask for them.
fn features(profile: &str) -> Option<FeatureSet> {
    // Agave 4.2 is from before mainnet switched this on.
    let restrictions = Feature::SyscallParameterAddressRestrictions;
    match profile {
        "none" => Some(FeatureSet::none()),
        "mainnet" => Some(FeatureSet::mainnet().without(restrictions)),
        "next" => Some(FeatureSet::mainnet().with(restrictions)),
        "all" => Some(FeatureSet::all()),
        _ => None,
    }
}

impl Vector {
    fn program(&self) -> Result<Program, BadVector> {
        let loaders = ["v1", "v2", "v3", "v4"].into_iter().zip(Loader::ALL);
        let loader = loaders.into_iter().find(|(name, _)| *name == self.loader);
        let (_, loader) = loader.ok_or_else(|| format!("there is no loader {}", self.loader))?;
        let functions = Functions::default();
        let executable = Executable::from_text(Version::V0, TEXT, 0, functions, Default::default())
            .map_err(|error| error.to_string())?;
        Ok(Program::new(executable, loader).map_err(|error| error.to_string())?)
    }

    fn enter<'e>(&self, environment: &'e Environment) -> Result<Invocation<'e>, BadVector> {
        let meta = |(Key(pubkey), is_signer, is_writable): &(Key, bool, bool)| AccountMeta {
            pubkey: *pubkey,
            is_signer: *is_signer,
            is_writable: *is_writable,
        };
        let instruction = Instruction {
            program_id: PROGRAM,
            accounts: self.metas.iter().map(meta).collect(),
            data: self.data.0.clone(),
        };
        let accounts: Vec<_> = self.accounts.iter().map(GivenAccount::account).collect();
        let budget = ComputeBudget { units: self.cu, heap_bytes: self.heap_max };
        let mut invocation = Invocation::enter(&instruction, &accounts, environment, budget)
            .map_err(|error| error.to_string())?;
        if let Some((Key(program_id), Hex(data))) = &self.return_data {
            let data = data.clone();
            invocation.set_return_data(ReturnData { program_id: *program_id, data });
        }
        Ok(invocation)
    }

    fn check(
        &self,
        syscall: &Syscall,
        environment: &Environment,
        profile: &Profile,
    ) -> Result<Verdict, BadVector> {
        let config = Config {
            stack_frame_gaps: profile.enable_stack_frame_gaps,
            aligned_memory: profile.aligned_memory_mapping,
            ..Config::default()
        };
        let mut invocation = self.enter(environment)?;
        let mut input = invocation.input().bytes.clone();
        let mut stack = filled(config.stack_bytes(), &self.stack)?;
        let heap_max = usize::try_from(self.heap_max).map_err(|error| error.to_string())?;
        let mut heap = filled(heap_max, &self.heap)?;
        let stack_region = Region::writable(STACK_START, &mut stack);
        let regions = vec![
            Region::readonly(BYTECODE_START, &self.rodata.0),
            if config.stack_frame_gaps {
                stack_region.gapped(config.stack_frame_bytes)
            } else {
                stack_region
            },
            Region::writable(HEAP_START, &mut heap),
            Region::writable(INPUT_START, &mut input),
        ];
        let mut memory = MemoryMap::new(regions, &config, Version::V0)
            .map_err(|trap| format!("memory cannot be mapped: {trap}"))?;
        let mut arguments = [0; 5];
        arguments.iter_mut().zip(&self.args).for_each(|(argument, given)| *argument = given.0);
        let result = invocation.call(syscall, arguments, &mut memory);

        let mut check = Check::default();
        let (kind, err) = result.as_ref().err().map_or((0, 0), error_number);
        check.same("kind", self.exp.kind, kind);
        check.same("err", self.exp.err, err);
        check.same("r0", self.exp.r0, Hex64(*result.as_ref().unwrap_or(&0)));
        check.same("cu_left", self.exp.cu_left, invocation.units_left());
        check.equal("heap", self.exp.heap, hash(&heap));
        check.equal("stack", self.exp.stack, hash(&stack));
        check.equal("rodata", self.exp.rodata, hash(&self.rodata.0));
        // With adjusted addresses, the input is not observed after a failure.
        if !adjusts_addresses(profile) || result.is_ok() {
            let got = vec![(0, true, input.len(), hash(&input))];
            check.same("input", self.exp.input.clone(), got);
        }
        check.finish()
    }
}

impl GivenAccount {
    fn account(&self) -> (Pubkey, Account) {
        let account = Account {
            lamports: self.lamports,
            data: self.data.0.clone(),
            owner: self.owner.0,
            executable: self.exec,
            rent_epoch: u64::MAX,
        };
        (self.key.0, account)
    }
}

/// What family of errors a syscall failed with, and the error's place in it, from 1.
fn error_number(error: &selkie_vm::SyscallError) -> (i64, i64) {
    let place = |discriminant: u64| i64::try_from(discriminant).map_or(-1, |place| place + 1);
    if let Some(error) = error.downcast_ref::<InstructionError>() {
        (3, place(error::discriminant(error)))
    } else if let Some(error) = error.downcast_ref::<SyscallError>() {
        (2, place(error.discriminant()))
    } else if let Some(trap) = error.downcast_ref::<Trap>() {
        (1, place(trap.discriminant()))
    } else {
        // Poseidon's errors, which are not numbered.
        (2, -1)
    }
}

/// The hash of a region; that of an empty one is 0.
fn hash(bytes: &[u8]) -> Hex64 {
    Hex64(if bytes.is_empty() { 0 } else { xxh64(bytes) })
}
