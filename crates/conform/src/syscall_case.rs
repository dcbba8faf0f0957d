//! A syscall with the memory and the instruction that it is called in.
//!
//! The calling program is an `exit` of V0. As in agave's harness, logs and return data are not
//! compared.

use std::sync::Arc;

use selkie_case::{Case, INSTRUCTION_BUDGET};
use selkie_elf::{Executable, Functions};
use selkie_fixture::{Recorded, Syscall as Given, SyscallFixture};
use selkie_isa::{
    Version,
    layout::{BYTECODE_START, HEAP_START, INPUT_START, STACK_START},
};
use selkie_svm::{
    Account, ComputeBudget, Feature, FeatureSet, InstructionError, Invocation, Loader, Program,
    Pubkey, ReadableAccount as _, ReturnData, Syscall, SyscallError, error,
};
use selkie_vm::{Config, MemoryMap, Region, Trap};
use serde::Deserialize;

use crate::{BadVector, Check, Context, instr, runtime::load_programs, vector::Hex64};

/// The text of the calling program: `exit`.
const TEXT: [u8; 8] = [0x95, 0, 0, 0, 0, 0, 0, 0];

/// The maximum size in bytes of the heap.
const HEAP_BYTES_MAX: u64 = 256 * 1024;

/// A syscall with its memory, and the case whose instruction calls it.
pub(crate) struct SyscallCase {
    pub(crate) case: Case,
    pub(crate) syscall: &'static Syscall,
    pub(crate) arguments: [u64; 5],
    pub(crate) heap_bytes: u64,
    pub(crate) heap: Vec<u8>,
    pub(crate) stack: Vec<u8>,
    pub(crate) rodata: Vec<u8>,
    pub(crate) return_data: Option<ReturnData>,
}

/// The expected result of a syscall. Missing hashes are not compared.
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
    /// The input regions.
    #[serde(default)]
    input: Vec<InputState>,
}

/// A region of the input: offset, whether it is writable, length, hash. The length is not known if a fixture
/// has the hash only.
type InputState = (u64, bool, Option<usize>, Hex64);

impl Expected {
    /// Returns whether the syscall was a stub, which returned 1 and charged nothing.
    pub(crate) fn is_stub(&self, compute_unit_limit: u64) -> bool {
        self.err == 0 && self.r0 == Hex64(1) && self.cu_left == compute_unit_limit
    }

    /// Returns the recorded result of a fixture.
    pub(crate) fn recorded(fixture: &SyscallFixture) -> Self {
        let effects = &fixture.output;
        let regions = effects.input.iter();
        Self {
            err: effects.error,
            kind: effects.error_kind.into(),
            r0: Hex64(effects.r0),
            cu_left: effects.compute_units_left,
            heap: Some(Hex64(effects.heap.hash())),
            stack: Some(Hex64(effects.stack.hash())),
            rodata: Some(Hex64(effects.rodata.hash())),
            input: regions
                .map(|it| {
                    let len = it.content.bytes().map(<[u8]>::len);
                    (it.offset, it.is_writable, len, Hex64(it.content.hash()))
                })
                .collect(),
        }
    }
}

/// Returns a program of this loader that does nothing.
pub(crate) fn program(loader: Loader, features: FeatureSet) -> Result<Program, BadVector> {
    let functions = Functions::default();
    let executable = Executable::from_text(Version::V0, TEXT, 0, functions, Default::default())
        .map_err(|error| error.to_string())?;
    let program = Program::new(executable, loader).map_err(|error| error.to_string())?;
    Ok(program.for_features(features))
}

impl SyscallCase {
    /// Prepares the syscall of a fixture.
    pub(crate) fn new(
        given: &Given,
        syscall: &'static Syscall,
        features: FeatureSet,
        context: &Context,
    ) -> Result<Self, BadVector> {
        let mut case = instr::case(&given.instruction, features, context);
        let program_id = given.instruction.program_id;
        // An account that is not a program is invoked like a program of loader v3.
        let loader = case.accounts.get(&program_id).and_then(|it| Loader::of(it.owner()));
        let program = program(loader.unwrap_or(Loader::V3), features)?;
        load_programs(&mut case);
        Arc::make_mut(&mut case.environment).programs.insert(program_id, program);
        let return_data = given.return_data.clone();
        Ok(Self {
            case,
            syscall,
            arguments: given.arguments,
            heap_bytes: given.heap_bytes,
            heap: given.heap.clone(),
            stack: given.stack.clone(),
            rodata: given.rodata.clone(),
            return_data: return_data.map(|(program_id, data)| ReturnData { program_id, data }),
        })
    }

    /// Whether accounts have memory regions of their own. Frames have no gaps then.
    fn has_account_regions(&self) -> bool {
        self.case.environment.features.has(Feature::VirtualAddressSpaceAdjustments)
    }

    fn config(&self) -> Config {
        Config {
            aligned_memory: !self.has_account_regions(),
            stack_frame_gaps: !self.has_account_regions(),
            ..Config::default()
        }
    }

    fn heap_bytes(&self) -> Result<u32, BadVector> {
        if self.heap_bytes > HEAP_BYTES_MAX {
            return Err(BadVector(format!("a heap of {} bytes", self.heap_bytes)));
        }
        u32::try_from(self.heap_bytes).map_err(|error| BadVector(error.to_string()))
    }

    /// Invokes the instruction up to the point where its program would run.
    fn invoke(&self, heap_bytes: u32) -> Result<Invocation<'_>, BadVector> {
        let Case { accounts, environment, options, .. } = &self.case;
        let budget = options.budget.unwrap_or(INSTRUCTION_BUDGET);
        let budget = ComputeBudget { heap_bytes, ..budget };
        let accounts: Vec<(Pubkey, Account)> =
            accounts.iter().map(|(key, account)| (*key, account.clone().into())).collect();
        let instruction = instr::instruction(&self.case)?;
        let invocation = Invocation::enter(instruction, &accounts, environment, budget);
        let mut invocation = invocation.map_err(|error| error.to_string())?;
        if let Some(return_data) = &self.return_data {
            invocation.set_return_data(return_data.clone());
        }
        Ok(invocation)
    }

    /// Calls the syscall and compares its result, the compute units left, and the memory.
    pub(crate) fn check(&self, check: &mut Check, expected: &Expected) -> Result<(), BadVector> {
        let config = self.config();
        let heap_bytes = self.heap_bytes()?;
        let mut invocation = self.invoke(heap_bytes)?;
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

        // A length that no fixture states is not compared.
        let has_len = expected.input.iter().all(|it| it.2.is_some());
        let region = |region: &Region<'_>| {
            let bytes = region.bytes();
            let len = (has_len || bytes.is_empty()).then_some(bytes.len());
            (region.vaddr() - INPUT_START, region.is_writable(), len, hash(bytes))
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
        // With account regions, agave's harness does not record the input after a failure.
        if !self.has_account_regions() || result.is_ok() {
            check.same("input", &expected.input, &input);
        }
        Ok(())
    }
}

/// Returns memory of `len` bytes that begins with `prefix`, truncated if necessary; the rest is zero.
fn prefixed(len: usize, prefix: &[u8]) -> Vec<u8> {
    let mut memory = prefix.to_vec();
    memory.resize(len, 0);
    memory
}

/// Returns the family of a syscall's error, and 1 plus its discriminant.
fn error_number(error: &selkie_vm::SyscallError) -> (i64, i64) {
    let number = |discriminant: u64| i64::try_from(discriminant).map_or(-1, |it| it + 1);
    if let Some(error) = error.downcast_ref::<InstructionError>() {
        (3, number(error::discriminant(error)))
    } else if let Some(error) = error.downcast_ref::<SyscallError>() {
        (2, number(error.discriminant()))
    } else if let Some(trap) = error.downcast_ref::<Trap>() {
        (1, number(trap.discriminant()))
    } else {
        // Poseidon's errors have no numbers.
        (2, -1)
    }
}

/// Returns the XXH64 hash of a region; 0 for an empty one.
fn hash(bytes: &[u8]) -> Hex64 {
    Hex64(Recorded::from(bytes.to_vec()).hash())
}
