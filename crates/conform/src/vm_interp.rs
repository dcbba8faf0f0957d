//! Kind `vm_interp`: a program run from given registers and memory with mainnet's configuration, and
//! its end state according to agave's engine.

use std::sync::Arc;

use selkie_elf::{Executable, Functions, ReadOnly, SyscallId, Syscalls};
use selkie_isa::{
    Version,
    layout::{BYTECODE_START, HEAP_START, INPUT_START, RODATA_START, STACK_START},
    symbol::{ENTRYPOINT, ENTRYPOINT_KEY, pc_key},
};
use selkie_vm::{
    Config, Host, Machine, MemoryMap, Meter, Outcome, Region, SyscallError, Trap, Verified,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Verdict,
    check::{Check, bytes, hex_number},
    engine::{EndState, Engine, SingleEngine},
    vector::{is_kind, xxh64},
};

/// Returns whether a line is of this kind, whose lines may use the field `kind` for something else.
#[must_use]
pub fn matches(line: &Value) -> bool {
    let has = |field| line.get(field).is_some();
    is_kind(line, "vm_interp") || has("exp") && has("text") && has("v")
}

/// Runs the program and compares the results.
///
/// # Errors
/// If the vector is unreadable, or the engine is not supported on this host.
pub fn judge(line: &Value, engine: Engine) -> Result<Verdict, BadVector> {
    Case::deserialize(line)?.check(engine)
}

#[derive(Deserialize, Debug)]
struct Case {
    v: u32,
    #[serde(default)]
    flat: bool,
    text: String,
    #[serde(default)]
    ro: String,
    #[serde(default)]
    entry: u32,
    #[serde(default)]
    fns: Vec<u32>,
    #[serde(default)]
    regs: Vec<String>,
    #[serde(default)]
    cu: u64,
    #[serde(default)]
    heap: usize,
    #[serde(default)]
    heap_prefix: String,
    #[serde(default)]
    stack_prefix: String,
    #[serde(default)]
    input: Vec<Input>,
    exp: Expect,
}

#[derive(Deserialize, Debug)]
struct Input {
    #[serde(default)]
    off: u64,
    #[serde(default)]
    w: bool,
    #[serde(default)]
    data: String,
}

#[derive(Deserialize, Debug)]
struct Expect {
    #[serde(default)]
    verify: u32,
    #[serde(default)]
    err: u64,
    r0: Option<String>,
    cu_left: Option<u64>,
    pc: Option<u64>,
    depth: Option<u64>,
    regs: Option<Vec<String>>,
    heap: Option<String>,
    stack: Option<String>,
    input: Option<Vec<String>>,
}

/// The writable memory of a run.
struct Memory {
    stack: Vec<u8>,
    heap: Vec<u8>,
    inputs: Vec<Vec<u8>>,
}

impl Case {
    fn executable(&self, version: Version) -> Result<Executable, BadVector> {
        let text = bytes(&self.text)?;
        let ro = bytes(&self.ro)?;
        let read_only = if version.strict_elf() {
            ReadOnly { vaddr: RODATA_START, bytes: ro.into() }
        } else {
            ReadOnly { vaddr: BYTECODE_START, bytes: [&text[..], &ro[..]].concat().into() }
        };
        let mut functions = Functions::default();
        if !version.static_calls() {
            for &pc in &self.fns {
                functions.register(pc_key(pc), pc, "").map_err(BadVector::of)?;
            }
            functions.register(ENTRYPOINT_KEY, self.entry, ENTRYPOINT).map_err(BadVector::of)?;
        }
        let syscalls = Arc::new(Syscalls::new(STUBS.iter().map(|(name, _)| *name)));
        Executable::from_parts(version, text, self.entry, read_only, functions, syscalls)
            .map_err(BadVector::of)
    }

    fn check(&self, engine: Engine) -> Result<Verdict, BadVector> {
        let version = Version::from_e_flags(self.v)
            .ok_or_else(|| format!("unknown sBPF version {}", self.v))?;
        let mut check = Check::default();
        let program = match Verified::new(self.executable(version)?) {
            Ok(program) => program,
            Err(error) => {
                check.same("verify", self.exp.verify, error.discriminant() + 1);
                return check.finish();
            }
        };
        check.same("verify", self.exp.verify, 0);
        if self.exp.verify != 0 {
            return check.finish();
        }

        engine.run_each(&mut check, |check, engine| self.run(check, engine, &program))?;
        check.finish()
    }

    /// Runs the program and compares the results. Returns `None` if memory cannot be mapped.
    fn run(
        &self,
        check: &mut Check,
        engine: SingleEngine,
        program: &Verified,
    ) -> Result<Option<EndState>, BadVector> {
        let version = program.executable().version();
        let config = Config {
            stack_frame_gaps: !self.flat,
            aligned_memory: !self.flat,
            ..Config::default()
        };
        let inputs = self.input.iter().map(|it| bytes(&it.data)).collect::<Result<Vec<_>, _>>()?;
        let mut memory = Memory {
            stack: filled(config.stack_bytes(), &self.stack_prefix)?,
            heap: filled(self.heap, &self.heap_prefix)?,
            inputs,
        };
        let regions = self.regions(program.executable(), &config, &mut memory);
        let (result, state) = match MemoryMap::new(regions, &config, version) {
            Err(trap) => (Err(trap), None),
            Ok(map) => {
                let mut machine = Machine::new(program.executable(), &config, map, self.cu);
                machine.registers_mut()[..10].fill(0);
                for (register, value) in machine.registers_mut().iter_mut().zip(&self.regs) {
                    *register = hex_number(value)?;
                }
                let Outcome { result, consumed } =
                    engine.run(program, &config, &mut machine, &mut Stubs)?;
                let state = EndState::new(&machine, &result, consumed);
                (result, Some(state))
            }
        };
        let err = result.as_ref().err().map_or(0, |trap| trap.discriminant() + 1);
        check.same("err", self.exp.err, err);
        if let Some(state) = &state {
            self.compare_machine(check, state, &result)?;
        }
        if err != EXCEEDED {
            self.compare_memory(check, &memory);
        }
        let Memory { stack, heap, inputs } = memory;
        let memory = [stack, heap].into_iter().chain(inputs).collect();
        Ok(state.map(|state| EndState { memory, ..state }))
    }

    fn regions<'a>(
        &self,
        executable: &'a Executable,
        config: &Config,
        memory: &'a mut Memory,
    ) -> Vec<Region<'a>> {
        let read_only = executable.read_only();
        let gapped = executable.version().stack_frame_gaps() && config.stack_frame_gaps;
        let stack = Region::writable(STACK_START, &mut memory.stack);
        let mut regions = vec![
            Region::readonly(read_only.vaddr, &read_only.bytes),
            if gapped { stack.gapped(config.stack_frame_bytes) } else { stack },
            Region::writable(HEAP_START, &mut memory.heap),
        ];
        for (input, buffer) in self.input.iter().zip(&mut memory.inputs) {
            let vaddr = INPUT_START.wrapping_add(input.off);
            regions.push(if input.w {
                Region::writable(vaddr, buffer)
            } else {
                Region::readonly(vaddr, buffer)
            });
        }
        regions
    }

    fn compare_memory(&self, check: &mut Check, memory: &Memory) {
        check.equal("heap", self.exp.heap.clone(), hash(&memory.heap));
        check.equal("stack", self.exp.stack.clone(), hash(&memory.stack));
        let got = memory.inputs.iter().map(|input| hash(input)).collect();
        check.equal("input", self.exp.input.clone(), got);
    }

    fn compare_machine(
        &self,
        check: &mut Check,
        state: &EndState,
        result: &Result<u64, Trap>,
    ) -> Result<(), BadVector> {
        if matches!(result, Err(Trap::ExceededMaxInstructions)) {
            // No compute units are left; vectors may omit the 0.
            check.same("cu_left", self.exp.cu_left.unwrap_or_default(), state.remaining);
            return Ok(());
        }
        check.equal("cu_left", self.exp.cu_left, state.remaining);
        let r0 = self.exp.r0.as_deref().map(hex_number).transpose()?;
        check.equal("r0", r0, *result.as_ref().unwrap_or(&0));
        check.equal("depth", self.exp.depth, state.depth);
        if !matches!(result, Err(Trap::Syscall(_))) {
            check.equal("pc", self.exp.pc, state.pc);
        }
        if let Some(expected) = &self.exp.regs {
            let expected =
                expected.iter().map(|it| hex_number(it)).collect::<Result<Vec<_>, _>>()?;
            check.same("regs", expected, state.registers.to_vec());
        }
        Ok(())
    }
}

/// 1 plus the discriminant of [`Trap::ExceededMaxInstructions`].
const EXCEEDED: u64 = 9;

/// Returns a buffer of `len` bytes that begins with a prefix in hex; the rest is zero.
pub(crate) fn filled(len: usize, prefix: &str) -> Result<Vec<u8>, BadVector> {
    let mut buffer = bytes(prefix)?;
    if buffer.len() > len {
        let why = format!("a prefix of {} bytes for {len} bytes of memory", buffer.len());
        return Err(BadVector(why));
    }
    buffer.resize(len, 0);
    Ok(buffer)
}

fn hash(bytes: &[u8]) -> String {
    if bytes.is_empty() { "0".to_owned() } else { format!("{:x}", xxh64(bytes)) }
}

/// The stub syscalls, by name.
struct Stubs;

type Stub = fn([u64; 5], &mut MemoryMap<'_>, &mut Meter) -> Result<u64, SyscallError>;

const STUBS: [(&str, Stub); 3] = [
    ("vmgen_mix_", mix),
    ("vmgen_fail_", |_, _, _| Err("vmgen_fail_".into())),
    ("vmgen_store_", store),
];

fn mix(
    [r1, r2, r3, r4, r5]: [u64; 5],
    _: &mut MemoryMap<'_>,
    meter: &mut Meter,
) -> Result<u64, SyscallError> {
    meter.consume(10).map_err(|_| "out of compute units")?;
    let sum = r1.wrapping_add(r2.wrapping_mul(3));
    let mixed = sum ^ r3.rotate_left(17);
    Ok(mixed.wrapping_add(r4.wrapping_mul(5)).wrapping_sub(r5))
}

fn store(
    [r1, r2, ..]: [u64; 5],
    memory: &mut MemoryMap<'_>,
    _: &mut Meter,
) -> Result<u64, SyscallError> {
    memory.slice_mut(r1, 8)?.copy_from_slice(&r2.to_le_bytes());
    Ok(1)
}

impl Host for Stubs {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        let (_, stub) = STUBS[usize::from(id.0)];
        stub(arguments, memory, meter)
    }
}
