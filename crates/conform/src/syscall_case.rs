//! One syscall against given memory, in an instruction that was entered.
//!
//! The program that calls is of V0 and does nothing by itself; what is observed is what agave's own
//! harness observes: no logs, no return data.

use selkie_elf::{Executable, Functions};
use selkie_fixture::{Syscall as Given, SyscallFixture};
use selkie_isa::{
    Version,
    layout::{BYTECODE_START, HEAP_START, INPUT_START, STACK_START},
};
use selkie_svm::{
    Account, ComputeBudget, Environment, Feature, FeatureSet, Instruction, InstructionError,
    Invocation, Loader, Program, Pubkey, ReturnData, Syscall, SyscallError, error,
};
use selkie_vm::{Config, MemoryMap, Region, Trap};
use serde::Deserialize;

use crate::{
    BadVector, Check, instr,
    vector::{Hex64, xxh64},
};

/// `exit`: the program does nothing by itself.
const TEXT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// The most that a heap has.
const HEAP_BYTES_MAX: u64 = 256 * 1024;

/// A syscall and all that it finds.
pub(crate) struct Case {
    pub(crate) syscall: &'static Syscall,
    pub(crate) environment: Environment,
    pub(crate) instruction: Instruction,
    pub(crate) accounts: Vec<(Pubkey, Account)>,
    pub(crate) units: u64,
    pub(crate) arguments: [u64; 5],
    pub(crate) heap_bytes: u64,
    pub(crate) heap: Vec<u8>,
    pub(crate) stack: Vec<u8>,
    pub(crate) rodata: Vec<u8>,
    pub(crate) return_data: Option<ReturnData>,
}

/// What is expected of it. Hashes that are left out are not compared.
#[derive(Clone, Deserialize, Debug)]
pub(crate) struct Expected {
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
    pub(crate) fn is_stub(&self, units: u64) -> bool {
        self.err == 0 && self.r0 == Hex64(1) && self.cu_left == units
    }

    /// What a fixture recorded.
    pub(crate) fn recorded(fixture: &SyscallFixture) -> Self {
        let effects = &fixture.output;
        let regions = effects.input.iter();
        Self {
            err: effects.error,
            kind: effects.error_kind.into(),
            r0: Hex64(effects.r0),
            cu_left: effects.compute_units_left,
            heap: Some(hash(&effects.heap)),
            stack: Some(hash(&effects.stack)),
            rodata: Some(hash(&effects.rodata)),
            input: regions
                .map(|it| (it.offset, it.is_writable, it.content.len(), hash(&it.content)))
                .collect(),
        }
    }
}

/// A program of this loader that does nothing.
pub(crate) fn program(loader: Loader, features: FeatureSet) -> Result<Program, BadVector> {
    let functions = Functions::default();
    let executable = Executable::from_text(Version::V0, TEXT, 0, functions, Default::default())
        .map_err(|error| error.to_string())?;
    let program = Program::new(executable, loader).map_err(|error| error.to_string())?;
    Ok(program.for_features(features))
}

impl Case {
    /// What a fixture comes down to.
    pub(crate) fn new(
        given: &Given,
        syscall: &'static Syscall,
        features: FeatureSet,
    ) -> Result<Self, BadVector> {
        let case = instr::Case::new(&given.instruction, features);
        let program_id = case.instruction.program_id;
        // What is no program at all enters as one of any loader does.
        let loader = case.owner(&program_id).and_then(|owner| Loader::of(&owner));
        let loader = loader.unwrap_or(Loader::V3);
        let instr::Case { instruction, accounts, mut environment, units, .. } = case;
        environment.programs.insert(program_id, program(loader, features)?);
        let return_data = given.return_data.clone();
        Ok(Self {
            syscall,
            environment,
            instruction,
            accounts,
            units,
            arguments: given.arguments,
            heap_bytes: given.heap_bytes,
            heap: given.heap.clone(),
            stack: given.stack.clone(),
            rodata: given.rodata.clone(),
            return_data: return_data.map(|(program_id, data)| ReturnData { program_id, data }),
        })
    }

    /// Calls the syscall and compares its result, the compute units that are left, and the memory.
    pub(crate) fn check(&self, check: &mut Check, expected: &Expected) -> Result<(), BadVector> {
        let features = self.environment.features;
        let has_account_regions = features.has(Feature::VirtualAddressSpaceAdjustments);
        let config = Config {
            aligned_memory: !has_account_regions,
            stack_frame_gaps: !has_account_regions,
            ..Config::default()
        };
        if self.heap_bytes > HEAP_BYTES_MAX {
            return Err(BadVector(format!("a heap of {} bytes", self.heap_bytes)));
        }
        let heap_bytes = u32::try_from(self.heap_bytes).map_err(|error| error.to_string())?;
        let budget = ComputeBudget { compute_unit_limit: self.units, heap_bytes };
        let entered =
            Invocation::enter(&self.instruction, &self.accounts, &self.environment, budget);
        let mut invocation = entered.map_err(|error| error.to_string())?;
        if let Some(return_data) = &self.return_data {
            invocation.set_return_data(return_data.clone());
        }
        let mut input = invocation.input().bytes.clone();
        let mut stack = prefixed(config.stack_bytes(), &self.stack);
        let mut heap = prefixed(heap_bytes.try_into().unwrap_or(usize::MAX), &self.heap);
        let stack_region = Region::writable(STACK_START, &mut stack);
        let mut regions = vec![
            Region::readonly(BYTECODE_START, &self.rodata),
            match config.stack_frame_gaps {
                true => stack_region.gapped(config.stack_frame_bytes),
                false => stack_region,
            },
            Region::writable(HEAP_START, &mut heap),
        ];
        regions.extend(invocation.input_regions(&mut input));
        let mut memory = MemoryMap::new(regions, &config, Version::V0)
            .map_err(|trap| format!("memory cannot be mapped: {trap}"))?;
        let result = invocation.call(self.syscall, self.arguments, &mut memory);

        let region = |region: &Region<'_>| {
            let bytes = region.bytes();
            (region.vaddr() - INPUT_START, region.is_writable(), bytes.len(), hash(bytes))
        };
        let inputs = memory.regions().iter().filter(|region| region.vaddr() >= INPUT_START);
        let input: Vec<_> = inputs.map(region).collect();
        let (kind, err) = result.as_ref().err().map_or((0, 0), error_number);
        check.same("kind", expected.kind, kind);
        check.same("err", expected.err, err);
        check.same("r0", expected.r0, Hex64(*result.as_ref().unwrap_or(&0)));
        check.same("cu_left", expected.cu_left, invocation.units_left());
        check.equal("heap", expected.heap, hash(&heap));
        check.equal("stack", expected.stack, hash(&stack));
        check.equal("rodata", expected.rodata, hash(&self.rodata));
        // With adjusted addresses, the input is not observed after a failure.
        if !has_account_regions || result.is_ok() {
            check.same("input", &expected.input, &input);
        }
        Ok(())
    }
}

/// Memory that begins with these bytes, as far as they fit, and goes on with zeros.
fn prefixed(len: usize, prefix: &[u8]) -> Vec<u8> {
    let mut memory = prefix.to_vec();
    memory.resize(len, 0);
    memory
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
