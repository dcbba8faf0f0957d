//! Syscalls on memory that machine code executes without the host have the results that the host
//! would have, for any addresses, lengths and budgets.

use std::sync::Arc;

use proptest::prelude::*;
use selkie_asm::{Options, assemble};
use selkie_elf::{Environment, SyscallId, Syscalls, load};
use selkie_isa::{
    Version,
    layout::{HEAP_START, INPUT_START, STACK_START},
};
use selkie_vm::{
    Access, Config, Host, JitOptions, Machine, MachineCode, MemoryCalls, MemoryMap, Meter, Outcome,
    Program, Region, SyscallError, Violation, run,
};

const NAMES: [&str; 4] = ["sol_memcpy_", "sol_memmove_", "sol_memset_", "sol_memcmp_"];

/// A host with these syscalls, as in the runtime.
#[derive(Default)]
struct TestHost {
    calls: usize,
    violations: usize,
}

impl Host for TestHost {
    fn syscall(
        &mut self,
        SyscallId(id): SyscallId,
        [a, b, len, out, _]: [u64; 5],
        memory: &mut MemoryMap<'_>,
        meter: &mut Meter,
    ) -> Result<u64, SyscallError> {
        self.calls += 1;
        meter.consume((len / 250).max(10)).map_err(|_| "out of compute units")?;
        let apart = a.abs_diff(b) >= len;
        match id {
            0 if !apart => return Err("overlap".into()),
            0 | 1 if len > 0 => {
                memory.prepare_store(self, a, len)?;
                memory.copy(a, b, len)?;
            }
            2 if len > 0 => {
                memory.prepare_store(self, a, len)?;
                memory.slice_mut(a, len)?.fill(b.to_le_bytes()[0]);
            }
            3 => {
                let (mut left, mut right) = (&[][..], &[][..]);
                if len > 0 {
                    (left, right) = (memory.slice(a, len)?, memory.slice(b, len)?);
                }
                let differing = left.iter().zip(right).find(|(left, right)| left != right);
                let difference =
                    differing.map_or(0, |(left, right)| i32::from(*left) - i32::from(*right));
                memory.prepare_store(self, out, 4)?;
                memory.locate(Access::Store, out, 4)?;
                if out % 4 != 0 {
                    return Err("unaligned".into());
                }
                memory.slice_mut(out, 4)?.copy_from_slice(&difference.to_le_bytes());
            }
            _ => {}
        }
        Ok(0)
    }

    fn access_violation(&mut self, violation: &Violation, region: &mut Region<'_>) {
        self.violations += 1;
        if region.payload().is_some() && violation.access == Access::Store {
            region.make_writable();
        }
    }
}

fn options() -> JitOptions {
    let id = |number| Some(SyscallId(number));
    let memory_calls = MemoryCalls {
        copy: id(0),
        r#move: id(1),
        set: id(2),
        compare: id(3),
        compute_units: 10,
        bytes_max: 2749,
    };
    JitOptions { memory_calls, ..JitOptions::default() }
}

/// Assembles a program that calls one of them with what is in its registers.
fn program(version: Version, call: usize) -> Program {
    let source = format!(
        ".globl entrypoint\nentrypoint:\nstxdw [r10-8], r1\nmov64 r6, r1\nmov64 r7, r4\ncall {}\n\
         add64 r0, r1\nmov64 r1, r6\nmov64 r4, r7\ncall {}\nldxdw r5, [r10-8]\nexit\n",
        NAMES[call], NAMES[call]
    );
    let output = assemble(&source, &Options { version, ..Options::default() });
    let assembly = output.assembly.as_ref().unwrap_or_else(|| panic!("{}", output.render(false)));
    let syscalls = Arc::new(Syscalls::new(NAMES));
    let environment = Environment { syscalls, ..Environment::default() };
    Program::new(load(&assembly.to_elf(), &environment).unwrap())
}

/// Everything observable of a run.
type Seen = (Result<u64, String>, [u64; 2], usize, [u64; 11], Vec<Vec<u8>>, usize);

fn seen(
    program: &Program,
    config: &Config,
    arguments: [u64; 4],
    budget: u64,
    engine: impl FnOnce(&Program, &mut Machine<'_>, &mut TestHost) -> Outcome,
) -> (Seen, usize) {
    let version = program.executable().version();
    let fill = |len: usize, seed: usize| -> Vec<u8> {
        (0..len).map(|at| ((at * 7 + seed) % 5).to_le_bytes()[0]).collect()
    };
    let mut memory =
        vec![fill(config.stack_bytes(), 0), fill(5000, 1), fill(700, 2), fill(300, 3), fill(64, 4)];
    let mut host = TestHost::default();
    let [stack, heap, input, second, third] = &mut memory[..] else { unreachable!("five") };
    let mut stack = Region::writable(STACK_START, stack).with_dirty_prefix(0);
    if version.stack_frame_gaps() && config.stack_frame_gaps {
        stack = stack.gapped(config.stack_frame_bytes);
    }
    let read_only = program.executable().read_only();
    let mut regions = vec![
        Region::readonly(read_only.vaddr, &read_only.bytes),
        stack,
        Region::writable(HEAP_START, heap).with_dirty_prefix(100),
        Region::writable(INPUT_START, input),
    ];
    if !config.aligned_memory && !version.aligned_memory() {
        regions.push(Region::writable(INPUT_START + 700, second).protected().with_payload(1));
        regions.push(Region::writable(INPUT_START + 1000, third).protected());
    }
    let map = MemoryMap::new(regions, config, version).unwrap();
    let mut machine = Machine::new(program.executable(), config, map, budget);
    machine.registers_mut()[1..5].copy_from_slice(&arguments);
    let Outcome { result, consumed } = engine(program, &mut machine, &mut host);
    let (pc, registers) = (machine.pc(), *machine.registers());
    let left = machine.meter.remaining();
    drop(machine);
    let result = result.map_err(|trap| trap.to_string());
    ((result, [consumed, left], pc, registers, memory, host.violations), host.calls)
}

fn address() -> impl Strategy<Value = u64> {
    prop_oneof![
        (0..1200_u64).prop_map(|at| INPUT_START + at),
        (0..1200_u64).prop_map(|at| INPUT_START + at),
        (0..5100_u64).prop_map(|at| HEAP_START + at),
        (0..400_u64).prop_map(|at| HEAP_START + at),
        (0..9000_u64).prop_map(|at| STACK_START + at),
        (0..300_u64).prop_map(|at| STACK_START + 4096 - at),
        (0..300_u64).prop_map(|at| STACK_START - 100 + at),
        (0..100_u64).prop_map(|at| (1 << 32) + at),
        (0..100_u64),
        any::<u64>(),
    ]
}

fn length() -> impl Strategy<Value = u64> {
    prop_oneof![0..40_u64, 0..40_u64, 200..300_u64, 0..6000_u64, any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn machine_code_and_host_agree_on_memory_syscalls(
        cases in prop::collection::vec((address(), address(), length(), address(), 0..60_u64), 40),
        version in prop::sample::select(Version::ALL.to_vec()),
        call in 0..NAMES.len(),
        gaps in any::<bool>(),
        aligned_memory in any::<bool>(),
        metered in any::<bool>(),
    ) {
        if !MachineCode::SUPPORTED {
            return Ok(());
        }
        let config = Config {
            stack_frame_gaps: gaps,
            aligned_memory,
            metered,
            call_depth_max: 4,
            ..Config::default()
        };
        let program = program(version, call);
        let code = MachineCode::compile(&program, &config, &options()).unwrap();
        for (a, b, len, out, budget) in cases {
            // Fills take a number; the sources of copies often overlap with their destinations.
            let b = if len % 3 == 0 { a.wrapping_add(len / 2) } else { b };
            for out in [out, out & !3] {
                let arguments = [a, b, len, out];
                let interpret = |program: &Program, machine: &mut Machine<'_>, host: &mut TestHost| {
                    run(program, machine, host)
                };
                let compiled = |program: &Program, machine: &mut Machine<'_>, host: &mut TestHost| {
                    code.run(program, machine, host)
                };
                let (expected, _) = seen(&program, &config, arguments, budget, interpret);
                let (actual, _) = seen(&program, &config, arguments, budget, compiled);
                prop_assert_eq!(expected, actual, "{:x?}", arguments);
            }
        }
    }
}

#[test]
fn common_memory_syscalls_do_not_call_the_host() {
    if !MachineCode::SUPPORTED {
        return;
    }
    for version in Version::ALL {
        for (call, name) in NAMES.iter().enumerate() {
            let program = program(version, call);
            let config = Config::default();
            let code = MachineCode::compile(&program, &config, &options()).unwrap();
            let arguments = [HEAP_START, INPUT_START + 100, 77, HEAP_START + 96];
            let (_, calls) = seen(&program, &config, arguments, 100, |program, machine, host| {
                code.run(program, machine, host)
            });
            assert_eq!(calls, 0, "{version}: {name}");
        }
    }
}
