//! The machine on which programs of `testdata/exec` run, and their syscalls.

use std::{ops::ControlFlow, sync::Arc};

use selkie_elf::{SyscallId, Syscalls};
use selkie_isa::layout::{HEAP_START, INPUT_START, STACK_START};
use selkie_vm::{
    Host, JitOptions, Machine, MachineCode, MemoryMap, Meter, Observer, Outcome, Program, Region,
    SyscallError, Trap, observe, run,
};

use crate::header::Case;

/// Everything observable of a run.
#[derive(PartialEq, Debug)]
pub(crate) struct Run {
    pub(crate) result: Result<u64, String>,
    pub(crate) consumed: u64,
    pub(crate) pc: usize,
    pub(crate) depth: usize,
    pub(crate) return_pcs: Vec<usize>,
    pub(crate) registers: [u64; 11],
    /// The number of instructions that an observer saw.
    pub(crate) steps: u64,
    remaining: u64,
    memory: Vec<Backing>,
}

/// The buffer of a region.
#[derive(Clone, PartialEq)]
struct Backing {
    vaddr: u64,
    writable: bool,
    gap: Option<u64>,
    bytes: Vec<u8>,
}

impl core::fmt::Debug for Backing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#x}", self.vaddr)?;
        let set = self.bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
        set.take(32).try_for_each(|(at, byte)| write!(f, " {at:#x}:{byte:02x}"))
    }
}

impl Backing {
    fn region(&mut self) -> Region<'_> {
        let region = if self.writable {
            Region::writable(self.vaddr, &mut self.bytes)
        } else {
            Region::readonly(self.vaddr, &self.bytes)
        };
        let region = if self.vaddr < INPUT_START { region.with_dirty_prefix(0) } else { region };
        match self.gap {
            Some(frame_bytes) => region.gapped(frame_bytes),
            None => region,
        }
    }
}

impl Run {
    /// Returns bytes at an address, with gaps ignored.
    pub(crate) fn bytes(&self, vaddr: u64, len: usize) -> Result<Vec<u8>, String> {
        self.memory
            .iter()
            .filter_map(|it| {
                let start = usize::try_from(vaddr.checked_sub(it.vaddr)?).ok()?;
                Some(it.bytes.get(start..start.checked_add(len)?)?.to_vec())
            })
            .next_back()
            .ok_or_else(|| format!("there are no {len} bytes at {vaddr:#x}"))
    }
}

/// A program and its machine code (hardened and plain), if this host can run any.
pub(crate) struct Compiled {
    program: Program,
    codes: Vec<(&'static str, MachineCode)>,
    /// The thawed program, and its machine code.
    thawed: Program,
    thawed_codes: Vec<(&'static str, MachineCode)>,
}

impl Compiled {
    pub(crate) fn new(program: Program, elf: &[u8], case: &Case) -> Result<Self, String> {
        let thawed = Program::thaw(&program.freeze(elf), elf, &syscalls());
        let thawed = thawed.map_err(|error| error.to_string())?;
        if thawed.executable() != program.executable() {
            return Err("the thawed program is another one".into());
        }
        let (mut codes, mut thawed_codes) = (Vec::new(), Vec::new());
        if MachineCode::SUPPORTED {
            let hardened =
                JitOptions { seed: Some(0x5e1c_1e5e_ed01_2345), ..JitOptions::default() };
            let plain = JitOptions::plain;
            let whole = JitOptions { slots_at_once: usize::MAX, ..plain() };
            let cut = JitOptions { slots_at_once: 1, runs_until_joined: 0, ..plain() };
            // Small units, and memory for the first of them only: the rest is interpreted.
            let scarce = JitOptions { code_bytes_max: 5000, unit_slots_max: 3, ..whole.clone() };
            for (name, options) in [
                ("hardened", hardened),
                ("plain", plain()),
                ("whole", whole),
                ("cut", cut),
                ("scarce", scarce),
            ] {
                let config = &case.setup.config;
                let code = MachineCode::compile(&program, config, &options);
                let code = code.map_err(|error| error.to_string())?;
                thawed_codes.push((name, thaw_code(&code, &thawed, case, &options)?));
                codes.push((name, code));
                if name == "cut" {
                    // Code compiled bit by bit, and then as a whole.
                    let code = MachineCode::compile(&program, config, &options);
                    let code = code.map_err(|error| error.to_string())?;
                    code.complete(&program).map_err(|error| error.to_string())?;
                    thawed_codes.push(("completed", thaw_code(&code, &thawed, case, &options)?));
                    codes.push(("completed", code));
                }
            }
        }
        Ok(Self { program, codes, thawed, thawed_codes })
    }
}

/// Freezes machine code and thaws it for the thawed program.
#[allow(unsafe_code, reason = "machine code has to be trusted")]
fn thaw_code(
    code: &MachineCode,
    thawed: &Program,
    case: &Case,
    options: &JitOptions,
) -> Result<MachineCode, String> {
    // SAFETY: the bytes are fresh, and the program was thawed from those of the code's own program.
    let again = unsafe { MachineCode::thaw(&code.freeze(), thawed, &case.setup.config, options) };
    again.map_err(|error| error.to_string())
}

/// Runs a program with `run`, with `observe` and as machine code, and checks that all agree.
pub(crate) fn run_all_ways(compiled: &Compiled, case: &Case, budget: u64) -> Result<Run, String> {
    let Compiled { program, codes, thawed, thawed_codes } = compiled;
    let mut count = Count::default();
    let exact = run_with(program, case, budget, |program, machine, host| {
        observe(program, machine, host, &mut count)
    })?;
    let same = |way: &str, other: &Run| {
        if *other == exact {
            return Ok(());
        }
        Err(format!("budget {budget}: {way} and observe differ:\n    {other:x?}\n    {exact:x?}"))
    };
    same("run", &run_with(program, case, budget, run)?)?;
    let codes = codes.iter().map(|(name, code)| (program, name, code));
    let thawed_codes = thawed_codes.iter().map(|(name, code)| (thawed, name, code));
    for (program, name, code) in codes.chain(thawed_codes) {
        let engine = |program: &Program, machine: &mut Machine<'_>, host: &mut dyn Host| {
            code.run(program, machine, &mut { host })
        };
        same(&format!("{name} code"), &run_with(program, case, budget, engine)?)?;
        // A second run must not depend on the first, nor on joining its units.
        same(&format!("{name} code, run again,"), &run_with(program, case, budget, engine)?)?;
    }
    same("run, thawed,", &run_with(thawed, case, budget, run)?)?;
    Ok(Run { steps: count.steps, ..exact })
}

/// Counts instructions.
#[derive(Default)]
struct Count {
    steps: u64,
}

impl Observer for Count {
    fn instruction(&mut self, _: &mut Machine<'_>) -> ControlFlow<()> {
        self.steps += 1;
        ControlFlow::Continue(())
    }
}

fn run_with(
    program: &Program,
    case: &Case,
    budget: u64,
    engine: impl FnOnce(&Program, &mut Machine<'_>, &mut dyn Host) -> Outcome,
) -> Result<Run, String> {
    let mut memory = backings(program, case);
    let before = memory.clone();
    let regions = memory.iter_mut().map(Backing::region).collect();
    let version = program.executable().version();
    let map = MemoryMap::new(regions, &case.setup.config, version).map_err(|it| it.to_string())?;
    let mut machine = Machine::new(program.executable(), &case.setup.config, map, budget);
    let Outcome { result, consumed } = engine(program, &mut machine, &mut TestHost);
    let touched: Vec<_> = machine
        .memory
        .regions()
        .iter()
        .map(|region| (region.vaddr(), region.dirty_prefix()))
        .collect();
    Ok(Run {
        result: result.map_err(|trap| describe(&trap)),
        consumed,
        pc: machine.pc(),
        depth: machine.call_depth(),
        return_pcs: machine.return_pcs().collect(),
        registers: *machine.registers(),
        steps: 0,
        remaining: machine.meter.remaining(),
        memory: {
            drop(machine);
            for (now, before) in memory.iter().zip(&before) {
                let touched = touched.iter().filter(|(vaddr, _)| *vaddr == now.vaddr);
                let most = touched.map(|(_, touched)| *touched).max().unwrap_or(0);
                let most = usize::try_from(most).unwrap_or(usize::MAX).min(now.bytes.len());
                if now.bytes[most..] != before.bytes[most..] {
                    return Err(format!("{:#x}: written to beyond {most:#x} bytes", now.vaddr));
                }
            }
            memory
        },
    })
}

fn backings(program: &Program, case: &Case) -> Vec<Backing> {
    let setup = &case.setup;
    let executable = program.executable();
    let read_only = executable.read_only();
    let gaps = executable.version().stack_frame_gaps() && setup.config.stack_frame_gaps;
    let writable = |vaddr, bytes| Backing { vaddr, writable: true, gap: None, bytes };
    let own = Backing {
        vaddr: read_only.vaddr,
        writable: false,
        gap: None,
        bytes: read_only.bytes.to_vec(),
    };
    let stack = Backing {
        gap: gaps.then_some(setup.config.stack_frame_bytes),
        ..writable(STACK_START, vec![0; setup.config.stack_bytes()])
    };
    let heap = writable(HEAP_START, vec![0; setup.heap]);
    let mut memory = vec![own, stack, heap];
    if setup.regions.iter().all(|region| region.vaddr != INPUT_START) {
        memory.push(writable(INPUT_START, setup.input.clone()));
    }
    memory.extend(setup.regions.iter().map(|region| Backing {
        vaddr: region.vaddr,
        writable: region.writable,
        gap: None,
        bytes: region.bytes.clone(),
    }));
    memory
}

/// Formats a trap in one line.
fn describe(trap: &Trap) -> String {
    match trap {
        Trap::AccessViolation { access, vaddr, len, region } => {
            format!("AccessViolation {access:?} {vaddr:#x} len {len} in {region}")
        }
        Trap::StackAccessViolation { access, vaddr, len, frame } => {
            format!("StackAccessViolation {access:?} {vaddr:#x} len {len} frame {frame}")
        }
        Trap::Syscall(error) => match error.downcast_ref() {
            Some(trap) => format!("Syscall({})", describe(trap)),
            None => format!("Syscall({error})"),
        },
        plain => format!("{plain:?}"),
    }
}

type Syscall = fn([u64; 5], &mut MemoryMap<'_>, &mut Meter) -> Result<u64, SyscallError>;

/// The syscalls, by name.
const SYSCALLS: [(&str, Syscall); 6] = [
    // r1 + 2 r2 + 3 r3 + 4 r4 + 5 r5.
    ("weigh", |arguments, _, _| {
        let weigh = |sum: u64, (at, it): (u64, u64)| sum.wrapping_add(it.wrapping_mul(at));
        Ok((1..).zip(arguments).fold(0, weigh))
    }),
    // Returns the compute units that are left.
    ("left", |_, _, meter| Ok(meter.remaining())),
    // Consumes r1 compute units; returns how many were left before.
    ("take", |[units, ..], _, meter| {
        let before = meter.remaining();
        meter.consume(units).map_err(|_| "out of compute units")?;
        Ok(before)
    }),
    // Fills r2 bytes at r1 with r3; returns r1.
    ("fill", |[vaddr, len, byte, ..], memory, _| {
        memory.slice_mut(vaddr, len)?.fill(byte.to_le_bytes()[0]);
        Ok(vaddr)
    }),
    // Copies r3 bytes from r2 to r1.
    ("move", |[dst, src, len, ..], memory, _| {
        memory.copy(dst, src, len)?;
        Ok(0)
    }),
    ("fail", |_, _, _| Err("as asked".into())),
];

/// Returns the syscalls that programs are loaded against.
pub(crate) fn syscalls() -> Arc<Syscalls> {
    Arc::new(Syscalls::new(SYSCALLS.map(|(name, _)| name)))
}

struct TestHost;

impl Host for TestHost {
    fn syscall(
        &mut self,
        id: SyscallId,
        arguments: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        let (_, syscall) = SYSCALLS[usize::from(id.0)];
        syscall(arguments, memory, meter)
    }
}
