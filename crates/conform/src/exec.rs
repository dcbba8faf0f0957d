//! Kind `exec`: a program and the complete state at its end.

use core::ops::ControlFlow;

use selkie_elf::{Executable, SyscallId};
use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{
    Config, Host, Machine, MemoryMap, Meter, Observer, Outcome, Program, Region, SyscallError,
    Trap, observe,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    BadVector, Context, Verdict,
    check::{Check, bytes},
    elf_load,
    engine::{EndState, Engine, SingleEngine},
    program::{NoProgram, ProgramCase},
    test_syscalls,
    vector::{hex, number},
};

/// Runs the program and compares the results.
///
/// # Errors
/// If the vector is unreadable, or the engine is not supported on this host.
pub fn judge(line: &Value, context: &Context) -> Result<Verdict, BadVector> {
    let case = Case::deserialize(line)?;
    match case.program.executable(context)? {
        Ok(executable) => case.check(executable, context.engine()),
        Err(NoProgram::Rejected(error)) => elf_load::judge_rejected(line, &error),
        Err(missing) => missing.verdict(),
    }
}

#[derive(Deserialize, Debug)]
struct Case {
    #[serde(flatten)]
    program: ProgramCase,
    budget: u64,
    #[serde(default)]
    regs: Vec<Option<u64>>,
    regions: Option<Vec<RegionCase>>,
    heap_len: Option<usize>,
    input: Option<String>,
    expect: Expect,
    insn_count: Option<u64>,
    cu_left: Option<u64>,
    final_pc: Option<u64>,
    mem_after: Option<Vec<Change>>,
    trace_len: Option<u64>,
    trace_fnv: Option<Value>,
    regs_after: Option<Vec<u64>>,
}

#[derive(Deserialize, Debug)]
pub(crate) struct RegionCase {
    pub(crate) vaddr: u64,
    pub(crate) len: usize,
    #[serde(default)]
    pub(crate) writable: bool,
    /// The size in bytes of the gaps; 0 for none.
    #[serde(default)]
    pub(crate) gap: u64,
    #[serde(default)]
    pub(crate) hex: String,
    pub(crate) payload: Option<u16>,
}

#[derive(Deserialize, Debug)]
struct Expect {
    ok: Option<u64>,
    err: Option<String>,
    debug: Option<String>,
    display: Option<String>,
}

#[derive(Deserialize, Debug)]
struct Change {
    vaddr: u64,
    from: usize,
    hex: String,
}

impl RegionCase {
    fn buffer(&self) -> Result<Vec<u8>, BadVector> {
        let mut buffer = bytes(&self.hex)?;
        if buffer.len() > self.len {
            let why = format!("region at {:#x} is shorter than its bytes", self.vaddr);
            return Err(BadVector(why));
        }
        buffer.resize(self.len, 0);
        Ok(buffer)
    }

    pub(crate) fn region<'a>(&self, buffer: &'a mut [u8]) -> Result<Region<'a>, BadVector> {
        let mut region = if self.writable {
            Region::writable(self.vaddr, buffer)
        } else {
            Region::readonly(self.vaddr, buffer)
        };
        if self.gap != 0 {
            if !self.gap.is_power_of_two() {
                let why = format!("the gap of {} bytes is not a power of two", self.gap);
                return Err(BadVector(why));
            }
            region = region.gapped(self.gap);
        }
        Ok(match self.payload {
            Some(payload) => region.with_payload(payload),
            None => region,
        })
    }
}

impl Case {
    /// Returns the regions of the vector, or the default ones if it has none.
    fn regions(&self, executable: &Executable) -> Vec<RegionCase> {
        let read_only = executable.read_only();
        let program = |region: &RegionCase| region.vaddr == read_only.vaddr && !region.writable;
        let rodata = RegionCase {
            vaddr: read_only.vaddr,
            len: read_only.bytes.len(),
            writable: false,
            gap: 0,
            hex: hex(&read_only.bytes),
            payload: None,
        };
        if let Some(regions) = &self.regions {
            return regions
                .iter()
                .map(|region| {
                    let like =
                        if program(region) && region.hex.is_empty() { &rodata } else { region };
                    RegionCase { hex: like.hex.clone(), ..*region }
                })
                .collect();
        }
        let gaps =
            executable.version().stack_frame_gaps() && self.program.config.vm().stack_frame_gaps;
        let frame_bytes = self.program.config.stack_frame_size;
        let writable = |vaddr, len, gap, hex: &str| RegionCase {
            vaddr,
            len,
            writable: true,
            gap,
            hex: hex.to_owned(),
            payload: None,
        };
        let input = self.input.as_deref().unwrap_or_default();
        vec![
            rodata,
            writable(STACK_START, 64 * 4096, if gaps { frame_bytes } else { 0 }, ""),
            writable(HEAP_START, self.heap_len.unwrap_or_default(), 0, ""),
            writable(INPUT_START, input.len() / 2, 0, input),
        ]
    }

    fn check(&self, executable: Executable, engine: Engine) -> Result<Verdict, BadVector> {
        let config = self.program.config.vm();
        let regions = self.regions(&executable);
        let before = regions.iter().map(RegionCase::buffer).collect::<Result<Vec<_>, _>>()?;
        let program = Program::new(executable);
        let mut check = Check::default();
        engine.run_each(&mut check, |check, engine| {
            let mut after = before.clone();
            let Some(mut state) =
                self.run(check, engine, &program, &config, &regions, &mut after)?
            else {
                return Ok(None);
            };
            if let Some(changes) = &self.mem_after {
                compare_memory(check, &regions, &before, &after, changes)?;
            }
            state.memory = after;
            Ok(Some(state))
        })?;
        check.finish()
    }

    /// Runs the program and compares everything except memory. Returns `None` if memory cannot be
    /// mapped.
    fn run(
        &self,
        check: &mut Check,
        engine: SingleEngine,
        program: &Program,
        config: &Config,
        regions: &[RegionCase],
        buffers: &mut [Vec<u8>],
    ) -> Result<Option<EndState>, BadVector> {
        let mut mapped = Vec::new();
        for (region, buffer) in regions.iter().zip(buffers) {
            mapped.push(region.region(buffer)?);
        }
        let memory = match MemoryMap::new(mapped, config, program.executable().version()) {
            Ok(memory) => memory,
            Err(trap) => {
                self.compare_result(check, &Err(trap));
                return Ok(None);
            }
        };
        let mut machine = Machine::new(program.executable(), config, memory, self.budget);
        for (register, value) in machine.registers_mut().iter_mut().zip(&self.regs) {
            *register = value.unwrap_or(*register);
        }
        let mut host = TestHost { names: self.program.syscalls.clone() };
        // The JIT does not trace.
        let traced = engine == SingleEngine::Interpreter
            && (self.trace_len.is_some() || self.trace_fnv.is_some());
        let Outcome { result, consumed } = if traced {
            let mut trace = Trace::default();
            let outcome = observe(program, &mut machine, &mut host, &mut trace);
            check.equal("trace_len", self.trace_len, trace.len);
            if let Some(expected) = &self.trace_fnv {
                check.same("trace_fnv", number(expected), Some(trace.fnv));
            }
            outcome
        } else {
            engine.run(program, config, &mut machine, &mut host)?
        };
        let state = EndState::new(&machine, &result, consumed);
        self.compare_result(check, &result);
        check.equal("insn_count", self.insn_count, state.consumed);
        check.equal("cu_left", self.cu_left, state.remaining);
        check.equal("final_pc", self.final_pc, state.pc);
        if let Some(expected) = &self.regs_after {
            let count = expected.len().min(state.registers.len());
            check.same("regs_after", &expected[..count], &state.registers[..count]);
        }
        Ok(Some(state))
    }

    fn compare_result(&self, check: &mut Check, result: &Result<u64, Trap>) {
        let Expect { ok, err, debug, display } = &self.expect;
        match (result, ok, err) {
            (Ok(got), Some(expected), _) => check.same("r0", *expected, *got),
            (Ok(got), None, _) => {
                check.same("result", err.clone().unwrap_or_default(), format!("ok {got:#x}"));
            }
            (Err(trap), Some(expected), _) => {
                check.same("result", format!("ok {expected:#x}"), trap.to_string());
            }
            (Err(trap), None, err) => {
                let got = anza_debug(trap);
                let name = got.split('(').next().unwrap_or_default().to_owned();
                check.equal("err", err.clone(), name);
                check.equal("debug", debug.clone(), got);
                check.equal("display", display.clone(), trap.to_string());
            }
        }
    }
}

fn compare_memory(
    check: &mut Check,
    regions: &[RegionCase],
    before: &[Vec<u8>],
    after: &[Vec<u8>],
    changes: &[Change],
) -> Result<(), BadVector> {
    for ((region, before), got) in regions.iter().zip(before).zip(after) {
        let mut expected = before.clone();
        // Of several regions with the same address, only the last is not empty.
        let is_inside = |change: &&Change| change.vaddr == region.vaddr && region.len > 0;
        for change in changes.iter().filter(is_inside) {
            let changed = bytes(&change.hex)?;
            expected
                .get_mut(change.from..)
                .and_then(|tail| tail.get_mut(..changed.len()))
                .ok_or_else(|| format!("mem_after leaves the region at {:#x}", region.vaddr))?
                .copy_from_slice(&changed);
        }
        if let Some(at) = expected.iter().zip(got).position(|(a, b)| a != b) {
            let field = format!("memory at {:#x}+{at:#x}", region.vaddr);
            check.same(&field, expected[at], got[at]);
        }
    }
    Ok(())
}

/// Formats a trap like the `Debug` output of anza sbpf's error type.
pub(crate) fn anza_debug(trap: &Trap) -> String {
    match trap {
        Trap::AccessViolation { access, vaddr, len, region } => {
            format!("AccessViolation({access:?}, {vaddr}, {len}, {region:?})")
        }
        Trap::StackAccessViolation { access, vaddr, len, frame } => {
            format!("StackAccessViolation({access:?}, {vaddr}, {len}, {frame})")
        }
        Trap::Syscall(error) => match error.downcast_ref::<Trap>() {
            Some(trap) => format!("SyscallError({})", anza_debug(trap)),
            None => format!("SyscallError({error:?})"),
        },
        plain => format!("{plain:?}"),
    }
}

struct TestHost {
    names: Vec<String>,
}

impl Host for TestHost {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        _: &mut Meter,
    ) -> Result<u64, SyscallError> {
        let name = self.names.get(usize::from(id.0)).map_or("", String::as_str);
        test_syscalls::call(name, arguments, memory)
    }
}

/// The length and the running FNV-1a hash of the register trace.
struct Trace {
    len: u64,
    fnv: u64,
}

impl Default for Trace {
    fn default() -> Self {
        Self { len: 0, fnv: FNV_OFFSET }
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

impl Observer for Trace {
    fn instruction(&mut self, machine: &mut Machine<'_>) -> ControlFlow<()> {
        self.len += 1;
        for value in machine.registers().iter().chain([&(machine.pc() as u64)]) {
            for byte in value.to_le_bytes() {
                self.fnv = (self.fnv ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
            }
        }
        ControlFlow::Continue(())
    }
}
